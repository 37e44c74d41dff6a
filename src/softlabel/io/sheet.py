"""A table as it stands in a file: its bytes, its cells, and which of the accepted shapes it has."""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from softlabel._util.files import STREAM, shorten
from softlabel.errors import DataError, FileError, nearest
from softlabel.io.columns import (
    ANNOTATOR,
    APART,
    ITEM,
    LABEL,
    MACHINES,
    NAMES,
    Role,
    find,
    normalise,
)

if TYPE_CHECKING:
    from softlabel.io.formats.base import Format

BOM = b"\xef\xbb\xbf"
MODEST = 200_000_000  # bytes that any gzip file may unpack to
RATIO = 100  # times its size that a larger one may; votes compress ten to thirty times
LARGEST = 8_000_000_000
CHUNK = 2**22
UNPACKED_MB = "SOFTLABEL_UNPACKED_MB"  # the environment variable that allows more
GZIP, PARQUET, ZIP = b"\x1f\x8b", b"PAR1", b"PK\x03\x04"
MAGIC = {  # how files begin that are something else than text
    b"\xff\xfe": "it looks like UTF-16",
    b"\xfe\xff": "it looks like UTF-16",
    GZIP: "it looks like gzip; its name should end in .gz",
    PARQUET: "it looks like Parquet; its name should end in .parquet",
    ZIP: "it looks like a zip archive or a spreadsheet; save the sheet as CSV (UTF-8)",
}

CLASSIC = ("top", "p1", "second", "p2", "impossible")
RESERVED = ("task", "worker", ITEM, ANNOTATOR, LABEL, "top")  # no class of soft votes may be
ACCEPTED = (
    "accepted are hard votes (item, annotator, label), soft votes (item, annotator, one column per "
    "class), both also without annotators, counts of votes (item, one column per class) and "
    "classic responses (item, annotator, top, p1, second, p2, impossible)"
)
PEOPLE = tuple(word for group in NAMES["annotator"] for word in group)


