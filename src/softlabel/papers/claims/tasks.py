"""One run of one cell of a paper, in a few words that can be sent to another process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

from softlabel import registry
from softlabel.deliver import Deliver
from softlabel.errors import SoftlabelError, UnknownName
from softlabel.io import Tell, silent
from softlabel.papers.claims import probing
from softlabel.papers.claims.claims import Recipe
from softlabel.papers.claims.papers import Cell, Paper, find
from softlabel.train import RECIPES, Config, Lesson, Run, begun, changed, completed, features
from softlabel.train import Recipe as Base

BASES: dict[Recipe, str] = {"cpu": "small", "features": "features"}
MOST = 2  # lessons in memory at once: tasks of one cell follow each other


@dataclass(frozen=True)
class Task:
    """What to train.  ``paper`` is a name or a Python file; ``also`` are cells that come to the
    same run (the same labels, delivered the same way), for which it is only probed."""

    paper: str
    recipe: Recipe
    cell: str
    seed: int
    out: str
    quick: bool = False
    also: tuple[str, ...] = ()

    def text(self) -> str:
        """As one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Task:
        """What ``text`` wrote."""
        words = json.loads(text)
        return cls(**words | {"also": tuple(words["also"])})

    def anywhere(self) -> Task:
        """The same with whole paths."""
        paper = str(Path(self.paper).resolve()) if self.paper.endswith(".py") else self.paper
        return replace(self, paper=paper, out=str(Path(self.out).resolve()))

    # ── what the words stand for ─────────────────────────────────────────────────────────────

    @property
    def of_paper(self) -> Paper:
        return find(self.paper)

    @property
    def what(self) -> Cell:
        """The cell of this name."""
        return self._called(self.cell)

    def _called(self, name: str) -> Cell:
        known = cells(self.paper, self.recipe, self.quick)
        if name not in known:
            raise UnknownName(f"cell of {self.paper} ({self.recipe})", name, known)
        return known[name]

    @property
    def base(self) -> Base:
        """The recipe that trains it."""
        name = self.what.base or BASES.get(self.recipe)
        if name is None:
            raise SoftlabelError(
                f"{self.paper}, cell {self.cell!r}: recipe {self.recipe!r} stands for none of "
                f"ours, so the cell must name its base; there are {', '.join(RECIPES)}"
            )
        if name not in RECIPES:
            raise UnknownName("recipe", name, RECIPES)
        return RECIPES[name]

    @property
    def config(self) -> Config:
        """The recipe's configuration with the cell's changes."""
        return changed(self.base.config, self.what.settings, f"cell {self.cell!r},")

    @property
    def policy(self) -> Deliver | None:
        """How labels are delivered; None where the objective takes the votes themselves."""
        deliver, objective = self.what.deliver, self.config.objective
        if (deliver is None) == (objective == "labels"):
            raise SoftlabelError(
                f"{self.paper}, cell {self.cell!r}: deliver {deliver!r} does not go with objective "
                f"{objective!r}; labels need a delivery, and a crowd layer takes none"
            )
        if deliver is None:
            return None
        policy: Deliver = registry.parse("deliver", deliver)
        return policy

    @property
    def takes(self) -> float | None:
        """Seconds, as a trainer of its own says; else a trial must tell."""
        return None if self.what.trainer is None else self.what.trainer.seconds

    @property
    def _key(self) -> tuple[str, Recipe, str, bool]:
        return self.paper, self.recipe, self.cell, self.quick

    def lesson(self, tell: Tell = silent) -> Lesson:
        """What there is to learn; made once per cell."""
        if self._key not in LESSONS:
            lesson = self.what.lesson()
            if self.base.kind == "features":
                lesson = features.featured(lesson, tell=tell)
            while len(LESSONS) >= MOST:
                del LESSONS[next(iter(LESSONS))]
            LESSONS[self._key] = lesson
            SIZES[self._key] = lesson.inputs.shape, lesson.teaching.pooled.shape[1]
        return LESSONS[self._key]

    def size(self) -> tuple[tuple[int, ...], int]:
        """The shape of all inputs, and the number of classes."""
        if self._key not in SIZES:
            self.lesson()
        return SIZES[self._key]

    # ── the run ──────────────────────────────────────────────────────────────────────────────

    def begun(self, tell: Tell = silent) -> Run:
        """Its folder; everything that can be wrong with the words is found here."""
        trainer = self.what.trainer
        if trainer is not None:
            return trainer.begun(self.seed, self.out)
        words = self.base, self.config, self.lesson(tell), self.policy
        return begun(*words, seed=self.seed, out=self.out)

    def completed(self, tell: Tell = silent) -> Run:
        """The run, finished and probed."""
        run = self._trained(tell)
        for cell in self._unprobed(run):
            tell("probing")
            found = self.of_paper.probes(run, self._called(cell))
            probing.keep(run, self.of_paper.NAME, cell, found)
        return run

    def _trained(self, tell: Tell) -> Run:
        trainer = self.what.trainer
        if trainer is not None:
            return trainer.completed(self.seed, self.out, tell)
        words = self.base, self.config, self.lesson(tell), self.policy
        return completed(*words, seed=self.seed, out=self.out, tell=tell)

    def probed(self, run: Run) -> bool:
        """Whether all that the paper asks of this run is known."""
        return not self._unprobed(run)

    def _unprobed(self, run: Run) -> list[str]:
        paper, every = self.of_paper.NAME, (self.cell, *self.also)
        return [cell for cell in every if probing.known(run, paper, cell) is None]


LESSONS: dict[tuple[str, Recipe, str, bool], Lesson] = {}
SIZES: dict[tuple[str, Recipe, str, bool], tuple[tuple[int, ...], int]] = {}


@cache
def cells(paper: str, recipe: Recipe, quick: bool = False) -> dict[str, Cell]:
    """By name, most valuable first."""
    found: dict[str, Cell] = {}
    for cell in find(paper).cells(recipe, quick):
        if cell.name in found:
            raise SoftlabelError(f"{paper} ({recipe}) has two cells called {cell.name!r}")
        found[cell.name] = cell
    return found


def in_order(recipe: Recipe) -> Callable[[Task], tuple[bool, int]]:
    """Runs of the papers' own networks take long: a first seed of every cell, then a second, so
    that what there is at any time is even; after cells with a trainer of their own, which are
    quick.  Other recipes follow cell by cell."""
    if recipe != "paper":
        return lambda task: (False, 0)
    return lambda task: (task.what.trainer is None, task.seed)
