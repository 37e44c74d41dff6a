"""What a metric is: a plain function that says which direction is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import Floats

Function = TypeVar("Function", bound=Callable[..., Any])
METRICS: dict[str, Callable[..., Any]] = {}


def metric(
    better: Literal["lower", "higher"], *, proper: bool = False
) -> Callable[[Function], Function]:
    """Register a function ``(true[m, k], predicted[m, k]) -> value per item`` (or one scalar).

    ``proper`` promises that its mean is best when the prediction is the truth; the checks hold it
    to that.
    """

    def register(function: Function) -> Function:
        function.better, function.proper = better, proper  # type: ignore[attr-defined]
        METRICS[function.__name__.replace("_", "-")] = function
        return function

    return register


def pair(true: Floats, predicted: Floats) -> tuple[Floats, Floats]:
    """Both as float arrays of one shape (m, k)."""
    true, predicted = np.asarray(true, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    if true.shape != predicted.shape or true.ndim != 2:
        raise DataError(f"two arrays (m, k) are compared; got {true.shape} and {predicted.shape}")
    return true, predicted
