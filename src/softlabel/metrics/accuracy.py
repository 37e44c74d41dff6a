"""How often the most probable class is the right one.

The right class is the mode of ``true``: the class most people named, or the given class where the
rows are one-hot (``one_hot``).  Classes that tie, on either side, are not decided by their place
in the list: ``ties="split"`` gives the chance of being right if every tie were broken at random.
``ties="first"`` takes the first of them, as most published code does.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from softlabel.errors import DataError
from softlabel.metrics.base import distributions, metric
from softlabel.registry import check_choice
from softlabel.tables import Floats

Ties = Literal["split", "first"]


def mode(probs: Floats, ties: Ties = "split") -> Floats:
    """(m, k) one-hot rows of the most probable class; tied classes share it, or the first has it.

    >>> mode([[.4, .4, .2]])
    array([[0.5, 0.5, 0. ]])
    """
    return in_top(distributions(probs), 1, ties)


@metric(better="higher", bounds=(0, 1))
def accuracy(true: Floats, predicted: Floats, top: int = 1, ties: Ties = "split") -> Floats:
    """Whether the mode of ``true`` is among the ``top`` most probable classes predicted.

    >>> accuracy([[.7, .2, .1], [.4, .4, .2]], [[.6, .3, .1], [.5, .2, .3]])
    array([1. , 0.5])
    """
    return hits(true, predicted, top, ties)


@metric(better="higher", bounds=(0, 1))
def top2_accuracy(true: Floats, predicted: Floats, ties: Ties = "split") -> Floats:
    """Whether the mode of ``true`` is one of the two most probable classes predicted."""
    return hits(true, predicted, 2, ties)


@metric(better="higher", bounds=(0, 1))
def worst_class_accuracy(true: Floats, predicted: Floats, ties: Ties = "split") -> float:
    """The lowest accuracy over classes, items being grouped by the mode of ``true``.

    An item whose mode is tied counts in part for each of its classes; a class without items is
    passed over; without any item the answer is NaN.

    >>> worst_class_accuracy([[1, 0], [1, 0], [0, 1]], [[.9, .1], [.3, .7], [.2, .8]])
    0.5
    """
    owner = in_top(true, 1, ties)
    found = (owner * in_top(predicted, 1, ties)).sum(axis=0)
    size = owner.sum(axis=0)
    return float((found[size > 0] / size[size > 0]).min()) if size.any() else float("nan")


# ── of arrays that were checked already ──────────────────────────────────────────────────────


def hits(true: Floats, predicted: Floats, top: int = 1, ties: Ties = "split") -> Floats:
    """``accuracy`` of rows that are known to be distributions."""
    return np.asarray((in_top(true, 1, ties) * in_top(predicted, top, ties)).sum(axis=1))


def in_top(probs: Floats, top: int, ties: Ties) -> Floats:
    """(m, k) the chance that a class is among the ``top``; rows sum to ``top``.  For ``top=1`` and
    tied classes this is the mode, shared."""
    check_choice("ties", ties, get_args(Ties))
    m, k = probs.shape
    if not 1 <= top <= k:
        raise DataError(f"top = {top} is not in 1..{k}, the number of classes")
    if ties == "first":
        chance = np.zeros((m, k))
        if top == 1:
            chance[np.arange(m), probs.argmax(axis=1)] = 1
        else:
            best = np.argsort(-probs, axis=1, kind="stable")[:, :top]
            np.put_along_axis(chance, best, 1.0, axis=1)
        return chance
    if top == 1:
        best = probs == probs.max(axis=1, keepdims=True)
        return np.asarray(best / best.sum(axis=1, keepdims=True))
    # the last place in the top goes to value `edge`; classes at that value share what is left
    edge = np.partition(probs, k - top, axis=1)[:, [k - top]]
    above, level = probs > edge, probs == edge
    left = top - above.sum(axis=1, keepdims=True)
    return np.asarray(above + level * left / level.sum(axis=1, keepdims=True))
