"""The checks every strategy passes, ours and yours.

``check_construct``, ``check_aggregate`` and ``check_metric`` run all properties of a family and
raise ``AssertionError`` with a sentence on the first that does not hold.  Each property is a
function of its own, listed beneath its family; strategies loaded with ``--load`` go through them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from softlabel.aggregate import Aggregate, Share
from softlabel.construct import Construct
from softlabel.tables import (
    Annotations,
    Floats,
    Index,
    Ints,
    SoftLabels,
    Statements,
    check_simplex,
    names,
)

EXACT = 1e-12


def check_construct(construct: Construct) -> None:
    """All properties of a construction."""
    for check in CONSTRUCT_CHECKS:
        check(construct)


def check_aggregate(aggregate: Aggregate) -> None:
    """All properties of an aggregator."""
    for check in AGGREGATE_CHECKS:
        check(aggregate)


def check_metric(metric: Callable[..., Any]) -> None:
    """All properties of a metric."""
    for check in METRIC_CHECKS:
        check(metric)


def check_family(family: str, strategy: Any) -> None:
    """The checks of a family by its name; a family without checks is an error, not a pass."""
    checks: dict[str, Callable[[Any], None]] = {
        "construct": lambda kind: check_construct(kind()),
        "aggregate": lambda kind: check_aggregate(kind()),
        "metric": check_metric,
    }
    assert family in checks, f"there are no checks for the family {family!r}"
    checks[family](strategy)


# ── examples ─────────────────────────────────────────────────────────────────────────────────


def example_statements(seed: int = 0, items: int = 12, annotators: int = 5) -> Statements:
    """Random answers of every odd kind: no alternative, no number, contradictions, sums over and
    under 100, everything ruled out, the same class twice."""
    rng = np.random.default_rng(seed)
    index = _index(items, annotators, 4)
    item = np.repeat(np.arange(items), annotators)
    n = len(item)
    named = rng.integers(0, 4, (n, 2))
    named[rng.random(n) < 0.3, 1] = -1
    percent = rng.choice([0.0, 5.0, 20.0, 35.0, 50.0, 80.0, 100.0], (n, 2))
    percent[rng.random((n, 2)) < 0.1] = np.nan
    percent[named < 0] = np.nan
    possible = rng.random((n, 4)) < 0.5
    possible[rng.random(n) < 0.1] = False
    annotator = np.tile(np.arange(annotators), items)
    return Statements(index, item, annotator, named, percent, possible)


def example_votes(
    seed: int = 0, items: int = 40, annotators: int = 7, right: float = 0.7
) -> tuple[Annotations, Ints]:
    """Hard votes with a planted truth: everybody names it with chance ``right``, unequal counts."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    asked = rng.random((items, annotators)) < 0.8
    item, annotator = np.nonzero(asked)
    other = (truth[item] + rng.integers(1, 3, len(item))) % 3
    label = np.where(rng.random(len(item)) < right, truth[item], other)
    return Annotations(_index(items, annotators, 3), item, annotator, label=label), truth


def example_soft(seed: int = 0, items: int = 40, annotators: int = 7) -> Annotations:
    """Soft annotations, some of them with zeros."""
    votes, _ = example_votes(seed, items, annotators)
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([0.5, 0.5, 0.5], len(votes))
    probs[rng.random(probs.shape) < 0.2] = 0
    probs[probs.sum(axis=1) == 0] = 1
    probs /= probs.sum(axis=1, keepdims=True)
    return Annotations(votes.index, votes.item, votes.annotator, probs=probs)


def _index(items: int, annotators: int, labels: int) -> Index:
    return Index(
        names([f"item-{i}" for i in range(items)]),
        names([f"person-{i}" for i in range(annotators)]),
        names([f"class-{i}" for i in range(labels)]),
    )


