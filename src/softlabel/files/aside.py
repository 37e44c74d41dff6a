"""Files that are either whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import polars as pl

from softlabel.errors import FileError
from softlabel.files.opening import kind_of


def check_target(path: Path, kinds: tuple[str, ...], source: str) -> str:
    """The kind of a file that is to be written, before any work is done for it."""
    kind = kind_of(path, kinds)
    if path.is_dir():
        raise FileError(path, "is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileError(path, f"there is no folder {str(path.parent)!r} to write to")
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise FileError(path, "is the input itself; write to another file")
    return kind


@contextmanager
def aside(path: Path, *, private: bool = False) -> Iterator[Path]:
    """A temporary name in the same folder, which takes the place of ``path`` if all goes well.

    If anything goes wrong, nothing stays behind and what was there before is untouched.  Only the
    owner can read a ``private`` file: it holds what people said.
    """
    target = path.resolve()  # a link stays a link
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        if private:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        part.replace(target)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(path, f"cannot be written: {reason}") from None
    finally:
        part.unlink(missing_ok=True)
