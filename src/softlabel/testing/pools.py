"""Checks of aggregators, and of policies that ask on.

A pool for a fixed number of classes says so (``classes: ClassVar[int] = 2``) and is checked with
that many; all others with three.  Checks of what only some pools have (gold, a warm start, a
belief) pass over the others.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from softlabel.aggregate import Aggregate, Belief, Posterior, Share, TruthPosterior, takes
from softlabel.tables import (
    Annotations,
    Bools,
    Floats,
    Index,
    Ints,
    SoftLabels,
    check_simplex,
    names,
)
from softlabel.testing.examples import agree, example_soft, example_votes, reindex, rename

FALL = 1e-9  # of the objective, relative: rounding
AGAIN = 1e-2  # a fit that stopped early may move a little when it goes on
SHORT = 1e-6  # of the objective, relative: where a fit may stop before the other
LEVEL = 0.9  # of the intervals


def _labels_of(aggregate: Aggregate) -> int:
    return getattr(aggregate, "classes", 3)


def _examples(aggregate: Aggregate) -> Iterator[Annotations]:
    yield example_votes(labels=_labels_of(aggregate))[0]
    yield example_soft(labels=_labels_of(aggregate))


def _without_ties(example: Annotations) -> Bools:
    """(m,) items with one clear winner: a rule that breaks ties by class order, or draws them by
    name, is allowed to."""
    top = np.sort(example.counts(), axis=1)
    return np.asarray(top[:, -1] > top[:, -2] + 1e-6)


def pooled_labels_are_on_the_simplex(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        soft = aggregate(example)
        assert isinstance(soft, SoftLabels), "an aggregator returns SoftLabels"
        check_simplex(aggregate.name, soft.probs[soft.answered])
        assert (soft.count == example.votes_per_item()).all(), "count is the number of answers"


def the_label_says_what_it_estimates(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        estimand = aggregate(example).estimand
        complaint = f"the pool says {aggregate.estimand!r}, its labels say {estimand!r}"
        assert estimand == aggregate.estimand, complaint


def pooling_ignores_row_order(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        order = np.random.default_rng(1).permutation(len(example))
        moved = aggregate(example.take(order)).probs
        agree(moved, aggregate(example).probs, "the pooled label depends on the order of the rows")


def pooling_ignores_numbering(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        rng = np.random.default_rng(2)
        before = aggregate(example).probs
        people = reindex(example, "annotators", rng.permutation(len(example.index.annotators)))
        agree(aggregate(people).probs, before, "renumbering annotators changes the label")
        order = rng.permutation(len(example.index.items))
        items = reindex(example, "items", order)
        agree(aggregate(items).probs, before[order], "renumbering items changes their labels")


def pooling_ignores_class_order(aggregate: Aggregate) -> None:
    """Of items without ties, votes and soft annotations alike.  A pool for steps of a scale
    (``ordinal: ClassVar[bool] = True``) ignores which end comes first."""
    order = np.roll(np.arange(_labels_of(aggregate)), 1)
    if getattr(aggregate, "ordinal", False):
        order = np.arange(_labels_of(aggregate))[::-1]
    for example in _examples(aggregate):
        clear = _without_ties(example)
        before = aggregate(example).probs[:, order]
        after = aggregate(reindex(example, "labels", order)).probs
        agree(after[clear], before[clear], "classes in another order give another label")


def pooling_ignores_names(aggregate: Aggregate) -> None:
    """Of items, annotators and classes; of items without ties."""
    for example in _examples(aggregate):
        clear = _without_ties(example)
        before, after = aggregate(example).probs, aggregate(rename(example)).probs
        agree(after[clear], before[clear], "other names give another label")


def unanimous_stays_unanimous(aggregate: Aggregate) -> None:
    votes, truth = example_votes(right=1.0, labels=_labels_of(aggregate))
    soft = aggregate(votes)
    winner = soft.probs[soft.answered].argmax(axis=1)
    assert (winner == truth[soft.answered]).all(), "everybody named one class, another one won"


def shards_equal_the_whole(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        whole = aggregate(example).probs
        for shards in (2, 7, 1000):
            parts = aggregate(example, shards=shards).probs
            agree(parts, whole, f"{shards} shards change the label")


def no_worse_than_the_vote(aggregate: Aggregate) -> None:
    """On planted truth, five simulated data sets: wins of the right class, ties counted half.

    Seven people, from one who guesses to one who is right in 80 % of what guessing leaves.
    """
    k = _labels_of(aggregate)
    right = 1 / k + np.linspace(0, 0.8, 7) * (1 - 1 / k)
    hits: dict[str, list[Floats]] = {"ours": [], "vote": []}
    for seed in range(5):
        example, truth = example_votes(seed, items=200, right=right, labels=k)
        for pooler, name in ((aggregate, "ours"), (Share(), "vote")):
            probs = pooler(example).probs
            rows = np.flatnonzero(~np.isnan(probs[:, 0]))
            best = probs[rows] >= probs[rows].max(axis=1, keepdims=True) - 1e-9
            share = best / best.sum(axis=1, keepdims=True)
            hits[name].append(share[np.arange(len(rows)), truth[rows]])
    ours, theirs = (np.concatenate(rows).mean() for rows in hits.values())
    # two standard errors of the tie-breaking alone: a fair coin on a tie is not worse than a half
    assert ours >= theirs - 0.02, f"finds {ours:.3f} of planted truths, the vote finds {theirs:.3f}"


def unanswered_items_have_no_label(aggregate: Aggregate) -> None:
    votes, _ = example_votes(labels=_labels_of(aggregate))
    soft = aggregate(votes.take(votes.item != 3))
    assert soft.count[3] == 0, "an item without answers has count 0"
    assert np.isnan(soft.probs[3]).all(), "an item nobody answered must have no label"


def pooling_twice_gives_the_same(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        agree(aggregate(example).probs, aggregate(example).probs, "two calls differ", exact=True)


# ── pools that estimate which class is true ──────────────────────────────────────────────────


def a_one_hot_annotation_is_a_vote(aggregate: Aggregate) -> None:
    if aggregate.estimand != "truth":
        return
    votes, _ = example_votes(labels=_labels_of(aggregate))
    rows = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    complaint = "sure annotations (one-hot) give another label than votes"
    agree(aggregate(rows).probs, aggregate(votes).probs, complaint)


def gold_items_keep_their_class(aggregate: Aggregate) -> None:
    """Even one that fewest people chose; named by code or by name."""
    if not takes(aggregate, "gold"):
        return
    call: Any = aggregate
    for example in _examples(aggregate):
        asked = np.flatnonzero(example.votes_per_item())[:5]
        known = np.full(len(example.index.items), -1)
        known[asked] = example.counts()[asked].argmin(axis=1)
        soft = call(example, gold=known)
        sure = np.eye(_labels_of(aggregate))[known[asked]]
        agree(soft.probs[asked], sure, "an item whose class is known has another label")
        items, labels = example.index.items[asked], example.index.labels[known[asked]]
        named = dict(zip(items.tolist(), labels.tolist(), strict=True))
        again = call(example, gold=named)
        agree(again.probs, soft.probs, "gold by name and gold by code differ")


def the_objective_never_falls(aggregate: Aggregate) -> None:
    for example in _examples(aggregate):
        trace = getattr(aggregate(example), "trace", np.zeros(0))
        assert np.isfinite(trace).all(), f"the objective is not a finite number: {trace}"
        fall = -np.diff(trace).min(initial=0)
        limit = FALL * max(abs(trace).max(initial=0), 1)
        assert fall <= limit, f"the objective falls by {fall:.3g} in a step"


def a_warm_start_stays(aggregate: Aggregate) -> None:
    """From its own converged result a method that iterates (``n_iter``) has nowhere to go."""
    if not takes(aggregate, "start"):
        return
    call: Any = aggregate
    for example in _examples(aggregate):
        first = aggregate(example)
        assert isinstance(first, TruthPosterior), "a pool that takes start gives a TruthPosterior"
        again = call(example, start=first)
        if first.converged and hasattr(aggregate, "n_iter"):
            complaint = "starting from its own result gives another label"
            agree(again.probs, first.probs, complaint, tolerance=AGAIN)
        if len(first.trace) and len(again.trace):
            lost = float(first.trace[-1] - again.trace[-1])
            limit = SHORT * max(abs(float(first.trace[-1])), 1)
            assert lost <= limit, f"starting from its own result loses {lost:.3g} of the objective"


def people_are_described(aggregate: Aggregate) -> None:
    """Somebody who was never asked has no skill; rows of confusion matrices are distributions."""
    votes, _ = example_votes(labels=_labels_of(aggregate))
    people = names([*votes.index.annotators.tolist(), "never asked"])
    index = Index(votes.index.items, people, votes.index.labels)
    soft = aggregate(replace(votes, index=index))
    if not isinstance(soft, TruthPosterior) or not len(soft.skill):
        return
    assert soft.skill.shape == (len(people),), "skill has one entry per annotator"
    assert np.isnan(soft.skill[-1]), "somebody who was never asked has a skill"
    assert np.isfinite(soft.skill[:-1]).all(), "somebody who was asked has no skill"
    for name in ("confusion", "prior"):
        rows = getattr(soft, name)
        if rows is not None:
            known = rows[~np.isnan(rows).any(axis=-1)]
            agree(known.sum(axis=-1), np.ones(known.shape[:-1]), f"{name} does not sum to 1", 1e-9)
    if soft.confusion is not None and soft.confusion_low is not None:
        high = soft.confusion_high
        assert high is not None, "confusion_low comes with confusion_high"
        inside = (soft.confusion_low <= high) & (soft.confusion_low >= 0) & (high <= 1)
        assert inside[:-1].all(), "limits of a confusion matrix are no limits"


# ── pools that estimate how people split ─────────────────────────────────────────────────────


def _beliefs(aggregate: Aggregate) -> Iterator[tuple[SoftLabels, Belief]]:
    """Return labels and beliefs, if the pool has them; one item has no answers."""
    for example in _examples(aggregate):
        soft = aggregate(example.take(example.item != 3))
        belief = getattr(soft, "belief", None)
        if belief is not None:
            yield soft, belief


def the_label_is_the_mean_of_the_belief(aggregate: Aggregate) -> None:
    """Of pools that are a Bayesian posterior; others may hold a belief beside their label."""
    for soft, belief in _beliefs(aggregate):
        if not isinstance(getattr(soft, "fitted", None), Posterior):
            continue
        label = soft.probs[soft.answered]
        agree(belief.mean()[soft.answered], label, "the label is not the mean of the belief", 1e-9)


def intervals_hold_the_mean(aggregate: Aggregate) -> None:
    """With equal tails the mean of a lopsided belief may lie outside, by at most a tail."""
    tail = (1 - LEVEL) / 2
    for _, belief in _beliefs(aggregate):
        low, high = belief.interval(LEVEL)
        mean = belief.mean()
        assert ((low >= 0) & (low <= high) & (high <= 1)).all(), "limits are not in order in 0..1"
        inside = (mean >= low - tail - 1e-9) & (mean <= high + tail + 1e-9)
        assert inside.all(), f"{int((~inside).sum())} intervals do not hold their mean"
        narrow, wide = belief.interval(0.5), belief.interval(0.99)
        ordered = (wide[0] <= narrow[0] + 1e-9) & (narrow[1] <= wide[1] + 1e-9)
        assert ordered.all(), "an interval of 99 % does not hold that of 50 %"


def one_more_vote_never_hurts(aggregate: Aggregate) -> None:
    for soft, belief in _beliefs(aggregate):
        gain = belief.gain()
        assert gain.shape == soft.count.shape, "gain has one entry per item"
        assert (gain >= 0).all(), f"the expected gain of a vote is {float(gain.min()):.3g}"


# ── policies: what to ask next ───────────────────────────────────────────────────────────────


def _asked(policy: Any) -> tuple[Belief, Ints, Floats, Floats]:
    """Return a belief, answers, votes per second and the scores of the policy."""
    votes, _ = example_votes(items=60)
    belief = Belief(votes.index, votes.counts())
    answers = votes.votes_per_item()
    rate = np.linspace(0.3, 0.6, len(answers))
    return belief, answers, rate, policy(belief, answers, rate)


def every_item_has_a_score(policy: Any) -> None:
    _, answers, _, score = _asked(policy)
    assert np.shape(score) == answers.shape, f"{policy.name}: scores have shape {np.shape(score)}"
    assert np.isfinite(score).all(), f"{policy.name}: a score is not a finite number"


def scores_ignore_the_order_of_items(policy: Any) -> None:
    belief, answers, rate, score = _asked(policy)
    order = np.random.default_rng(4).permutation(len(answers))
    moved = policy(belief.take(order), answers[order], rate[order])
    agree(moved, score[order], "the score of an item depends on the others, or on their order")


def a_policy_says_whether_it_looks(policy: Any) -> None:
    belief, answers, rate, score = _asked(policy)
    flat = policy(replace(belief, evidence=np.ones_like(belief.evidence)), answers, rate)
    if not policy.looks:
        agree(flat, score, "looks is False, but scores depend on the belief")
