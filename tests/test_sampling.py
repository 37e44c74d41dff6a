"""Fewer answers: which rows stay."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, UnknownName
from softlabel.sampling import first_presentation, one_per_annotator, subsample, votes_from_counts
from softlabel.tables import ANONYMOUS
from softlabel.testing import example_votes

INDEX = Index(["i", "j"], ["ann", "bob"], ["x", "y"])


def votes(*rows):
    item, annotator, label = np.array(rows).T
    return Annotations(INDEX, item, annotator, label=label)


TWICE = votes((0, 0, 0), (1, 0, 1), (0, 1, 1), (0, 0, 1), (0, ANONYMOUS, 0), (0, ANONYMOUS, 0))


def test_first_presentations():
    assert first_presentation(TWICE).tolist() == [True, True, True, False, True, True]


def test_one_vote_per_person_first():
    once = one_per_annotator(TWICE)
    assert once.hard
    assert once.label.tolist() == [0, 1, 1, 0, 0]


def test_one_vote_per_person_averaged():
    once = one_per_annotator(TWICE, "mean")
    assert once.probs.tolist() == [[0.5, 0.5], [0, 1], [0, 1], [1, 0], [1, 0]]
    assert once.annotator.tolist() == [0, 0, 1, ANONYMOUS, ANONYMOUS]


def test_nothing_repeated_stays_as_it_is():
    once = one_per_annotator(votes((0, 0, 0), (0, 1, 1)), "mean")
    assert once.hard


def test_another_way_is_refused():
    with pytest.raises(UnknownName, match="'last'; there are: first, mean"):
        one_per_annotator(TWICE, "last")


def test_subsample_draws_at_most_m_per_item_without_replacement():
    said, _ = example_votes(items=50)
    cut = subsample(said, 3, np.random.default_rng(0))
    assert (cut.votes_per_item() == np.minimum(said.votes_per_item(), 3)).all()
    pairs = set(zip(cut.item.tolist(), cut.annotator.tolist(), strict=True))
    assert len(pairs) == len(cut)
    assert pairs <= set(zip(said.item.tolist(), said.annotator.tolist(), strict=True))


def test_subsample_is_seeded_and_fair():
    said = votes_from_counts(Index(["i"], [], ["x", "y"]), np.array([[30, 10]]))
    first, second = (subsample(said, 4, np.random.default_rng(7)).label for _ in range(2))
    assert first.tolist() == second.tolist()
    rng = np.random.default_rng(0)
    share = np.mean([subsample(said, 4, rng).label.mean() for _ in range(500)])
    assert abs(share - 0.25) < 0.03


def test_more_than_there_are_keeps_all():
    said, _ = example_votes(items=10)
    assert subsample(said, 99, np.random.default_rng(0)).item.tolist() == said.item.tolist()
    with pytest.raises(DataError, match="m = 0"):
        subsample(said, 0, np.random.default_rng(0))


def test_subsampling_nothing():
    said, _ = example_votes(items=10)
    assert len(subsample(said.take([]), 2, np.random.default_rng(0))) == 0


def test_counts_become_anonymous_votes_and_back():
    counts = np.array([[3, 0], [1, 2]])
    said = votes_from_counts(INDEX, counts)
    assert said.anonymous
    np.testing.assert_array_equal(said.counts(), counts)


@pytest.mark.parametrize("counts", [[[1.5, 0], [0, 0]], [[1, 0]], [[-1, 0], [0, 0]]])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(DataError, match="count"):
        votes_from_counts(INDEX, np.array(counts))
