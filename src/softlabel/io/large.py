"""Large files of hard votes, read in batches: names become codes on the way.

A cell of text costs sixteen bytes and more, a code two or four.  So names are never kept in memory
row by row: polars reads a batch, each name becomes the code of a category, and only distinct names
are kept.  Whatever looks odd (an empty cell, quotes, a class that was not announced) is left to the
careful readers, which report what is wrong and on which line.
"""

import codecs
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel._util.progress import Progress, abbreviate, silent
from softlabel.errors import FileError
from softlabel.io.columns import ANNOTATOR, ITEM, LABEL, find, normalise
from softlabel.io.sheet import BOM, Reading, detect_shape
from softlabel.io.votes import (
    ABSENT,
    COUNT,
    NAME_TYPES,
    as_text,
    find_twins,
    merge_spellings,
    sort_naturally,
)
from softlabel.tables import NAMES, Annotations, Index, Ints, Names, given_away, names

LARGE = 32_000_000  # bytes from which a file is read in batches
CHUNK = 2**22  # bytes looked at together; more would not stay in the processor's cache
BATCH = 2**19  # rows of a batch
PIECE = 2**16  # names that are Python objects at the same time
ROWS = 2**20  # codes that are renumbered at a time


def read_large(
    path: Path,
    kind: str,
    labels: list[str] | None,
    progress: Progress,
    reading: Reading | None = None,
) -> Annotations | None:
    """Read votes, items and annotators in order of first appearance; None: read it carefully."""
    reading = reading or Reading()
    scan = scan_votes(path, kind, progress, reading.columns)
    if scan is None:
        return None
    codings = {ITEM: Coding(), ANNOTATOR: Coding(), LABEL: Coding()}
    query = scan.votes.select(coding.code(name) for name, coding in codings.items())
    codes: list[npt.NDArray[np.uint32]] = [np.empty(scan.rows, dtype=np.uint32) for _ in codings]
    done = 0
    try:
        for batch in query.collect_batches(chunk_size=BATCH):
            if any(batch.null_count().row(0)) or done + len(batch) > scan.rows:
                return None
            for array, column in zip(codes, batch, strict=True):
                array[done : done + len(batch)] = column.to_numpy()
            done += len(batch)
            progress(f"reading {scan.path.name}: {abbreviate(done)} votes", done, scan.rows)
    except pl.exceptions.PolarsError:
        return None
    if not scan.is_whole(done):
        return None
    progress("numbering the names")
    item, annotator, label = (given_away(codes.pop(0)[:done].view(np.int32)) for _ in codings)
    order, item = order_by_appearance(item)
    items = codings[ITEM].names(order)
    order, annotator = order_by_appearance(annotator)
    people = codings[ANNOTATOR].names(order)
    voted = codings[LABEL].names()
    classes = match_classes(voted, labels or scan.classes, reading.spelling)
    if classes is None or has_blank(items) or has_blank(people) or has_blank(voted):
        return None
    if reading.spelling != "keep" and (has_twins(items) or has_twins(people)):
        return None
    index = Index(compact_names(items), compact_names(people), names(classes[0]))
    return Annotations(index, item, annotator, label=given_away(classes[1][label]))


def match_classes(
    voted: pl.Series, labels: Sequence[str] | None, spelling: str = "refuse"
) -> tuple[list[str], Ints] | None:
    """Return the classes (those that occur, where none are given), and each name's place among
    them; None where a name is not among them, looks like a missing value, or is another spelling of
    a second one."""
    occurring = voted.to_list()
    if labels is None and any(name.lower() in ABSENT for name in occurring):
        return None
    try:
        if merge_spellings(dict.fromkeys(occurring, 1), labels, spelling):
            return None
    except ValueError:
        return None
    classes = sort_naturally(occurring) if labels is None else list(labels)
    known = {name: place for place, name in enumerate(classes)}
    places = np.array([known.get(name, -1) for name in occurring], dtype=np.int32)
    return None if (places < 0).any() else (classes, places)


def has_blank(column: pl.Series) -> bool:
    """Return whether some name is only space; only names that begin like it are looked at."""
    spaced = column.filter((column < "!") | (column > "~"))
    return bool((spaced.str.strip_chars() == "").any())


def has_twins(column: pl.Series) -> bool:
    """Return whether some names differ by the space around them only."""
    return bool(find_twins(column))


@dataclass(frozen=True)
class Scan:
    """A file of hard votes that polars can be trusted to read: a lazy table of item, annotator and
    label, all of them text, how many rows there are (at most, of CSV), the file's own names of item
    and annotator, the classes it declares, and a CSV file's commas in its header and in all."""

    path: Path
    votes: pl.LazyFrame
    rows: int
    columns: tuple[str, str]
    classes: tuple[str, ...] | None = None
    commas: tuple[int, int] | None = None

    def is_whole(self, rows: int) -> bool:
        """Return whether so many rows are all of the file: none was short, none was blank."""
        if self.commas is None:
            return rows == self.rows > 0
        each, total = self.commas
        return rows > 0 and total == (rows + 1) * each


