"""What a person's "50 %" means: one temperature per annotator.

For the report only.  Making each person calibrated by it and then taking the mean makes labels
worse: a mean of calibrated people is under-confident.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import softmax

from softlabel.tables import Floats

FLOOR = 0.01  # added to every chance, so that a 0 is a strong statement and not an infinite one
SPREAD = 0.5  # standard deviation of log t over people: nobody is far from everybody without cause
FARTHEST = 3.0  # |log t|: t from .05 to 20
STEPS, EXACT = 100, 1e-10


def temperature(own: Floats, others: Floats, usual: float | None = None) -> float:
    """t for which q proportional to (s + .01)^(1/t) is nearest to the consensus of the others.

    Maximises -sum CE(others, q) - (log t - log usual)^2 / (2 * .5^2): the maximum a posteriori
    under log t ~ N(log usual, .5^2), or without ``usual`` the maximum likelihood.  ``own`` and
    ``others`` are labels (r, k).  Above 1 a person says too much, below 1 too little; NaN without
    answers.
    """
    if not len(own):
        return math.nan
    logs = np.log(own + FLOOR)
    wanted = float((others * logs).sum())
    centre, weight = (0.0, 0.0) if usual is None else (math.log(usual), SPREAD**-2)
    u = centre  # log t; the objective has one minimum in it
    for _ in range(STEPS):
        slope, bend = _derivatives(logs, wanted, u)
        step = (slope + weight * (u - centre)) / max(bend + weight, EXACT)
        step = min(max(step, -SPREAD), SPREAD)
        u, before = min(max(u - step, -FARTHEST), FARTHEST), u
        if abs(u - before) < EXACT:
            break
    return math.exp(u)


def _derivatives(logs: Floats, wanted: float, u: float) -> tuple[float, float]:
    """Slope of the cross-entropy in log t, and a curvature that is never too small to step by."""
    beta = math.exp(-u)
    q = softmax(beta * logs, axis=1)
    mean = (q * logs).sum(axis=1)
    above = float(mean.sum()) - wanted
    variance = float((q * logs**2).sum() - (mean**2).sum())
    return -beta * above, beta**2 * variance + max(beta * above, 0.0)
