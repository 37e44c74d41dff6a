"""Large files of hard votes, read in batches: names become codes on the way.

A cell of text costs sixteen bytes and more, a code two or four.  So names never stand in memory
row by row: polars reads a batch, each name becomes the code of a category, and only distinct names
are kept.  Whatever looks odd (an empty cell, quotes, a class that nobody announced) is left to the
careful readers: they know the line, and say what is wrong.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel._util.progress import Tell, count, silent
from softlabel.errors import FileError
from softlabel.io.codes import Coding, by_appearance, compact, natural
from softlabel.io.opening import BOM
from softlabel.io.shapes import ANNOTATOR, ITEM, LABEL, Shape, shape_of
from softlabel.io.votes import NAMES
from softlabel.tables import Annotations, Index, Ints, given_away, names

LARGE = 32_000_000  # bytes from which a file is read in batches
CHUNK = 2**22  # bytes looked at together; more would not stay in the processor's cache
BATCH = 2**19  # rows


@dataclass(frozen=True)
class Scan:
    """A file of hard votes that polars can be trusted to read: a lazy table of item, annotator and
    label, all of them text, and how many rows there are (at most, of CSV).

    ``columns`` are the file's own names of item and annotator, ``classes`` those it declares;
    ``commas`` is what a CSV file has in its header and in all.
    """

    path: Path
    votes: pl.LazyFrame
    rows: int
    columns: tuple[str, str]
    classes: tuple[str, ...] | None = None
    commas: tuple[int, int] | None = None

    def whole(self, rows: int) -> bool:
        """True if so many rows are all that the file holds: none was short, none was blank."""
        if self.commas is None:
            return rows == self.rows > 0
        each, total = self.commas
        return rows > 0 and total == (rows + 1) * each


def read_large(path: Path, kind: str, labels: list[str] | None, tell: Tell) -> Annotations | None:
    """The votes, items and annotators in order of first appearance; None: read it carefully."""
    scan = scan_votes(path, kind, tell)
    found = None if scan is None else _read(scan, tell)
    if scan is None or found is None:
        return None
    tell("numbering the names")
    items, item = _numbered(*found.pop(ITEM))  # the names are let go as soon as they are numbered
    people, annotator = _numbered(*found.pop(ANNOTATOR))
    coding, label = found.pop(LABEL)
    said = coding.names()
    classes = places_of(said, labels or scan.classes)
    if classes is None or blank(items) or blank(people) or blank(said):
        return None
    index = Index(compact(items), compact(people), names(classes[0]))
    return Annotations(index, item, annotator, label=given_away(classes[1][label]))


def _numbered(coding: Coding, codes: Ints) -> tuple[pl.Series, Ints]:
    """The names and the codes of the rows, in order of first appearance."""
    order, codes = by_appearance(codes)
    return coding.names(order), codes


def places_of(said: pl.Series, labels: Sequence[str] | None) -> tuple[list[str], Ints] | None:
    """The classes (those that occur, where none are given), and the place among them of each name;
    None where a name is not among them, or looks like a missing value."""
    found = said.to_list()
    if labels is None and any(name.lower() == "nan" for name in found):
        return None
    classes = natural(found) if labels is None else list(labels)
    known = {name: place for place, name in enumerate(classes)}
    places = np.array([known.get(name, -1) for name in found], dtype=np.int32)
    return None if (places < 0).any() else (classes, places)


def blank(column: pl.Series) -> bool:
    """True if some name is nothing but space; only names that begin like it are looked at."""
    spaced = column.filter((column < "!") | (column > "~"))
    return bool((spaced.str.strip_chars() == "").any())


# ── scanning ─────────────────────────────────────────────────────────────────────────────────


def scan_votes(path: Path, kind: str, tell: Tell = silent) -> Scan | None:
    """A lazy view of a file of hard votes, or None if it needs careful reading."""
    try:
        return _scan_csv(path, tell) if kind == "csv" else _scan_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, FileError, OSError):
        return None  # the careful reader will say what is wrong


def _scan_csv(path: Path, tell: Tell) -> Scan | None:
    counted = _counted(path, tell)
    if counted is None:
        return None
    commas, lines = counted
    with path.open("rb") as file:
        columns = file.readline().decode().rstrip("\r\n").split(",")
    if len(set(columns)) != len(columns) or columns == [""]:
        return None
    votes = pl.scan_csv(path, infer_schema=False, glob=False)
    shape = shape_of(path, columns)
    if not _hard(shape, columns):
        return None
    who = (shape.item, shape.annotator)
    return Scan(path, _text(votes, shape), lines, who, commas=(len(columns) - 1, commas))


def _counted(path: Path, tell: Tell) -> tuple[int, int] | None:
    """Commas and line ends of a text file without quotes, lone carriage returns, cells that begin
    with an apostrophe or bytes that are not UTF-8; None if it has such."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    returns, size = _Returns(), path.stat().st_size
    commas = lines = done = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if done == 0 and chunk.startswith(BOM):
                return None
            done += len(chunk)
            tell(f"looking through {path.name}", done, size)
            if b'"' in chunk or b"\0" in chunk or _apostrophes(chunk) or not returns(chunk):
                return None
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return None
            commas += _count(chunk, ",")
            lines += _count(chunk, "\n")
    return None if returns.open else (commas, lines)


