"""Strategies of a user's own: run one Python file, and check every strategy that it registers."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from softlabel import registry
from softlabel.errors import SoftlabelError

Check = Callable[[str, Any], None]  # family, strategy; raises AssertionError

LOADED: set[str] = set()  # files whose mistakes are the user's


def load_strategies(path: Path, check: Check) -> None:
    """Add what the file registers if every strategy passes ``check``; otherwise add nothing.

    ``softlabel.testing.check_family`` is the usual check.
    """
    before = {family: dict(known) for family, known in registry.families().items()}
    LOADED.add(str(path))
    try:
        with _note_on_errors(f"in {path}"):
            _run_file(path)
            _check_new(path, before, check)
    except BaseException:
        for family, known in registry.families().items():
            known.clear()
            known.update(before[family])
        raise


def describe_user_error(error: Exception) -> str:
    """Return file and line of an exception that comes from a loaded file, or nothing."""
    if isinstance(error, SyntaxError) and error.filename in LOADED:
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    name = f"{type(error).__name__}: {error}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in LOADED:
            return f"{frame.filename}, line {frame.lineno}: {name}"
    return name if getattr(error, "__notes__", None) else ""


def _run_file(path: Path) -> None:
    module = ModuleType(f"softlabel_loaded_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up by name
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        raise SoftlabelError(f"{path}: ends the program (SystemExit {error.code})") from None


def _check_new(path: Path, before: Mapping[str, Mapping[str, Any]], check: Check) -> None:
    for family, known in registry.families().items():
        for name, kind in known.items():
            if before[family].get(name) is kind:
                continue
            with _note_on_errors(f"checking the {family} {name!r}"):
                try:
                    check(family, kind)
                except AssertionError as error:
                    raise SoftlabelError(
                        f"{path}: the {family} {name!r} fails the check "
                        f"{_name_of_check(error, check)!r}: {error}"
                    ) from None


def _name_of_check(error: AssertionError, check: Check) -> str:
    """Return the name of the check that failed, as words: the first function beyond the suites."""
    suites = Path(check.__code__.co_filename).parent
    for frame in traceback.extract_tb(error.__traceback__):
        inside = Path(frame.filename).parent == suites and frame.name.isidentifier()
        if inside and not frame.name.startswith(("check_", "_")):
            return frame.name.replace("_", " ")
    return "of its family"


@contextmanager
def _note_on_errors(doing: str) -> Iterator[None]:
    """Add a note to any exception that passes: what was being done."""
    try:
        yield
    except BaseException as error:
        error.add_note(doing)
        raise
