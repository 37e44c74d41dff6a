"""Thirteen label-only sets for comparing methods that infer the truth from a crowd.

Gathered by Li, Rubinstein & Cohn 2019, "Truth Inference at Scale", from SpectralMethodsMeetEM,
active-crowd-toolkit, crowd_truth_inference and CrowdScale 2013.  The collection is under the MIT
licence.  From 300 items (cf) to 42,624 (fact_eval, 216,725 labels); in some sets gold covers a
part of the items only, and some hold several labels of one worker for one item.
"""

from __future__ import annotations

import csv
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl

from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import encode_votes, note_repeats, number_names, read_table, reading
from softlabel.tables import Annotations, Index

DATA = (
    "https://raw.githubusercontent.com/yuan-li/truth-inference-at-scale/"
    "ff6d32971fb3ca17e2f0c784a126d8b26495dbce/data"
)
TABLE = Path(__file__).with_suffix(".tsv")  # folder of the repository, sha256 of its two files
SETS = {
    row.pop("name"): row
    for row in csv.DictReader(TABLE.read_text("utf-8").splitlines(), delimiter="\t")
}


def _files(name: str) -> tuple[File, File]:
    row = SETS[name]
    # the labels and the truth of dog are in different folders
    truth = "SpectralMethodsMeetEM/dog" if name == "dog" else row["folder"]
    return (
        File(f"{name}.label.csv", row["label_sha256"], f"{DATA}/{quote(row['folder'])}/label.csv"),
        File(f"{name}.truth.csv", row["truth_sha256"], f"{DATA}/{quote(truth)}/truth.csv"),
    )


INFO = Info(
    name="crowd",
    title="Truth inference at scale",
    home="https://github.com/yuan-li/truth-inference-at-scale",
    licence="MIT (the collection)",
    files=tuple(file for name in SETS for file in _files(name)),
    parts=tuple(SETS),
    cite="Li, Rubinstein & Cohn 2019, Truth Inference at Scale, WWW, arXiv 1902.08918",
)


def load(part: str = "") -> Dataset:
    """Load the votes of one set with their workers, and gold where it is known."""
    labels_path, truth_path = (locate(INFO, file.name) for file in _files(INFO.part(part)))
    frame = read_table(labels_path, dict.fromkeys(("item", "worker", "label"), pl.Int64))
    truth = read_table(truth_path, dict.fromkeys(("item", "truth"), pl.Int64))
    items, item, workers, worker = encode_votes(frame, "item", "worker")
    with reading(truth_path):
        k = 1 + max(frame["label"].to_numpy().max(), truth["truth"].to_numpy().max())
        code = {name: i for i, name in enumerate(items.tolist())}
        gold = np.full(len(items), -1)
        gold[[code[str(i)] for i in truth["item"].to_list()]] = truth["truth"].to_numpy()
    index = Index(items, workers, number_names(range(k)))
    votes = Annotations(index, item, worker, label=frame["label"].to_numpy())
    known = int((gold >= 0).sum())
    notes = note_repeats(votes)
    if known < len(gold):
        notes += (f"Gold is known for {known} of {len(gold)} items.",)
    return Dataset(f"crowd/{part}", INFO, index, None, votes, gold, notes=notes)
