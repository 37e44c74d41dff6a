"""Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator"
(HCOMP, arXiv 2207.00810): 248 people, 1,000 images of CIFAR-10, and what networks learn from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from softlabel.papers.claims import Cell, Scale, items, tuning
from softlabel.papers.collins2022 import conditions
from softlabel.papers.collins2022.conditions import CONDITIONS, NETWORKS, PEOPLE, QUICK, Condition
from softlabel.papers.collins2022.examples import draw_released
from softlabel.papers.collins2022.facts import facts
from softlabel.papers.collins2022.figures import figures, tables
from softlabel.papers.collins2022.numbers import claims
from softlabel.train import Run

if TYPE_CHECKING:
    from softlabel.train import Split

__all__ = [
    "COVER", "NAME", "SCORES", "TITLE", "cells", "claims", "draw_released", "facts", "figures",
    "probes", "score_items", "tables",
]  # fmt: skip

NAME = "collins2022"
TITLE = "Collins, Bhatt & Weller 2022: Eliciting and Learning with Soft Labels from Every Annotator"
COVER = "m-curve"
SCORES = {  # that are shown of arms tuned alike
    "10h/ce": "soft cross-entropy, 3,000 images",
    "10s/ce": "soft cross-entropy, 100 images",
    "10h/rms": "RMS calibration error, 3,000 images",
    "10h/accuracy": "accuracy, 3,000 images",
}


def cells(scale: Scale, quick: bool = False) -> Sequence[Cell]:
    """Return what is trained at this scale: all of it for the cheapest network, then the others."""
    if scale == "data":
        return []
    if scale == "fine-tuned" and not quick:
        return tuning.make_cells(
            scale, {one.name: {"": _tune_cell(one)} for one in conditions.MAIN_ARMS}
        )
    if scale in tuning.DECAYS and not quick:
        return tuning.make_cells(
            scale,
            {
                arm.name: {
                    "" if one.strength is None else f"strength={one.strength}": _tune_cell(one)
                    for one in choices
                }
                for arm, choices in conditions.ARMS.items()
            },
        )
    networks: Sequence[str] = [""]
    chosen = [one for one in CONDITIONS if one in QUICK or not quick]
    if scale == "paper":  # which has so many epochs anyway
        networks = NETWORKS[:1] if quick else NETWORKS
        chosen = [one for one in chosen if one.epochs is None]
    if scale in ("features", "features-tuned"):  # which cannot be cropped
        chosen = [one for one in chosen if not one.fresh]
    images = conditions.CIFAR
    if quick:
        generated = conditions.FEATURES, conditions.GENERATED
        images = generated[0] if scale in ("features", "features-tuned") else generated[1]
    return [
        _make_cell(replace(one, network=net), images, quick) for net in networks for one in chosen
    ]


def _make_cell(condition: Condition, images: str, quick: bool) -> Cell:
    labels, delivery, strength = condition.labels, condition.delivery, condition.strength
    only = {"hard": "hard", "uniform": "mixed:then=uniform", "random": "mixed:then=random"}
    if labels in only:
        lesson, deliver = "t2-clamp", only[labels]
    elif labels in ("smoothing", "smoothing-all"):
        lesson, deliver = f"{labels} {0.05 if strength is None else strength}", "aggregate"
    else:
        lesson = labels if strength is None else f"{labels} {strength}"
        deliver = "aggregate" if delivery == "mean" else "per-annotator"
        if isinstance(delivery, int) or labels != "10h":
            m = delivery if isinstance(delivery, int) else PEOPLE
            deliver = f"subsample:m={m},then={deliver}"
    settings: dict[str, Any] = {"epochs": 2, "batch": 16} if quick else {}
    if condition.fresh:
        settings["augment"] = "per_epoch"
    if condition.epochs:
        settings["epochs"] = condition.epochs
    base = f"c22-{condition.network}" if condition.network else None
    return Cell(condition.name, partial(_load_lesson, images, lesson), deliver, settings, base)


def _tune_cell(condition: Condition) -> Cell:
    """Return the cell of a condition with validation images."""
    cell = _make_cell(condition, conditions.CIFAR, quick=False)
    return replace(cell, lesson=partial(_add_validation, cell.lesson))


def _add_validation(lesson: Callable[[], Split]) -> Split:
    return tuning.add_validation(lesson())


def _load_lesson(images: str, labels: str) -> Split:
    from softlabel.papers.collins2022.labels import make_lesson  # claims are read without torch

    return make_lesson(images, labels)


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Measure a finished run."""
    from softlabel.papers.collins2022.labels import score_run  # claims are read without torch

    return score_run(run, cell)


def score_items(run: Run, cell: str) -> Mapping[str, items.Values]:
    """Return the loss of every test item, and of those that are attacked."""
    from softlabel.papers.collins2022 import labels

    return {name: items.round_values(some) for name, some in labels.score_items(run).items()}
