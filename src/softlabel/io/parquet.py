"""Parquet, with a message of our own when it is not."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from softlabel.errors import FileError
from softlabel.io.opening import content
from softlabel.io.sheet import Sheet


def read_parquet(path: Path) -> Sheet:
    """The columns with the types that the file gives them."""
    data = content(path)
    if not (data.startswith(b"PAR1") and data.endswith(b"PAR1")):
        raise FileError(path, "is not Parquet, or breaks off before its end")
    try:
        with _silence():
            frame = pl.read_parquet(io.BytesIO(data), glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else "no reason given"
        raise FileError(path, f"the Parquet data are corrupt ({reason})") from None
    if not len(frame):
        raise FileError(path, "has columns but no rows")
    return Sheet(path, frame)


@contextmanager
def _silence() -> Iterator[None]:
    """Nothing on stderr: below Python, a parser that panics prints its own trace there."""
    try:
        saved = os.dup(2)
    except OSError:  # the program was started without a stderr
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
