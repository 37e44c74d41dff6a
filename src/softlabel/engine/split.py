"""Make parts: of a large file in one pass that needs little memory, of a table, or of a folder of
Parquet files that is partitioned already and is read where it lies."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel._util.progress import Progress, abbreviate, silent
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
from softlabel.errors import DataError, FileError
from softlabel.io import Coding, Scan, has_blank, match_classes, read_answers, scan_votes
from softlabel.tables import Annotations

PART, HASH = "part", "hash"


# ── a file ───────────────────────────────────────────────────────────────────────────────────


def split_file(
    scan: Scan,
    folder: Path,
    parts: int,
    labels: list[str] | None = None,
    progress: Progress = silent,
) -> Partitions | None:
    """Stream a file of hard votes into ``parts`` files, by a hash of the item.

    Annotators and labels become codes on the way; their names are stored beside.  Return None
    where something in the file is odd: the careful readers report what it is.
    """
    _check_number(parts)
    who, what, watch = Coding(), Coding(), _Watch(scan, progress)
    query = scan.votes.map_batches(watch, streamable=True).select(
        pl.col(ITEM),
        who.code(ANNOTATOR),
        what.code(LABEL),
        (pl.col(ITEM).hash(0) % parts).alias(PART),
    )
    target = pl.PartitionBy(
        folder,
        key=PART,
        include_key=False,
        # polars has no public type for the argument
        file_path_provider=lambda which: _file_name(which.partition_keys[PART][0]),
        approximate_bytes_per_file=None,
    )
    query.sink_parquet(target, compression="lz4", mkdir=True)
    people, voted = who.names(), what.names()
    classes = match_classes(voted, labels or scan.classes)
    whole = scan.is_whole(watch.rows) and not watch.odd
    if classes is None or not whole or has_blank(people) or has_blank(voted):
        return None
    labels, places = classes
    return _save(folder, people, labels, watch.rows, places=tuple(places.tolist()))


class _Watch:
    """Sees every batch pass: counts its rows and notices empty cells."""

    def __init__(self, scan: Scan, progress: Progress) -> None:
        self.scan, self.progress, self.rows, self.odd = scan, progress, 0, False

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        self.rows += len(batch)
        self.odd |= any(batch.null_count().row(0)) or has_blank(batch[ITEM])
        step = f"splitting {self.scan.path.name}: {abbreviate(self.rows)} votes"
        self.progress(step, self.rows, self.scan.rows)
        return batch


# ── a table ──────────────────────────────────────────────────────────────────────────────────


def split_table(votes: Annotations, folder: Path, parts: int) -> Partitions:
    """Split a table into ranges of items, in their order; items without answers are in no part."""
    _check_number(parts)
    if votes.anonymous:
        raise DataError("some votes have no annotator; pools of parts need to know who said what")
    folder.mkdir(parents=True, exist_ok=True)
    answered = np.flatnonzero(votes.votes_per_item())
    edges = np.linspace(0, len(answered), min(parts, max(len(answered), 1)) + 1).astype(int)
    place = np.zeros(len(votes.index.items), dtype=np.int64)
    place[answered] = np.arange(len(answered))
    order = np.argsort(place[votes.item], kind="stable")
    cuts = np.searchsorted(place[votes.item[order]], edges)
    items = pl.Series(votes.index.items.tolist(), dtype=pl.String)
    for number, (low, high) in enumerate(pairwise(cuts.tolist())):
        rows = order[low:high]
        if votes.label is not None:
            columns: dict[str, Any] = {LABEL: votes.label[rows]}
        else:  # soft votes have a row per class
            probs = votes.soft()[rows]
            row, label = np.nonzero(probs)
            rows = rows[row]
            columns = {LABEL: label.astype(np.int32), WEIGHT: probs[row, label]}
            columns[ANSWER] = row.astype(np.int32)
        who = {ITEM: items.gather(votes.item[rows]), ANNOTATOR: votes.annotator[rows]}
        pl.DataFrame(who | columns).write_parquet(folder / _file_name(number), compression="lz4")
    people = pl.Series(votes.index.annotators.tolist(), dtype=pl.String)
    labels = votes.index.labels.tolist()
    places = tuple(range(len(labels)))
    return _save(folder, people, labels, len(votes), places=places, soft=not votes.hard)


# ── a folder ─────────────────────────────────────────────────────────────────────────────────


def open_folder(
    folder: Path, work: Path, labels: list[str] | None = None, progress: Progress = silent
) -> Partitions:
    """Open a folder of ``.parquet`` files of hard votes, each item in one of them only.

    Annotators and classes are looked up once, and their names stored in ``work``.  A folder in
    which an item is in two files is refused: its votes would be pooled apart.
    """
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        raise FileError(folder, "holds no .parquet files")
    who, what = Coding(), Coding()
    scans, hashes = [], []
    for number, path in enumerate(paths, 1):
        scan = scan_votes(path, "parquet")
        if scan is None:
            raise _explain([path], labels)
        scans.append(scan)
        progress(f"looking through {path.name}", number, len(paths))
        query = scan.votes.select(
            pl.col(ITEM).hash(0).unique().implode().alias(HASH),
            who.code(ANNOTATOR).max(),
            what.code(LABEL).max(),
            nulls=pl.sum_horizontal(pl.col(ITEM, ANNOTATOR, LABEL).null_count()),
            blank=(pl.col(ITEM).str.strip_chars() == "").any(),
        )
        facts = query.collect(engine="streaming").row(0, named=True)
        if facts["nulls"] or facts["blank"]:
            raise _explain([path], labels)
        hashes.append(pl.Series(HASH, facts[HASH], dtype=pl.UInt64))
    people, voted = who.names(), what.names()
    classes = match_classes(voted, labels or scans[0].classes)
    if classes is None or has_blank(people) or has_blank(voted):
        raise _explain(paths, labels)
    refuse_shared_items(scans, hashes)
    work.mkdir(parents=True, exist_ok=True)
    files = tuple(str(path.resolve()) for path in paths)
    votes = sum(scan.rows for scan in scans)
    return _save(work, people, classes[0], votes, files=files, columns=scans[0].columns)


def refuse_shared_items(scans: list[Scan], hashes: list[pl.Series]) -> None:
    """Refuse an item that is in two files; ``hashes`` are those of each file's items."""
    together = np.sort(np.concatenate([column.to_numpy() for column in hashes]))
    for same in np.unique(together[1:][together[1:] == together[:-1]]).tolist():
        holders: dict[str, str] = {}
        for scan, column in zip(scans, hashes, strict=True):
            if same not in column:
                continue
            items = scan.votes.filter(pl.col(ITEM).hash(0) == same).select(ITEM).unique().collect()
            for name in items[ITEM].to_list():  # two names may have the same hash
                if name in holders:
                    raise DataError(
                        f"{scan.path.parent}: item {name!r} is in {holders[name]} and in "
                        f"{scan.path.name}; all votes on an item must be in one file"
                    )
                holders[name] = scan.path.name


