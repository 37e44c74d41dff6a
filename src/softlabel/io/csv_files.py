"""CSV and TSV: read strictly, and escaped so that a spreadsheet does not run its cells.

Polars is fast and forgiving: it fills short rows with nulls, does not report the line on which it
failed, and accepts some broken quotes.  So the file is counted: if it has no quotes, no lone
carriage returns and as many separators as its rows need, polars has read it correctly.  Otherwise
the csv module reads it a second time, and both must agree row by row.
"""

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
from softlabel.io.sheet import Sheet, read_text

FORMULA = "=+\\-@\t\r\n＝＋－＠"  # how a cell begins that a spreadsheet would run
RISKY = f"^'*[{FORMULA}]"
NUMBER = r"^[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"

csv.field_size_limit(2**31 - 1)  # of the whole process; a cell may be of any length

Cell = str | int | float | bool | None
Table = TypeVar("Table", pl.DataFrame, pl.LazyFrame)


def read_csv(path: Path) -> Sheet:
    """Read every cell as text, an empty one as null; skip blank lines.  Cells are separated by tabs
    if the header has more of them than commas."""
    data = read_text(path)
    mark = find_separator(data)
    line, cells = next((line, cells) for line, cells in _parse_rows(path, data, mark) if cells)
    columns = [unescape_formula(cell) for cell in cells]
    for column in columns:
        if columns.count(column) > 1:
            raise FileError(path, "two columns have this name", line=line, column=column)
    try:
        frame = pl.read_csv(data, infer_schema=False, glob=False, separator=mark)
    except pl.exceptions.PolarsError as error:
        _check_rows(path, data, columns, mark)  # it can say what is wrong, and on which line
        raise FileError(path, f"cannot be read as CSV: {str(error).splitlines()[0]}") from None
    # polars refuses rows that are too long, so if the commas add up no row was too short either
    plain = (
        b'"' not in data
        and data.count(b"\r") == data.count(b"\r\n")
        and data.count(mark.encode()) == (len(frame) + 1) * (frame.width - 1)
    )
    if not plain and (blank := _check_rows(path, data, columns, mark, frame)):
        frame = frame[np.delete(np.arange(len(frame)), blank)]
    if not len(frame):
        raise FileError(path, "has a header but no rows")
    frame.columns = columns
    if b"'" in data:
        rest = pl.all().str.slice(1)
        escaped = pl.all().str.starts_with("'") & _is_risky(rest)
        frame = frame.with_columns(pl.when(escaped).then(rest).otherwise(pl.all()))

    def line_of(row: int) -> int:  # the file is read again, and only for an error message
        filled = (line for line, cells in _parse_rows(path, data, mark) if cells)
        return next(islice(filled, row + 1, None))  # + 1 for the header

    return Sheet(path, frame, line_of)


def find_separator(data: bytes) -> str:
    """Return the tab if the first line that is not blank has more of them than commas.

    >>> find_separator(b"item\\tlabel\\n1,5\\tcat\\n"), find_separator(b"item,label\\n")
    ('\\t', ',')
    """
    header = next((line for line in io.BytesIO(data) if not line.isspace()), b"")
    return "\t" if header.count(b"\t") > header.count(b",") else ","


def _parse_rows(path: Path, data: bytes, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line on which it begins; a blank line is a row without cells."""
    # lines end in \n and nowhere else, as editors count them
    text = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="\n")
    reader = csv.reader(text, delimiter=mark, strict=True)
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


def _check_rows(
    path: Path, data: bytes, names: list[str], mark: str, frame: pl.DataFrame | None = None
) -> list[int]:
    """Check all rows against ``frame``; return the numbers of the rows that are blank lines."""
    rows = _parse_rows(path, data, mark)
    next(cells for _, cells in rows if cells)  # the header
    read = None if frame is None else frame.iter_rows()
    blank = []
    for number, (line, cells) in enumerate(rows):
        if not cells:
            blank.append(number)
            cells = [""] * len(names)
        if len(cells) != len(names):
            reason = f"has {len(cells)} fields, but the header has {len(names)}"
            raise FileError(path, reason, line=line)
        if read is not None and [cell or "" for cell in next(read, ())] != cells:
            raise FileError(path, "quotes or line ends are broken on this line", line=line)
    if read is not None and next(read, None) is not None:
        raise FileError(path, "quotes or line ends are broken")
    return blank


def escape_formula(cell: Cell) -> Cell:
    """Put an apostrophe before text that a spreadsheet would take for a formula.

    Numbers stay as they are, also those that are text.  ``read_csv`` removes the apostrophe.

    >>> [escape_formula(cell) for cell in ("=1+1", "'=1+1", -5.0, "-5", "cat")]
    ["'=1+1", "''=1+1", -5.0, '-5', 'cat']
    """
    risky = isinstance(cell, str) and re.match(RISKY, cell) and not re.match(NUMBER, cell)
    return f"'{cell}" if risky else cell


def unescape_formula(text: str) -> str:
    """Return what ``escape_formula`` was given."""
    return text[1:] if text.startswith("'") and escape_formula(text[1:]) == text else text


def escape_formulas(table: Table) -> Table:
    """Escape every text of a table, and the names of its columns."""
    schema = table.lazy().collect_schema()
    texts = [name for name, kind in schema.items() if kind == pl.String or kind == pl.Enum]
    cells = [pl.col(name).cast(pl.String) for name in texts]
    safe = [pl.when(_is_risky(cell)).then("'" + cell).otherwise(cell) for cell in cells]
    table = table.with_columns(**dict(zip(texts, safe, strict=True)))
    return table.rename({name: str(escape_formula(name)) for name in schema})


def _is_risky(cell: pl.Expr) -> pl.Expr:
    return cell.str.contains(RISKY) & ~cell.str.contains(NUMBER)
