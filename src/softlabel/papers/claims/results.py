"""What our runs scored, by cell and seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softlabel.metrics import evaluate, intervals
from softlabel.tables import Floats, Score


@dataclass(frozen=True)
class Result:
    """One finished run of one cell: its scores by name (``10h/cross-entropy``), and whence.

    ``about`` holds its ``seconds``, the sha256 of its ``labels``, its ``config`` and its
    ``environment``.
    """

    cell: str
    seed: int
    scores: Mapping[str, float]
    run: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)


SHARES = ("auroc", "aupr", "fpr95", "rms", "rms-dropped", "ece-mass")  # from 0 to 1


def over_runs(
    values: Sequence[float] | Floats, bounds: tuple[float, float] = intervals.ANYWHERE
) -> Score | None:
    """Mean with Student's t interval; of one run the number without an interval, of none None."""
    if len(values) == 1:
        return Score(float(values[0]), math.nan, math.nan, 1)
    return intervals.over_seeds(np.asarray(values), bounds=bounds) if len(values) else None


def bounds(score: str) -> tuple[float, float]:
    """The lowest and the highest value of a score such as ``10h/accuracy``, as far as known."""
    name = score.rpartition("/")[2]
    if name in SHARES:
        return 0.0, 1.0
    return evaluate.bounds("entropy-pearson" if name == "entropy-r" else name)


@dataclass(frozen=True)
class Results:
    """All runs of a paper under one recipe."""

    all: Sequence[Result]
    paper: str = ""
    recipe: str = ""

    @property
    def cells(self) -> list[str]:
        """Those that have a run, in the order of first appearance."""
        return list(dict.fromkeys(one.cell for one in self.all))

    def by_seed(self, cell: str, score: str) -> dict[int, float]:
        """The score of every seed that was run."""
        return {
            one.seed: one.scores[score]
            for one in self.all
            if one.cell == cell and score in one.scores
        }

    def values(self, cell: str, score: str) -> Floats:
        """(n,) the scores in the order of the seeds."""
        found = self.by_seed(cell, score)
        return np.array([found[seed] for seed in sorted(found)])

    def mean(self, cell: str, score: str) -> Score | None:
        """Mean over seeds."""
        return over_runs(self.values(cell, score), bounds(score))

    def difference(self, first: str, second: str, score: str) -> Score | None:
        """Mean of first minus second over the seeds that both have."""
        a, b = self.by_seed(first, score), self.by_seed(second, score)
        return over_runs([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())])

    def names(self, cell: str, prefix: str = "") -> list[str]:
        """The scores that begin so and that any run of the cell has, in their order."""
        found = (name for one in self.all if one.cell == cell for name in one.scores)
        return list(dict.fromkeys(name for name in found if name.startswith(prefix)))
