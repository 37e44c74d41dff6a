"""Singh, Tiwari, Hasanbeig & Gupta 2025, "Soft-Label Training Preserves Epistemic Uncertainty",
arXiv 2511.14117: the majority's label against the distribution of all labels, on six sets.

We know the abstract and the captions of the figures, but not the four tables, the networks and the
splits.  Those here are our own choice.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel import metrics
from softlabel.papers.claims import Cell, Scale, items, tuning
from softlabel.papers.singh2025 import data
from softlabel.papers.singh2025.data import PICTURES, SETS, Condition, Labels
from softlabel.papers.singh2025.figures import (
    draw_released,
    figures,
    score_constant,
    score_run,
    tables,
)
from softlabel.papers.singh2025.numbers import claims, facts
from softlabel.train import Run

if TYPE_CHECKING:  # claims can be read without torch
    from softlabel.train import Split

NAME = "singh2025"
TITLE = "Singh et al. 2025: Soft-Label Training Preserves Epistemic Uncertainty"
COVER = "curves"
SCORES = {  # that are shown of arms tuned alike
    "kl": "KL to people",
    "entropy-pearson": "entropy correlation",
    "accuracy": "accuracy",
}

__all__ = [
    "COVER", "NAME", "SCORES", "TITLE", "cells", "claims", "draw_released", "facts", "figures",
    "probes", "score_items", "tables",
]  # fmt: skip

DELIVERIES: dict[Labels, str] = {"soft": "aggregate", "hard": "hard"}
PICTURE_BASES: dict[Scale, str] = {
    **{"cpu": "small", "cpu-tuned": "small"},
    **{"features": "features", "features-tuned": "features", "fine-tuned": "tuned"},
    "paper": "g26",
}
TEXT_BASES: dict[Scale, data.Base] = {
    **{"cpu": "words", "cpu-tuned": "words"},
    **{"features": "features", "features-tuned": "features"},
    "paper": "hub",
}
MORE_STEPS = {"epochs": 40, "batch": 32, "lr": 3e-3}
ENCODER = "roberta-base"  # of the recipe "paper": a usual choice, and not known to be theirs


def cells(recipe: Scale, quick: bool = False, encoder: str = ENCODER) -> list[Cell]:
    """Return soft and hard labels for each set; ``encoder`` is a name on a model hub, or a
    folder.  A quick look learns generated pictures and texts, without a large network."""
    if quick and recipe == "paper":
        recipe = "cpu"
    all_cells, tuned = [], recipe in tuning.DECAYS
    for name in (PICTURES,) if recipe == "fine-tuned" else SETS:  # its encoder is of pictures
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
    return _tune(recipe, all_cells, encoder) if tuned and not quick else all_cells


def _tune(recipe: Scale, untuned: Sequence[Cell], encoder: str) -> list[Cell]:
    """Return the cells of every arm, also of POPQUORN with annotators' offsets."""
    arms = {cell.name: {"": cell} for cell in untuned}
    if recipe == "features-tuned":
        arms |= _annotator_arms(encoder)
        for arm, choices in arms.items():
            if arm.startswith(data.POPQUORN):  # offsets need more steps; then all arms get them
                longer = {**choices[""].settings, **MORE_STEPS}
                choices["40 epochs"] = replace(choices[""], settings=longer)
    return tuning.make_cells(recipe, arms)


def _annotator_arms(encoder: str) -> dict[str, dict[str, Cell]]:
    """Return POPQUORN with annotators' offsets."""
    from softlabel.papers.singh2025 import annotators  # claims are read without torch

    annotators.register_recipe()
    arms = {}
    for name in data.POPQUORN:
        lesson = partial(annotators.read_lesson, name, encoder, True)
        arm = Condition(name, "annotators").name
        arms[arm] = {"": Cell(arm, lesson, None, {}, annotators.RECIPE)}
    return arms


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Return the scores of the run, and those of the training items' mean label."""
    known = cell.lesson().teaching.pooled
    scores = score_run(run) | score_constant(known, run.people.probs)
    name, _, labels = cell.name.partition(tuning.AT)[0].rpartition(" ")
    if labels == "annotators":
        from softlabel.papers.singh2025.annotators import score_ratings

        scores |= score_ratings(run, name, known.mean(axis=0))
    return scores


def score_items(run: Run, cell: str) -> Mapping[str, items.Values]:
    """Return the scores of single items, also those of the training items' mean label."""
    people, predicted, _ = metrics.evaluate.matched(run.predictions, run.people)
    arm, tuned, _ = cell.partition(tuning.AT)
    mean = data.constant(arm.rpartition(" ")[0], bool(tuned))
    values = {
        "kl": metrics.kl(people, predicted),
        "constant/kl": metrics.kl(people, np.tile(mean, (len(people), 1))),
        "accuracy": metrics.accuracy(people, predicted),
        "entropy-pearson": items.correlate_items(people, predicted),
        "entropy-spearman": items.correlate_ranks(people, predicted),
    }
    return {name: items.round_values(some) for name, some in values.items()}
