"""A command, run in this process: its exit code and what it printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from softlabel import registry
from softlabel.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def facts(self) -> dict[str, str]:
        """The table on stdout."""
        return dict(line.split("  ", 1) for line in self.out.splitlines())


@pytest.fixture
def run(capsys) -> Callable[..., Outcome]:
    def command(*words: object) -> Outcome:
        code = main([str(word) for word in words])
        return Outcome(code, *capsys.readouterr())

    return command


@pytest.fixture
def clean_registry():
    """What a test loads is forgotten after it."""
    before = {family: dict(known) for family, known in registry.families().items()}
    yield
    for family, known in registry.FAMILIES.items():
        known.clear()
        known.update(before[family])
