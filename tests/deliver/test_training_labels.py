"""What is known about the items: what is accepted, and what is said about what is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import DataError, SoftLabels
from softlabel.aggregate import Mean
from softlabel.deliver import NO_CLASS, Draws, TrainingLabels
from softlabel.testing import example_teaching, example_votes


def test_from_the_tables(counted):
    votes, truth = example_votes()
    some = votes.take(votes.item != 3)
    known = TrainingLabels.of(Mean()(some), some)
    assert known.hard[3] == NO_CLASS
    answered = np.arange(40) != 3
    assert (known.hard[answered] == Mean()(some).probs[answered].argmax(axis=1)).all()
    assert (known.relabelled == answered).all()
    assert (known.labelled == answered).all()
    assert (TrainingLabels.of(Mean()(some), some, truth).hard == truth).all()
    assert len(known) == 40


def test_relabelled_means_asked(counted):
    known = TrainingLabels([0, 1], [[1, 0], [0.5, 0.5]], counted([[0, 0], [1, 1]]).each)
    assert known.relabelled.tolist() == [False, True]
    assert replace(known, each=None).relabelled.tolist() == [True, True]


def test_only_some_items():
    known = example_teaching(soft=True)
    items = np.array([7, 2, 30])
    few = known.only(items)
    assert (few.hard == known.hard[items]).all()
    assert few.pooled == pytest.approx(known.pooled[items])
    assert few.each.counts() == pytest.approx(known.each.counts()[items])
    assert few.each.index.items.tolist() == ["item-7", "item-2", "item-30"]


def test_it_is_nobody_elses_array():
    hard, pooled = np.array([0]), np.array([[1.0, 0.0]])
    known = TrainingLabels(hard, pooled)
    hard[0], pooled[0] = 1, 0.5
    assert known.hard.tolist() == [0]
    assert known.pooled.tolist() == [[1, 0]]
    with pytest.raises(ValueError, match="read-only"):
        known.pooled[0] = 0


@pytest.mark.parametrize(
    ("hard", "pooled", "words"),
    [
        ([0, 1], [[1.0, 0.0]], "are not (m,) and (m, k)"),
        ([0], [1.0], "are not (m,) and (m, k)"),
        ([0.0], [[1.0, 0.0]], "hard must hold codes of classes, not float64"),
        ([0, 2], [[1.0, 0.0]] * 2, "hard, row 1: class outside 0..1, and not -1 (none) (value 2)"),
        ([-2], [[1.0, 0.0]], "row 0: class outside"),
        ([0, 0], [[1.0, 0.0], [0.5, 0.6]], "pooled, row 1: probabilities do not sum to 1"),
        ([0], [[np.nan, 1.0]], "pooled, row 0: a probability is not a finite number"),
    ],
)
def test_what_is_wrong_is_said(hard, pooled, words):
    with pytest.raises(DataError) as error:
        TrainingLabels(np.array(hard), np.array(pooled))
    assert words in str(error.value)


def test_tables_of_other_items_are_refused():
    votes, _ = example_votes()
    pooled = Mean()(votes)
    with pytest.raises(DataError, match="have 40 items and 3 classes, the labels 2 and 3"):
        TrainingLabels([0, 0], np.full((2, 3), 1 / 3), votes)
    backwards = replace(votes.index, items=votes.index.items[::-1])
    other = SoftLabels(backwards, pooled.probs, pooled.count)
    with pytest.raises(DataError, match="the annotations' items are not those of the pooled"):
        TrainingLabels.of(other, votes)


def test_draws_belong_to_their_keys():
    rng = Draws(3)
    table = rng.uniform("a", 5, np.arange(100))
    assert rng.uniform("a", 5, 17) == table[17]
    assert not np.isclose(table, rng.uniform("b", 5, np.arange(100))).any()
    assert not np.isclose(table, rng.uniform("a", 6, np.arange(100))).any()
    assert not np.isclose(table, Draws(4).uniform("a", 5, np.arange(100))).any()