def read_bytes(path: Path) -> bytes:
    """Return all bytes, unpacked if the name ends in ``.gz``; ``-`` is standard input."""
    try:
        if path == STREAM:
            return _read_stdin()
        data = path.read_bytes()
        if path.suffix.lower() == ".gz":
            data = _unpack(path, data)
    except FileNotFoundError:
        raise FileError(path, "there is no such file") from None
    except IsADirectoryError:
        raise FileError(path, "is a folder, not a file") from None
    except EOFError:
        raise FileError(path, "the gzip data break off before their end; copy it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise FileError(path, f"is not sound gzip data ({error})") from None
    except OSError as error:
        raise FileError(path, f"cannot be read: {error.strerror}") from None
    if not data:
        raise FileError(path, "is empty")
    return data


@cache
def _read_stdin() -> bytes:
    """Return what standard input holds: once it is read, there is no more of it."""
    data = sys.stdin.buffer.read()
    return _unpack(STREAM, data) if data.startswith(GZIP) else data


def _unpack(path: Path, packed: bytes) -> bytes:
    """Unpack gzip, but not to far more than its size suggests: a megabyte can hold a gigabyte."""
    allowed = os.environ.get(UNPACKED_MB) or "0"
    if not allowed.isdecimal():
        reason = f"cannot be unpacked: {UNPACKED_MB} = {allowed!r} is no number of megabytes"
        raise FileError(path, reason)
    most = max(min(max(MODEST, RATIO * len(packed)), LARGEST), int(allowed) * 10**6)
    parts, size = [], 0
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        while part := file.read(CHUNK):
            size += len(part)
            if size > most:
                raise FileError(
                    path,
                    f"its {len(packed):,} bytes unpack to more than {most:,}, which is more than a "
                    f"table of answers does; if it is sound, set {UNPACKED_MB} to the megabytes it "
                    "needs",
                )
            parts.append(part)
    return b"".join(parts)


def read_text(path: Path) -> bytes:
    """Return the bytes of a text file: certainly UTF-8, without the byte order mark."""
    data = read_bytes(path)
    if not data.removeprefix(BOM).strip():
        raise FileError(path, "is empty")
    for magic, guess in MAGIC.items():
        if data.startswith(magic):
            raise FileError(path, f"is not UTF-8 text: {guess}", line=1)
    try:
        data.decode()
        start = data.find(b"\0")
    except UnicodeDecodeError as error:
        start = error.start
    if start < 0:
        return data.removeprefix(BOM)
    rest = data.decode(errors="ignore")
    if b"\0" in data:
        guess = "it looks like UTF-16 or a binary file"
    elif not rest.isascii():
        guess = "other parts of the file are UTF-8, so two encodings are mixed"
    elif all(c.isprintable() or c.isspace() for c in rest):
        guess = "it looks like latin-1 (Windows-1252)"
    else:
        guess = "it looks like a binary file"
    place = start - data.rfind(b"\n", 0, start)
    reason = f"byte {place} (0x{data[start]:02x}) is not UTF-8 text: {guess}; save it as UTF-8"
    raise FileError(path, reason, line=data.count(b"\n", 0, start) + 1)


@dataclass(frozen=True)
class Sheet:
    """Columns of text (or of numbers, where the format has them) and the line of each row, which
    may be slow to find and is None in a format without lines, where rows are counted from 1.
    ``anonymous`` is True where the file gives no author for any answer."""

    path: Path
    frame: pl.DataFrame
    line_of: Callable[[int], int] | None = None
    anonymous: bool = False

    def error(
        self, reason: str, row: int, column: str | None = None, value: object = None
    ) -> FileError:
        """Return the error about one row, or one cell of it."""
        line = None if self.line_of is None else self.line_of(row)
        if line is None:
            reason = f"{reason} (row {row + 1} of the table)"
        return FileError(self.path, reason, line=line, column=column, value=shorten(value))

    def refuse(self, bad: pl.Series, reason: str, column: str | None = None) -> None:
        """Raise the error about the first row where ``bad`` is True, if there is one."""
        if bad.any():
            row = int(bad.arg_true()[0])
            value = None if column is None else self.frame[column][row]
            raise self.error(reason, row, column, value)

    def refuse_empty(self, *columns: str) -> None:
        """Raise the error about the first empty cell of these columns, if there is one."""
        for column in columns:
            self.refuse(is_blank(self.frame[column]), "the cell is empty", column)

    def refuse_models(self) -> None:
        """Raise the error about the first row that says that a model answered, if there is one."""
        kind = find("kind", self.frame.columns)
        if kind is not None and self.frame[kind].dtype == pl.String:
            self.refuse(self.frame[kind].str.to_lowercase().is_in(MACHINES), APART, kind)

    def keep(self, rows: pl.Series) -> "Sheet":
        """Return the sheet with these rows only; each keeps its line."""
        return self.take(rows.arg_true())

    def take(self, rows: pl.Series) -> "Sheet":
        """Return the sheet with the rows of these numbers; each keeps its line."""
        line_of = self.line_of
        find = None if line_of is None else lambda row: line_of(int(rows[row]))
        return replace(self, frame=self.frame[rows], line_of=find)


def is_blank(cells: pl.Series) -> pl.Series:
    """Return which cells hold nothing, or nothing but space."""
    blank = cells.is_null()
    if cells.dtype == pl.String:
        blank = blank | (cells.str.strip_chars() == "").fill_null(False)
    return blank


def read_parquet(path: Path) -> Sheet:
    """Read the columns of a Parquet file with the types that the file gives them."""
    data = read_bytes(path)
    if not (data.startswith(PARQUET) and data.endswith(PARQUET)):
        raise FileError(path, "is not Parquet, or breaks off before its end")
    try:
        with _silenced_stderr():
            frame = pl.read_parquet(io.BytesIO(data), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise FileError(path, f"the Parquet data are corrupt ({reason})") from None
    if not len(frame):
        raise FileError(path, "has columns but no rows")
    return Sheet(path, frame)


@contextmanager
def _silenced_stderr() -> Iterator[None]:
    """Drop what is written to stderr: a parser that panics prints its trace there, past Python."""
    try:
        saved = os.dup(2)
    except OSError:  # the program was started without a stderr
        yield
        return
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(devnull)


@dataclass(frozen=True)
class Reading:
    """How a file is read where it leaves a choice.

    ``format`` None: told from the content.  ``columns`` maps item, annotator and label to the names
    that they have in the file.  ``missing``: rows with an empty cell are refused, or dropped and
    counted.  ``spelling``: labels that differ by case or space only are refused, merged into the
    most frequent spelling without stray spaces, or kept apart; so are items and annotators that
    differ by the space around them only.
    """

    format: "Format | None" = None
    columns: Mapping[str, str] = field(default_factory=dict)
    missing: Literal["refuse", "drop"] = "refuse"
    spelling: Literal["refuse", "merge", "keep"] = "refuse"


@dataclass(frozen=True)
class Shape:
    """The kind of table, the names of its id columns (no annotator: nobody is named), the columns
    that hold the answer and, of hard votes, the one that says how many gave it."""

    kind: Literal["hard", "soft", "classic"]
    item: str
    annotator: str | None
    answer: tuple[str, ...]
    count: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.item,) if self.annotator is None else (self.item, self.annotator)


def detect_shape(
    path: Path, columns: Sequence[str], given: Mapping[str, str] | None = None
) -> Shape:
    """Take a table with ``label`` for hard votes, with ``top`` for responses, with a column that is
    called like a label for hard votes, too, else for soft votes.  ``given`` are the names of
    columns that the user said."""
    item, annotator, label = _find_columns(path, columns, given or {})
    rest = tuple(column for column in columns if column not in (item, annotator))
    sure = label == LABEL or LABEL in (given or {})
    if label is not None and (sure or "top" not in rest):
        count = _find_count(path, [column for column in rest if column != label], annotator)
        return Shape("hard", item, annotator, (label,), count)
    if "top" in rest:
        for column in CLASSIC:
            if column not in rest:
                raise _missing_column(path, columns, column)
        if annotator is None:
            raise _missing_column(path, columns, ANNOTATOR)
        return Shape("classic", item, annotator, CLASSIC)
    if not rest or (annotator is None and len(rest) == 1):
        raise _missing_column(path, columns, LABEL)
    if not all(column.strip() for column in rest):
        raise FileError(path, f"a column of soft votes has no name; {ACCEPTED}")
    return Shape("soft", item, annotator, rest)


def _find_columns(
    path: Path, columns: Sequence[str], given: Mapping[str, str]
) -> tuple[str, str | None, str | None]:
    """Return the columns of item, annotator and label: those given, or else by their names."""
    for ours, theirs in given.items():
        if theirs not in columns:
            hint = nearest(theirs, columns)
            reason = f"--columns {ours}={theirs}: no such column{hint}; there are {_list(columns)}"
            raise FileError(path, reason, column=theirs)
    others = [column for column in columns if column not in given.values()]
    item = given.get(ITEM) or _find(path, others, "item")
    if item is None:
        raise _missing_column(path, columns, ITEM)
    annotator = given.get(ANNOTATOR) or _find(path, others, "annotator")
    if annotator is None:
        model = _find(path, others, "model")
        if model is not None:
            reason = f"names models and no column names people; {APART}; or say --columns annotator"
            raise FileError(path, f"{reason}={model} to read it all the same", column=model)
        _refuse_unnamed_people(path, others)
    others = [column for column in others if column not in (item, annotator)]
    return item, annotator, given.get(LABEL) or _find(path, others, "label")


def _find(path: Path, columns: Sequence[str], role: Role) -> str | None:
    try:
        return find(role, columns)
    except DataError as error:
        raise FileError(path, f"{error} with --columns {role}=COLUMN") from None


def _find_count(path: Path, columns: Sequence[str], annotator: str | None) -> str | None:
    try:
        return find("count", columns)
    except DataError as error:
        if annotator is None:
            raise FileError(path, str(error).replace("name one", "leave one out")) from None
        return None


def _refuse_unnamed_people(path: Path, columns: Sequence[str]) -> None:
    """Refuse a table without a column of annotators if one seems to hold them all the same."""
    like = [name for name in columns if any(word in normalise(name) for word in PEOPLE)]
    if like or nearest(ANNOTATOR, columns):
        hint = f" (is it {like[0]!r}?)" if like else None
        raise _missing_column(path, columns, ANNOTATOR, hint)


def _missing_column(
    path: Path, columns: Sequence[str], name: str, hint: str | None = None
) -> FileError:
    hint = nearest(name, columns).replace("did you mean", "is it") if hint is None else hint
    if len(columns) == 1:
        mark = next((mark for mark in (";", "|") if mark in columns[0]), None)
        hint += f" (cells must be separated by commas or tabs, not by {mark!r})" if mark else ""
    hint += f"; name it with --columns {name}=COLUMN" if len(columns) > 1 else ""
    reason = f"no such column{hint}; there are {_list(columns)}; {ACCEPTED}"
    return FileError(path, reason, column=name)


def _list(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