def _reindexed(said: Annotations, which: str, order: Ints) -> Annotations:
    """The same data with items, annotators or labels renumbered: old code ``order[new]``."""
    new = np.argsort(order)
    index = replace(said.index, **{which: getattr(said.index, which)[order]})
    if which == "items":
        return replace(said, index=index, item=new[said.item])
    if which == "annotators":
        return replace(said, index=index, annotator=new[said.annotator])
    if said.label is not None:
        return replace(said, index=index, label=new[said.label])
    assert said.probs is not None, "soft annotations have probabilities"
    return replace(said, index=index, probs=said.probs[:, order])


# ── constructions ────────────────────────────────────────────────────────────────────────────


def labels_are_on_the_simplex(construct: Construct) -> None:
    for seed in range(5):
        said = example_statements(seed)
        each = construct(said)
        assert len(each) == len(said), "a construction gives one label per answer"
        check_simplex(construct.name, each.soft())


def row_order_does_not_matter(construct: Construct) -> None:
    said = example_statements()
    order = np.random.default_rng(1).permutation(len(said))
    again = construct(said.take(order)).soft()
    _close(again, construct(said).soft()[order], "the label depends on the order of the rows")


def renaming_classes_renames_the_label(construct: Construct) -> None:
    said = example_statements()
    order = np.array([2, 0, 3, 1])
    code = np.append(np.argsort(order), -1)  # -1 stays -1
    index = replace(said.index, labels=said.index.labels[order])
    moved = replace(said, index=index, named=code[said.named], possible=said.possible[:, order])
    _close(
        construct(moved).soft(),
        construct(said).soft()[:, order],
        "classes in another order give another label",
    )


def ruled_out_classes_get_nothing(construct: Construct) -> None:
    if not construct.ruled_out_stays_zero:
        return
    for seed in range(5):
        said = example_statements(seed)
        some = said.take(said.possible.any(axis=1))  # with all ruled out there is no place to go
        mentioned = np.zeros(some.possible.shape, dtype=np.bool_)
        for column in some.named.T:
            mentioned[np.flatnonzero(column >= 0), column[column >= 0]] = True
        leaked = (construct(some).soft() > 0) & ~some.possible & ~mentioned
        assert not leaked.any(), "a class that was ruled out and not named got mass"


def same_input_same_label(construct: Construct) -> None:
    said = example_statements()
    _close(construct(said).soft(), construct(said).soft(), "two calls differ", exact=True)


CONSTRUCT_CHECKS: tuple[Callable[[Construct], None], ...] = (
    labels_are_on_the_simplex,
    row_order_does_not_matter,
    renaming_classes_renames_the_label,
    ruled_out_classes_get_nothing,
    same_input_same_label,
)


# ── aggregators ──────────────────────────────────────────────────────────────────────────────


def _inputs() -> Iterator[Annotations]:
    yield example_votes()[0]
    yield example_soft()


def pooled_labels_are_on_the_simplex(aggregate: Aggregate) -> None:
    for said in _inputs():
        soft = aggregate(said)
        assert isinstance(soft, SoftLabels), "an aggregator returns SoftLabels"
        check_simplex(aggregate.name, soft.probs[soft.answered])
        assert (soft.count == said.votes_per_item()).all(), "count is the number of answers"


def pooling_ignores_row_order(aggregate: Aggregate) -> None:
    for said in _inputs():
        order = np.random.default_rng(1).permutation(len(said))
        _close(
            aggregate(said.take(order)).probs,
            aggregate(said).probs,
            "the pooled label depends on the order of the rows",
        )


def pooling_ignores_numbering(aggregate: Aggregate) -> None:
    for said in _inputs():
        rng = np.random.default_rng(2)
        before = aggregate(said).probs
        people = _reindexed(said, "annotators", rng.permutation(len(said.index.annotators)))
        _close(aggregate(people).probs, before, "renumbering annotators changes the label")
        order = rng.permutation(len(said.index.items))
        items = _reindexed(said, "items", order)
        _close(aggregate(items).probs, before[order], "renumbering items changes their labels")


