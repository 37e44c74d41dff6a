"""What people say and what happens: a calibration curve over all classes of all answers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from softlabel.tables import Floats

EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # few and wide: one person has few answers


class Bin(NamedTuple):
    """All chances from ``low`` to below ``high`` (to 1 in the last): how many there are, what
    they are on average, and what share of the others chose the classes they were given to."""

    low: float
    high: float
    n: int
    stated: float
    others: float


def calibration(own: Floats, others: Floats) -> tuple[Bin, ...]:
    """The bins that hold anything, of labels (r, k) and the consensus of the others (r, k).

    On the diagonal "70 %" is what 70 % of the others think; above it the person says too little,
    below it too much.

    >>> calibration(np.array([[0.8, 0.2]]), np.array([[0.6, 0.4]]))
    (Bin(low=0.1, high=0.3, n=1, stated=0.2, others=0.4),
     Bin(low=0.7, high=0.9, n=1, stated=0.8, others=0.6))
    """
    stated, met = own.ravel(), others.ravel()
    place = np.minimum(np.searchsorted(EDGES, stated, side="right") - 1, len(EDGES) - 2)
    n, said, got = (
        np.bincount(place, weights, minlength=len(EDGES) - 1) for weights in (None, stated, met)
    )
    return tuple(
        Bin(EDGES[b], EDGES[b + 1], int(n[b]), float(said[b] / n[b]), float(got[b] / n[b]))
        for b in np.flatnonzero(n).tolist()
    )
