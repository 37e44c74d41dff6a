"""What a metric is: a plain function that says which direction is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from softlabel.errors import DataError, SoftlabelError
from softlabel.tables import Floats

Function = TypeVar("Function", bound=Callable[..., Any])
METRICS: dict[str, Callable[..., Any]] = {}


def metric(
    better: Literal["lower", "higher"], *, proper: bool = False, distance: bool = False
) -> Callable[[Function], Function]:
    """Register a function ``(true[m, k], predicted[m, k]) -> value per item`` (or one scalar).

    ``proper`` promises that, when ``true`` is a class drawn from p, no prediction does better on
    average than p itself; ``distance`` that it is 0 between equal labels and never below.  The
    checks hold it to that.  (Total variation, for one, is a distance and not proper: against
    classes drawn 60 to 40 an over-confident .95 beats .6.)
    """

    def register(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        if name in METRICS:
            raise SoftlabelError(f"metric {name!r} is registered already; choose another name")
        promises = {"better": better, "proper": proper, "distance": distance}
        for promise, value in promises.items():
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
