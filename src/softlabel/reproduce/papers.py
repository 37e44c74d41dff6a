"""A paper: what is trained for it, what it claims, and what the released data alone say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from softlabel.recipes.lesson import Lesson
from softlabel.reproduce.claims import Claim, Recipe
from softlabel.runs import Run


@dataclass(frozen=True, eq=False)
class Cell:
    """One cell of a table, trained from several seeds: whose labels, delivered how.

    ``settings`` change the recipe's configuration; ``base`` names another recipe of
    ``softlabel.recipes.RECIPES`` than the one that the paper's recipe stands for.
    """

    name: str
    lesson: Callable[[], Lesson]
    deliver: str | None = "aggregate"
    settings: Mapping[str, Any] = field(default_factory=dict)
    base: str | None = None


class Paper(Protocol):
    """A module of this room: ``collins2022``, ``uma2020``, ``singh2025``, ``gheibi2026``."""

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
