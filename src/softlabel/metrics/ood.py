"""Scores that should be high for what a model was taught about and low for anything else.

Four are functions of logits (m, k), one of features: any numbers, not distributions.  The sixth,
ODIN, needs gradients and is ``softlabel.train.odin``.  All are computed in float64: at a
temperature of 1000 the differences between items are lost in float32.
"""

from __future__ import annotations

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


def _logits(logits: Floats) -> Floats:
    array = np.asarray(logits, dtype=np.float64)
    if array.ndim != 2:
        raise DataError(f"logits have shape (m, k); got {array.shape}")
    return array


def _unit(features: Floats) -> Floats:
    rows = np.asarray(features, dtype=np.float64)
    if rows.ndim != 2:
        raise DataError(f"features have shape (m, d); got {rows.shape}")
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(length > 0, length, 1))
