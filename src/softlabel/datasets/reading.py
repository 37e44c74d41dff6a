"""Read the files of published data sets; a damaged file raises ``FileError``."""

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
    *(OSError, EOFError, ValueError),  # BadGzipFile is an OSError
    *(zlib.error, lzma.LZMAError, BadZipFile, tarfile.TarError, pl.exceptions.PolarsError),
    NotImplementedError,  # a damaged zip header asks for an unknown compression
    *(KeyError, AttributeError, TypeError),  # JSON of another shape
)


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Turn every error that a damaged file can cause into a ``FileError``."""
    try:
        yield
    except BROKEN as error:
        raise FileError(path, f"damaged or not what it should be ({error})") from error


def read_bytes(path: Path) -> bytes:
    """Read a file, or what is inside when it is kept as ``.gz``."""
    with explain_damage(path):
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file, perhaps kept as ``.gz``, to be read line by line."""
    with explain_damage(path):
        opener = gzip.open if path.suffix == ".gz" else open
        with cast(TextIO, opener(path, "rt", encoding="utf-8", newline="")) as text:
            yield text


def read_table(path: Path, columns: Mapping[str, Any]) -> pl.DataFrame:
    """Read these columns of a csv file; an empty text is "", an empty number is an error."""
    with explain_damage(path):
        types = dict(columns)
        frame = pl.read_csv(read_bytes(path), columns=list(types), schema_overrides=types)
    frame = frame.with_columns(pl.col(pl.String).fill_null(""))
    for name in frame.columns:
        if frame[name].null_count():
            line = int(frame[name].is_null().arg_true()[0]) + 2
            raise FileError(path, "a number is missing", line=line, column=name)
    return frame


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read one JSON object per line."""
    with explain_damage(path):
        return [json.loads(line) for line in read_bytes(path).split(b"\n") if line.strip()]


def read_npz(path: Path, *wanted: str) -> dict[str, npt.NDArray[Any]]:
    """Read these arrays of an ``.npz`` file."""
    # opened here, because np.load leaves a damaged file open
    with (
        explain_damage(path),
        path.open("rb") as stream,
        np.load(stream, allow_pickle=False) as file,
    ):
        return {name: file[name] for name in wanted}


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Read the array of an ``.npy`` file."""
    with explain_damage(path):
        loaded: npt.NDArray[Any] = np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
        return loaded


def encode(values: npt.ArrayLike) -> tuple[Names, Ints]:
    """Return the distinct values in rising order as names, and the code of each value."""
    distinct, codes = np.unique(np.asarray(values), return_inverse=True)
    return number_names(distinct.tolist()), codes


def number_names(values: range | list[int], prefix: str = "") -> Names:
    """Return numbers as names."""
    return names([f"{prefix}{value}" for value in values])


def encode_votes(frame: pl.DataFrame, item: str, annotator: str) -> tuple[Names, Ints, Names, Ints]:
    """Return the names of the items of a table and their codes, and those of its annotators."""
    return *encode(frame[item].to_numpy()), *encode(frame[annotator].to_numpy())


def note_repeats(votes: Annotations) -> tuple[str, ...]:
    """Return a note on how often somebody labelled an item again, if anybody did."""
    extra = int((~first_presentation(votes)).sum())
    if not extra:
        return ()
    return (f"{extra} rows repeat an item for the same annotator; all rows are kept.",)
