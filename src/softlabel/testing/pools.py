"""What every aggregator promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from softlabel.aggregate import Aggregate, Share
from softlabel.tables import Annotations, Floats, SoftLabels, check_simplex
from softlabel.testing.examples import close, example_soft, example_votes, reindexed


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
        close(
            aggregate(said.take(order)).probs,
            aggregate(said).probs,
            "the pooled label depends on the order of the rows",
        )


def pooling_ignores_numbering(aggregate: Aggregate) -> None:
    for said in _inputs():
        rng = np.random.default_rng(2)
        before = aggregate(said).probs
        people = reindexed(said, "annotators", rng.permutation(len(said.index.annotators)))
        close(aggregate(people).probs, before, "renumbering annotators changes the label")
        order = rng.permutation(len(said.index.items))
        items = reindexed(said, "items", order)
        close(aggregate(items).probs, before[order], "renumbering items changes their labels")


def pooling_ignores_class_order(aggregate: Aggregate) -> None:
    """On items without ties: a rule that breaks ties by class order is allowed to."""
    order = np.array([2, 0, 1])
    for said in _inputs():
        top = np.sort(said.counts(), axis=1)
        clear = top[:, -1] > top[:, -2] + 1e-6
        before = aggregate(said).probs[:, order]
        after = aggregate(reindexed(said, "labels", order)).probs
        close(after[clear], before[clear], "classes in another order give another label")


def unanimous_stays_unanimous(aggregate: Aggregate) -> None:
    votes, truth = example_votes(right=1.0)
    soft = aggregate(votes)
    found = soft.probs[soft.answered].argmax(axis=1)
    assert (found == truth[soft.answered]).all(), "everybody named one class, another one won"


def shards_equal_the_whole(aggregate: Aggregate) -> None:
    for said in _inputs():
        whole = aggregate(said).probs
        for shards in (2, 7, 1000):
            close(aggregate(said, shards=shards).probs, whole, f"{shards} shards change the label")


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
        close(aggregate(said).probs, aggregate(said).probs, "two calls differ", exact=True)


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
