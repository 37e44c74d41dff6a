"""Write a file whole or not at all; check its name; shorten a value for a message about it."""

import glob
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from softlabel.errors import FileError

STREAM = Path("-")  # standard input, or standard output
DAY = 86_400  # seconds
LONGEST = 60  # characters of a value that an error shows


def file_kind(path: Path, kinds: tuple[str, ...]) -> str:
    """Return which of ``kinds`` (such as ``csv`` or ``csv.gz``) the file's name ends in; what goes
    to standard output is of the first."""
    if path == STREAM:
        return kinds[0]
    name = path.name.lower()
    for kind in kinds:
        if name.endswith(f".{kind}"):
            return kind
    raise FileError(path, f"unknown kind of file; the name must end in .{', .'.join(kinds)}")


def check_output(path: Path, kinds: tuple[str, ...], source: str) -> str:
    """Return the kind of a file to be written; refuse a bad path before any work is done."""
    kind = file_kind(path, kinds)
    if path == STREAM:
        return kind
    if path.is_dir():
        raise FileError(path, "is a folder; name a file in it")
    if not path.parent.is_dir():
        raise FileError(path, f"there is no folder {str(path.parent)!r} to write to")
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise FileError(path, "is the input itself; write to another file")
    return kind


@contextmanager
def write_atomically(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a temporary name in the same folder; its file replaces ``path`` if all goes well.

    If anything goes wrong, nothing is left behind and the old file is untouched.  Temporary files
    of a process that was killed are removed by the next one that writes the same file.  Only the
    owner can read a ``private`` file: it holds what people answered.  Of ``-``, the file is copied
    to standard output at the end.
    """
    if path == STREAM:
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder, "part")
            yield part
            sys.stdout.flush()
            with part.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    target = path.resolve()  # a link stays a link
    host = sha256(socket.gethostname().encode()).hexdigest()[:8]
    part = target.with_name(f".{target.name}.{host}-{os.getpid()}-{uuid4().hex}.part")
    _remove_abandoned(target, host)
    try:
        if private:
            os.close(os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        yield part
        part.replace(target)
    except Exception as error:
        # polars has errors of its own, and is too large to be imported for their sake
        if not isinstance(error, OSError) and type(error).__module__ != "polars.exceptions":
            raise
        reason = getattr(error, "strerror", None) or error
        raise FileError(path, f"cannot be written: {reason}") from None
    finally:
        part.unlink(missing_ok=True)


def shorten(value: object) -> object:
    """Return a value that fits into an error message."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    try:
        shown = repr(value)
    except RecursionError:
        return "something nested too deeply to be shown"
    return value if len(shown) <= LONGEST else shown[:LONGEST] + "…"


def _remove_abandoned(target: Path, here: str) -> None:
    """Remove temporary files of this file whose writer is gone: a process of this machine that no
    longer runs, or any writer that has written nothing for a day."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part*"):
        with suppress(OSError):
            host, _, rest = left.name.removeprefix(f".{target.name}.").partition("-")
            pid = rest.partition("-")[0]
            gone = host == here and pid.isdecimal() and not _is_running(int(pid))
            if gone or time.time() - left.stat().st_mtime > DAY:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":  # os.kill would end the process there
        return True
    with suppress(PermissionError):  # another user's process
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
