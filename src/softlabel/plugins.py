"""Strategies of a user's own: run one Python file, and check every strategy that it registers."""

import sys
import traceback
from collections.abc import Callable, Iterator
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
            for family, known in registry.families().items():
                for name, kind in known.items():
                    if before[family].get(name) is not kind:
                        with _note_on_errors(f"checking the {family} {name!r}"):
                            _check_strategy(path, family, name, kind, check)
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


def _check_strategy(path: Path, family: str, name: str, kind: Any, check: Check) -> None:
    try:
        check(family, kind)
    except AssertionError as error:
        failed = "of its family"  # or the first function beyond the suites, as words
        suites = Path(check.__code__.co_filename).parent
        for frame in traceback.extract_tb(error.__traceback__):
            inside = Path(frame.filename).parent == suites and frame.name.isidentifier()
            if inside and not frame.name.startswith(("check_", "_")):
                failed = frame.name.replace("_", " ")
                break
        told = f"{path}: the {family} {name!r} fails the check {failed!r}: {error}"
        raise SoftlabelError(told) from None


@contextmanager
def _note_on_errors(doing: str) -> Iterator[None]:
    """Add a note to any exception that passes: what was being done."""
    try:
        yield
    except BaseException as error:
        error.add_note(doing)
        raise
