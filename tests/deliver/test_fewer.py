"""Fewer answers per item: how many, whose, and by what chance."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import SoftlabelError, registry
from softlabel.deliver import DELIVERIES, Draws, SparseK, Subsample
from softlabel.testing import DELIVER_CHECKS

RNG = Draws(4)
COUNTS = st.lists(st.lists(st.integers(0, 6), min_size=3, max_size=3), min_size=1, max_size=8)


def kept(policy, known, size):
    """(m, k) how many answers of each class are left, of ``size`` (m,) in all."""
    return policy(known, RNG).expected() * size[:, None]


@pytest.mark.parametrize("kind", [SparseK, Subsample])
@given(counts=COUNTS, number=st.integers(1, 12))
def test_never_more_than_there_are_nor_than_asked_for(kind, counted, counts, number):
    counts = np.array(counts)
    known = counted(counts, hard=np.zeros(len(counts), dtype=int))
    size = np.minimum(counts.sum(axis=1), number)
    asked = size > 0
    left = kept(kind(number), known, np.maximum(size, 1))
    whole = np.round(left)
    assert left == pytest.approx(whole, abs=1e-9), "votes are kept or not, never in part"
    assert (whole[asked].sum(axis=1) == size[asked]).all()
    assert (whole[asked] <= counts[asked]).all(), "without replacement"
    assert (left[~asked] == [1, 0, 0]).all(), "nobody was asked: the given class"


@pytest.mark.parametrize("kind", [SparseK, Subsample])
def test_the_few_are_among_the_many(kind, counted):
    known = counted(np.random.default_rng(0).integers(0, 5, (50, 3)) + 1)
    size = known.each.votes_per_item()
    before = np.zeros((50, 3))
    for number in range(1, size.max() + 1):
        now = np.round(kept(kind(number), known, np.minimum(size, number)))
        assert (now >= before).all()
        before = now
    assert (before == known.each.counts()).all()


@pytest.mark.parametrize("kind", [SparseK, Subsample])
def test_every_vote_has_the_same_chance(kind, counted):
    """Of 20,000 items with 6 : 3 : 1 votes, four kept each: a hypergeometric number per class."""
    m, counts, number = 20_000, np.array([6, 3, 1]), 4
    known = counted(np.tile(counts, (m, 1)))
    found = kept(kind(number), known, np.full(m, number)).mean(axis=0)
    share = counts / 10
    variance = number * share * (1 - share) * (10 - number) / (10 - 1)
    assert (abs(found - number * share) < 5 * np.sqrt(variance / m)).all()


def test_each_run_draws_others(counted):
    known = counted(np.full((50, 3), 4))
    one, other = (SparseK(3)(known, Draws(seed)).expected() for seed in (0, 1))
    assert not (one == other).all()


def test_annotators_are_drawn_not_answers(answered):
    """Ann answered twice: she is one of two people, and brings both answers or none."""
    known = answered([0, 0, 0], [[1, 0], [0, 1], [0.4, 0.6]], annotator=[0, 0, 1])
    found = {
        tuple(Subsample(1)(known, Draws(seed)).expected()[0].round(9).tolist())
        for seed in range(40)
    }
    assert found == {(0.5, 0.5), (0.4, 0.6)}
    hers = [Subsample(1)(known, Draws(seed)).expected()[0, 0] == 0.5 for seed in range(400)]
    assert abs(np.mean(hers) - 0.5) < 5 * 0.5 / np.sqrt(400), "one of two people, not two of three"
    assert SparseK(3)(known, RNG).expected()[0] == pytest.approx(known.pooled[0])


def test_then_mean_label_or_one_of_them(answered):
    probs = [[1, 0], [0.5, 0.5], [0.2, 0.8]]
    known = answered([0, 0, 0], probs)
    mean = Subsample(2)(known, RNG)
    turns = Subsample(2, "per-annotator")(known, RNG)
    seen = Counter(tuple(turns.labels_for(e, [0], RNG)[0].tolist()) for e in range(200))
    assert len(seen) == 2, "two people were drawn, once for the whole run"
    assert np.mean(list(seen), axis=0) == pytest.approx(mean.labels_for(0, [0], RNG)[0])
    with pytest.raises(SoftlabelError, match="no then of Subsample called 'sls'"):
        Subsample(2, "sls")(known, RNG)


@pytest.mark.parametrize("then", [name for name in DELIVERIES if name != "sparse-k"])
def test_sparse_votes_go_on_with_any_policy(then):
    for check in DELIVER_CHECKS if then == "sls" else DELIVER_CHECKS[:-1]:  # the last is slow
        check(SparseK(3, then))
    assert registry.parse("deliver", f"sparse-k:k=3,then={then}") == SparseK(3, then)


def test_drawn_classes_come_from_the_votes_that_were_kept(counted):
    known = counted(np.full((200, 4), 5))
    share = SparseK(2)(known, RNG).expected()
    drawn = SparseK(2, "sls")(known, RNG)
    for epoch in range(20):
        labels = drawn.labels_for(epoch, np.arange(200), RNG)
        assert (share[labels == 1] > 0).all()


@pytest.mark.parametrize(
    ("policy", "options", "words"),
    [
        (SparseK, (0,), "SparseK: k = 0 is not in 1..inf"),
        (Subsample, (-1,), "Subsample: m = -1 is not in 1..inf"),
        (SparseK, (5, "slss"), "no deliver called 'slss' (did you mean 'sls'?)"),
        (SparseK, (5, "sparse-k"), "then = 'sparse-k' must be another policy"),
    ],
)
def test_what_makes_no_sense_is_refused(policy, options, words):
    with pytest.raises(SoftlabelError) as error:
        policy(*options)
    assert words in str(error.value)
