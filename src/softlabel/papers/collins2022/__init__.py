"""Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator"
(HCOMP, arXiv 2207.00810): 248 people, 1,000 images of CIFAR-10, and what networks learn from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from softlabel.papers.claims import Cell, Scale
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
    "COVER", "NAME", "TITLE", "cells", "claims", "draw_released", "facts", "figures", "probes",
    "tables",
]  # fmt: skip

NAME = "collins2022"
TITLE = "Collins, Bhatt & Weller 2022: Eliciting and Learning with Soft Labels from Every Annotator"
COVER = "m-curve"


def cells(scale: Scale, quick: bool = False) -> Sequence[Cell]:
    """Return what is trained at this scale: all of it for the cheapest network, then the others."""
    if scale == "data":
        return []
    networks: Sequence[str] = [""]
    chosen = [one for one in CONDITIONS if one in QUICK or not quick]
    if scale == "paper":  # which has so many epochs anyway
        networks = NETWORKS[:1] if quick else NETWORKS
        chosen = [one for one in chosen if one.epochs is None]
    if scale == "features":  # which cannot be cropped
        chosen = [one for one in chosen if not one.fresh]
    images = conditions.CIFAR
    if quick:
        images = conditions.FEATURES if scale == "features" else conditions.GENERATED
    return [
        _make_cell(replace(one, network=net), images, quick) for net in networks for one in chosen
    ]


def _make_cell(condition: Condition, images: str, quick: bool) -> Cell:
    labels, delivery, strength = condition.labels, condition.delivery, condition.strength
    only = {"hard": "hard", "uniform": "mixed:then=uniform", "random": "mixed:then=random"}
    if labels in only:
        lesson, deliver = "t2-clamp", only[labels]
    elif labels == "smoothing":
        lesson, deliver = f"smoothing {0.05 if strength is None else strength}", "aggregate"
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


def _load_lesson(images: str, labels: str) -> Split:
    from softlabel.papers.collins2022.labels import make_lesson  # claims are read without torch

    return make_lesson(images, labels)


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Measure a finished run."""
    from softlabel.papers.collins2022.labels import score_run  # claims are read without torch

    return score_run(run, cell)
