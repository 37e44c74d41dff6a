"""Scores that are best when the prediction is the truth."""

from __future__ import annotations

import numpy as np
from scipy.special import xlogy

from softlabel.metrics.base import metric
from softlabel.tables import Floats


@metric(better="lower", proper=True, bounds=(0, np.inf))
def cross_entropy(true: Floats, predicted: Floats, floor: float = 0.0) -> Floats:
    """Soft cross-entropy -sum_k true log predicted; infinite where a class that happens was given
    no chance, unless ``floor`` clips predictions from below.

    >>> cross_entropy([[.7, .2, .1]], [[.665241, .244728, .090031]]).round(4)
    array([0.8076])
    """
    with np.errstate(divide="ignore"):  # log 0 = -inf is the answer
        return np.asarray(-xlogy(true, np.maximum(predicted, floor)).sum(axis=1))


@metric(better="lower", proper=True, distance=True, bounds=(0, 2))
def brier(true: Floats, predicted: Floats) -> Floats:
    """Soft Brier score: the sum over classes of squared differences, from 0 to 2.

    >>> brier([[.7, .2, .1]], [[.665241, .244728, .090031]]).round(6)
    array([0.003308])
    """
    return np.asarray(((true - predicted) ** 2).sum(axis=1))
