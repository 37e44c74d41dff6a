"""CSV, read by polars and, where something looks odd, a second time by the csv module.

Polars is fast and forgiving: it fills short rows with nulls, cannot say on which line it failed,
and takes some broken quotes for good ones.  So the file is counted: if it has no quotes, no lone
carriage returns and as many commas as its rows need, it holds what polars read.  Otherwise both
readings must agree, row by row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl

from softlabel.errors import FileError
from softlabel.io.opening import text
from softlabel.io.sheet import Sheet

FORMULA = "=+\\-@\t\r\n＝＋－＠"  # how a cell begins that a spreadsheet would execute
RISKY = f"^'*[{FORMULA}]"
NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"

csv.field_size_limit(2**31 - 1)  # of the whole process; a cell may be as long as it likes


Cell = str | int | float | bool | None
Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)


def read_csv(path: Path) -> Sheet:
    """Every cell as text; an empty one is null.  Blank lines are passed over."""
    data = text(path)
    columns = _header(path, data)
    try:
        frame = pl.read_csv(data, infer_schema=False, glob=False)
    except pl.exceptions.PolarsError as error:
        _blank_rows(path, data, columns, None)  # it can say what is wrong, and on which line
        raise FileError(path, f"cannot be read as CSV: {str(error).splitlines()[0]}") from None
    if not _plain(data, frame):
        blank = _blank_rows(path, data, columns, frame)
        if blank:
            frame = frame[np.delete(np.arange(len(frame)), blank)]
    if not len(frame):
        raise FileError(path, "has a header but no rows")
    frame.columns = columns
    if b"'" in data:
        frame = _meant_table(frame)
    return Sheet(path, frame, _Lines(path, data))


# ── formulas ─────────────────────────────────────────────────────────────────────────────────


def escaped(cell: Cell) -> Cell:
    """Text that a spreadsheet would take for a formula gets an apostrophe before it; numbers, also
    those that are text, stay as they are.  ``read_csv`` takes the apostrophe away again.

    >>> escaped("=1+1"), escaped("'=1+1"), escaped(-5.0), escaped("-5"), escaped("cat")
    ("'=1+1", "''=1+1", -5.0, '-5', 'cat')
    """
    risky = isinstance(cell, str) and re.match(RISKY, cell) and not re.match(NUMBER, cell)
    return f"'{cell}" if risky else cell


def meant(text: str) -> str:
    """What ``escaped`` was given."""
    return text[1:] if text.startswith("'") and escaped(text[1:]) == text else text


def escaped_table(table: Table) -> Table:
    """Every text of a table, and the names of its columns, as a spreadsheet may open them."""
    schema = table.lazy().collect_schema()
    texts = [name for name, kind in schema.items() if kind == pl.String or kind == pl.Enum]
    cells = [pl.col(name).cast(pl.String) for name in texts]
    safe = [pl.when(_risky(cell)).then("'" + cell).otherwise(cell) for cell in cells]
    table = table.with_columns(**dict(zip(texts, safe, strict=True)))
    return table.rename({name: str(escaped(name)) for name in schema})


def _meant_table(frame: pl.DataFrame) -> pl.DataFrame:
    """The table that ``escaped_table`` was given; all cells are text."""
    rest = pl.all().str.slice(1)
    was = pl.all().str.starts_with("'") & _risky(rest)
    return frame.with_columns(pl.when(was).then(rest).otherwise(pl.all()))


def _risky(cell: pl.Expr) -> pl.Expr:
    return cell.str.contains(RISKY) & ~cell.str.contains(NUMBER)


# ── reading ──────────────────────────────────────────────────────────────────────────────────


class _Lines:
    """Finds the line on which a row begins, by reading the file again."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data

    def __call__(self, row: int) -> int:
        filled = (line for line, cells in _records(self.path, self.data) if cells)
        return next(islice(filled, row + 1, None))  # + 1 for the header


def _header(path: Path, data: bytes) -> list[str]:
    line, cells = next((line, cells) for line, cells in _records(path, data) if cells)
    columns = [meant(cell) for cell in cells]
    for column in columns:
        if columns.count(column) > 1:
            raise FileError(path, "two columns have this name", line=line, column=column)
    return columns


def _plain(data: bytes, frame: pl.DataFrame) -> bool:
    """True if polars cannot have misread anything.  It refuses rows that are too long, so if the
    number of commas is right no row was too short either."""
    return (
        b'"' not in data
        and data.count(b"\r") == data.count(b"\r\n")
        and data.count(b",") == (len(frame) + 1) * (frame.width - 1)
    )


def _records(path: Path, data: bytes) -> Iterator[tuple[int, list[str]]]:
    """Each row with the line on which it begins; a blank line is a row without cells."""
    # lines end in \n and nowhere else, as editors count them
    reader = csv.reader(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="\n"), strict=True)
    line = 1
    try:
        for cells in reader:
            yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        if "new-line" in str(error):
            reason = "a carriage return stands inside the line; lines must end in \\n or \\r\\n"
        else:
            reason = f"a quoted cell is not closed, or a quote inside it is not doubled ({error})"
        raise FileError(path, reason, line=line) from None


def _blank_rows(
    path: Path, data: bytes, columns: list[str], frame: pl.DataFrame | None
) -> list[int]:
    """The numbers of the rows that are blank lines, after checking all rows against ``frame``."""
    rows = _records(path, data)
    next(cells for _, cells in rows if cells)  # the header
    read = None if frame is None else frame.iter_rows()
    blank = []
    for number, (line, cells) in enumerate(rows):
        if not cells:
            blank.append(number)
            cells = [""] * len(columns)
        if len(cells) != len(columns):
            reason = f"has {len(cells)} fields, but the header has {len(columns)}"
            raise FileError(path, reason, line=line)
        if read is not None and [cell or "" for cell in next(read, ())] != cells:
            raise FileError(path, "quotes or line ends are broken on this line", line=line)
    if read is not None and next(read, None) is not None:
        raise FileError(path, "quotes or line ends are broken")
    return blank
