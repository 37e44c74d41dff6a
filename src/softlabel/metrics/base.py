"""What a metric is: a plain function that says which direction is better, of distributions.

A number worked out from counts or logits looks like any other, so rows that are no distributions
are refused, once per call: for the registered metrics by the decorator, for the others by
``distributions``.  Whoever has counts or logits says so: ``normalise=True``, ``from_logits=True``.
"""

from collections.abc import Callable
from functools import wraps
from math import inf
from typing import Any, Literal, Protocol, TypeVar, cast

import numpy as np
from scipy.special import softmax

from softlabel.errors import DataError, SoftlabelError
from softlabel.metrics.alignment import find_orders, read_given
from softlabel.registry import FAMILIES
from softlabel.tables import Floats, Ints, broken, check_simplex

Value = TypeVar("Value", covariant=True)
Bounds = tuple[float, float]
TOLERANCE = 1e-4  # of a row's sum: a float32 softmax over 10,000 classes stays below it
REMEDY = (
    "divide counts by their row's sum (normalise=True does it); pass the softmax of logits, not "
    "the logits (from_logits=True takes it)"
)


class Metric(Protocol[Value]):
    """A registered metric: what it takes, and what it promises about its values.

    ``true`` and ``predicted`` are arrays (m, k), ``SoftLabels``, ``Predictions`` or data frames.
    ``normalise`` divides the rows of both by their sums; ``from_logits`` takes the softmax of
    ``predicted``.
    """

    __name__: str
    better: Literal["lower", "higher"]
    needs: Literal["any", "soft"]
    proper: bool
    distance: bool
    ordinal: bool
    bounds: Bounds

    def __call__(
        self,
        true: Any,
        predicted: Any,
        *args: Any,
        normalise: bool = False,
        from_logits: bool = False,
        **options: Any,
    ) -> Value: ...


METRICS: dict[str, Metric[Any]] = FAMILIES["metric"]


def metric(
    better: Literal["lower", "higher"],
    *,
    needs: Literal["any", "soft"] = "any",
    proper: bool = False,
    distance: bool = False,
    ordinal: bool = False,
    bounds: Bounds = (-inf, inf),
) -> Callable[[Callable[..., Value]], Metric[Value]]:
    """Register a function ``(true[m, k], predicted[m, k]) -> value per item`` (or one scalar).

    Whoever calls it may pass lists, arrays, tables and data frames (see ``Metric``); the function
    itself gets two float64 arrays of one shape, whose rows are distributions of the same items over
    the same classes.  Anything else is a ``DataError``.

    ``proper`` promises that, when ``true`` is a class drawn from p, no prediction does better on
    average than p itself; ``distance`` that it is 0 between equal labels and never below.  The
    checks hold it to that.  (Total variation, for one, is a distance and not proper: against
    classes drawn 60 to 40 an over-confident .95 beats .6.)

    ``needs="soft"`` says that against one-hot rows it means nothing (a correlation of entropies);
    ``ordinal`` that the order of the classes enters, which otherwise must not matter.  ``bounds``
    are the lowest and the highest value there can be; no interval reaches beyond them.
    """

    def register(function: Callable[..., Value]) -> Metric[Value]:
        name = function.__name__.replace("_", "-")
        if name in METRICS:
            raise SoftlabelError(f"metric {name!r} is registered already; choose another name")
        promises = {"better": better, "needs": needs, "ordinal": ordinal, "bounds": bounds}

        @wraps(function)
        def checked(
            true: Any,
            predicted: Any,
            *args: Any,
            normalise: bool = False,
            from_logits: bool = False,
            **options: Any,
        ) -> Value:
            both = pair(true, predicted, normalise=normalise, from_logits=from_logits)
            return function(*both, *args, **options)

        for promise, value in {**promises, "proper": proper, "distance": distance}.items():
            setattr(checked, promise, value)
        METRICS[name] = cast(Metric[Value], checked)
        return cast(Metric[Value], checked)

    return register


def pair(
    true: Any, predicted: Any, *, normalise: bool = False, from_logits: bool = False
) -> tuple[Floats, Floats]:
    """Both as float64 arrays of one shape (m, k) whose rows are distributions, ``predicted`` with
    the items and classes in the order of ``true``."""
    first, second = read_given("true", true), read_given("predicted", predicted)
    rows, columns = find_orders(first, second)
    reference = _checked("true", first.values, normalise, from_logits=False)
    guess = _checked("predicted", second.values, normalise, from_logits)
    return reference, guess[rows][:, columns]


def distributions(
    probs: Any, name: str = "probs", *, normalise: bool = False, from_logits: bool = False
) -> Floats:
    """``probs`` as a float64 array (m, k) whose rows are distributions.

    >>> distributions([[3, 7]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    softlabel.errors.DataError: probs, row 0: probabilities do not sum to 1 (value 10.0); ...
    >>> distributions([[3, 7]], normalise=True)
    array([[0.3, 0.7]])
    """
    array = read_given(name, probs).values
    if array.ndim != 2:
        raise DataError(f"{name} must have shape (items, classes); got {array.shape}")
    return _checked(name, array, normalise, from_logits)


def _checked(name: str, array: Floats, normalise: bool, from_logits: bool) -> Floats:
    if from_logits:
        return _softmax(name, array)
    if normalise:
        return _shares(name, array)
    try:
        check_simplex(name, array, TOLERANCE)
    except DataError as error:
        raise DataError(f"{error}; {REMEDY}") from None
    return array


def _shares(name: str, weights: Floats) -> Floats:
    broken(name, ~np.isfinite(weights).all(axis=1), "a count is not a finite number", weights)
    broken(name, (weights < 0).any(axis=1), "a count is negative", weights)
    total = weights.sum(axis=1, keepdims=True)
    broken(name, total[:, 0] == 0, "counts sum to 0, so that there are no shares", weights)
    return np.asarray(weights / total)


def _softmax(name: str, logits: Floats) -> Floats:
    """Rows of logits as distributions; a logit may be -inf, for a class that cannot be."""
    high = logits.max(axis=1, initial=-inf)
    broken(name, ~np.isfinite(high), "logits must be numbers, of which -inf may be some", logits)
    sums = abs(logits.sum(axis=1) - 1) <= TOLERANCE
    if len(logits) and logits.shape[1] > 1 and (sums & (logits >= 0).all(axis=1)).all():
        raise DataError(
            f"{name}: from_logits=True, but all rows are probabilities already (none is negative, "
            "each sums to 1); leave from_logits out"
        )
    return np.asarray(softmax(logits, axis=1))


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
