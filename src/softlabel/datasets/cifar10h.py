"""CIFAR-10H: about 51 people's choice of class for each of the 10,000 CIFAR-10 test images.

Peterson, Battleday, Griffiths & Russakovsky 2019, "Human uncertainty makes classification more
robust".  CC BY-NC-SA 4.0.  The released counts hold 511,000 votes; the raw file 514,200 votes of
2,571 annotators, 200 each, besides attention checks.
"""

from __future__ import annotations

import io
import zipfile
from typing import Literal

import numpy as np
import polars as pl

from softlabel.datasets import cifar10
from softlabel.datasets.base import Dataset, File, Info, find, locate
from softlabel.datasets.reading import encode, number_names, read_bytes, read_npy, reading
from softlabel.errors import FileError, UnknownName
from softlabel.sampling import votes_from_counts
from softlabel.tables import Annotations, Index, names

COUNTS, RAW = "cifar10h-counts.npy", "cifar10h-raw"
REPOSITORY = "https://raw.githubusercontent.com/jcpeterson/cifar-10h"

INFO = Info(
    name="cifar10h",
    title="CIFAR-10H",
    home="https://github.com/jcpeterson/cifar-10h",
    licence="CC BY-NC-SA 4.0",
    files=(
        File(
            COUNTS,
            "9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
            f"{REPOSITORY}/597cbc5f07266c9405b830ee4a53463539124c4f/data/{COUNTS}",
        ),
        File(
            f"{RAW}.zip",
            "4b0283f9b2ae72a616eeb4a2a38474cc2a238eb041bfb8df5ead3a8a47f35aa3",
            f"{REPOSITORY}/389f22d9d300ec71a4c44735d46f550c94b957ab/data/{RAW}.zip",
        ),
    ),
    cite="Peterson et al. 2019, Human uncertainty makes classification more robust, ICCV",
)


def load(source: Literal["best", "counts", "raw"] = "best") -> Dataset:
    """Load the votes: ``raw`` has annotators, ``counts`` has none, ``best`` is raw if it is here.

    ``arrays["counts"]`` (m, k) are the votes per image and class; raw votes also have ``rt_ms``.
    """
    if source not in ("best", "counts", "raw"):
        raise UnknownName("source of cifar10h", source, ("best", "counts", "raw"))
    here = find(INFO, f"{RAW}.csv") or find(INFO, f"{RAW}.zip")
    return _from_raw() if source == "raw" or (source == "best" and here) else _from_counts()


def _from_counts() -> Dataset:
    path = locate(INFO, COUNTS)
    counts = read_npy(path)
    if counts.shape != (10_000, 10) or counts.dtype.kind != "i" or (counts < 0).any():
        raise FileError(path, f"{counts.dtype} {counts.shape} is not counts of 10,000 images")
    index = Index(number_names(range(10_000)), names([]), cifar10.CLASSES)
    notes = (
        "The released counts, expanded to anonymous votes: nobody knows which annotator cast "
        "which, and methods that weigh annotators cannot be used.",
        "The paper tells of 511,400 judgements; the counts hold 511,000.",
    )
    votes, gold = votes_from_counts(index, counts), cifar10.gold_of_test()
    return Dataset("cifar10h", INFO, index, None, votes, gold, {"counts": counts}, notes=notes)


def _from_raw() -> Dataset:
    path = find(INFO, f"{RAW}.csv") or locate(INFO, f"{RAW}.zip")
    with reading(path):
        data = read_bytes(path)
        if path.suffix == ".zip":
            with zipfile.ZipFile(io.BytesIO(data)) as box:
                data = box.read(f"{RAW}.csv")
        # its README calls the second column cifar10_test_set_idx
        wanted = ["annotator_id", "cifar10_test_test_idx", "chosen_label", "reaction_time"]
        header = data[: data.index(b"\n")].decode().strip().replace('"', "").split(",")
        frame = pl.read_csv(data, columns=[name for name in wanted if name in header])
        frame = frame.filter(pl.col("cifar10_test_test_idx") >= 0)  # attention checks are -99999
        annotators, annotator = encode(frame["annotator_id"].to_numpy())
        item = frame["cifar10_test_test_idx"].to_numpy()
        label = frame["chosen_label"].to_numpy()
    index = Index(number_names(range(10_000)), annotators, cifar10.CLASSES)
    votes = Annotations(index, item, annotator, label=label)
    arrays = {"counts": votes.counts().astype(np.int64)}
    if "reaction_time" in frame:
        arrays["rt_ms"] = frame["reaction_time"].to_numpy()
    note = (
        "The raw votes with their annotators, attention checks left out: a little more than "
        "the released counts."
    )
    gold = cifar10.gold_of_test()
    return Dataset("cifar10h", INFO, index, None, votes, gold, arrays, notes=(note,))
