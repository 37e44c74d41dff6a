"""Ours from the runs: differences between cells, ratios, pairs of runs, and tests over seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from softlabel.metrics import intervals
from softlabel.papers.claims import Results, over_runs
from softlabel.papers.gheibi2026 import published
from softlabel.tables import Floats, Score

Ours = Callable[[Results], Score | None]
LOSS = "10h/cross-entropy"
ALPHA = 0.05


def mean(cell: str, score: str) -> Ours:
    """The mean over seeds."""
    return lambda results: results.mean(cell, score)


def difference(first: str, second: str, score: str) -> Ours:
    """First minus second, seed by seed."""
    return lambda results: results.difference(first, second, score)


def log_ratio(first: str, second: str, score: str) -> Ours:
    """The mean of log(first / second), seed by seed: curvatures are compared by factors, and have
    no scale that two networks would share.  None where a value is not above 0."""

    def ours(results: Results) -> Score | None:
        a, b = results.by_seed(first, score), results.by_seed(second, score)
        both = np.array([(a[seed], b[seed]) for seed in sorted(a.keys() & b.keys())])
        if not len(both) or not (both > 0).all():
            return None
        return over_runs(np.log(both[:, 0] / both[:, 1]))

    return ours


def either(cells: Sequence[str], score: str) -> Ours:
    """The score of pairs of runs, which either of the two keeps."""

    def ours(results: Results) -> Score | None:
        found: dict[int, float] = {}
        for cell in cells:
            found |= results.by_seed(cell, score)
        return over_runs(list(found.values()))

    return ours


def between_seeds(results: Results, cell: str) -> dict[int, float]:
    """CKA of a seed's features with the next one's, by the lower of the two."""
    later = results.by_seed(cell, "cka/previous")
    return {seed - 1: value for seed, value in later.items()} | results.by_seed(cell, "cka/next")


def cka_difference(first: str, second: str) -> Ours:
    """Over pairs of neighbouring seeds; these share runs, so the interval is a little too short."""

    def ours(results: Results) -> Score | None:
        a, b = (between_seeds(results, cell) for cell in (first, second))
        return over_runs([a[seed] - b[seed] for seed in sorted(a.keys() & b.keys())])

    return ours


# ── Wilcoxon's test, and what is left of it after Holm's correction ────────────────────────────


@dataclass(frozen=True)
class Comparison:
    """One of the comparisons with soft training, over paired seeds, one-sided."""

    policy: str
    k: int
    seeds: int
    p: float
    adjusted: float


def compared(results: Results) -> list[Comparison]:
    """The twelve comparisons of the sparse sweep, those that were run, corrected as a family."""
    rows = []
    for policy, by_k in published.P_VALUES.items():
        for k in by_k:
            ours, soft = (results.by_seed(f"k{k}/{one}", LOSS) for one in (policy, "soft"))
            seeds = sorted(ours.keys() & soft.keys())
            if len(seeds) > 1:
                a, b = (np.array([one[seed] for seed in seeds]) for one in (ours, soft))
                rows.append((policy, k, len(seeds), intervals.paired_wilcoxon(a, b, "less")))
    adjusted = intervals.holm(np.array([row[3] for row in rows]))
    return [Comparison(*row, float(p)) for row, p in zip(rows, adjusted, strict=True)]


def surviving(p_values: Floats) -> int:
    """How many are below .05 after Holm's correction."""
    return int((intervals.holm(p_values) < ALPHA).sum())
