"""CSV, read by polars and, where something looks odd, a second time by the csv module.

Polars is fast and forgiving: it fills short rows with nulls, cannot say on which line it failed,
and takes some broken quotes for good ones.  So the file is counted: if it has no quotes, no lone
carriage returns and as many commas as its rows need, it holds what polars read.  Otherwise both
readings must agree, row by row.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from softlabel.errors import FileError
from softlabel.files.opening import text
from softlabel.files.sheet import Sheet

csv.field_size_limit(2**31 - 1)  # of the whole process; a cell may be as long as it likes


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
    return Sheet(path, frame, _Lines(path, data))


class _Lines:
    """Finds the line on which a row begins, by reading the file again."""

    def __init__(self, path: Path, data: bytes) -> None:
        self.path, self.data = path, data

    def __call__(self, row: int) -> int:
        filled = (line for line, cells in _records(self.path, self.data) if cells)
        return next(islice(filled, row + 1, None))  # + 1 for the header


def _header(path: Path, data: bytes) -> list[str]:
    line, columns = next((line, cells) for line, cells in _records(path, data) if cells)
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
