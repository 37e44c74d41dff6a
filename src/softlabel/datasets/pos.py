"""Parts of speech of 14,439 words from 1,000 tweets, tagged by 177 people.

Hovy, Plank & Søgaard 2014, "Experiments with crowdsourced re-annotation of a POS tagging data
set", on the tweets of Gimpel et al. 2011.  No licence is stated.  236,380 labels in twelve classes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel.datasets.base import Dataset, File, Info, find, locate
from softlabel.datasets.reading import (
    encode,
    note_repeats,
    number_names,
    open_text,
    read_table,
    reading,
)
from softlabel.tables import Annotations, Index, Ints, Names, names

TAGS = ["ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", ".", "VERB", "X"]
TRAIN = 13_000  # words before the development part of Fornaciari et al. 2021 begins

INFO = Info(
    name="pos",
    title="Twitter parts of speech",
    home="https://github.com/copenlu/aggregating-crowd-annotations-ood",
    licence="none stated",
    files=(
        File(
            "gimpel_annotations.csv",
            "5b2920e4b3b33b8dbcce029e2a8fdc182e4b0fc1f3cc3cca153c09dcb58dc31a",
        ),
        File(
            "gimpel_tokens.csv", "5e4fce38d13f7f238db9e4334eccc3a07afe5a48447b680d0c4cd714d05ca645"
        ),
        File(
            "lowlands.test.tsv",
            "5960a200a988f036cdb3dc3ae6330af28bddfbc94f4524cb5adba04cb43cfa49",
            "https://raw.githubusercontent.com/copenlu/aggregating-crowd-annotations-ood/"
            "eecaa50a32e11f205f40a0961b5f286e3e33f110/data/POS/lowlands.test.tsv",
        ),
    ),
    by_hand="""\
Download data/POS/gimpel_crowdsourced-tf.tsv from
https://github.com/copenlu/aggregating-crowd-annotations-ood and run beside it:

    import csv
    with open("gimpel_crowdsourced-tf.tsv", encoding="utf-8", newline="\\n") as file:
        rows = [line.rstrip("\\r\\n").split("\\t") for line in file if line.strip()]
    with open("gimpel_tokens.csv", "w", encoding="utf-8", newline="") as tokens, \\
            open("gimpel_annotations.csv", "w", encoding="utf-8", newline="") as tags:
        tokens = csv.writer(tokens, lineterminator="\\n")
        tags = csv.writer(tags, lineterminator="\\n")
        tokens.writerow(["id", "word", "gold"])
        tags.writerow(["token", "annotator", "tag"])
        for token, (number, word, said, gold) in enumerate(rows):
            tokens.writerow([number, word, gold])
            tags.writerows((token, j, tag) for j, tag in enumerate(said.split(",")) if tag)
""",
    cite="Hovy, Plank & Søgaard 2014, Experiments with crowdsourced re-annotation, ACL",
)


def load() -> Dataset:
    """Load the votes; ``texts["word"]`` and ``arrays["is_dev"]`` per word.

    With ``lowlands.test.tsv`` also a test set: ``texts["test_word"]``, ``arrays["test_gold"]``
    and ``arrays["test_tweet"]``.  With ``tokens.csv``, the table of Fornaciari et al. 2021, also
    ``arrays["tweet"]``: the crowd's own file does not mark where tweets begin.
    """
    path = locate(INFO, "gimpel_annotations.csv")
    frame = read_table(path, {"token": pl.Int64, "annotator": pl.Int64, "tag": pl.String})
    tags = _encode_tags(path, frame["tag"])
    path = locate(INFO, "gimpel_tokens.csv")
    words = read_table(path, {"id": pl.Int64, "word": pl.String, "gold": pl.String})
    gold = _encode_tags(path, words["gold"])
    people, annotator = encode(frame["annotator"].to_numpy())
    index = Index(number_names(range(len(words))), people, names(TAGS))
    votes = Annotations(index, frame["token"].to_numpy(), annotator, label=tags)
    arrays: dict[str, npt.NDArray[Any]] = {"is_dev": np.arange(len(words)) >= TRAIN}
    tokens = find(INFO, "tokens.csv")
    if tokens is not None:
        tweets = read_table(tokens, {"source": pl.String, "id_sent": pl.Int64})
        arrays["tweet"] = tweets.filter(pl.col("source") == "gimpel")["id_sent"].to_numpy()
    texts = {"word": names(words["word"].to_list())}
    test = find(INFO, "lowlands.test.tsv")
    if test is not None:
        texts["test_word"], arrays["test_gold"], arrays["test_tweet"] = _read_test(test)
    everybody = int((votes.votes_per_item() == len(people)).sum())
    note = (
        f"{everybody} words have a label of all {len(people)} annotators, mostly @USER and URL "
        "tagged by a program; most other words have five."
    )
    notes = (note, *note_repeats(votes))
    return Dataset("pos", INFO, index, None, votes, gold, arrays, texts, notes)


def _encode_tags(path: Path, tags: pl.Series) -> Ints:
    with reading(path):
        codes: Ints = tags.cast(pl.Enum(TAGS)).to_physical().to_numpy()
        return codes


def _read_test(path: Path) -> tuple[Names, Ints, Ints]:
    """Read words, gold tags and tweets of a file with a word and its tag per line."""
    rows: list[tuple[str, int, int]] = []
    tweet = 0
    with open_text(path) as text:
        for line in text:
            word, tab, tag = line.rstrip("\r\n").partition("\t")
            if tab:
                rows.append((word, TAGS.index(tag), tweet))
            else:
                tweet += 1
    return names([row[0] for row in rows]), *np.array([row[1:] for row in rows]).T
