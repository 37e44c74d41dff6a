"""Uma, Fornaciari, Hovy, Paun, Plank & Poesio 2020, "A Case for Soft Loss Functions".

Six ways to learn from votes on three tasks: the true class, the majority, Dawid and Skene's class,
a crowd layer (DL-MW), and two soft labels, shares and softmax of the counts.  The recipe ``paper``
has all three tasks, each with its own network; ``cpu`` and ``features`` have CIFAR-10H alone.
What our copies of the data cannot show stands in ``docs/papers/uma2020.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from softlabel import evaluate
from softlabel.metrics import accuracy, cross_entropy, entropy_pearson
from softlabel.reproduce import uma2020_beside, uma2020_claims, uma2020_facts
from softlabel.reproduce.claims import Claim, Recipe
from softlabel.reproduce.papers import Cell
from softlabel.reproduce.results import Results
from softlabel.reproduce.scoring import Table
from softlabel.runs import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.deliver import Deliver
    from softlabel.files import Tell
    from softlabel.recipes.lesson import Lesson
    from softlabel.recipes.own import Own
    from softlabel.reproduce.uma2020_tasks import Truth

NAME = "uma2020"
TITLE = "Uma et al. 2020, A Case for Soft Loss Functions"
SEEDS: dict[Recipe, int] = {"paper": 10, "cpu": 10, "features": 10}

# how each way is delivered; a crowd layer takes the votes themselves
WAYS = {
    "softmax": "aggregate",
    "shares": "aggregate",
    "gold": "hard",
    "majority": "hard",
    "dawid-skene": "hard",
    "crowd-layer": None,
}
CROWD = {"objective": "mw", "crowd_transposed": True}  # the matrix on the left, as in the paper
WHOLE = {"batch": 1000}  # LabelMe's crowd layer learns all photographs at once, as in the code
LEAST = 1e-12  # a prediction's least probability inside the logarithm, as in the code
QUICK = {"epochs": 3, "batch": 32}


# ── what is trained ──────────────────────────────────────────────────────────────────────────


def cells(recipe: Recipe, quick: bool = False) -> list[Cell]:
    """The cheap tasks first."""
    if quick:
        return [_cell("quick", way, "small", QUICK) for way in WAYS]
    if recipe != "paper":
        return [_cell("cifar10h", way) for way in WAYS]
    return [
        *(_own("labelme", way) for way in WAYS),
        Cell(  # in batches like the others, beside the full batch of the code
            "labelme/crowd-layer-batches",
            partial(_lesson, "labelme", "crowd-layer"),
            None,
            CROWD,
            trainer=_Trainer("labelme", "crowd-layer", CROWD),
        ),
        *(_own("pos", way) for way in WAYS),
        *(_cell("cifar10h", way, "u20") for way in WAYS),
    ]


def _cell(
    task: str, way: str, base: str | None = None, settings: Mapping[str, Any] | None = None
) -> Cell:
    changes = {**(settings or {}), **(CROWD if way == "crowd-layer" else {})}
    return Cell(f"{task}/{way}", partial(_lesson, task, way), WAYS[way], changes, base)


def _own(task: str, way: str) -> Cell:
    changes = CROWD if way == "crowd-layer" else {}
    if changes and task == "labelme":
        changes = {**changes, **WHOLE}
    trainer = _Trainer(task, way, changes)
    return Cell(f"{task}/{way}", partial(_lesson, task, way), WAYS[way], changes, trainer=trainer)


def _lesson(task: str, way: Any) -> Lesson:
    if task == "quick":
        from softlabel.reproduce import uma2020_quick

        return uma2020_quick.lesson(way)
    from softlabel.reproduce import uma2020_tasks

    made: Lesson = getattr(uma2020_tasks, task)(way)
    return made


@dataclass(frozen=True)
class _Trainer:
    """LabelMe's folds, or the tagger of POS, with changed settings."""

    task: str
    way: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return {"labelme": 12.0, "pos": 75.0}[self.task]

    def begun(self, seed: int, out: str) -> Run:
        trainer, *words = self._words()
        return trainer.begun(*words, seed=seed, out=out)

    def completed(self, seed: int, out: str, tell: Tell) -> Run:
        trainer, *words = self._words()
        return trainer.completed(*words, seed=seed, out=out, tell=tell)

    def _words(self) -> tuple[Own, Any, Lesson, Deliver | None]:
        from softlabel import registry
        from softlabel.recipes import folds, tagging
        from softlabel.recipes.settings import changed

        trainer = folds.LABELME if self.task == "labelme" else tagging.POS
        policy = WAYS[self.way]
        deliver = None if policy is None else registry.parse("deliver", policy)
        config = changed(trainer.recipe.config, self.settings)
        return trainer, config, _lesson(self.task, self.way), deliver


# ── what is measured ─────────────────────────────────────────────────────────────────────────


def probes(run: Run, cell: Cell) -> dict[str, float]:
    """Accuracy against the true class, cross-entropy to people, and one correlation of entropies
    over all items."""
    truth = _truth(cell.name.partition("/")[0])
    predictions = run.predictions
    found = {}
    for name, gold in truth.gold.items():
        true, predicted, _ = evaluate.matched(predictions, gold)
        found[name] = float(accuracy(true, predicted, ties="first").mean())
    for before, people in truth.people.items():
        true, predicted, _ = evaluate.matched(predictions, people)
        found[f"{before}cross-entropy"] = float(cross_entropy(true, predicted, LEAST).mean())
        found[f"{before}entropy-pearson"] = entropy_pearson(true, predicted)
    return found


def _truth(task: str) -> Truth:
    if task == "quick":
        from softlabel.reproduce import uma2020_quick

        return uma2020_quick.truth()
    from softlabel.reproduce import uma2020_tasks

    made: Truth = getattr(uma2020_tasks, f"{task}_truth")()
    return made


# ── what is claimed ──────────────────────────────────────────────────────────────────────────


def claims(recipe: Recipe) -> list[Claim]:
    """Tables 2 and 3, cell by cell, and what the paper concludes from them."""
    return uma2020_claims.claims(recipe)


def tables(results: Results) -> list[Table]:
    """Tables 2 and 3, ours beside the paper's."""
    return uma2020_beside.tables(results)


def facts() -> Sequence[Claim]:
    """Table 1 and figure 1."""
    return uma2020_facts.facts()
