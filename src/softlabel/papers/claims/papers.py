"""A paper: what is trained for it, what it claims, and what the released data alone say."""

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
from softlabel.papers.claims.claims import Claim, Recipe
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.io import Tell
    from softlabel.train import Lesson

SEEDS: dict[Recipe, int] = {"paper": 5, "cpu": 5, "features": 10}  # unless a paper says otherwise


class Trainer(Protocol):
    """Trains what no recipe can (a tagger of sentences, say), into a run folder like all others.

    ``softlabel.train.runs.start`` begins a run; its configuration holds ``epochs``, and
    ``Run.finish`` ends it.  ``seconds`` is about what one run takes.
    """

    seconds: float

    def begun(self, seed: int, out: str) -> Run: ...

    def completed(self, seed: int, out: str, tell: Tell) -> Run: ...


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a table, trained from several seeds: whose labels, delivered how.

    ``settings`` change the recipe's configuration; ``base`` names another recipe of
    ``softlabel.train.RECIPES`` than the one that the paper's recipe stands for (``cpu``: small,
    ``features``: features; ``paper`` has none, so it must be named).  A ``trainer`` takes the place
    of all four.
    """

    name: str
    lesson: Callable[[], Lesson]
    deliver: str | None = "aggregate"
    settings: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None
    trainer: Trainer | None = None


class Paper(Protocol):
    """A module of this room: ``collins2022``, ``uma2020``, ``singh2025``, ``gheibi2026``.

    It may have, besides: ``SEEDS``, how many runs a cell has by recipe; ``figures(results)``, a
    list of ``claims.figures.Figure``; ``tables(results)``, ours beside the paper's, a
    list of ``claims.scoring.Table``.  Both are given one recipe's results, which say
    which it is (``results.recipe``).  ``COVER`` is the name of the figure that says most.
    """

    NAME: str
    TITLE: str

    def cells(self, recipe: Recipe, quick: bool = False) -> Sequence[Cell]:
        """Most valuable first; with ``quick`` a few, on generated pictures and simulated people."""
        ...

    def probes(self, run: Run, cell: Cell) -> Mapping[str, float]:
        """Scores of a finished run, by name: from its predictions and, for those that need
        gradients, from its weights."""
        ...

    def claims(self, recipe: Recipe) -> Sequence[Claim]:
        """What is held against the runs of this recipe."""
        ...

    def facts(self) -> Sequence[Claim]:
        """What the released data say without any training."""
        ...


def find(name: str) -> Paper:
    """The paper of this name, or the one in a Python file of your own (``./mine2027.py``)."""
    if name.endswith(".py"):
        return _loaded(Path(name).resolve())
    if name not in PAPERS:
        raise UnknownName("paper", name, PAPERS)
    return cast(Paper, import_module(f"softlabel.papers.{name}"))


@cache
def _loaded(path: Path) -> Paper:
    if not path.is_file():
        raise FileError(path, "there is no such file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None, "it ends in .py"
    assert spec.loader is not None, "it is a file"
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return cast(Paper, module)


def seeds(paper: Paper, recipe: Recipe) -> int:
    """How many runs a cell has unless told."""
    own: Mapping[Recipe, int] = getattr(paper, "SEEDS", {})
    return own.get(recipe, SEEDS[recipe])
