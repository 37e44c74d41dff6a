"""Making parts: of a large file in one pass that holds little in memory, or of a table."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel._util.progress import Tell, count, silent
from softlabel.engine.partitions import (
    ANNOTATOR,
    ANSWER,
    ITEM,
    LABEL,
    NAME,
    PEOPLE,
    PLACE,
    WEIGHT,
    Partitions,
)
from softlabel.errors import DataError
from softlabel.io import Coding, Scan, blank, places_of
from softlabel.tables import Annotations, Ints

PART = "part"


def split_file(
    scan: Scan, folder: Path, parts: int, labels: list[str] | None = None, tell: Tell = silent
) -> Partitions | None:
    """Stream a file of hard votes into ``parts`` files, by a hash of the item.

    Annotators and labels become codes on the way; their names are stored beside.  None where
    something in the file is odd: the careful readers know how to say it.
    """
    _check(parts)
    who, what, look = Coding(), Coding(), _Look(scan, tell)
    query = scan.votes.map_batches(look, streamable=True).select(
        pl.col(ITEM),
        who.code(ANNOTATOR),
        what.code(LABEL),
        (pl.col(ITEM).hash(0) % parts).alias(PART),
    )
    target = pl.PartitionBy(
        folder,
        key=PART,
        include_key=False,
        file_path_provider=_name,
        approximate_bytes_per_file=None,
    )
    query.sink_parquet(target, compression="lz4", mkdir=True)
    people, said = who.names(), what.names()
    classes = places_of(said, labels or scan.classes)
    if classes is None or look.odd or not scan.whole(look.rows) or blank(people) or blank(said):
        return None
    return _saved(folder, people, classes, look.rows)


def split_table(said: Annotations, folder: Path, parts: int) -> Partitions:
    """Ranges of items of a table, in their order; items without answers are in no part."""
    _check(parts)
    if said.anonymous:
        raise DataError("some votes have no annotator; pools of parts need to know who said what")
    folder.mkdir(parents=True, exist_ok=True)
    answered = np.flatnonzero(said.votes_per_item())
    edges = np.linspace(0, len(answered), min(parts, max(len(answered), 1)) + 1).astype(int)
    place = np.zeros(len(said.index.items), dtype=np.int64)
    place[answered] = np.arange(len(answered))
    order = np.argsort(place[said.item], kind="stable")
    cuts = np.searchsorted(place[said.item[order]], edges)
    items = pl.Series(said.index.items.tolist(), dtype=pl.String)
    for number, (low, high) in enumerate(pairwise(cuts.tolist())):
        frame = _rows(said, items, order[low:high])
        frame.write_parquet(folder / _file(number), compression="lz4")
    people = pl.Series(said.index.annotators.tolist(), dtype=pl.String)
    labels = said.index.labels.tolist()
    classes = labels, np.arange(len(labels))
    return _saved(folder, people, classes, len(said), soft=not said.hard)


def _check(parts: int) -> None:
    if parts < 1:
        raise DataError(f"parts = {parts}: at least one is needed")


# ── streaming ────────────────────────────────────────────────────────────────────────────────


class _Look:
    """Sees every batch pass: counts its rows and notices cells that hold nothing."""

    def __init__(self, scan: Scan, tell: Tell) -> None:
        self.scan, self.tell, self.rows, self.odd = scan, tell, 0, False

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        self.rows += len(batch)
        self.odd |= any(batch.null_count().row(0)) or blank(batch[ITEM])
        doing = f"splitting {self.scan.path.name}: {count(self.rows)} votes"
        self.tell(doing, self.rows, self.scan.rows)
        return batch


def _name(which: Any) -> str:
    """What polars is to call a file; it has no public type for what it asks with."""
    return _file(which.partition_keys[PART][0])


def _file(number: int) -> str:
    return f"part-{number:05d}.parquet"


# ── storing ──────────────────────────────────────────────────────────────────────────────────


def _rows(said: Annotations, items: pl.Series, rows: Ints) -> pl.DataFrame:
    """These rows of a table as they are stored; soft ones class by class."""
    if said.label is not None:
        columns = {ANNOTATOR: said.annotator[rows], LABEL: said.label[rows]}
        return pl.DataFrame({ITEM: items.gather(said.item[rows])} | columns)
    probs = said.soft()[rows]
    row, label = np.nonzero(probs)
    return pl.DataFrame(
        {
            ITEM: items.gather(said.item[rows[row]]),
            ANNOTATOR: said.annotator[rows[row]],
            LABEL: label.astype(np.int32),
            WEIGHT: probs[row, label],
            ANSWER: row.astype(np.int32),
        }
    )


def _saved(
    folder: Path, people: pl.Series, classes: tuple[list[str], Ints], votes: int, soft: bool = False
) -> Partitions:
    labels, places = classes
    write_people(folder, people)
    files = tuple(sorted(path.name for path in folder.glob("part-*.parquet")))
    made = Partitions(
        folder=str(folder),
        files=files,
        labels=tuple(labels),
        annotators=len(people),
        votes=votes,
        places=tuple(places.tolist()),
        soft=soft,
    )
    made.save()
    return made


def write_people(folder: Path, people: pl.Series) -> None:
    """The names of the annotators in alphabetical order, and the place there of each code."""
    order = people.arg_sort().to_numpy()
    place = np.empty(len(people), dtype=np.int32)
    place[order] = np.arange(len(people), dtype=np.int32)
    pl.DataFrame({NAME: people.gather(order), PLACE: place}).write_parquet(folder / PEOPLE)
