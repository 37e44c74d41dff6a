"""Checks of deliveries and metrics: what training sees, and how predictions are scored.

A delivery is checked with votes, soft answers and pooled labels alone, with unequal counts and with
items that nobody was asked about.  A policy that needs the annotators' own labels refuses pooled
ones with ``DataError``.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from softlabel.aggregate import Mean
from softlabel.deliver import Deliver, Delivery, Draws, TrainingLabels
from softlabel.errors import DataError
from softlabel.tables import Floats, check_simplex
from softlabel.testing.examples import EXACT, agree, example_soft, example_votes

RNG = Draws(5)
EPOCHS = (0, 1, 2, 7, 10**9)
CHANCE = 1e-9  # that a policy which is right fails the statistical check


def example_teaching(seed: int = 0, soft: bool = False, items: int = 40) -> TrainingLabels:
    """Return votes or soft answers, their mean and the true class; every tenth item has none."""
    votes, truth = example_votes(seed, items)
    each = example_soft(seed, items) if soft else votes
    each = each.take(each.item % 10 != 3)
    return TrainingLabels.of(Mean()(each), each, truth)


def _deliveries(deliver: Deliver) -> Iterator[tuple[TrainingLabels, Delivery]]:
    """Deliver votes, soft answers, and pooled labels alone unless the policy refuses those."""
    for known in (example_teaching(), example_teaching(soft=True)):
        yield known, deliver(known, RNG)
    alone = replace(example_teaching(soft=True), each=None)
    try:
        delivery = deliver(alone, RNG)
    except DataError:
        return
    yield alone, delivery


def _epoch_of(delivery: Delivery, known: TrainingLabels, epoch: int) -> Floats:
    return delivery.labels_for(epoch, np.arange(len(known)), RNG)


def delivered_labels_are_on_the_simplex(deliver: Deliver) -> None:
    for known, delivery in _deliveries(deliver):
        for epoch in EPOCHS:
            labels = _epoch_of(delivery, known, epoch)
            shape, wanted = np.shape(labels), known.pooled.shape
            assert shape == wanted, f"labels of shape {shape}, not (items, classes) = {wanted}"
            assert labels.dtype == np.float64, f"labels are {labels.dtype}, not float64"
            check_simplex(deliver.name, labels)
        none = delivery.labels_for(0, np.zeros(0, dtype=np.int64), RNG)
        assert none.shape == (0, wanted[1]), f"no items give labels of shape {none.shape}"


def batches_do_not_matter(deliver: Deliver) -> None:
    for known, delivery in _deliveries(deliver):
        order = np.random.default_rng(1).integers(0, len(known), 60)  # some more than once
        for epoch in EPOCHS:
            whole = _epoch_of(delivery, known, epoch)[order]
            for size in (1, 7, 60):
                parts = [
                    delivery.labels_for(epoch, order[first : first + size], RNG)
                    for first in range(0, len(order), size)
                ]
                agree(np.concatenate(parts), whole, f"batches of {size} differ", exact=True)


def epochs_can_be_asked_in_any_order(deliver: Deliver) -> None:
    """A run that is resumed at a later epoch sees what it would have seen."""
    for known, through in _deliveries(deliver):
        seen = [_epoch_of(through, known, epoch) for epoch in range(9)]
        resumed = deliver(known, RNG)
        for epoch in (8, 5, 0):
            again = _epoch_of(resumed, known, epoch)
            agree(again, seen[epoch], f"epoch {epoch} is another one after a resume", exact=True)


def delivering_ignores_row_order(deliver: Deliver) -> None:
    for known, one in _deliveries(deliver):
        if known.each is None:
            continue
        order = np.random.default_rng(2).permutation(len(known.each))
        moved = replace(known, each=known.each.take(order))
        other = deliver(moved, RNG)
        for epoch in EPOCHS:
            labels, again = _epoch_of(one, known, epoch), _epoch_of(other, moved, epoch)
            agree(again, labels, "the labels depend on the order of the annotations' rows")


def nothing_is_drawn_elsewhere(deliver: Deliver) -> None:
    """Neither from numpy's global numbers nor from Python's, and nothing is left behind there."""
    for known, _ in _deliveries(deliver):
        before = random.getstate(), _numpys_state()
        one = _epoch_of(deliver(known, RNG), known, 3)
        now = random.getstate(), _numpys_state()
        assert before[0] == now[0], "draws from Python's global random numbers"
        assert before[1] == now[1], "draws from numpy's global random numbers"
        agree(_epoch_of(deliver(known, RNG), known, 3), one, "two runs differ", exact=True)


def _numpys_state() -> str:
    state: Any = np.random.get_state(legacy=False)  # noqa: NPY002  # looked at, never used
    return str(state["state"]["key"].tolist()) + str(state["state"]["pos"])


def labels_are_the_callers_own(deliver: Deliver) -> None:
    for known, delivery in _deliveries(deliver):
        first = _epoch_of(delivery, known, 0)
        kept = first.copy()
        first[:] = 0
        agree(_epoch_of(delivery, known, 0), kept, "writing into labels changes later ones")


def the_mean_over_epochs_is_as_expected(deliver: Deliver) -> None:
    """Exactly if the labels never change, otherwise within what chance allows (Bernstein's
    inequality, over all items and classes at once)."""
    draws = 1000
    for known, delivery in _deliveries(deliver):
        expected = getattr(delivery, "expected", None)
        assert expected is not None, "the delivery has no expected(), its mean over epochs"
        wanted = expected()
        check_simplex(f"expected() of {deliver.name}", wanted)
        first = _epoch_of(delivery, known, 0)
        changed = (not np.array_equal(_epoch_of(delivery, known, e), first) for e in range(1, 100))
        kept = next((epoch for epoch, other in enumerate(changed, 1) if other), 0)  # so many epochs
        if not kept:
            agree(first, wanted, "labels that never change are not the expected ones")
            continue
        mean = np.zeros_like(wanted)
        for draw in range(draws):
            mean += _epoch_of(delivery, known, kept * draw) / draws
        log = np.log(2 * wanted.size / CHANCE)
        # a label between 0 and 1 of mean p has a variance of at most p (1 - p)
        bound = np.sqrt(2 * wanted * (1 - wanted).clip(0) * log / draws) + log / (3 * draws)
        over = float((abs(mean - wanted) - bound).max())
        wrong = f"the mean over {draws} draws is not the expected one"
        assert over <= 0, f"{wrong} (by {over:.3g} more than chance allows)"


# ── metrics ──────────────────────────────────────────────────────────────────────────────────


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
    agree(after, before if np.ndim(before) == 0 else before[order], "item order matters", 1e-9)


def class_order_does_not_matter(metric: Callable[..., Any]) -> None:
    """Unless the metric says that classes are steps on a scale."""
    if getattr(metric, "ordinal", False):
        return
    true, predicted = _distributions()
    true[0], predicted[1] = [0.4, 0.4, 0.1, 0.1], [0.3, 0.3, 0.3, 0.1]  # ties have no favourite
    order = [2, 0, 3, 1]
    before, after = metric(true, predicted), metric(true[:, order], predicted[:, order])
    agree(after, before, "class order matters", 1e-9)


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
    agree(metric(true, narrow), wide, "float32 predictions are computed in float32", 1e-12)


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
            try:
                metric(*given)
                refusal = ""
            except DataError as error:
                refusal = str(error)
            remedy = "register the metric with @softlabel.metrics.metric"
            assert refusal, f"a row of {name} gives a number instead of a DataError; {remedy}"
            assert "row 7" in refusal, f"the error about {name} does not name its row"


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
