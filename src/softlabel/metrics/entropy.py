"""How uncertain a label is, and whether two sources are uncertain about the same items."""

from __future__ import annotations

import numpy as np
from scipy.special import entr

from softlabel.metrics.base import distributions, metric
from softlabel.tables import Floats, Ints


def entropy(probs: Floats) -> Floats:
    """Shannon entropy in nats per row, with 0 log 0 = 0.

    >>> entropy([[.7, .2, .1]]).round(6)
    array([0.801819])
    """
    return entropies(distributions(probs))


def normalised_entropy(probs: Floats) -> Floats:
    """Entropy divided by its largest value log k; 0 where there is but one class.

    >>> normalised_entropy([[.5, .5] + [0] * 8]).round(6)
    array([0.30103])
    """
    probs = distributions(probs)
    k = probs.shape[1]
    return entropies(probs) / np.log(k) if k > 1 else np.zeros(len(probs))


@metric(better="higher", needs="soft", bounds=(-1, 1))
def entropy_pearson(true: Floats, predicted: Floats) -> float:
    """Pearson correlation over items of the two entropies; NaN where one of them is constant.

    >>> people = [[1, 0, 0], [.5, .5, 0], [.34, .33, .33]]
    >>> round(entropy_pearson(people, [[.9, .05, .05], [.6, .3, .1], [.4, .3, .3]]), 6)
    0.994584
    """
    return correlation(entropies(true), entropies(predicted))


@metric(better="higher", needs="soft", bounds=(-1, 1))
def entropy_spearman(true: Floats, predicted: Floats) -> float:
    """Spearman rank correlation over items of the two entropies; NaN where one is constant."""
    from scipy.stats import rankdata  # half a second and 47 MB that a server can do without

    return correlation(rankdata(entropies(true)), rankdata(entropies(predicted)))


def correlation(first: Floats, second: Floats) -> float:
    """Pearson correlation of any two lists of numbers; NaN, not a crash, with fewer than two items
    or no variation."""
    if len(first) < 2 or np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def possible_labels(probs: Floats) -> Ints:
    """How many classes hold any mass, per row.

    >>> possible_labels([[.5, .5, 0]])
    array([2])
    """
    return np.asarray((distributions(probs) > 0).sum(axis=1))


def entropies(probs: Floats) -> Floats:
    """``entropy`` of rows that are known to be distributions."""
    return np.asarray(entr(probs).sum(axis=1))
