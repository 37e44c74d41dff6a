"""Strategies of the user's own: one Python file, executed, and what it registers checked."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from softlabel import registry
from softlabel.errors import SoftlabelError

Check = Callable[[str, Any], None]  # family, strategy; raises AssertionError

LOADED: set[str] = set()  # mistakes in these files are not ours


def load_strategies(path: Path, check: Check) -> None:
    """Add what the file registers, if every strategy passes; if anything is wrong, none of it."""
    before = {family: dict(known) for family, known in registry.families().items()}
    LOADED.add(str(path))
    sound = False
    with _Doing(f"in {path}"):
        try:
            _execute(path)
            _check_new(path, before, check)
            sound = True
        finally:
            for family, known in registry.families().items() if not sound else ():
                known.clear()
                known.update(before[family])


def their_mistake(error: Exception) -> str:
    """File and line of an exception that comes from a loaded file; nothing if it does not."""
    if isinstance(error, SyntaxError) and error.filename in LOADED:
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    name = f"{type(error).__name__}: {error}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in LOADED:
            return f"{frame.filename}, line {frame.lineno}: {name}"
    return name if getattr(error, "__notes__", None) else ""


def _execute(path: Path) -> None:
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
            with _Doing(f"checking the {family} {name!r}"):
                try:
                    check(family, kind)
                except AssertionError as error:
                    raise SoftlabelError(
                        f"{path}: the {family} {name!r} fails the check "
                        f"{_failed(error, check)!r}: {error}"
                    ) from None


def _failed(error: AssertionError, check: Check) -> str:
    """The name of the check that failed, as words: the first function beyond the suites."""
    suites = Path(check.__code__.co_filename).parent
    for frame in traceback.extract_tb(error.__traceback__):
        inside = Path(frame.filename).parent == suites and frame.name.isidentifier()
        if inside and not frame.name.startswith(("check_", "_")):
            return frame.name.replace("_", " ")
    return "of its family"


class _Doing:
    """Notes on an exception, as it passes, what was being done."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            error.add_note(self.what)
