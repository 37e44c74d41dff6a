"""Uma, Fornaciari, Hovy, Paun, Plank & Poesio 2020, "A Case for Soft Loss Functions".

Six ways to learn from votes on three tasks: the true class, the majority, Dawid and Skene's class,
a crowd layer (DL-MW), and two soft labels, shares and softmax of the counts.  The recipe ``paper``
has all three tasks, each with its own network; ``cpu`` and ``features`` have CIFAR-10H alone.
What our copies of the data cannot show stands in ``docs/papers/uma2020.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from softlabel.metrics import accuracy, cross_entropy, entropy_pearson, evaluate
from softlabel.papers.claims import Cell, Claim, Figure, Recipe, Results, Table
from softlabel.papers.uma2020 import beside as uma2020_beside
from softlabel.papers.uma2020 import claims as uma2020_claims
from softlabel.papers.uma2020 import facts as uma2020_facts
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.deliver import Deliver
    from softlabel.io import Tell
    from softlabel.papers.uma2020.tasks import Truth
    from softlabel.train import Lesson, Own

NAME = "uma2020"
TITLE = "Uma et al. 2020: A Case for Soft Loss Functions"
COVER = "labelme-ways"
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
SECONDS = {"labelme": 10.0, "pos": 75.0}  # of a run on one core
QUICK = {"epochs": 3, "batch": 32}


# ── what is trained ──────────────────────────────────────────────────────────────────────────


def cells(recipe: Recipe, quick: bool = False) -> list[Cell]:
    """The cheap tasks first."""
    if quick:  # under the names of CIFAR-10H, so that its claims are computed, too
        return [_cell(_Material("quick", way), "small", QUICK) for way in WAYS]
    if recipe != "paper":
        return [_cell(_Material("cifar10h", way)) for way in WAYS]
    crowd = _Material("labelme", "crowd-layer")
    return [
        *(_own(_Material("labelme", way)) for way in WAYS),
        # in batches like the others, beside the full batch of the code
        Cell(f"{crowd}-batches", crowd, None, CROWD, trainer=_trainer(crowd, CROWD)),
        *(_own(_Material("pos", way)) for way in WAYS),
        *(_cell(_Material("cifar10h", way), "u20") for way in WAYS),
    ]


@dataclass(frozen=True)
class _Material:
    """The lesson of a task, taught in one of the ways, and what its predictions are held against;
    read when it is asked for."""

    task: str
    way: str

    def __str__(self) -> str:
        return f"{'cifar10h' if self.task == 'quick' else self.task}/{self.way}"

    def __call__(self) -> Lesson:
        made: Lesson = getattr(self._room, self.task)(self.way)
        return made

    @property
    def truth(self) -> Truth:
        made: Truth = getattr(self._room, f"{self.task}_truth")()
        return made

    @property
    def _room(self) -> ModuleType:
        return import_module(f"{__name__}.{'quick' if self.task == 'quick' else 'tasks'}")


def _cell(
    of: _Material, base: str | None = None, settings: Mapping[str, Any] | None = None
) -> Cell:
    changes = {**(settings or {}), **(CROWD if of.way == "crowd-layer" else {})}
    return Cell(str(of), of, WAYS[of.way], changes, base)


def _own(of: _Material) -> Cell:
    changes: dict[str, Any] = dict(CROWD) if of.way == "crowd-layer" else {}
    if changes and of.task == "labelme":
        changes |= WHOLE
    return Cell(str(of), of, WAYS[of.way], changes, trainer=_trainer(of, changes))


def _trainer(of: _Material, settings: Mapping[str, Any]) -> _Trainer:
    return _Trainer(of, settings, SECONDS[of.task])


@dataclass(eq=False)
class _Trainer:
    """LabelMe's folds, or the tagger of POS, with changed settings."""

    of: _Material
    settings: Mapping[str, Any]
    seconds: float

    def begun(self, seed: int, out: str) -> Run:
        trainer, *words = self._words()
        return trainer.begun(*words, seed=seed, out=out)

    def completed(self, seed: int, out: str, tell: Tell) -> Run:
        trainer, *words = self._words()
        return trainer.completed(*words, seed=seed, out=out, tell=tell)

    def _words(self) -> tuple[Own, Any, Lesson, Deliver | None]:
        from softlabel import registry
        from softlabel.train import changed, folds, tagging

        trainer = folds.LABELME if self.of.task == "labelme" else tagging.POS
        policy = WAYS[self.of.way]
        deliver = None if policy is None else registry.parse("deliver", policy)
        config = changed(trainer.recipe.config, self.settings)
        return trainer, config, self.of(), deliver


# ── what is measured ─────────────────────────────────────────────────────────────────────────


def probes(run: Run, cell: Cell) -> dict[str, float]:
    """Accuracy against the true class, cross-entropy to people, and one correlation of entropies
    over all items."""
    assert isinstance(cell.lesson, _Material), "a cell of this paper"
    truth = cell.lesson.truth
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


# ── what is claimed ──────────────────────────────────────────────────────────────────────────


def claims(recipe: Recipe) -> list[Claim]:
    """Tables 2 and 3, cell by cell, and what the paper concludes from them."""
    return uma2020_claims.claims(recipe)


def tables(results: Results) -> list[Table]:
    """Tables 2 and 3, ours beside the paper's."""
    return uma2020_beside.tables(results)


def figures(results: Results) -> list[Figure]:
    """Every way by its accuracy and its distance from people."""
    return uma2020_beside.figures(results)


def facts() -> Sequence[Claim]:
    """Table 1 and figure 1."""
    return uma2020_facts.facts()
