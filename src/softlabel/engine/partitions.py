"""Votes in parts: Parquet files among which every item is in one only.

A step of EM needs no more: each part is processed on its own, and the results are added up.  A part
that is lost is read again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel.aggregate import Engine, Votes
from softlabel.errors import DataError, FileError
from softlabel.io import find_codes, scan_votes
from softlabel.tables import Ints, given_away

MANIFEST, PEOPLE = "manifest.json", "annotators.parquet"
ITEM, ANNOTATOR, LABEL, WEIGHT, ANSWER = "item", "annotator", "label", "weight", "answer"
NAME, PLACE = "name", "place"  # of the table of annotators
REMEDY = "say what to do with --repeats first or all"


@dataclass(frozen=True)
class Partitions:
    """Where the parts are and what their codes mean.  Small: it travels to every worker.

    ``folder`` holds the table of annotators, in alphabetical order whatever their codes in the
    files.  ``places[c]`` is the class that code c stands for; it is None for a user's own files of
    names, which are read where they lie.  ``soft`` files have a row for every class that an answer
    gives a chance to.
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
        """Read each annotator's ``name`` and, where files are coded, ``place`` of code 0, 1, ..."""
        return pl.read_parquet(Path(self.folder) / PEOPLE)

    def save(self) -> None:
        """Write the manifest beside the parts, so that they can be opened again."""
        text = json.dumps(asdict(self) | {"folder": "."}, indent=1)
        (Path(self.folder) / MANIFEST).write_text(text, "utf-8")

    @classmethod
    def open(cls, folder: Path) -> Partitions:
        """Read what ``save`` wrote."""
        path = folder / MANIFEST
        try:
            kept = json.loads(path.read_text("utf-8"))
            lists = {key: tuple(value) for key, value in kept.items() if isinstance(value, list)}
            return cls(**kept | lists | {"folder": str(folder)})
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise FileError(path, f"is no list of parts ({error}); split the votes again") from None


@dataclass(frozen=True)
class ReadOptions:
    """How parts are read: with ``first`` only a person's first answer to an item counts; ``gold``
    is the class, by its code, of the items whose class is known."""

    first: bool = False
    gold: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, kw_only=True)
class Part(Votes):
    """The votes of one part, and where to find the names of its items.

    ``count`` is how many answers each item has; ``answer``, of soft votes, which of them a vote
    belongs to.
    """

    partitions: Partitions
    number: int
    count: Ints
    answer: Ints | None = None

    def __sizeof__(self) -> int:
        """Return the bytes of its arrays: Dask sends work to large data, and small data to work."""
        held = [getattr(self, column.name) for column in fields(self)]
        return sum(array.nbytes for array in held if isinstance(array, np.ndarray))


def read_part(partitions: Partitions, number: int, options: ReadOptions | None = None) -> Part:
    """Read one part, sorted by item; within an item votes stay in their order."""
    options = options or ReadOptions()
    stored, people = pl.read_parquet(partitions.path(number), glob=False), partitions.people()
    item, who = (stored[column] for column in partitions.columns)
    items = _distinct(item)
    if partitions.places is None:
        annotator = find_codes(who.cast(pl.String), people[NAME])
        label = find_codes(stored[LABEL].cast(pl.String), list(partitions.labels))
    else:
        annotator = people[PLACE].to_numpy()[who.to_numpy()]
        label = np.array(partitions.places, dtype=np.int32)[stored[LABEL].to_numpy()]
    frame = pl.DataFrame(
        {
            ITEM: find_codes(item.cast(pl.String), items),
            ANNOTATOR: annotator.astype(np.int32),
            LABEL: label.astype(np.int16 if len(partitions.labels) <= 2**15 else np.int32),
        }
    )
    if partitions.soft:
        frame = frame.hstack(stored.select(WEIGHT, ANSWER))
    if options.first:
        frame = frame.unique([ITEM, ANNOTATOR], keep="first", maintain_order=True)
    count = frame.unique([ITEM, ANSWER])[ITEM] if partitions.soft else frame[ITEM]
    frame = frame.sort(ITEM, maintain_order=True)
    start = np.zeros(len(items) + 1, dtype=np.int64)
    np.cumsum(np.bincount(frame[ITEM].to_numpy(), minlength=len(items)), out=start[1:])
    gold: Ints | None = None
    if options.gold:
        codes = np.array([*options.gold.values(), -1], dtype=np.int32)  # place -1: not known
        gold = codes[find_codes(items, list(options.gold))]

    def array(column: str) -> Any:  # as kernels want it: in one piece, and read-only
        return given_away(frame[column].rechunk().to_numpy().view())

    return Part(
        start=given_away(start),
        annotator=array(ANNOTATOR),
        label=array(LABEL),
        weight=array(WEIGHT) if partitions.soft else None,
        items=len(items),
        annotators=partitions.annotators,
        labels=len(partitions.labels),
        gold=given_away(gold) if gold is not None and (gold >= 0).any() else None,
        partitions=partitions,
        number=number,
        count=given_away(np.bincount(count.to_numpy(), minlength=len(items))),
        answer=array(ANSWER) if partitions.soft else None,
    )


def item_names(partitions: Partitions, number: int) -> pl.Series:
    """Read the items of a part, in the order of its codes."""
    column = partitions.columns[0]
    frame = pl.read_parquet(partitions.path(number), columns=[column], glob=False)
    return _distinct(frame[column])


def _distinct(column: pl.Series) -> pl.Series:
    return column.cast(pl.String).unique(maintain_order=True).alias(ITEM)


# ── repeated answers: all votes on an item are in one part, so each part knows its own ─────────


def first_repeat(part: Part) -> tuple[str, str, int] | None:
    """Return the first item of a part of hard votes that somebody answered again, who it was, and
    how many answers of the part are repeats; None if there are none."""
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    pair = item * max(part.annotators, 1) + part.annotator
    _, first = np.unique(pair, return_index=True)
    again = np.ones(len(pair), dtype=np.bool_)
    again[first] = False
    if not again.any():
        return None
    row = int(again.argmax())
    what = item_names(part.partitions, part.number)[int(item[row])]
    who = part.partitions.people()[NAME][int(part.annotator[row])]
    return what, who, int(again.sum())


def refuse_repeats(engine: Engine, source: Path) -> None:
    """Refuse a second answer of one person to one item."""
    repeats = [repeat for repeat in engine.each(first_repeat) if repeat is not None]
    if not repeats:
        return
    item, who, _ = repeats[0]
    answers = sum(number for _, _, number in repeats)
    rest = f" ({answers} answers are repeats)" if answers > 1 else ""
    event = f"{who!r} answered item {item!r}"
    kind = source.suffix.lower().removeprefix(".")
    scan = None if source.is_dir() else scan_votes(source, kind)
    rows = []
    if scan is not None:  # the first two rows in which this person answers this item
        same = (pl.col(ITEM) == item) & (pl.col(ANNOTATOR) == who)
        query = scan.votes.with_row_index("row").filter(same).select("row").head(2)
        rows = query.collect(engine="streaming")["row"].to_list()
    if len(rows) < 2:
        raise DataError(f"{source}: {event} more than once{rest}; {REMEDY}")
    first, again = rows
    if kind == "csv":  # row 0 is on line 2
        reason = f"{event} on line {first + 2} and again here{rest}; {REMEDY}"
        raise FileError(source, reason, line=again + 2)
    where = f"in row {first + 1} and again in row {again + 1}"
    raise DataError(f"{source}: {event} {where}{rest}; {REMEDY}")
