"""Votes in the order of the items: against numpy's stable sort, whole and in parts."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index
from softlabel.aggregate import Majority
from softlabel.aggregate.truth import base, majority
from softlabel.aggregate.truth.base import sort_votes
from softlabel.aggregate.truth.majority import class_counts
from softlabel.testing import example_soft, example_votes


def some_votes(items=50, people=9, classes=4, n=400, seed=0):
    rng = np.random.default_rng(seed)
    index = Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(classes)],
    )
    codes = (rng.integers(0, size, n) for size in (items, people, classes))
    item, who, label = codes
    return Annotations(index, item, who, label=label)


def check_order(said):
    """By item, and within an item as they came."""
    found = sort_votes(said, "anything")
    if said.hard:
        rows = np.argsort(said.item, kind="stable")
        np.testing.assert_array_equal(found.annotator, said.annotator[rows])
        np.testing.assert_array_equal(found.label, said.label[rows])
        assert found.weight is None
    else:
        row, label = np.nonzero(said.probs)
        order = np.argsort(said.item[row], kind="stable")
        row, label = row[order], label[order]
        np.testing.assert_array_equal(found.annotator, said.annotator[row])
        np.testing.assert_array_equal(found.label, label)
        np.testing.assert_array_equal(found.weight, said.probs[row, label])
        rows = row
    ends = np.searchsorted(np.sort(said.item[rows]), np.arange(len(said.index.items)), "right")
    np.testing.assert_array_equal(found.start, [0, *ends])


@pytest.mark.parametrize("said", [some_votes(), example_soft(), some_votes(n=0), some_votes(n=1)])
def test_votes_lie_item_by_item(said):
    check_order(said)


@pytest.mark.parametrize("said", [some_votes(), example_soft(), some_votes(items=1)])
def test_threads_sort_alike(said, monkeypatch):
    monkeypatch.setattr(base, "MANY", 1)
    monkeypatch.setattr(base, "cores", lambda: 3)
    check_order(said)


@pytest.mark.parametrize("said", [some_votes(), example_soft(), some_votes(items=1)])
def test_many_votes_are_counted_and_won_alike(said, monkeypatch):
    few = {ties: Majority(ties)(said).probs for ties in ("first", "split", "random")}
    monkeypatch.setattr(majority, "MANY", 1)
    np.testing.assert_array_equal(class_counts(said), said.counts())
    for ties, probs in few.items():
        np.testing.assert_array_equal(Majority(ties)(said).probs, probs)


def test_arrays_are_compact_and_cannot_be_changed():
    found = sort_votes(some_votes(), "anything")
    assert (found.start.dtype, found.annotator.dtype) == (np.int64, np.int32)
    assert found.label.dtype == np.int16
    with pytest.raises(ValueError, match="read-only"):
        found.label[0] = 1


def test_very_many_classes_have_larger_codes():
    found = sort_votes(some_votes(classes=40_000), "anything")
    assert found.label.dtype == np.int32
    assert found.label.max() > 2**15


def test_anonymous_votes_are_refused_in_the_name_of_the_method():
    said = some_votes()
    who = said.annotator.copy()
    who[3] = -1
    with pytest.raises(DataError, match="zencrowd weighs people"):
        sort_votes(Annotations(said.index, said.item, who, label=said.label), "zencrowd")


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 1000])
def test_parts_are_ranges_of_items_of_about_equal_weight(shards):
    whole = sort_votes(some_votes(), "anything", np.arange(50) % 4)
    parts = whole.cut(shards)
    assert len(parts) <= shards
    assert sum(part.items for part in parts) == 50
    for name in ("annotator", "label", "gold"):
        together = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(together, getattr(whole, name))
    lengths = np.concatenate([np.diff(part.start) for part in parts])
    np.testing.assert_array_equal(lengths, np.diff(whole.start))
    assert all(part.start[0] == 0 and part.start[-1] == len(part) for part in parts)
    if shards < 10:
        largest = np.diff(whole.start).max()
        assert max(map(len, parts)) <= 400 / shards + 2 * largest


def test_parts_are_not_copies():
    whole = sort_votes(some_votes(), "anything")
    assert all(np.shares_memory(part.annotator, whole.annotator) for part in whole.cut(4))


def test_soft_parts_keep_their_weights():
    whole = sort_votes(example_soft(), "anything")
    together = np.concatenate([part.weight for part in whole.cut(5)])
    np.testing.assert_array_equal(together, whole.weight)


def test_no_items_are_one_empty_part():
    empty = Annotations(Index([], [], ["c"]), np.zeros(0, int), np.zeros(0, int), label=[])
    assert [len(part) for part in sort_votes(empty, "anything").cut(3)] == [0]


def test_few_votes_are_counted_by_the_table():
    said, _ = example_votes()
    np.testing.assert_array_equal(class_counts(said), said.counts())
