"""Entropies, divergences and proper scores, item by item.  Natural logarithms throughout."""

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr, xlogy

from softlabel.errors import DataError
from softlabel.metrics.base import distributions, metric
from softlabel.tables import Floats, Ints

# ── how uncertain a label is, and whether two sources are uncertain about the same items ─────


def entropy(probs: Any, *, normalise: bool = False, from_logits: bool = False) -> Floats:
    """Shannon entropy in nats per row, with 0 log 0 = 0.

    >>> entropy([[.7, .2, .1]]).round(6)
    array([0.801819])
    """
    return entropies(distributions(probs, normalise=normalise, from_logits=from_logits))


def normalised_entropy(probs: Any, *, normalise: bool = False, from_logits: bool = False) -> Floats:
    """Entropy divided by its largest value log k; 0 where there is but one class.

    >>> normalised_entropy([[.5, .5] + [0] * 8]).round(6)
    array([0.30103])
    """
    probs = distributions(probs, normalise=normalise, from_logits=from_logits)
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
    """Pearson correlation of two lists of numbers; NaN with fewer than two or no variation."""
    if len(first) < 2 or np.ptp(first) < 1e-12 or np.ptp(second) < 1e-12:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


def possible_labels(probs: Any, *, normalise: bool = False) -> Ints:
    """How many classes hold any mass, per row.

    >>> possible_labels([[.5, .5, 0]])
    array([2])
    """
    return np.asarray((distributions(probs, normalise=normalise) > 0).sum(axis=1))


def entropies(probs: Floats) -> Floats:
    """``entropy`` of rows that are known to be distributions."""
    return np.asarray(entr(probs).sum(axis=1))


# ── how far two labels are apart ─────────────────────────────────────────────────────────────


@metric(better="lower", distance=True, bounds=(0, 1))
def total_variation(true: Floats, predicted: Floats) -> Floats:
    """Half the sum of absolute differences: the largest difference over any set of classes.

    >>> total_variation([[.8, .2, 0]], [[.5, .3, .2]]).round(6)
    array([0.3])
    """
    return np.asarray(abs(true - predicted).sum(axis=1) / 2)


@metric(better="lower", proper=True, distance=True, bounds=(0, np.inf))
def kl(true: Floats, predicted: Floats, floor: float = 0.0) -> Floats:
    """Kullback-Leibler divergence KL(true || predicted); infinite where a class that happens was
    given no chance.  ``floor`` clips predictions from below (U20 uses 1e-12), without rescaling.

    >>> kl([[.8, .2, 0]], [[.5, .3, .2]]).round(6)
    array([0.29491])
    """
    return np.asarray(rel_entr(true, _raise_to(floor, predicted)).sum(axis=1))


@metric(better="lower", distance=True, bounds=(0, np.log(2)))
def jsd(true: Floats, predicted: Floats) -> Floats:
    """Jensen-Shannon divergence in nats, from 0 to log 2.  Its root is ``js_distance``.

    >>> jsd([[.8, .2, 0]], [[.5, .3, .2]]).round(7)
    array([0.0918133])
    """
    return _jsd(true, predicted)


@metric(better="lower", distance=True, bounds=(0, np.sqrt(np.log(2))))
def js_distance(true: Floats, predicted: Floats) -> Floats:
    """Jensen-Shannon distance, the square root of ``jsd``: what scipy's ``jensenshannon`` returns
    and what some papers print under the name of the divergence.

    >>> js_distance([[.8, .2, 0]], [[.5, .3, .2]]).round(6)
    array([0.303007])
    """
    return np.sqrt(_jsd(true, predicted))


@metric(better="lower", bounds=(0, 1))
def w1_values(true: Floats, predicted: Floats) -> Floats:
    """The "Wasserstein distance" of Collins et al. 2022: the two vectors are taken as samples of
    values, so it is the mean absolute difference of the *sorted* vectors.  It does not see which
    class holds the mass.

    >>> w1_values([[.7, .2, .1]], [[.1, .2, .7]])
    array([0.])
    """
    return np.asarray(abs(np.sort(true, axis=1) - np.sort(predicted, axis=1)).mean(axis=1))


@metric(better="lower", distance=True, ordinal=True, bounds=(0, np.inf))
def w1_index(true: Floats, predicted: Floats) -> Floats:
    """Wasserstein distance with classes one step apart in the order of the index; it means
    something only where that order does (ratings, for instance).

    >>> w1_index([[.7, .2, .1]], [[.1, .2, .7]]).round(6)
    array([1.2])
    """
    return np.asarray(abs(np.cumsum(true - predicted, axis=1)).sum(axis=1))


def _raise_to(floor: float, predicted: Floats) -> Floats:
    if not 0 <= floor < 1:
        raise DataError(f"floor = {floor} is not a probability below 1")
    return np.maximum(predicted, floor)


def _jsd(true: Floats, predicted: Floats) -> Floats:
    middle = (true + predicted) / 2
    both = (rel_entr(true, middle) + rel_entr(predicted, middle)).sum(axis=1) / 2
    return np.asarray(np.maximum(both, 0))  # rounding alone can take it below


@metric(better="lower", proper=True, bounds=(0, np.inf))
def cross_entropy(true: Floats, predicted: Floats, floor: float = 0.0) -> Floats:
    """Soft cross-entropy -sum_k true log predicted; infinite where a class that happens was given
    no chance, unless ``floor`` clips predictions from below.

    >>> cross_entropy([[.7, .2, .1]], [[.665241, .244728, .090031]]).round(4)
    array([0.8076])
    """
    with np.errstate(divide="ignore"):  # log 0 = -inf is the answer
        return np.asarray(-xlogy(true, _raise_to(floor, predicted)).sum(axis=1))


@metric(better="lower", proper=True, distance=True, bounds=(0, 2))
def brier(true: Floats, predicted: Floats) -> Floats:
    """Soft Brier score: the sum over classes of squared differences, from 0 to 2.

    >>> brier([[.7, .2, .1]], [[.665241, .244728, .090031]]).round(6)
    array([0.003308])
    """
    return np.asarray(((true - predicted) ** 2).sum(axis=1))
