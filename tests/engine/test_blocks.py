"""Large things in pieces are the things themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.aggregate.confusion import Confusions
from softlabel.engine.cluster import add_sums, cut_blocks, join_blocks, pack, unpack


def some_sums(people, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(1), rng.random((people, 3, 3)), rng.random(3)


@given(people=st.integers(0, 40), blocks=st.integers(1, 9))
def test_sums_in_blocks_are_the_sums(people, blocks):
    sums = some_sums(people)
    cut = cut_blocks(sums, blocks)
    assert len(cut) == blocks
    assert max(len(block[1]) for block in cut) <= -(-people // blocks) + 1, "about even"
    for whole, again in zip(sums, join_blocks(cut), strict=True):
        np.testing.assert_array_equal(whole, again)
        assert again.flags.writeable, "the M-step may use it up"


def test_adding_blocks_is_adding_sums_and_leaves_them_alone():
    one, two = some_sums(10, 1), some_sums(10, 2)
    before = [array.copy() for array in one]
    pairs = zip(cut_blocks(one, 4), cut_blocks(two, 4), strict=True)
    total = join_blocks([add_sums(left, right) for left, right in pairs])
    for left, right, found in zip(one, two, total, strict=True):
        np.testing.assert_array_equal(left + right, found)
    for array, kept in zip(one, before, strict=True):
        np.testing.assert_array_equal(array, kept)


@pytest.mark.parametrize("largest", [8, 100, 10**6])
def test_parameters_arrive_as_they_were_sent(largest):
    fixed = np.arange(5.0)
    fixed.flags.writeable = False
    sent = (Confusions(fixed, np.random.default_rng(0).random((7, 3, 3))), "words", 1.5)
    head, sizes, runs = pack(sent, largest)
    assert max(run.nbytes for run in runs) <= largest
    found, words, number = unpack(head, sizes, [run.copy() for run in runs])
    assert isinstance(found, Confusions)
    np.testing.assert_array_equal(found.prior, fixed)
    np.testing.assert_array_equal(found.table, sent[0].table)
    assert (found.prior.flags.writeable, found.table.flags.writeable) == (False, True)
    assert (words, number) == ("words", 1.5)


def test_nothing_to_send_is_nothing():
    head, sizes, runs = pack(())
    assert (unpack(head, sizes, runs), runs) == ((), [])
