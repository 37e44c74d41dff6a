"""Multipass and its controls: every answer once per round."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softlabel import SoftlabelError
from softlabel.deliver import Control, Draws, Multipass

RNG = Draws(0)
POLICIES = [Multipass(), Control(), Control("sorted")]
every = pytest.mark.parametrize("policy", POLICIES, ids=str)


def run(policy, known, epochs):
    """(epochs, m, k)"""
    delivery = policy(known, RNG)
    return np.stack([delivery.labels_for(e, np.arange(len(known)), RNG) for e in epochs])


@every
def test_counts_2_1_are_the_votes_0_0_1(policy, counted):
    votes = run(policy, counted([[2, 1]]), range(6))[:, 0].argmax(axis=1)
    assert sorted(votes[:3]) == [0, 0, 1]
    assert (votes[3:] == votes[:3]).all(), "epoch 3 is epoch 0 again"
    assert Counter(votes.tolist()) == {0: 4, 1: 2}, "in six epochs each vote has its turn twice"


COUNTS = st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=6)


@every
@given(counts=COUNTS, start=st.integers(0, 10**6))
def test_any_round_has_exactly_the_mean_of_the_votes(policy, counted, counts, start):
    """Rounds of unequal length side by side, from any epoch on; an item without votes, too."""
    known = counted(counts, hard=np.zeros(len(counts), dtype=int))
    for item, row in enumerate(counts):
        size = max(sum(row), 1)
        delivery = policy(known, RNG)
        seen = sum(delivery.labels_for(start + e, [item], RNG)[0] for e in range(size))
        assert seen.tolist() == (row if sum(row) else [1, 0, 0])


@every
def test_soft_pools_take_turns_by_annotator(policy, answered):
    probs = [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.2, 0.6], [0, 1, 0]]
    known = answered([0, 0, 0, 1], probs)
    seen = run(policy, known, range(6))
    assert sorted(seen[:3, 0].tolist()) == sorted(probs[:3])
    assert (seen[3:] == seen[:3]).all()
    assert (seen[:, 1] == [0, 1, 0]).all(), "a single answer is there in every epoch"


def test_the_order_belongs_to_the_policy_and_not_to_the_run(counted):
    known = counted(np.full((30, 3), 3))
    one = Multipass()(known, Draws(1)).labels_for(2, np.arange(30), Draws(1))
    assert (one == Multipass()(known, Draws(2)).labels_for(2, np.arange(30), Draws(2))).all()
    assert (run(Multipass(1), known, range(9)) == run(Control(), known, range(9))).all()
    assert not (run(Multipass(), known, range(9)) == run(Control(), known, range(9))).all()


def test_sorted_is_class_after_class(counted, answered):
    votes = run(Control("sorted"), counted([[1, 0, 2], [0, 3, 0]]), range(3)).argmax(axis=2)
    assert votes.T.tolist() == [[0, 2, 2], [1, 1, 1]]
    soft = answered([0, 0, 0], [[0.1, 0.2, 0.7], [0.3, 0.6, 0.1], [0.8, 0.1, 0.1]])
    assert run(Control("sorted"), soft, range(3))[:, 0].argmax(axis=1).tolist() == [0, 1, 2]
    with pytest.raises(SoftlabelError, match="no order of Control called 'random'"):
        Control("random")(soft, RNG)


def test_every_order_is_as_likely(counted):
    """Of 6,000 items with votes a, b, c, each of the six orders as often as chance allows."""
    seen = run(Multipass(), counted(np.ones((6000, 3), dtype=int)), range(3)).argmax(axis=2)
    orders = np.unique(seen, axis=1, return_counts=True)[1]
    assert len(orders) == 6
    assert stats.chisquare(orders).pvalue > 1e-6


def test_a_million_votes_for_one_item(counted):
    """Nothing is laid out in a table of items by votes."""
    known = counted([[600_000, 400_000], [1, 0]])
    delivery = Multipass()(known, RNG)
    assert delivery.expected().tolist() == [[0.6, 0.4], [1, 0]]
    one, again = (delivery.labels_for(e, [0, 1], RNG) for e in (17, 17 + 10**6))
    assert (one == again).all()