def _apostrophes(chunk: bytes) -> bool:
    """True if some cell begins with one (or may, where a chunk does): it may be escaped."""
    return b"'" in chunk and (chunk.startswith(b"'") or b",'" in chunk or b"\n'" in chunk)


class _Returns:
    """True as long as every carriage return comes before a line feed."""

    open = False  # the last byte was one

    def __call__(self, chunk: bytes) -> bool:
        if self.open and not chunk.startswith(b"\n"):
            return False
        self.open = chunk.endswith(b"\r")
        found = chunk.count(b"\r") - self.open
        return found == 0 or found == chunk.count(b"\r\n")


def _count(chunk: bytes, mark: str) -> int:
    """Several times as fast as ``bytes.count`` where there are many."""
    return int(np.count_nonzero(np.frombuffer(chunk, dtype=np.uint8) == ord(mark)))


def _scan_parquet(path: Path) -> Scan | None:
    votes = pl.scan_parquet(path, glob=False)
    schema = votes.collect_schema()
    shape = shape_of(path, schema.names())
    if not _hard(shape, schema.names()):
        return None
    kinds = [schema[name] for name in (shape.item, shape.annotator, LABEL)]
    if not all(kind in NAMES or kind.is_integer() for kind in kinds):
        return None
    rows = votes.select(pl.len()).collect().item()
    classes = tuple(kinds[2].categories) if isinstance(kinds[2], pl.Enum) else None
    return Scan(path, _text(votes, shape), rows, (shape.item, shape.annotator), classes)


def _hard(shape: Shape, columns: Sequence[str]) -> bool:
    return shape.kind == "hard" and "response_uuid" not in columns


def _text(votes: pl.LazyFrame, shape: Shape) -> pl.LazyFrame:
    columns = {ITEM: shape.item, ANNOTATOR: shape.annotator, LABEL: LABEL}
    return votes.select(pl.col(column).cast(pl.String).alias(k) for k, column in columns.items())


# ── reading ──────────────────────────────────────────────────────────────────────────────────


def _read(scan: Scan, tell: Tell) -> dict[str, tuple[Coding, Ints]] | None:
    """Of each column what knows its names, and the codes of its rows."""
    codings = {name: Coding() for name in (ITEM, ANNOTATOR, LABEL)}
    query = scan.votes.select(coding.code(name) for name, coding in codings.items())
    try:
        codes = _collected(query, scan, tell)
    except pl.exceptions.PolarsError:
        return None
    if codes is None:
        return None
    return {name: (codings[name], column) for name, column in zip(codings, codes, strict=True)}


def _collected(query: pl.LazyFrame, scan: Scan, tell: Tell) -> list[Ints] | None:
    """The columns of a query for codes, put together batch by batch."""
    columns = query.collect_schema().names()
    codes: list[npt.NDArray[np.uint32]] = [np.empty(scan.rows, dtype=np.uint32) for _ in columns]
    done = 0
    for batch in query.collect_batches(chunk_size=BATCH):
        if any(batch.null_count().row(0)) or done + len(batch) > scan.rows:
            return None
        for array, name in zip(codes, columns, strict=True):
            array[done : done + len(batch)] = batch[name].to_numpy()
        done += len(batch)
        tell(f"reading {scan.path.name}: {count(done)} votes", done, scan.rows)
    if not scan.whole(done):
        return None
    return [given_away(array[:done].view(np.int32)) for array in codes]
