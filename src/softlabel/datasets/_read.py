"""Reading released files, and the few shapes in which they all come."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel.errors import FileError
from softlabel.sampling import first_presentation
from softlabel.tables import Annotations, Ints, Names, names

BROKEN = (
    OSError,  # BadGzipFile is one
    EOFError,
    KeyError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
    BadZipFile,
    tarfile.TarError,
    NotImplementedError,  # a damaged zip header asks for an unknown compression
    AttributeError,  # JSON of another shape
    TypeError,
    pl.exceptions.PolarsError,
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """All that a damaged file can do to its reader becomes one ``FileError``."""
    try:
        yield
    except BROKEN as error:
        raise FileError(path, f"damaged or not what it should be ({error})") from error


def content(path: Path) -> bytes:
    """The bytes of a file, or those inside when it is kept as ``.gz``."""
    with reading(path):
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data


@contextmanager
def lines(path: Path) -> Iterator[TextIO]:
    """The text of a file, read as it is asked for and not kept."""
    with reading(path):
        opener = gzip.open if path.suffix == ".gz" else open
        with cast(TextIO, opener(path, "rt", encoding="utf-8", newline="")) as text:
            yield text


def table(path: Path, columns: Mapping[str, Any]) -> pl.DataFrame:
    """These columns of a csv file; an empty text is "", an empty number is an error."""
    with reading(path):
        types = dict(columns)
        frame = pl.read_csv(content(path), columns=list(types), schema_overrides=types)
    frame = frame.with_columns(pl.col(pl.String).fill_null(""))
    for name in frame.columns:
        if frame[name].null_count():
            line = int(frame[name].is_null().arg_true()[0]) + 2
            raise FileError(path, "a number is missing", line=line, column=name)
    return frame


def records(path: Path) -> list[dict[str, Any]]:
    """One JSON object per line."""
    with reading(path):
        return [json.loads(line) for line in content(path).split(b"\n") if line.strip()]


def arrays(path: Path, *wanted: str) -> dict[str, npt.NDArray[Any]]:
    """These arrays of an ``.npz`` file."""
    # opened here, because np.load leaves a damaged file open
    with reading(path), path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        return {name: file[name] for name in wanted}


def array(path: Path) -> npt.NDArray[Any]:
    """The array of an ``.npy`` file."""
    with reading(path):
        loaded: npt.NDArray[Any] = np.load(io.BytesIO(content(path)), allow_pickle=False)
        return loaded


def coded(values: npt.ArrayLike) -> tuple[Names, Ints]:
    """The distinct values in rising order as names, and the code of each value."""
    distinct, codes = np.unique(np.asarray(values), return_inverse=True)
    return numbered(distinct.tolist()), codes


def numbered(values: range | list[int], before: str = "") -> Names:
    """Numbers as names."""
    return names([f"{before}{value}" for value in values])


def repeats(said: Annotations) -> tuple[str, ...]:
    """A note on how often somebody labelled an item again, if anybody did."""
    extra = int((~first_presentation(said)).sum())
    if not extra:
        return ()
    return (f"{extra} rows repeat an item for the same annotator; all rows are kept.",)