def pooling_ignores_class_order(aggregate: Aggregate) -> None:
    """On items without ties: a rule that breaks ties by class order is allowed to."""
    order = np.array([2, 0, 1])
    for said in _inputs():
        top = np.sort(said.counts(), axis=1)
        clear = top[:, -1] > top[:, -2] + 1e-6
        before = aggregate(said).probs[:, order]
        after = aggregate(_reindexed(said, "labels", order)).probs
        _close(after[clear], before[clear], "classes in another order give another label")


def unanimous_stays_unanimous(aggregate: Aggregate) -> None:
    votes, truth = example_votes(right=1.0)
    soft = aggregate(votes)
    found = soft.probs[soft.answered].argmax(axis=1)
    assert (found == truth[soft.answered]).all(), "everybody named one class, another one won"


def shards_equal_the_whole(aggregate: Aggregate) -> None:
    for said in _inputs():
        whole = aggregate(said).probs
        for shards in (2, 7, 1000):
            _close(aggregate(said, shards=shards).probs, whole, f"{shards} shards change the label")


def no_worse_than_the_vote(aggregate: Aggregate) -> None:
    """On planted truth, five simulated data sets: wins of the right class, ties counted half."""
    found: list[Floats] = []
    vote: list[Floats] = []
    for seed in range(5):
        said, truth = example_votes(seed, items=200, right=0.6)
        for pooler, hits in ((aggregate, found), (Share(), vote)):
            probs = pooler(said).probs
            rows = np.flatnonzero(~np.isnan(probs[:, 0]))
            best = probs[rows] >= probs[rows].max(axis=1, keepdims=True) - 1e-9
            hits.append((best / best.sum(axis=1, keepdims=True))[np.arange(len(rows)), truth[rows]])
    ours, theirs = np.concatenate(found).mean(), np.concatenate(vote).mean()
    # two standard errors of the tie-breaking alone: a fair coin on a tie is not worse than a half
    assert ours >= theirs - 0.02, f"finds {ours:.3f} of planted truths, the vote finds {theirs:.3f}"


def unanswered_items_have_no_label(aggregate: Aggregate) -> None:
    votes, _ = example_votes()
    soft = aggregate(votes.take(votes.item != 3))
    assert soft.count[3] == 0, "an item without answers has count 0"
    assert np.isnan(soft.probs[3]).all(), "an item nobody answered must have no label"


def pooling_twice_gives_the_same(aggregate: Aggregate) -> None:
    for said in _inputs():
        _close(aggregate(said).probs, aggregate(said).probs, "two calls differ", exact=True)


AGGREGATE_CHECKS: tuple[Callable[[Aggregate], None], ...] = (
    pooled_labels_are_on_the_simplex,
    pooling_ignores_row_order,
    pooling_ignores_numbering,
    pooling_ignores_class_order,
    unanimous_stays_unanimous,
    shards_equal_the_whole,
    no_worse_than_the_vote,
    unanswered_items_have_no_label,
    pooling_twice_gives_the_same,
)


# ── metrics ──────────────────────────────────────────────────────────────────────────────────


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
    _close(after, before if np.ndim(before) == 0 else before[order], "item order matters", 1e-9)


def zeros_and_ones_give_no_nan(metric: Callable[..., Any]) -> None:
    true, predicted = np.eye(4)[[0, 1, 2, 0]], np.eye(4)[[0, 2, 3, 1]]
    true[3], predicted[2] = 0.25, 0.25
    assert not np.isnan(metric(true, predicted)).any(), "probabilities 0 and 1 give NaN"


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


METRIC_CHECKS: tuple[Callable[[Callable[..., Any]], None], ...] = (
    direction_is_declared,
    one_value_per_item_or_one_number,
    item_order_does_not_matter,
    zeros_and_ones_give_no_nan,
    truth_is_the_best_prediction,
    distances_are_zero_at_the_truth,
)


def _close(
    found: Any, expected: Any, complaint: str, tolerance: float = EXACT, exact: bool = False
) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    same = np.isnan(found) & np.isnan(expected)
    off = float(np.where(same, 0, abs(found - expected)).max(initial=0))
    assert off <= (0 if exact else tolerance), f"{complaint} (by {off:.3g})"
