"""Accuracy against given classes and against people's mode, ties and all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, recall_score, top_k_accuracy_score

from softlabel import DataError, UnknownName, metrics

RNG = np.random.default_rng(0)
CLASSES = RNG.integers(0, 5, 200)
GIVEN = metrics.one_hot(CLASSES, 5)
FOUND = 0.6 * RNG.dirichlet([1.0] * 5, 200) + 0.4 * metrics.one_hot(RNG.permutation(CLASSES), 5)


def test_against_given_classes_as_scikit_learn():
    assert metrics.accuracy(GIVEN, FOUND).mean() == accuracy_score(CLASSES, FOUND.argmax(axis=1))
    for top in (2, 3, 4):
        expected = top_k_accuracy_score(CLASSES, FOUND, k=top)
        for ties in ("split", "first"):
            assert metrics.accuracy(GIVEN, FOUND, top, ties).mean() == pytest.approx(expected)
    assert (metrics.top2_accuracy(GIVEN, FOUND) == metrics.accuracy(GIVEN, FOUND, 2)).all()
    recall = recall_score(CLASSES, FOUND.argmax(axis=1), average=None)
    assert metrics.worst_class_accuracy(GIVEN, FOUND) == pytest.approx(recall.min())


def test_people_and_given_classes_can_disagree():
    people, given = [[0.2, 0.8]], metrics.one_hot([0], 2)
    assert metrics.accuracy(people, [[0.3, 0.7]]) == 1
    assert metrics.accuracy(given, [[0.3, 0.7]]) == 0


def broken_at_random(true, predicted, top):
    """The mean over every way to break every tie, by brute force."""
    tiny = 1e-6 * np.arange(len(true))
    orders = list(itertools.permutations(tiny))
    right = [
        np.argmax(true + a) in np.argsort(-(predicted + b))[:top] for a in orders for b in orders
    ]
    return np.mean(right)


TIED = [  # true, predicted
    ([0.4, 0.4, 0.2, 0], [0.5, 0.2, 0.2, 0.1]),
    ([0.4, 0.4, 0.2, 0], [0.25, 0.25, 0.25, 0.25]),
    ([1, 0, 0, 0], [0.3, 0.3, 0.3, 0.1]),
    ([0.25, 0.25, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]),
    ([0, 0.5, 0.5, 0], [0.4, 0.3, 0.3, 0]),
]


@pytest.mark.parametrize(("true", "predicted"), TIED)
@pytest.mark.parametrize("top", [1, 2, 3, 4])
def test_split_ties_are_ties_broken_at_random(true, predicted, top):
    found = metrics.accuracy([true], [predicted], top)[0]
    assert found == pytest.approx(broken_at_random(np.array(true), np.array(predicted), top))


def test_first_of_tied_classes_as_argmax():
    assert metrics.accuracy([[0.4, 0.4, 0.2]], [[0.1, 0.6, 0.3]], ties="first") == 0
    assert metrics.accuracy([[0.4, 0.4, 0.2]], [[0.5, 0.5, 0]], ties="first") == 1
    assert metrics.accuracy([[0, 0, 1]], [[0.4, 0.3, 0.3]], 2, "first") == 0


def test_a_tied_item_counts_in_part_for_each_class():
    true = [[1, 0], [0.5, 0.5], [0, 1]]
    found = [[0.9, 0.1], [0.9, 0.1], [0.2, 0.8]]
    # class 0: (1 + 1/2) of 1.5 items; class 1: 1 of 1.5
    assert metrics.worst_class_accuracy(true, found) == pytest.approx(1 / 1.5)
    assert metrics.worst_class_accuracy(true, found, ties="first") == 1


def test_no_items_no_worst_class():
    assert np.isnan(metrics.worst_class_accuracy(np.zeros((0, 3)), np.zeros((0, 3))))


REFUSED = [
    (lambda: metrics.accuracy(GIVEN, FOUND, top=6), "top = 6 is not in 1..5"),
    (lambda: metrics.accuracy(GIVEN, FOUND, top=0), "top = 0"),
    (lambda: metrics.one_hot([0, 5], 5), "row 1: class 5 is not in 0..4"),
    (lambda: metrics.one_hot([-1], 5), "row 0: class -1"),
    (lambda: metrics.one_hot([0.5], 5), "one integer per item; got float64"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
    with pytest.raises(UnknownName, match="no ties called 'last'"):
        metrics.accuracy(GIVEN, FOUND, ties="last")
