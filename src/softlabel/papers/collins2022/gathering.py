"""Runs of one cell of Collins, Bhatt & Weller 2022 put together: over seeds and, with the paper's
recipe, over its networks.

The paper prints means over 15 runs, five of each network, and does not say whether its intervals
are over runs or over networks; ours are over runs, and differences are taken run by run.
"""

from __future__ import annotations

from softlabel.papers.claims import Results, bounds, over_runs
from softlabel.papers.collins2022.names import NETWORKS
from softlabel.tables import Score

Key = tuple[str, int]  # network ("" where there is but one) and seed


def by_run(results: Results, cell: str, score: str) -> dict[Key, float]:
    """The score of every run of this cell, in order."""
    found = {("", seed): value for seed, value in results.by_seed(cell, score).items()}
    for net in NETWORKS:
        own = results.by_seed(f"{net}/{cell}", score)
        found |= {(net, seed): value for seed, value in own.items()}
    return dict(sorted(found.items()))


def mean(results: Results, cell: str, score: str) -> Score | None:
    """Over all runs."""
    return over_runs(list(by_run(results, cell, score).values()), bounds(score))


def difference(results: Results, first: tuple[str, str], second: tuple[str, str]) -> Score | None:
    """First minus second, each a cell and a score, over the runs that both have."""
    a, b = by_run(results, *first), by_run(results, *second)
    return over_runs([a[key] - b[key] for key in sorted(a.keys() & b.keys())])
