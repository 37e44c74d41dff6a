"""Out-of-distribution detection: scores of single items, and how well a score separates two sets.

Scores are any numbers, not distributions: high inside the training distribution, low outside.
Four are functions of logits (m, k), one of features.  ODIN needs gradients and is a function of
``softlabel.train``.  All are computed in float64: at a temperature of 1000, float32 loses the
differences between items.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import entr, log_softmax, logsumexp

from softlabel.errors import DataError
from softlabel.tables import Floats

CHUNK = 4_000_000  # distances held in memory at once


def max_softmax(logits: Floats) -> Floats:
    """The largest probability (Hendrycks & Gimpel 2017).

    >>> max_softmax([[2, 1, 0]]).round(6)
    array([0.665241])
    """
    return np.asarray(np.exp(log_softmax(_logits(logits), axis=1).max(axis=1)))


def max_logit(logits: Floats) -> Floats:
    """The largest logit (Hendrycks et al. 2022)."""
    return np.asarray(_logits(logits).max(axis=1))


def energy(logits: Floats, temperature: float = 1.0) -> Floats:
    """Negative free energy T log sum exp(z / T) (Liu et al. 2020).

    >>> energy([[2, 1, 0]]).round(6)
    array([2.407606])
    """
    return np.asarray(temperature * logsumexp(_logits(logits) / temperature, axis=1))


def negative_entropy(logits: Floats) -> Floats:
    """Minus the entropy of the predicted distribution."""
    return np.asarray(-entr(np.exp(log_softmax(_logits(logits), axis=1))).sum(axis=1))


def knn(features: Floats, known: Floats, k: int = 50) -> Floats:
    """Minus the distance to the ``k``-th nearest of the ``known`` features, those of training
    items, after scaling every vector to length 1 (Sun et al. 2022).  A vector of zeros stays.

    >>> knn([[1, 1], [3, 0]], [[0, 5], [0, 1], [1, 1]], k=2).round(6)
    array([-0.765367, -1.414214])
    """
    asked, bank = _unit(features), _unit(known)
    if asked.shape[1] != bank.shape[1]:
        raise DataError(f"features have {asked.shape[1]} columns, the known {bank.shape[1]}")
    if not 1 <= k <= len(bank):
        raise DataError(f"k = {k} is not in 1..{len(bank)}, the number of known items")
    size = (bank**2).sum(axis=1)
    found = np.empty(len(asked))
    step = max(1, CHUNK // len(bank))
    for start in range(0, len(asked), step):
        part = asked[start : start + step]
        squares = (part**2).sum(axis=1)[:, None] + size - 2 * part @ bank.T
        found[start : start + step] = np.partition(squares, k - 1, axis=1)[:, k - 1]
    return -np.sqrt(np.maximum(found, 0))  # rounding alone takes a square below 0


LOGIT_SCORES: dict[str, Callable[[Floats], Floats]] = {
    "max-softmax": max_softmax,
    "max-logit": max_logit,
    "energy": energy,
    "negative-entropy": negative_entropy,
}


def _logits(logits: Floats, shape: str = "logits have shape (m, k)") -> Floats:
    array = np.asarray(logits, dtype=np.float64)
    if array.ndim != 2:
        raise DataError(f"{shape}; got {array.shape}")
    return array


def _unit(features: Floats) -> Floats:
    rows = _logits(features, "features have shape (m, d)")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))


def auroc(inside: Floats, outside: Floats) -> float:
    """The chance that an inside item scores above an outside one; ties count a half.

    >>> round(auroc([.9, .8, .4], [.7, .3]), 6)
    0.833333
    """
    inside, outside = _scores(inside, outside)
    ranked = np.sort(outside)
    below = np.searchsorted(ranked, inside, side="left")
    upto = np.searchsorted(ranked, inside, side="right")
    return float((below + upto).sum() / (2 * len(inside) * len(outside)))


def fpr95(inside: Floats, outside: Floats, kept: float = 0.95) -> float:
    """The share of outside items let in by the highest threshold that keeps 95 % of the inside
    ones; lower is better.

    >>> fpr95([.9, .8, .4], [.7, .3])
    0.5
    """
    inside, outside = _scores(inside, outside)
    if not 0 < kept <= 1:
        raise DataError(f"kept = {kept} is not a share above 0 and up to 1")
    # 0.95 * 20 is not 19 in floating point, and the 19th must do
    needed = int(np.ceil(np.round(kept * len(inside), 9)))
    return float((outside >= np.sort(inside)[-needed]).mean())


def aupr(inside: Floats, outside: Floats) -> float:
    """Area under precision and recall as a step function (average precision), the inside items
    being the positive ones.  It depends on how many there are of each.  With the outside items
    positive it is ``aupr(-outside, -inside)``.

    >>> round(aupr([.9, .8, .4], [.7, .3]), 6)
    0.916667
    """
    inside, outside = _scores(inside, outside)
    levels = np.unique(inside)  # precision counts where recall rises
    kept = len(inside) - np.searchsorted(np.sort(inside), levels, side="left")
    let_in = len(outside) - np.searchsorted(np.sort(outside), levels, side="left")
    rise = kept - np.append(kept[1:], 0)
    return float(rise @ (kept / (kept + let_in)) / len(inside))


def _scores(inside: Floats, outside: Floats) -> tuple[Floats, Floats]:
    pair = []
    for name, scores in (("inside", inside), ("outside", outside)):
        array = np.asarray(scores, dtype=np.float64)
        if array.ndim != 1 or not len(array):
            raise DataError(f"{name} scores are one number per item; got shape {array.shape}")
        wrong = np.flatnonzero(np.isnan(array))
        if len(wrong):
            raise DataError(f"{name} score of item {wrong[0]} is NaN ({len(wrong)} of them)")
        pair.append(array)
    return pair[0], pair[1]
