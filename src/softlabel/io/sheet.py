"""A table as it stands in a file: columns of cells, and the line of each row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from softlabel.errors import FileError

LONGEST = 60  # characters of a value that an error shows


@dataclass(frozen=True)
class Sheet:
    """Columns of text (numbers, where the format has them) and how to find a row in the file.

    ``line_of(row)`` may be slow: it is asked only when there is something to complain about.
    A format without lines has None, and rows are counted from 1.  ``anonymous`` is True where the
    file says of every answer that its author is not known.
    """

    path: Path
    frame: pl.DataFrame
    line_of: Callable[[int], int] | None = None
    anonymous: bool = False

    def error(
        self, reason: str, row: int, column: str | None = None, value: object = None
    ) -> FileError:
        """The complaint about one row, or one cell of it."""
        value = short(value)
        if self.line_of is None:
            return FileError(
                self.path, f"{reason} (row {row + 1} of the table)", column=column, value=value
            )
        line = self.line_of(row)
        return FileError(self.path, reason, line=line, column=column, value=value)

    def refuse(self, bad: pl.Series, reason: str, column: str | None = None) -> None:
        """Complain about the first row where ``bad`` is True, if there is one."""
        if bad.any():
            row = int(bad.arg_true()[0])
            value = None if column is None else self.frame[column][row]
            raise self.error(reason, row, column, value)

    def refuse_empty(self, *columns: str) -> None:
        """Complain about the first cell of these columns that holds nothing."""
        for column in columns:
            cells = self.frame[column]
            blank = cells.is_null()
            if cells.dtype == pl.String:
                blank = blank | (cells.str.strip_chars() == "").fill_null(False)
            self.refuse(blank, "the cell is empty", column)


def short(value: object) -> object:
    """A value that fits into a message."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    try:
        shown = repr(value)
    except RecursionError:
        return "something nested too deeply to be shown"
    return value if len(shown) <= LONGEST else shown[:LONGEST] + "…"
