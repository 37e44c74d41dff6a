"""POPQUORN: ratings from 1 to 5 by a sample of people that represents the United States.

Pei & Jurgens 2023, "When Do Annotator Demographics Matter?".  No licence is stated.  Parts:
``offensiveness`` of 1,500 Reddit comments (13,036 ratings of 262 people, with what they told of
themselves), ``politeness`` of 3,718 e-mails (25,042 ratings of 506 people).  The texts may offend.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel.datasets.base import Dataset, File, Info, locate
from softlabel.datasets.reading import (
    encode_votes,
    note_repeats,
    number_names,
    read_json_lines,
    read_table,
    reading,
)
from softlabel.errors import FileError
from softlabel.tables import Annotations, Index, Names, names

ABOUT = ("gender", "race", "age", "occupation", "education")
POLITENESS_COUNTS = "4a820e94d403ac70786a4b040f8c7230c4f35567fa90d48b31463481f559ef0c"


def _check_politeness(path: Path) -> str:
    """Return what is wrong with the votes; the annotators are numbered anew by every user."""
    votes = _read_ratings(path, "annotator", "politeness")[0]
    got = hashlib.sha256(votes.counts().astype("<i8").tobytes()).hexdigest()
    return "" if got == POLITENESS_COUNTS else f"{path}: the ratings are not the released ones"


INFO = Info(
    name="popquorn",
    title="POPQUORN",
    home="https://github.com/Jiaxin-Pei/Potato-Prolific-Dataset",
    licence="none stated",
    files=(
        File(
            "offensiveness_raw_data.csv",
            "fb0589093d45da76bf4ef4d0abff679b540bdd5b17af5764913b3ccd0a069e1e",
            "https://raw.githubusercontent.com/Jiaxin-Pei/Potato-Prolific-Dataset/"
            "c329119e878037654f6aa59b319aae6e996585bb/dataset/offensiveness/raw_data.csv",
        ),
        File("politeness_annotations.csv", None, check=_check_politeness),
        File("politeness_text.jsonl", None),
    ),
    parts=("offensiveness", "politeness"),
    by_hand="""\
Copies of the politeness ratings name people by their ids on the platform,
which softlabel does not read. Download dataset/politeness_rating/raw_data.csv from
https://github.com/Jiaxin-Pei/Potato-Prolific-Dataset and run beside it:

    import polars as pl
    raw = pl.read_csv("raw_data.csv")
    people = raw["user_id"].unique().sample(fraction=1, shuffle=True)  # in an order nobody knows
    people = {who: i for i, who in enumerate(people)}
    raw.select("instance_id", annotator=pl.col("user_id").replace_strict(people),
               politeness=pl.col("politeness").cast(int)).write_csv("politeness_annotations.csv")
    raw.select("instance_id", "text").unique().write_ndjson("politeness_text.jsonl")
""",
    cite="Pei & Jurgens 2023, When Do Annotator Demographics Matter?, LAW-XVII, arXiv 2306.06826",
)


def load(part: str = "") -> Dataset:
    """Load the ratings of one task; its five classes are ordered."""
    notes: tuple[str, ...] = ("The classes are ordered.",)
    arrays: dict[str, npt.NDArray[Any]] = {}
    if INFO.part(part) == "offensiveness":
        path = locate(INFO, "offensiveness_raw_data.csv")
        votes, frame = _read_ratings(path, "user_id", part, "text", *ABOUT)
        texts = _first_per_key(frame, "instance_id", "text")
        arrays = {f"annotator_{about}": _first_per_key(frame, "user_id", about) for about in ABOUT}
        notes += ("arrays['annotator_gender'] and so on hold one entry per annotator.",)
    else:
        votes, _ = _read_ratings(locate(INFO, "politeness_annotations.csv"), "annotator", part)
        path = locate(INFO, "politeness_text.jsonl")
        with reading(path):
            text = {str(row["instance_id"]): row["text"] for row in read_json_lines(path)}
            texts = names([text[item] for item in votes.index.items.tolist()])
    notes += note_repeats(votes)
    name, every = f"popquorn/{part}", {"text": texts}
    return Dataset(name, INFO, votes.index, None, votes, None, arrays, every, notes)


def _read_ratings(
    path: Path, who: str, rating: str, *columns: str
) -> tuple[Annotations, pl.DataFrame]:
    types = {"instance_id": pl.Int64, who: pl.Int64, rating: pl.Float64}
    frame = read_table(path, types | dict.fromkeys(columns, pl.String))
    items, item, annotators, annotator = encode_votes(frame, "instance_id", who)
    stars = frame[rating].to_numpy()
    wrong = ~np.isin(stars, np.arange(1, 6))
    if wrong.any():
        line = int(wrong.argmax())
        raise FileError(path, "not 1 to 5", line=line + 2, column=rating, value=stars[line])
    index = Index(items, annotators, number_names(range(1, 6)))
    return Annotations(index, item, annotator, label=stars.astype(np.int64) - 1), frame


def _first_per_key(frame: pl.DataFrame, key: str, column: str) -> Names:
    """Return a column that repeats with its key, once per key, in the order of the index."""
    return names(frame.unique(key, keep="first").sort(key)[column].to_list())
