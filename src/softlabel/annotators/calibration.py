"""Calibration of one person: what their "50 %" means, measured against the other annotators.

For reports only.  Pooling people after correcting each one's temperature makes labels worse: a
mean of calibrated people is under-confident.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from softlabel.tables import Floats

EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # few and wide: one person has few answers
FLOOR = 0.01  # added to every chance, so that a 0 is a strong statement and not an infinite one
SPREAD = 0.5  # standard deviation of log t over people
FARTHEST = 3.0  # |log t|: t from .05 to 20
STEPS, EXACT = 100, 1e-10


class Bin(NamedTuple):
    """All stated chances from ``low`` to below ``high`` (up to 1 in the last bin): their number,
    their mean, and the share of the other annotators who chose these classes."""

    low: float
    high: float
    n: int
    stated: float
    others: float


def calibration_curve(own: Floats, others: Floats) -> tuple[Bin, ...]:
    """Return the non-empty bins of labels (r, k) against the consensus of the others (r, k).

    On the diagonal, "70 %" is what 70 % of the others think.  Above it the person is
    under-confident, below it over-confident.

    >>> calibration_curve(np.array([[0.8, 0.2]]), np.array([[0.6, 0.4]]))
    (Bin(low=0.1, high=0.3, n=1, stated=0.2, others=0.4),
     Bin(low=0.7, high=0.9, n=1, stated=0.8, others=0.6))
    """
    stated, observed = own.ravel(), others.ravel()
    place = np.minimum(np.searchsorted(EDGES, stated, side="right") - 1, len(EDGES) - 2)
    n, total, hits = (
        np.bincount(place, weights, minlength=len(EDGES) - 1)
        for weights in (None, stated, observed)
    )
    return tuple(
        Bin(EDGES[b], EDGES[b + 1], int(n[b]), float(total[b] / n[b]), float(hits[b] / n[b]))
        for b in np.flatnonzero(n).tolist()
    )


def fit_temperature(own: Floats, others: Floats, usual: float | None = None) -> float:
    """Return the t for which q proportional to (s + .01)^(1/t) is nearest to the others' consensus.

    Maximises -sum CE(others, q) - (log t - log usual)^2 / (2 * .5^2): the maximum a posteriori
    under log t ~ N(log usual, .5^2), or without ``usual`` the maximum likelihood.  ``own`` and
    ``others`` are labels (r, k).  Over-confident above 1, under-confident below; NaN: no answers.
    """
    if not len(own):
        return math.nan
    logs = np.log(own + FLOOR)
    target = float((others * logs).sum())
    centre, weight = (0.0, 0.0) if usual is None else (math.log(usual), SPREAD**-2)
    u = centre  # log t; the objective has a single minimum in it
    for _ in range(STEPS):
        beta = math.exp(-u)
        q = softmax(beta * logs, axis=1)
        mean = (q * logs).sum(axis=1)
        excess = float(mean.sum()) - target
        variance = float((q * logs**2).sum() - (mean**2).sum())
        slope = -beta * excess
        curvature = beta**2 * variance + max(beta * excess, 0.0)  # never too small to step by
        step = (slope + weight * (u - centre)) / max(curvature + weight, EXACT)
        step = min(max(step, -SPREAD), SPREAD)
        u, before = min(max(u - step, -FARTHEST), FARTHEST), u
        if abs(u - before) < EXACT:
            break
    return math.exp(u)
