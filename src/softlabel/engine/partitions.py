"""Votes in parts: Parquet files among which every item is in one only.

That is all a step of EM needs to know of them: a part is worked through on its own, and what comes
out is added up.  A part that is lost is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel.aggregate import Votes
from softlabel.errors import FileError
from softlabel.io import codes_among
from softlabel.tables import Ints, given_away

MANIFEST, PEOPLE = "manifest.json", "annotators.parquet"
ITEM, ANNOTATOR, LABEL, WEIGHT, ANSWER = "item", "annotator", "label", "weight", "answer"
NAME, PLACE = "name", "place"  # of the table of annotators


@dataclass(frozen=True)
class Partitions:
    """Where the parts are and what their codes mean.  Small: it travels to every worker.

    ``folder`` holds the table of annotators, in alphabetical order whatever their codes in the
    files.  ``places[c]`` is the class that code c stands for; it is None for files of names, as
    users keep them: those are read where they lie.  ``soft`` files have a row for every class that
    an answer gives a chance to.
    """

    folder: str
    files: tuple[str, ...]
    labels: tuple[str, ...]
    annotators: int
    votes: int
    places: tuple[int, ...] | None
    soft: bool = False
    columns: tuple[str, str] = (ITEM, ANNOTATOR)

    def __len__(self) -> int:
        return len(self.files)

    @property
    def table_bytes(self) -> int:
        """The size of a table of confusions: annotators x labels x labels numbers."""
        return self.annotators * len(self.labels) ** 2 * 8

    def path(self, number: int) -> Path:
        return Path(self.folder) / self.files[number]  # a file with a path of its own keeps it

    def people(self) -> pl.DataFrame:
        """``name`` of each annotator and, where files are coded, the ``place`` of code 0, 1, ..."""
        return pl.read_parquet(Path(self.folder) / PEOPLE)

    def save(self) -> None:
        """Beside the parts, so that they can be opened again."""
        text = json.dumps(asdict(self) | {"folder": "."}, indent=1)
        (Path(self.folder) / MANIFEST).write_text(text, "utf-8")

    @classmethod
    def open(cls, folder: Path) -> Partitions:
        """What ``save`` wrote."""
        path = folder / MANIFEST
        try:
            kept = json.loads(path.read_text("utf-8"))
            lists = {key: tuple(value) for key, value in kept.items() if isinstance(value, list)}
            return cls(**kept | lists | {"folder": str(folder)})
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise FileError(path, f"is no list of parts ({error}); split the votes again") from None


@dataclass(frozen=True)
class Reading:
    """How parts are read: with ``first`` only a person's first answer to an item counts; ``gold``
    is the class, by its code, of the items whose class is known."""

    first: bool = False
    gold: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Votes):
    """The votes of one part, and where the names of its items are, for when they are needed.

    ``count`` is how many answers each item has; ``answer``, of soft votes, which of them a vote
    belongs to.
    """

    partitions: Partitions
    number: int
    count: Ints
    answer: Ints | None = None

    def __sizeof__(self) -> int:
        """What it really holds: Dask sends work to what is large, and sends about what is not."""
        held = [getattr(self, column.name) for column in fields(self)]
        return sum(array.nbytes for array in held if isinstance(array, np.ndarray))


def read_part(partitions: Partitions, number: int, reading: Reading | None = None) -> Part:
    """One part, item by item; within an item votes stay in their order."""
    reading = reading or Reading()
    frame = pl.read_parquet(partitions.path(number), glob=False)
    items, frame = _coded(partitions, frame)
    if reading.first:
        frame = frame.unique([ITEM, ANNOTATOR], keep="first", maintain_order=True)
    count = frame.unique([ITEM, ANSWER])[ITEM] if partitions.soft else frame[ITEM]
    frame = frame.sort(ITEM, maintain_order=True)
    start = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum(np.bincount(frame[ITEM].to_numpy(), minlength=len(items)), out=start[1:])
    return Part(
        start=given_away(start),
        annotator=_array(frame, ANNOTATOR),
        label=_array(frame, LABEL),
        weight=_array(frame, WEIGHT) if partitions.soft else None,
        items=len(items),
        annotators=partitions.annotators,
        labels=len(partitions.labels),
        gold=_gold(items, reading.gold),
        partitions=partitions,
        number=number,
        count=given_away(np.bincount(count.to_numpy(), minlength=len(items))),
        answer=_array(frame, ANSWER) if partitions.soft else None,
    )


def item_names(partitions: Partitions, number: int) -> pl.Series:
    """The items of a part, in the order of its codes."""
    column = partitions.columns[0]
    frame = pl.read_parquet(partitions.path(number), columns=[column], glob=False)
    return _distinct(frame[column])


def _distinct(column: pl.Series) -> pl.Series:
    return column.cast(pl.String).unique(maintain_order=True).alias(ITEM)


def _coded(partitions: Partitions, frame: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """The names of the items, and the rows with codes for all names."""
    item, who = (frame[column] for column in partitions.columns)
    people = partitions.people()
    items = _distinct(item)
    if partitions.places is None:
        annotator = codes_among(who.cast(pl.String), people[NAME])
        label = codes_among(frame[LABEL].cast(pl.String), list(partitions.labels))
    else:
        annotator = people[PLACE].to_numpy()[who.to_numpy()]
        label = np.array(partitions.places, dtype=np.int32)[frame[LABEL].to_numpy()]
    small = np.int16 if len(partitions.labels) <= 2**15 else np.int32
    codes = {
        ITEM: codes_among(item.cast(pl.String), items),
        ANNOTATOR: annotator.astype(np.int32),
        LABEL: label.astype(small),
    }
    rest = frame.select(WEIGHT, ANSWER) if partitions.soft else pl.DataFrame()
    return items, pl.DataFrame(codes).hstack(rest)


def _array(frame: pl.DataFrame, column: str) -> Any:
    """A column as kernels want it: in one piece, and not to be written to."""
    return given_away(frame[column].rechunk().to_numpy().view())


def _gold(items: pl.Series, gold: Mapping[str, int]) -> Ints | None:
    """(m,) the class of each item, -1 where it is not known; None where none is."""
    if not gold:
        return None
    codes = np.array([*gold.values(), -1], dtype=np.int32)  # whoever is not found has place -1
    found = codes[codes_among(items, list(gold))]
    return given_away(found) if (found >= 0).any() else None
