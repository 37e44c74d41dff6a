"""What every metric promises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import Floats
from softlabel.testing.examples import EXACT, close

NO_DISTRIBUTIONS: dict[str, list[float]] = {
    "counts": [3, 0, 7, 1],
    "logits": [2.1, -0.4, 0.3, -1.0],
    "percentages": [70, 20, 10, 0],
    "shares that do not sum to 1": [0.5, 0.2, 0.1, 0.1],
    "a negative probability": [0.7, 0.5, -0.2, 0],
    "NaN": [float("nan"), 0.2, 0.3, 0.5],
    "infinity": [float("inf"), 0, 0, 0],
}


def _distributions() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    return rng.dirichlet([1.0] * 4, 30), rng.dirichlet([1.0] * 4, 30)


def direction_is_declared(metric: Callable[..., Any]) -> None:
    better = getattr(metric, "better", None)
    assert better in ("lower", "higher"), f"better = {better!r}: say 'lower' or 'higher'"


def one_value_per_item_or_one_number(metric: Callable[..., Any]) -> None:
    true, predicted = _distributions()
    shape = np.shape(metric(true, predicted))
    assert shape in ((), (len(true),)), f"returns shape {shape}; one value per item or one number"


def item_order_does_not_matter(metric: Callable[..., Any]) -> None:
    true, predicted = _distributions()
    order = np.random.default_rng(1).permutation(len(true))
    before, after = metric(true, predicted), metric(true[order], predicted[order])
    close(after, before if np.ndim(before) == 0 else before[order], "item order matters", 1e-9)


def class_order_does_not_matter(metric: Callable[..., Any]) -> None:
    """Unless the metric says that classes are steps on a scale."""
    if getattr(metric, "ordinal", False):
        return
    true, predicted = _distributions()
    true[0], predicted[1] = [0.4, 0.4, 0.1, 0.1], [0.3, 0.3, 0.3, 0.1]  # ties have no favourite
    order = [2, 0, 3, 1]
    before, after = metric(true, predicted), metric(true[:, order], predicted[:, order])
    close(after, before, "class order matters", 1e-9)


def inputs_stay_as_they_were(metric: Callable[..., Any]) -> None:
    true, predicted = _distributions()
    kept = true.copy(), predicted.copy()
    metric(true, predicted)
    same = np.array_equal(true, kept[0]) and np.array_equal(predicted, kept[1])
    assert same, "the arrays it was given are changed"


def single_precision_is_read_and_not_kept(metric: Callable[..., Any]) -> None:
    """Predictions are saved in float32; sums of them are not made in it."""
    true, predicted = _distributions()
    narrow = predicted.astype(np.float32)
    wide = metric(true, narrow.astype(np.float64))
    close(metric(true, narrow), wide, "float32 predictions are computed in float32", 1e-12)


def zeros_and_ones_give_no_nan(metric: Callable[..., Any]) -> None:
    true, predicted = np.eye(4)[[0, 1, 2, 0]], np.eye(4)[[0, 2, 3, 1]]
    true[3], predicted[2] = 0.25, 0.25
    assert not np.isnan(metric(true, predicted)).any(), "probabilities 0 and 1 give NaN"


def rows_that_are_no_distributions_are_refused(metric: Callable[..., Any]) -> None:
    """On either side; the error names the row.  ``softlabel.metrics.metric`` sees to it."""
    for name, wrong in NO_DISTRIBUTIONS.items():
        for side in (0, 1):
            given = list(_distributions())
            given[side][7] = wrong
            said = _refusal(metric, *given)
            assert said is not None, (
                f"a row of {name} gives a number instead of a DataError; "
                "register the metric with @softlabel.metrics.metric"
            )
            assert "row 7" in said, f"the error about {name} does not name its row"


def _refusal(metric: Callable[..., Any], true: Floats, predicted: Floats) -> str | None:
    try:
        metric(true, predicted)
    except DataError as error:
        return str(error)
    return None


def truth_is_the_best_prediction(metric: Callable[..., Any]) -> None:
    """Of a proper metric, in expectation over a class drawn from the truth."""
    if not getattr(metric, "proper", False):
        return
    true, other = _distributions()
    sign = 1 if metric.better == "lower" else -1  # type: ignore[attr-defined]

    def expected(predicted: Floats) -> Floats:
        outcomes = (np.tile(row, (len(true), 1)) for row in np.eye(true.shape[1]))
        scores = [true[:, k] * metric(e, predicted) for k, e in enumerate(outcomes)]
        return np.asarray(sign * np.sum(scores, axis=0))

    sharper = true**2 / (true**2).sum(axis=1, keepdims=True)
    for rival in (other, sharper, 0.9 * true + 0.1 * other, 0.99 * true + 0.01 * other):
        won = expected(rival) < expected(true) - EXACT
        assert not won.any(), "another prediction beats the truth"


def distances_are_zero_at_the_truth(metric: Callable[..., Any]) -> None:
    if not getattr(metric, "distance", False):
        return
    true, other = _distributions()
    assert (abs(np.asarray(metric(true, true))) <= EXACT).all(), "not 0 between equal labels"
    assert (np.asarray(metric(true, other)) >= 0).all(), "a distance is below 0"


def values_lie_within_their_bounds(metric: Callable[..., Any]) -> None:
    """No interval reaches beyond ``bounds``, so no value may."""
    lowest, highest = getattr(metric, "bounds", (-np.inf, np.inf))
    true, other = _distributions()
    for predicted in (other, true, np.eye(4)[np.arange(len(true)) % 4]):
        values = np.asarray(metric(true, predicted))
        beyond = (values < lowest - EXACT) | (values > highest + EXACT)
        assert not beyond.any(), f"a value is outside its bounds, {lowest} to {highest}"


METRIC_CHECKS: tuple[Callable[[Callable[..., Any]], None], ...] = (
    direction_is_declared,
    one_value_per_item_or_one_number,
    item_order_does_not_matter,
    class_order_does_not_matter,
    inputs_stay_as_they_were,
    single_precision_is_read_and_not_kept,
    zeros_and_ones_give_no_nan,
    rows_that_are_no_distributions_are_refused,
    truth_is_the_best_prediction,
    distances_are_zero_at_the_truth,
    values_lie_within_their_bounds,
)