def _explain(paths: list[Path], labels: list[str] | None) -> DataError:
    """Return what is wrong with one of the files, in the words of the careful reader."""
    for path in paths:
        try:
            read_answers(path, labels)
        except DataError as error:
            return error
    shape = "the files of a folder hold hard votes (item, annotator, label)"
    return FileError(paths[0], f"cannot be read in parts: {shape}")


# ── storing ──────────────────────────────────────────────────────────────────────────────────


def _check_number(parts: int) -> None:
    if parts < 1:
        raise DataError(f"parts = {parts}: at least one is needed")


def _file_name(number: int) -> str:
    return f"part-{number:05d}.parquet"


def _save(
    folder: Path, people: pl.Series, labels: Sequence[str], votes: int, **more: Any
) -> Partitions:
    """Write the manifest, and the names of the annotators in alphabetical order with the place
    there of each code."""
    order = people.arg_sort().to_numpy()
    place = np.empty(len(people), dtype=np.int32)
    place[order] = np.arange(len(people), dtype=np.int32)
    pl.DataFrame({NAME: people.gather(order), PLACE: place}).write_parquet(folder / PEOPLE)
    written = tuple(sorted(path.name for path in folder.glob("part-*.parquet")))
    fields = {"files": written, "places": None} | more
    partitions = Partitions(
        folder=str(folder), labels=tuple(labels), annotators=len(people), votes=votes, **fields
    )
    partitions.save()
    return partitions
