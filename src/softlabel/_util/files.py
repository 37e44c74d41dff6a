"""Files that are either whole or not there."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import polars as pl

from softlabel.errors import FileError

DAY = 86_400  # seconds


def kind_of(path: Path, kinds: tuple[str, ...]) -> str:
    """Which of ``kinds`` (such as ``csv`` or ``csv.gz``) the name of the file ends in."""
    name = path.name.lower()
    for kind in kinds:
        if name.endswith(f".{kind}"):
            return kind
    raise FileError(path, f"unknown kind of file; the name must end in .{', .'.join(kinds)}")


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

    If anything goes wrong, nothing stays behind and what was there before is untouched.  What a
    process that was killed left behind is removed by the next one that writes the same file.  Only
    the owner can read a ``private`` file: it holds what people said.
    """
    target = path.resolve()  # a link stays a link
    part = target.with_name(f".{target.name}.{_me()}-{uuid4().hex}.part")
    _sweep(target)
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


def _me() -> str:
    """This process, as the name of a file may say it."""
    return f"{sha256(socket.gethostname().encode()).hexdigest()[:8]}-{os.getpid()}"


def _sweep(target: Path) -> None:
    """Remove what writers of this file left who are gone: processes of this machine that do not
    run any longer, and anybody who has not written for a day."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part*"):
        with suppress(OSError):
            host, _, rest = left.name.removeprefix(f".{target.name}.").partition("-")
            pid = rest.partition("-")[0]
            here = host == _me().partition("-")[0] and pid.isdecimal()
            gone = here and not _runs(int(pid))
            if gone or time.time() - left.stat().st_mtime > DAY:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _runs(pid: int) -> bool:
    if sys.platform == "win32":  # there the question itself would end the process
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True
