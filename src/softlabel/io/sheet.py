"""A table as it stands in a file: its bytes, its cells, and which of the accepted shapes it has."""

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from softlabel._util.files import shorten
from softlabel.errors import DataError, FileError, nearest
from softlabel.io.columns import ANNOTATOR, ITEM, LABEL, Role, find

BOM = b"\xef\xbb\xbf"
MODEST = 200_000_000  # bytes that any gzip file may unpack to
RATIO = 100  # times its size that a larger one may; votes compress ten to thirty times
LARGEST = 8_000_000_000
CHUNK = 2**22
UNPACKED_MB = "SOFTLABEL_UNPACKED_MB"  # the environment variable that allows more
MAGIC = {  # how files begin that are something else than text
    b"\xff\xfe": "it looks like UTF-16",
    b"\xfe\xff": "it looks like UTF-16",
    b"\x1f\x8b": "it looks like gzip; its name should end in .gz",
    b"PAR1": "it looks like Parquet; its name should end in .parquet",
    b"PK\x03\x04": "it looks like a zip archive or a spreadsheet; save the sheet as CSV (UTF-8)",
}

CLASSIC = ("top", "p1", "second", "p2", "impossible")
RESERVED = ("task", "worker", ITEM, ANNOTATOR, LABEL, "top")  # no class of soft votes may be
ACCEPTED = (
    "accepted are hard votes (item, annotator, label), soft votes (item, annotator, one column per "
    "class) and classic responses (item, annotator, top, p1, second, p2, impossible)"
)


def read_bytes(path: Path) -> bytes:
    """Return all bytes, unpacked if the name ends in ``.gz``."""
    try:
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
            cells = self.frame[column]
            blank = cells.is_null()
            if cells.dtype == pl.String:
                blank = blank | (cells.str.strip_chars() == "").fill_null(False)
            self.refuse(blank, "the cell is empty", column)


def read_parquet(path: Path) -> Sheet:
    """Read the columns of a Parquet file with the types that the file gives them."""
    data = read_bytes(path)
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1")):
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
class Shape:
    """The kind of table, the names of its id columns, and the columns that hold the answer."""

    kind: Literal["hard", "soft", "classic"]
    item: str
    annotator: str
    answer: tuple[str, ...]


def detect_shape(path: Path, columns: Sequence[str]) -> Shape:
    """Take a table with ``label`` for hard votes, with ``top`` for responses, else soft votes."""
    ids = _find_id(path, columns, "item"), _find_id(path, columns, "annotator")
    rest = tuple(column for column in columns if column not in ids)
    if LABEL in rest:
        return Shape("hard", *ids, (LABEL,))
    if "top" in rest:
        for column in CLASSIC:
            if column not in rest:
                raise _missing_column(path, columns, column)
        return Shape("classic", *ids, CLASSIC)
    if not rest:
        raise _missing_column(path, columns, LABEL)
    for column in rest:
        if not column.strip():
            raise FileError(path, f"a column of soft votes has no name; {ACCEPTED}")
    return Shape("soft", *ids, rest)


def _find_id(path: Path, columns: Sequence[str], role: Role) -> str:
    try:
        found = find(role, columns)
    except DataError as error:
        raise FileError(path, str(error)) from None
    if found is None:
        raise _missing_column(path, columns, role)
    return found


def _missing_column(path: Path, columns: Sequence[str], name: str) -> FileError:
    hint = nearest(name, columns).replace("did you mean", "is it")
    if len(columns) == 1:
        mark = next((mark for mark in (";", "\t", "|") if mark in columns[0]), None)
        hint += f" (cells must be separated by commas, not by {mark!r})" if mark else ""
    present = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
    return FileError(path, f"no such column{hint}; there are {present}; {ACCEPTED}", column=name)
