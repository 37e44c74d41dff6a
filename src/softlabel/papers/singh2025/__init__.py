"""Singh, Tiwari, Hasanbeig & Gupta 2025, "Soft-Label Training Preserves Epistemic Uncertainty",
arXiv 2511.14117: the majority's label against the distribution of all labels, on six sets.

We know the abstract and the captions of the figures, but not the four tables, the networks and the
splits.  Those here are our own choice.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from softlabel import metrics
from softlabel.papers.claims import Cell, Scale, items, tuning
from softlabel.papers.singh2025 import data
from softlabel.papers.singh2025.data import PICTURES, SETS, Condition, Labels
from softlabel.papers.singh2025.figures import figures, score_constant, score_run, tables
from softlabel.papers.singh2025.numbers import claims, facts
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.train import Split

NAME = "singh2025"
TITLE = "Singh et al. 2025: Soft-Label Training Preserves Epistemic Uncertainty"
COVER = "curves"
SCORES = ("kl", "entropy-pearson", "accuracy")  # that are shown of arms tuned alike

__all__ = [
    "COVER",
    "NAME",
    "TITLE",
    "cells",
    "claims",
    "facts",
    "figures",
    "probes",
    "score_items",
    "tables",
]

DELIVERIES: dict[Labels, str] = {"soft": "aggregate", "hard": "hard"}
PICTURE_BASES: dict[Scale, str] = {
    **{"cpu": "small", "cpu-tuned": "small"},
    **{"features": "features", "features-tuned": "features"},
    "paper": "g26",
}
TEXT_BASES: dict[Scale, data.Base] = {
    **{"cpu": "words", "cpu-tuned": "words"},
    **{"features": "features", "features-tuned": "features"},
    "paper": "hub",
}
ENCODER = "roberta-base"  # of the recipe "paper": a usual choice, and not known to be theirs


def cells(recipe: Scale, quick: bool = False, encoder: str = ENCODER) -> list[Cell]:
    """Return soft and hard labels for each set; ``encoder`` is a name on a model hub, or a
    folder.  A quick look learns generated pictures and texts, without a large network."""
    if quick and recipe == "paper":
        recipe = "cpu"
    all_cells, tuned = [], recipe in tuning.DECAYS
    for name in SETS:
        settings: dict[str, Any] = {"epochs": 2} if quick else {}
        lesson: Callable[[], Split]
        if name == PICTURES:
            base = PICTURE_BASES[recipe]
            lesson = partial(data.shapes, base == "features") if quick else data.pictures
            if tuned and not quick:
                lesson = data.tuned_pictures
        else:
            base = TEXT_BASES[recipe]
            lesson = partial(data.read_lesson, name, TEXT_BASES[recipe], quick, encoder, tuned)
            if base == "words":
                settings["net"] = f"words:texts={data.texts_per_item(name)}"
            elif base == "hub":
                settings["net"] = f"hub/{encoder}"
        for labels, deliver in DELIVERIES.items():
            all_cells.append(Cell(Condition(name, labels).name, lesson, deliver, settings, base))
    if tuned and not quick:
        return tuning.make_cells(recipe, {cell.name: {"": cell} for cell in all_cells})
    return all_cells


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Return the scores of the run, and those of the training items' mean label."""
    return score_run(run) | score_constant(cell.lesson().teaching.pooled, run.people.probs)


def score_items(run: Run, cell: str) -> Mapping[str, items.Values]:
    """Return the scores of single items."""
    people, predicted, _ = metrics.evaluate.matched(run.predictions, run.people)
    values = {
        "kl": metrics.kl(people, predicted),
        "accuracy": metrics.accuracy(people, predicted),
        "entropy-pearson": items.correlate_items(people, predicted),
    }
    return {name: items.round_values(some) for name, some in values.items()}
