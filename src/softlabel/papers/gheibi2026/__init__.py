"""Gheibi & Ghazizadeh 2026, "Same Target, Different Basins: Hard vs. Soft Labels for Annotator
Distributions", arXiv 2605.20642.

Single votes, drawn (SLS) or taken in turn (multipass), have the same expected loss as the shares of
all votes; only the noise differs.  The paper compares them with soft labels and majority votes on
CIFAR-10H, with all votes and with few.  We know its numbers from reading notes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from softlabel.papers.claims import Cell, Scale, items, tuning
from softlabel.papers.gheibi2026.conditions import CONDITIONS, cells
from softlabel.papers.gheibi2026.facts import facts
from softlabel.papers.gheibi2026.figures import figures, tables
from softlabel.papers.gheibi2026.numbers import claims

if TYPE_CHECKING:
    from softlabel.train import Run

NAME = "gheibi2026"
TITLE = "Gheibi & Ghazizadeh 2026: Same target, different basins"
COVER = "by-votes"
SCORES = {  # that are shown of arms tuned alike
    "10h/cross-entropy": "soft NLL",
    "10h/entropy-spearman": "rank correlation of entropies",
    "10h/accuracy": "accuracy",
}
SEEDS: dict[Scale, int] = {"cpu-tuned": 5}  # with its Hessian a run takes more than a minute

__all__ = [
    "COVER", "NAME", "SCORES", "SEEDS", "TITLE", "cells", "claims", "facts", "figures", "probes",
    "score_items", "tables",
]  # fmt: skip


def probes(run: Run, cell: Cell) -> Mapping[str, float]:
    """Return all that is measured on a finished run."""
    from softlabel.papers.gheibi2026.measurements import FinishedRun, measure

    condition = CONDITIONS[cell.name.partition(tuning.AT)[0]]
    return measure(FinishedRun(run, condition, cell.lesson()))


def score_items(run: Run, cell: str) -> Mapping[str, items.Values]:
    """Return the scores of single items."""
    from softlabel.metrics import accuracy, cross_entropy, evaluate

    people, predicted, _ = evaluate.matched(run.predictions, run.people)
    values = {
        "cross-entropy": cross_entropy(people, predicted),
        "accuracy": accuracy(people, predicted),
        "entropy-spearman": items.correlate_ranks(people, predicted),
    }
    return {f"10h/{name}": items.round_values(some) for name, some in values.items()}
