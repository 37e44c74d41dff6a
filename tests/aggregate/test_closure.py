"""How many files of ours one must open to read an aggregator: its own and all it imports."""

from __future__ import annotations

import ast
import importlib.util
import inspect
from functools import cache
from pathlib import Path

import pytest

from softlabel.aggregate import AGGREGATORS

MOST = 8
# auto hands over to four other pools (one of the Dirichlet pools, ordinal, stack, extremised), so
# their files count for it as well as its own
CHOOSES = {"auto": 12}


def module_file(name: str) -> Path | None:
    """Return the file of a module, or None if the name is not that of a module."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:  # a name inside a module
        return None
    return Path(spec.origin) if spec and spec.origin else None


@cache
def imports(path: Path) -> frozenset[Path]:
    """Return our files that a file imports by name, also inside functions."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [(alias.name, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import would not be counted"
            names += [(f"{node.module}.{alias.name}", str(node.module)) for alias in node.names]
    ours = [(name, home) for name, home in names if home.split(".")[0] == "softlabel"]
    files = {module_file(name) or module_file(home) for name, home in ours}
    assert None not in files, f"{path} imports what there is not"
    return frozenset(file for file in files if file is not None)


def closure(path: Path) -> set[Path]:
    """Return the file and all files of ours that it imports, directly or not."""
    done, waiting = set(), {path}
    while waiting:
        file = waiting.pop()
        done.add(file)
        waiting |= imports(file) - done
    return done


@pytest.mark.parametrize("name", AGGREGATORS)
def test_an_aggregator_is_read_in_a_few_files(name):
    files = closure(Path(inspect.getfile(AGGREGATORS[name])))
    assert len(files) <= CHOOSES.get(name, MOST), sorted(str(file) for file in files)


def test_the_count_can_fail():
    """A door imports its whole room."""
    assert len(closure(Path(inspect.getfile(importlib.import_module("softlabel.aggregate"))))) > 20
