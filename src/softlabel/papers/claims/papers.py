"""A paper: what is trained for it, what it claims, and what the released data alone show."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from softlabel.errors import FileError, UnknownName
from softlabel.papers import PAPERS
from softlabel.papers.claims.claims import Claim
from softlabel.papers.claims.results import Scale
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.train import Split, Trainer

# unless a paper has its own
SEEDS: dict[Scale, int] = {
    "paper": 5,
    "cpu": 5,
    "cpu-tuned": 10,
    "features": 10,
    "features-tuned": 10,
    "fine-tuned": 5,
}


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a table, trained from several seeds: which labels, delivered how.

    ``settings`` change the recipe's configuration.  ``base`` names the recipe of
    ``softlabel.train.RECIPES``; without it the scale decides (``cpu``: small, ``features``:
    features; ``paper`` has no default).  A ``trainer`` replaces all four.
    """

    name: str
    lesson: Callable[[], Split]
    deliver: str | None = "aggregate"
    settings: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None
    trainer: Trainer | None = None


class Paper(Protocol):
    """A package of this room: ``collins2022``, ``uma2020``, ``singh2025``, ``gheibi2026``.

    It may also have ``SEEDS``, the number of runs of a cell by scale; ``figures(results)``, a list
    of ``Figure``; ``tables(results)``, a list of ``Table`` with our numbers beside the paper's; and
    ``COVER``, the name of its most important figure.  Figures and tables are made from the results
    of one scale, ``results.scale``.
    """

    NAME: str
    TITLE: str

    def cells(self, scale: Scale, quick: bool = False) -> Sequence[Cell]:
        """Return what is trained, most valuable first; with ``quick`` a few cells on generated
        pictures and simulated people."""

    def probes(self, run: Run, cell: Cell) -> Mapping[str, float]:
        """Return scores of a finished run, by name: from its predictions and, if they need
        gradients, from its weights."""

    def claims(self, scale: Scale) -> Sequence[Claim]:
        """Return the claims that runs at this scale are compared with."""

    def facts(self) -> Sequence[Claim]:
        """Return the claims about the released data, which need no training."""


def find(name: str) -> Paper:
    """Return the paper of this name, or the one in a Python file (``./mine2027.py``)."""
    if name.endswith(".py"):
        return _load_file(Path(name).resolve())
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return cast(Paper, import_module(f"softlabel.papers.{name}"))


@cache
def _load_file(path: Path) -> Paper:
    if not path.is_file():
        raise FileError(path, "there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "it ends in .py"
    assert spec.loader is not None, "it is a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return cast(Paper, module)


def seeds(paper: Paper, scale: Scale) -> int:
    """Return the default number of runs of a cell."""
    return int(getattr(paper, "SEEDS", {}).get(scale, SEEDS[scale]))
