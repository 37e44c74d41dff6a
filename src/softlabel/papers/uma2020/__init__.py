"""Uma, Fornaciari, Hovy, Paun, Plank & Poesio 2020, "A Case for Soft Loss Functions".

The paper compares six ways to learn from votes on three tasks: from the true class, the majority,
the class of Dawid and Skene's model, the single votes through a crowd layer (DL-MW), and two soft
labels, shares and softmax of the counts.  The recipe ``paper`` covers all three tasks, each with
its own network; ``cpu`` and ``features`` cover CIFAR-10H alone.  ``docs/papers/uma2020.md`` lists
what our copies of the data cannot show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from softlabel.metrics import accuracy, cross_entropy, entropy_pearson, evaluate
from softlabel.papers.claims import Cell, Scale, items, tuning
from softlabel.papers.uma2020.figures import figures, tables
from softlabel.papers.uma2020.numbers import SCORE_NAMES as SCORES  # shown of arms tuned alike
from softlabel.papers.uma2020.numbers import Condition, Way, claims, facts
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.deliver import Deliver
    from softlabel.io import Progress
    from softlabel.papers.uma2020.tasks import Truth
    from softlabel.train import Recipe, Split

NAME = "uma2020"
TITLE = "Uma et al. 2020: A Case for Soft Loss Functions"
COVER = "labelme-ways"
SEEDS: dict[Scale, int] = {"paper": 10, "cpu": 10, "features": 10, "features-tuned": 10}

__all__ = [
    "COVER", "NAME", "SCORES", "SEEDS", "TITLE", "cells", "claims", "facts", "figures", "probes",
    "score_items", "tables",
]  # fmt: skip

# how the labels of each way are delivered; a crowd layer takes the votes themselves
DELIVERIES: dict[Way, str | None] = {
    "softmax": "aggregate",
    "shares": "aggregate",
    "gold": "hard",
    "majority": "hard",
    "dawid-skene": "hard",
    "crowd-layer": None,
}
MAIN_WAYS: tuple[Way, ...] = ("shares", "gold", "majority")  # where a run takes long
CROWD = {"objective": "mw", "crowd_transposed": True}  # the matrix on the left, as in the paper
FULL_BATCH = {"batch": 1000}  # of LabelMe's crowd layer, as in the authors' code
LEAST = 1e-12  # predictions are clipped here before the logarithm, as in the authors' code
# of a run on one core, of the tasks with their own trainer
SECONDS = {"labelme": 10.0, "pos": 75.0}
QUICK = {"epochs": 3, "batch": 32}


# ── what is trained ──────────────────────────────────────────────────────────────────────────


def cells(recipe: Scale, quick: bool = False) -> list[Cell]:
    """Return the cells of a recipe, those of the cheap tasks first."""
    if quick:
        return [_cell(Condition("cifar10h", way), "small", quick=True) for way in DELIVERIES]
    if recipe in tuning.DECAYS:
        arms = {}
        for way in MAIN_WAYS if recipe == "fine-tuned" else DELIVERIES:
            cell = _cell(Condition("cifar10h", way))
            arms[cell.name] = {"": replace(cell, lesson=TunedLesson("cifar10h", way))}
        return tuning.make_cells(recipe, arms)
    if recipe != "paper":
        return [_cell(Condition("cifar10h", way)) for way in DELIVERIES]
    return [
        *(_cell(Condition("labelme", way)) for way in DELIVERIES),
        _cell(Condition("labelme", "crowd-layer", batches=True)),
        *(_cell(Condition("labelme", way, code=True)) for way in DELIVERIES),
        *(_cell(Condition("pos", way)) for way in DELIVERIES),
        *(_cell(Condition("cifar10h", way), "u20") for way in DELIVERIES),
    ]


def _cell(condition: Condition, base: str | None = None, quick: bool = False) -> Cell:
    """Return the cell of a condition; a quick one learns generated pictures under its name, so
    that the claims about CIFAR-10H are computed, too."""
    settings: dict[str, Any] = dict(QUICK) if quick else {}
    if condition.way == "crowd-layer":
        settings |= CROWD
        if condition.task == "labelme" and not condition.batches:
            settings |= FULL_BATCH
    lesson = TaskLesson("quick" if quick else condition.task, condition.way)
    seconds = SECONDS.get(condition.task)
    trainer = None if seconds is None else TaskTrainer(lesson, settings, seconds, condition.code)
    return Cell(condition.name, lesson, DELIVERIES[condition.way], settings, base, trainer)


@dataclass(frozen=True)
class TaskLesson:
    """The lesson of a task taught in one way, and what its predictions are compared with.

    Both are read when they are needed, so that cells can be listed without data and torch.
    """

    task: str
    way: Way

    def __call__(self) -> Split:
        from softlabel.papers.uma2020.tasks import TASKS

        return TASKS[self.task][0](self.way)

    @property
    def truth(self) -> Truth:
        """The true classes and people's distributions."""
        from softlabel.papers.uma2020.tasks import TASKS

        return TASKS[self.task][1]()


