"""What a metric is: a plain function that says which direction is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from softlabel.errors import DataError, SoftlabelError
from softlabel.tables import Floats, Ints

Function = TypeVar("Function", bound=Callable[..., Any])
METRICS: dict[str, Callable[..., Any]] = {}


def metric(
    better: Literal["lower", "higher"],
    *,
    needs: Literal["any", "soft"] = "any",
    proper: bool = False,
    distance: bool = False,
    ordinal: bool = False,
) -> Callable[[Function], Function]:
    """Register a function ``(true[m, k], predicted[m, k]) -> value per item`` (or one scalar).

    ``proper`` promises that, when ``true`` is a class drawn from p, no prediction does better on
    average than p itself; ``distance`` that it is 0 between equal labels and never below.  The
    checks hold it to that.  (Total variation, for one, is a distance and not proper: against
    classes drawn 60 to 40 an over-confident .95 beats .6.)

    ``needs="soft"`` says that against one-hot rows it means nothing (a correlation of entropies);
    ``ordinal`` that the order of the classes enters, which otherwise must not matter.
    """

    def register(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        if name in METRICS:
            raise SoftlabelError(f"metric {name!r} is registered already; choose another name")
        promises = {"better": better, "needs": needs, "ordinal": ordinal}
        for promise, value in {**promises, "proper": proper, "distance": distance}.items():
            setattr(function, promise, value)
        METRICS[name] = function
        return function

    return register


def pair(true: Floats, predicted: Floats) -> tuple[Floats, Floats]:
    """Both as float arrays of one shape (m, k)."""
    true, predicted = np.asarray(true, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if true.shape != predicted.shape or true.ndim != 2:
        raise DataError(f"two arrays (m, k) are compared; got {true.shape} and {predicted.shape}")
    return true, predicted


def one_hot(classes: Ints, k: int) -> Floats:
    """Given classes as rows on the simplex: what a metric takes to score against hard labels.

    >>> one_hot([2, 0], 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    codes = np.asarray(classes)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise DataError(f"classes are one integer per item; got {codes.dtype} of {codes.shape}")
    wrong = np.flatnonzero((codes < 0) | (codes >= k))
    if len(wrong):
        row = int(wrong[0])
        raise DataError(f"row {row}: class {codes[row]} is not in 0..{k - 1} ({len(wrong)} rows)")
    return np.eye(k)[codes]
