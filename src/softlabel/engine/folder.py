"""A folder of Parquet files that is partitioned already: it is read where it lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from softlabel import io as files
from softlabel._util.progress import Tell, silent
from softlabel.engine.partitions import ANNOTATOR, ITEM, LABEL, Partitions
from softlabel.engine.split import write_people
from softlabel.errors import DataError, FileError
from softlabel.io import Coding, Scan, blank, places_of, scan_votes

HASH = "hash"


def open_folder(
    folder: Path, work: Path, labels: list[str] | None = None, tell: Tell = silent
) -> Partitions:
    """Hard votes in the ``.parquet`` files of a folder, each item in one of them only.

    Annotators and classes are looked up once, and their names stored in ``work``.  A folder in
    which an item is in two files is refused: its votes would be pooled apart.
    """
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        raise FileError(folder, "holds no .parquet files")
    scans = [_scanned(path, labels) for path in paths]
    who, what = Coding(), Coding()
    hashes = []
    for number, scan in enumerate(scans, 1):
        tell(f"looking through {scan.path.name}", number, len(scans))
        hashes.append(_looked_through(scan, (who, what), labels))
    people, said = who.names(), what.names()
    classes = places_of(said, labels or scans[0].classes)
    if classes is None or blank(people) or blank(said):
        raise _odd(paths, labels)
    refuse_shared(scans, hashes)
    work.mkdir(parents=True, exist_ok=True)
    write_people(work, people)
    made = Partitions(
        folder=str(work),
        files=tuple(str(path.resolve()) for path in paths),
        labels=tuple(classes[0]),
        annotators=len(people),
        votes=sum(scan.rows for scan in scans),
        places=None,
        columns=scans[0].columns,
    )
    made.save()
    return made


def refuse_shared(scans: list[Scan], hashes: list[pl.Series]) -> None:
    """Complain about an item that is in two files; ``hashes`` are those of each file's items."""
    together = np.sort(np.concatenate([column.to_numpy() for column in hashes]))
    for same in np.unique(together[1:][together[1:] == together[:-1]]).tolist():
        holders: dict[str, str] = {}
        for scan, column in zip(scans, hashes, strict=True):
            if same not in column:
                continue
            found = scan.votes.filter(pl.col(ITEM).hash(0) == same).select(ITEM).unique().collect()
            for name in found[ITEM].to_list():  # two names may have the same hash
                if name in holders:
                    raise DataError(
                        f"{scan.path.parent}: item {name!r} is in {holders[name]} and in "
                        f"{scan.path.name}; all votes on an item must be in one file"
                    )
                holders[name] = scan.path.name


def _scanned(path: Path, labels: list[str] | None) -> Scan:
    scan = scan_votes(path, "parquet")
    if scan is None:
        raise _odd([path], labels)
    return scan


def _looked_through(
    scan: Scan, codings: tuple[Coding, Coding], labels: list[str] | None
) -> pl.Series:
    """The hashes of a file's items; its annotators and labels are met on the way."""
    whole = scan.votes.select(
        pl.col(ITEM).hash(0).unique().implode().alias(HASH),
        codings[0].code(ANNOTATOR).max(),
        codings[1].code(LABEL).max(),
        nulls=pl.sum_horizontal(pl.col(ITEM, ANNOTATOR, LABEL).null_count()),
        blank=(pl.col(ITEM).str.strip_chars() == "").any(),
    )
    facts = whole.collect(engine="streaming").row(0, named=True)
    if facts["nulls"] or facts["blank"]:
        raise _odd([scan.path], labels)
    return pl.Series(HASH, facts[HASH], dtype=pl.UInt64)


def _odd(paths: list[Path], labels: list[str] | None) -> DataError:
    """What is wrong with one of the files, in the words of the careful reader."""
    for path in paths:
        try:
            files.read(path, labels)
        except DataError as error:
            return error
    return FileError(
        paths[0],
        "cannot be read in parts: the files of a folder hold hard votes (item, annotator, label)",
    )
