"""What every aggregator promises.

A pool for a fixed number of classes says so (``classes: ClassVar[int] = 2``) and is asked about
that many; all others are asked about three.  What a family promises besides is in ``truths`` and
``splits``: it is asked of pools that have what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from softlabel.aggregate import Aggregate, Share
from softlabel.tables import Annotations, Bools, Floats, SoftLabels, check_simplex
from softlabel.testing.examples import (
    close,
    example_soft,
    example_votes,
    reindexed,
    renamed,
)


def labels_of(aggregate: Aggregate) -> int:
    """How many classes the examples have."""
    return getattr(aggregate, "classes", 3)


def inputs(aggregate: Aggregate) -> Iterator[Annotations]:
    """Votes, and soft annotations with zeros in them."""
    yield example_votes(labels=labels_of(aggregate))[0]
    yield example_soft(labels=labels_of(aggregate))


def without_ties(said: Annotations) -> Bools:
    """(m,) items with one clear winner: a rule that breaks ties by class order, or draws them by
    name, is allowed to."""
    top = np.sort(said.counts(), axis=1)
    return np.asarray(top[:, -1] > top[:, -2] + 1e-6)


def pooled_labels_are_on_the_simplex(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        soft = aggregate(said)
        assert isinstance(soft, SoftLabels), "an aggregator returns SoftLabels"
        check_simplex(aggregate.name, soft.probs[soft.answered])
        assert (soft.count == said.votes_per_item()).all(), "count is the number of answers"


def the_label_says_what_it_estimates(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        estimand = aggregate(said).estimand
        complaint = f"the pool says {aggregate.estimand!r}, its labels say {estimand!r}"
        assert estimand == aggregate.estimand, complaint


def pooling_ignores_row_order(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        order = np.random.default_rng(1).permutation(len(said))
        close(
            aggregate(said.take(order)).probs,
            aggregate(said).probs,
            "the pooled label depends on the order of the rows",
        )


def pooling_ignores_numbering(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        rng = np.random.default_rng(2)
        before = aggregate(said).probs
        people = reindexed(said, "annotators", rng.permutation(len(said.index.annotators)))
        close(aggregate(people).probs, before, "renumbering annotators changes the label")
        order = rng.permutation(len(said.index.items))
        items = reindexed(said, "items", order)
        close(aggregate(items).probs, before[order], "renumbering items changes their labels")


def pooling_ignores_class_order(aggregate: Aggregate) -> None:
    """Of items without ties, votes and soft annotations alike."""
    order = np.roll(np.arange(labels_of(aggregate)), 1)
    for said in inputs(aggregate):
        clear = without_ties(said)
        before = aggregate(said).probs[:, order]
        after = aggregate(reindexed(said, "labels", order)).probs
        close(after[clear], before[clear], "classes in another order give another label")


def pooling_ignores_names(aggregate: Aggregate) -> None:
    """Of items, annotators and classes; of items without ties."""
    for said in inputs(aggregate):
        clear = without_ties(said)
        before, after = aggregate(said).probs, aggregate(renamed(said)).probs
        close(after[clear], before[clear], "other names give another label")


def unanimous_stays_unanimous(aggregate: Aggregate) -> None:
    votes, truth = example_votes(right=1.0, labels=labels_of(aggregate))
    soft = aggregate(votes)
    found = soft.probs[soft.answered].argmax(axis=1)
    assert (found == truth[soft.answered]).all(), "everybody named one class, another one won"


def shards_equal_the_whole(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        whole = aggregate(said).probs
        for shards in (2, 7, 1000):
            close(aggregate(said, shards=shards).probs, whole, f"{shards} shards change the label")


def no_worse_than_the_vote(aggregate: Aggregate) -> None:
    """On planted truth, five simulated data sets: wins of the right class, ties counted half.

    Seven people, from one who guesses to one who is right in 80 % of what guessing leaves.
    """
    k = labels_of(aggregate)
    right = 1 / k + np.linspace(0, 0.8, 7) * (1 - 1 / k)
    found: list[Floats] = []
    vote: list[Floats] = []
    for seed in range(5):
        said, truth = example_votes(seed, items=200, right=right, labels=k)
        for pooler, hits in ((aggregate, found), (Share(), vote)):
            probs = pooler(said).probs
            rows = np.flatnonzero(~np.isnan(probs[:, 0]))
            best = probs[rows] >= probs[rows].max(axis=1, keepdims=True) - 1e-9
            hits.append((best / best.sum(axis=1, keepdims=True))[np.arange(len(rows)), truth[rows]])
    ours, theirs = np.concatenate(found).mean(), np.concatenate(vote).mean()
    # two standard errors of the tie-breaking alone: a fair coin on a tie is not worse than a half
    assert ours >= theirs - 0.02, f"finds {ours:.3f} of planted truths, the vote finds {theirs:.3f}"


def unanswered_items_have_no_label(aggregate: Aggregate) -> None:
    votes, _ = example_votes(labels=labels_of(aggregate))
    soft = aggregate(votes.take(votes.item != 3))
    assert soft.count[3] == 0, "an item without answers has count 0"
    assert np.isnan(soft.probs[3]).all(), "an item nobody answered must have no label"


def pooling_twice_gives_the_same(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        close(aggregate(said).probs, aggregate(said).probs, "two calls differ", exact=True)


POOL_CHECKS: tuple[Callable[[Aggregate], None], ...] = (
    pooled_labels_are_on_the_simplex,
    the_label_says_what_it_estimates,
    pooling_ignores_row_order,
    pooling_ignores_numbering,
    pooling_ignores_class_order,
    pooling_ignores_names,
    unanimous_stays_unanimous,
    shards_equal_the_whole,
    no_worse_than_the_vote,
    unanswered_items_have_no_label,
    pooling_twice_gives_the_same,
)
