"""How well a score tells items from inside the training distribution from items outside.

A higher score says inside.  Equal scores count half, whatever their order in the list.  Scores
are any numbers, not distributions, so only NaN is refused.
"""

from __future__ import annotations

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import Floats


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