def scan_votes(
    path: Path,
    kind: str,
    progress: Progress = silent,
    columns: Mapping[str, str] | None = None,
) -> Scan | None:
    """Return a lazy view of a file of hard votes, or None if it needs careful reading; ``columns``
    are the names of columns that the user said."""
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, FileError, OSError):
        return _scan(path, kind, progress, columns)
    return None  # the careful reader will report what is wrong


def _scan(
    path: Path, kind: str, progress: Progress, given: Mapping[str, str] | None
) -> Scan | None:
    commas = classes = None
    if kind == "csv":
        counted = _count_plain_csv(path, progress)
        if counted is None:
            return None
        with path.open("rb") as file:
            columns = file.readline().decode().rstrip("\r\n").split(",")
        if len(set(columns)) != len(columns) or columns == [""]:
            return None
        votes = pl.scan_csv(path, infer_schema=False, glob=False)
        commas, rows = (len(columns) - 1, counted[0]), counted[1]
    else:
        votes = pl.scan_parquet(path, glob=False)
        columns = votes.collect_schema().names()
        rows = votes.select(pl.len()).collect().item()
    shape = detect_shape(path, columns, given)
    odd = "response_uuid" in columns or find("kind", columns) is not None  # not all may be people
    odd |= shape.count is not None and normalise(shape.count) == COUNT  # may be refused
    if shape.kind != "hard" or shape.annotator is None or odd:
        return None
    names = {ITEM: shape.item, ANNOTATOR: shape.annotator, LABEL: shape.answer[0]}
    kinds = {ours: votes.collect_schema()[name] for ours, name in names.items()}
    if kind != "csv":
        if not all(kind in NAME_TYPES or kind.is_integer() for kind in kinds.values()):
            return None
        declared = kinds[LABEL]
        classes = tuple(declared.categories) if isinstance(declared, pl.Enum) else None
    texts = [as_text(name, kinds[ours]).alias(ours) for ours, name in names.items()]
    votes = votes.select(texts)
    return Scan(path, votes, rows, (shape.item, shape.annotator), classes, commas)


def _count_plain_csv(path: Path, progress: Progress) -> tuple[int, int] | None:
    """Count commas and line ends; None if the file has quotes, lone carriage returns, cells that
    begin with an apostrophe (they may be escaped) or bytes that are not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    size, commas, lines, done = path.stat().st_size, 0, 0, 0
    after_return = False  # the last chunk ended in a carriage return
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            if done == 0 and chunk.startswith(BOM):
                return None
            done += len(chunk)
            progress(f"looking through {path.name}", done, size)
            if b'"' in chunk or b"\0" in chunk:
                return None
            if b"'" in chunk and (chunk.startswith(b"'") or b",'" in chunk or b"\n'" in chunk):
                return None
            if after_return and not chunk.startswith(b"\n"):
                return None
            after_return = chunk.endswith(b"\r")
            returns = chunk.count(b"\r") - after_return
            if returns and returns != chunk.count(b"\r\n"):
                return None
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError:
                return None
            # several times as fast as bytes.count where there are many
            array = np.frombuffer(chunk, dtype=np.uint8)
            commas += int(np.count_nonzero(array == ord(",")))
            lines += int(np.count_nonzero(array == ord("\n")))
    return None if after_return else (commas, lines)


class Coding:
    """Gives codes 0, 1, ... to names as they come (from several threads, so in any order)."""

    def __init__(self) -> None:
        self.kind = pl.Categorical(pl.Categories.random())
        self._kept = pl.Series([], dtype=self.kind)  # else polars would forget the names

    def code(self, column: str) -> pl.Expr:
        """Return the codes of a column of names."""
        return pl.col(column).cast(self.kind).to_physical()

    def names(self, codes: Ints | None = None) -> pl.Series:
        """Return the names of these codes, or of all."""
        if codes is None:
            return self.kind.categories.to_series()
        frame = pl.DataFrame({"name": codes.astype(np.uint32)})
        return frame.select(pl.col("name").cat.to(self.kind).cast(pl.String)).to_series()


def order_by_appearance(codes: Ints) -> tuple[Ints, Ints]:
    """Return the codes in order of first appearance, and the place there of each row's code; piece
    by piece, because numpy turns the codes it is given into indices of eight bytes."""
    n, m = len(codes), int(codes.max(initial=-1)) + 1
    first = np.full(m, n, dtype=np.int64)
    for start in reversed(range(0, n, ROWS)):
        piece = codes[start : start + ROWS][::-1]
        first[piece] = np.arange(start + len(piece) - 1, start - 1, -1)  # the last written remains
    order = np.argsort(first, kind="stable")
    place = np.empty(m, dtype=np.int32)
    place[order] = np.arange(m, dtype=np.int32)
    places = np.empty(n, dtype=np.int32)
    for start in range(0, n, ROWS):
        places[start : start + ROWS] = place[codes[start : start + ROWS]]
    return order, given_away(places)


def compact_names(column: pl.Series) -> Names:
    """Return a column of text as an array of names; few of them are Python objects at a time."""
    array: Names = np.empty(len(column), dtype=NAMES)
    for start in range(0, len(column), PIECE):
        array[start : start + PIECE] = column.slice(start, PIECE).to_list()
    return given_away(array)