@dataclass(frozen=True)
class TunedLesson(TaskLesson):
    """The lesson with validation images."""

    def __call__(self) -> Split:
        return tuning.add_validation(super().__call__())


@dataclass(eq=False)
class TaskTrainer:
    """Trains the folds of LabelMe or the tagger of POS."""

    lesson: TaskLesson
    settings: Mapping[str, Any]
    seconds: float
    code: bool = False

    def start_run(self, seed: int, out: str) -> Run:
        trainer, *arguments = self._arguments()
        return trainer.start_run(*arguments, seed=seed, out=out)

    def complete_run(self, seed: int, out: str, tell: Progress) -> Run:
        trainer, *arguments = self._arguments()
        return trainer.complete_run(*arguments, seed=seed, out=out, tell=tell)

    def _arguments(self) -> tuple[Recipe, Any, Split, Deliver | None]:
        from softlabel import registry
        from softlabel.train import change_settings, recipes, tagging

        labelme = recipes.LABELME_CODE if self.code else recipes.LABELME
        trainer = labelme if self.lesson.task == "labelme" else tagging.POS
        policy = DELIVERIES[self.lesson.way]
        deliver = None if policy is None else registry.parse("deliver", policy)
        return trainer, change_settings(trainer.config, self.settings), self.lesson(), deliver


# ── what is measured ─────────────────────────────────────────────────────────────────────────


def probes(run: Run, cell: Cell) -> dict[str, float]:
    """Return accuracy against the true class, and cross-entropy and entropy correlation."""
    assert isinstance(cell.lesson, TaskLesson), "a cell of this paper"
    truth = cell.lesson.truth
    scores = {}
    for name, gold in truth.gold.items():
        true, predicted, _ = evaluate.matched(run.predictions, gold)
        scores[name] = float(accuracy(true, predicted, ties="first").mean())
    for prefix, people in truth.people.items():
        true, predicted, _ = evaluate.matched(run.predictions, people)
        scores[f"{prefix}cross-entropy"] = float(cross_entropy(true, predicted, LEAST).mean())
        scores[f"{prefix}entropy-pearson"] = entropy_pearson(true, predicted)
    return scores


def score_items(run: Run, cell: str) -> dict[str, items.Values]:
    """Return the scores of single items."""
    from softlabel.papers.uma2020.tasks import TASKS

    task = cell.partition(tuning.AT)[0].partition("/")[0].removesuffix("-code")
    truth = TASKS[task][1]()
    true, predicted, _ = evaluate.matched(run.predictions, truth.gold["accuracy"])
    values = {"accuracy": accuracy(true, predicted, ties="first")}
    true, predicted, _ = evaluate.matched(run.predictions, truth.people[""])
    values["cross-entropy"] = cross_entropy(true, predicted, LEAST)
    values["entropy-pearson"] = items.correlate_items(true, predicted)
    return {name: items.round_values(some) for name, some in values.items()}
