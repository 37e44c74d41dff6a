"""Files that a study names: they are found inside its folder, or refused with a reason."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from softlabel.errors import nearest

PRIVATE = ".softlabel"  # answers and secrets live there


class Refused(Exception):
    """A file that cannot be used; the text says why."""


class Missing(Refused):
    """A file that is not there."""


def find(folder: Path, name: str, base: Path | None = None) -> Path:
    """The file or folder called ``name``, seen from ``base``, if it lies inside ``folder``."""
    base = folder if base is None else base
    if not name or "\0" in name or "\\" in name:
        raise Refused("is not the name of a file; folders are separated by /")
    if Path(name).is_absolute():
        raise Refused("must be a path inside the study folder, not from the root of the machine")
    try:
        home, path = folder.resolve(), (base / name).resolve()
        there = path.exists()
    except (OSError, RuntimeError) as error:  # too long a name; links in a circle
        raise Refused(f"cannot be looked up ({type(error).__name__})") from error
    if not path.is_relative_to(home):
        raise Refused("leads out of the study folder; copy the file into it")
    if PRIVATE in path.relative_to(home).parts:
        raise Refused(f"lies in {PRIVATE}, where answers and secrets are kept")
    if not there:
        raise Missing("no such file")
    return path


def find_named(folder: Path, name: str) -> Path:
    """The same for a name in ``study.toml``; a missing one gets the nearest spelling."""
    try:
        return find(folder, name)
    except Missing as error:
        raise Refused(f"{error}{nearest(name, neighbours(folder, name))}") from error


def find_text(folder: Path, name: str) -> str:
    """The text of a UTF-8 file that ``study.toml`` names."""
    return read_text(find_named(folder, name))


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, with any kind of line ends."""
    if not path.is_file():
        raise Refused("is a folder, where a file is needed" if path.is_dir() else "is no file")
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refused(f"is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise Refused(f"cannot be read: {error.strerror}") from error


def neighbours(base: Path, name: str) -> Iterator[str]:
    """What stands in the folder where ``name`` should be, written in the same way."""
    beside = Path(name).parent
    try:
        found = sorted(os.listdir(base / beside))
    except OSError:
        return
    yield from ((beside / other).as_posix() for other in found if not other.startswith("."))
