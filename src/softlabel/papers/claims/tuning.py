"""Every arm of a comparison tuned alike: the same search on the same validation images.

An arm is what a paper compares: hard labels, label smoothing, votes.  At the scales that are tuned
(``cpu-tuned``, ``features-tuned``, ``fine-tuned``) each arm is trained with every weight decay of a
grid and, if it has a strength of its own, with every strength.  Each run keeps the epoch that is
best on validation items.  The setting of an arm is the one with the lowest mean cross-entropy
there, over the first seeds, which every setting is trained from; only the chosen one is trained
from all seeds.  Test items choose nothing.

The validation items of the CIFAR sets are pictures of CIFAR-10's training part that no paper
trains or tests on, with their given classes: the part that Collins et al. choose by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel import datasets
from softlabel.metrics import one_hot
from softlabel.papers.claims.papers import Cell
from softlabel.papers.claims.results import Results, Scale

if TYPE_CHECKING:
    from softlabel.train import Split, Validation

AT = " @ "  # between an arm and its setting, in the name of a cell
CHOSEN_BY = "val/ce"
PICTURES = 3000  # that an epoch and a setting are chosen by
SEARCH_SEEDS = 2  # of every setting
# Of SGD on pictures, and of AdamW on features, each from the untuned recipe's value up.  A network
# that is trained further takes five minutes a run: only its epoch is chosen.
DECAYS: dict[Scale, tuple[float, ...]] = {
    "cpu-tuned": (1e-4, 1e-3, 3e-3, 1e-2),
    "features-tuned": (1e-2, 1e-1, 1.0, 3.0, 10.0, 30.0, 100.0),
    "fine-tuned": (1e-2,),
}
WORDS = (1e-4, 1e-3, 1.0, 10.0, 30.0)  # of AdamW on texts from scratch, at the scale "cpu-tuned"


def make_cells(scale: Scale, arms: Mapping[str, Mapping[str, Cell]]) -> list[Cell]:
    """Return a cell for every setting of every arm; ``arms`` hold a cell for every strength, by
    its name ("" if there is one only).  Their lessons must have validation items."""
    cells = []
    for decay in sorted({*DECAYS[scale], *WORDS}):
        for arm, choices in arms.items():
            for strength, cell in choices.items():
                if decay not in list_decays(scale, cell):
                    continue
                setting = ", ".join(filter(None, (strength, f"decay={decay:g}")))
                settings: dict[str, Any] = {"weight_decay": decay, "keep": "cross-entropy"}
                if scale == "cpu-tuned" and cell.base in (None, "small"):
                    settings["augment"] = "per_epoch"  # fresh crops and flips
                settings = {**cell.settings, **settings}
                cells.append(replace(cell, name=f"{arm}{AT}{setting}", settings=settings))
    return cells


def list_decays(scale: Scale, cell: Cell) -> tuple[float, ...]:
    """Return the weight decays that are tried for every arm of what this cell is one of."""
    return WORDS if scale == "cpu-tuned" and cell.base == "words" else DECAYS[scale]


def pick_settings(results: Results) -> tuple[Results, dict[str, str]]:
    """Return the runs of the best setting of each arm, under the name of the arm, and the settings
    themselves, compared by the seeds that all of them have.  Results that were not tuned come back
    as they are."""
    settings: dict[str, dict[str, str]] = {}
    for cell in results.cells:
        arm, at, setting = cell.partition(AT)
        if at:
            settings.setdefault(arm, {})[setting] = cell
    if not settings:
        return results, {}
    picked, chosen = [], {}
    for arm, cells in settings.items():
        scores = {name: results.by_seed(cell, CHOSEN_BY) for name, cell in cells.items()}
        scores = {name: values for name, values in scores.items() if values}
        if scores:
            common = set.intersection(*(set(values) for values in scores.values()))
            means = {
                name: fmean(values[seed] for seed in common or values)
                for name, values in scores.items()
            }
            chosen[arm] = min(means, key=lambda name: means[name])
            best = results.of_cell(cells[chosen[arm]])
            picked += [replace(one, cell=arm) for one in best]
    return replace(results, all=picked), chosen


def list_chosen(results: Results) -> set[str]:
    """Return the names of the cells whose settings were chosen."""
    return {f"{arm}{AT}{setting}" for arm, setting in pick_settings(results)[1].items()}


def keep_chosen_items(results: Results) -> Results:
    """Return the results without the scores of single items of settings that were not chosen, which
    no verdict needs."""
    kept = list_chosen(results)
    every = [
        one if AT not in one.cell or one.cell in kept else replace(one, items={})
        for one in results.all
    ]
    return replace(results, all=every)


def add_validation(split: Split) -> Split:
    """Return the split of CIFAR images with the validation pictures."""
    return replace(split, validation=load_pictures())


@cache
def load_pictures() -> Validation:
    """Load pictures of CIFAR-10's training part, with their classes."""
    from softlabel.train import Validation

    data = datasets.cifar10.load("train10k")
    assert data.gold is not None, "CIFAR-10 has its classes"
    labels = one_hot(data.gold[:PICTURES], len(data.index.labels))
    return Validation(data.arrays["images"][:PICTURES], np.asarray(labels, dtype=np.float64))
