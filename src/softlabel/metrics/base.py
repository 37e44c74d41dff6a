"""What a metric is: a plain function that says which direction is better, of distributions.

A number worked out from counts or logits looks like any other, so rows that are no distributions
are refused, once per call: for the registered metrics by the decorator, for the others by
``distributions``.
"""

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any, Literal, TypeVar, cast

import numpy as np

from softlabel.errors import DataError, SoftlabelError
from softlabel.registry import FAMILIES
from softlabel.tables import Floats, Ints, check_simplex

Function = TypeVar("Function", bound=Callable[..., Any])
METRICS: dict[str, Callable[..., Any]] = FAMILIES["metric"]

TOLERANCE = 1e-4  # of a row's sum: a float32 softmax over 10,000 classes stays below it
REMEDY = "divide counts by their row's sum; pass the softmax of logits, not the logits"


def metric(
    better: Literal["lower", "higher"],
    *,
    needs: Literal["any", "soft"] = "any",
    proper: bool = False,
    distance: bool = False,
    ordinal: bool = False,
    bounds: tuple[float, float] = (-inf, inf),
) -> Callable[[Function], Function]:
    """Register a function ``(true[m, k], predicted[m, k]) -> value per item`` (or one scalar).

    Whoever calls it may pass lists or arrays of any number type; the function itself gets two
    float64 arrays of one shape, whose rows are distributions.  Anything else is a ``DataError``.

    ``proper`` promises that, when ``true`` is a class drawn from p, no prediction does better on
    average than p itself; ``distance`` that it is 0 between equal labels and never below.  The
    checks hold it to that.  (Total variation, for one, is a distance and not proper: against
    classes drawn 60 to 40 an over-confident .95 beats .6.)

    ``needs="soft"`` says that against one-hot rows it means nothing (a correlation of entropies);
    ``ordinal`` that the order of the classes enters, which otherwise must not matter.  ``bounds``
    are the lowest and the highest value there can be; no interval reaches beyond them.
    """

    def register(function: Function) -> Function:
        name = function.__name__.replace("_", "-")
        if name in METRICS:
            raise SoftlabelError(f"metric {name!r} is registered already; choose another name")
        promises = {"better": better, "needs": needs, "ordinal": ordinal, "bounds": bounds}

        @wraps(function)
        def checked(true: Floats, predicted: Floats, *args: Any, **options: Any) -> Any:
            return function(*pair(true, predicted), *args, **options)

        for promise, value in {**promises, "proper": proper, "distance": distance}.items():
            setattr(checked, promise, value)
        METRICS[name] = checked
        return cast(Function, checked)

    return register


def pair(true: Floats, predicted: Floats) -> tuple[Floats, Floats]:
    """Both as float64 arrays of one shape (m, k) whose rows are distributions."""
    first, second = _numbers("true", true), _numbers("predicted", predicted)
    if first.shape != second.shape or first.ndim != 2:
        raise DataError(
            f"true and predicted must have one shape (items, classes), with the same items and "
            f"classes in the same order; got {first.shape} and {second.shape}"
        )
    return distributions(first, "true"), distributions(second, "predicted")


def distributions(probs: Floats, name: str = "probs") -> Floats:
    """``probs`` as a float64 array (m, k) whose rows are distributions.

    >>> distributions([[3, 7]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    softlabel.errors.DataError: probs, row 0: probabilities do not sum to 1 (value 10.0); ...
    """
    array = _numbers(name, probs)
    if array.ndim != 2:
        raise DataError(f"{name} must have shape (items, classes); got {array.shape}")
    try:
        check_simplex(name, array, TOLERANCE)
    except DataError as error:
        raise DataError(f"{error}; {REMEDY}") from None
    return array


def _numbers(name: str, values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of numbers (items, classes): {error}") from None


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
