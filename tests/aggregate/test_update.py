"""New answers to finished labels: the same as pooling all of them, for every distribution pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, SoftLabels
from softlabel.aggregate import (
    AGGREGATORS,
    Atoms,
    Auto,
    Dirichlet,
    DirichletMixture,
    Majority,
    Mean,
    Posterior,
    Softmax,
    Stack,
    update,
)
from softlabel.aggregate.split.base import make_labels
from softlabel.testing import example_soft, example_votes
from softlabel.testing.examples import reindex

SPLITS = [name for name, kind in AGGREGATORS.items() if kind.estimand == "distribution"]


def all_by(labels, said):
    """Everything pooled at once with the parameters that ``labels`` were made with."""
    sums = labels.fitted.sums(said)
    return make_labels(Mean(), labels.fitted, said.index, sums, said.votes_per_item())


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("kind", ["votes", "soft"])
def test_updating_equals_pooling_everything(name, kind):
    said = example_votes(items=300)[0] if kind == "votes" else example_soft(items=300)
    late = np.random.default_rng(0).random(len(said)) < 0.3
    late |= said.item == 5  # an item that nobody had answered
    before = AGGREGATORS[name]()(said.take(~late))
    after = update(before, said.take(late))
    whole = all_by(before, said)
    np.testing.assert_allclose(after.probs, whole.probs, atol=1e-12)
    np.testing.assert_array_equal(after.count, said.votes_per_item())
    np.testing.assert_allclose(after.belief.evidence, whole.belief.evidence, atol=1e-12)
    assert after.made_by == before.made_by


@pytest.mark.parametrize("pool", [Dirichlet(), DirichletMixture(), Atoms()], ids=str)
def test_updating_equals_a_refit_with_the_same_prior(pool):
    said, _ = example_votes(items=300)
    before = pool(said.take(said.annotator < 5))
    after = update(before, said.take(said.annotator >= 5))
    assert isinstance(before.fitted, Posterior)
    refit = DirichletMixture()(said, prior=before.fitted.prior)
    np.testing.assert_allclose(after.probs, refit.probs, atol=1e-12)
    np.testing.assert_allclose(after.belief.gain(), refit.belief.gain(), atol=1e-12)


@pytest.mark.parametrize("pool", [Dirichlet(), DirichletMixture(), Atoms(), Auto()], ids=str)
def test_updating_is_near_a_full_refit(pool):
    """Ten per cent more votes: labels move by less than .01 in total variation on average."""
    said, _ = example_votes(items=400)
    late = np.random.default_rng(1).random(len(said)) < 0.1
    after = update(pool(said.take(~late)), said.take(late)).probs
    apart = abs(after - pool(said).probs).sum(axis=1) / 2
    assert np.nanmean(apart) < 0.01
    assert np.nanmax(apart) < 0.1


def test_one_vote_at_a_time():
    said, _ = example_votes(items=30)
    labels = DirichletMixture()(said.take(np.arange(50)))
    prior = labels.fitted.prior
    for n in range(50, 80):
        labels = update(labels, said.take([n]))
    expected = DirichletMixture()(said.take(np.arange(80)), prior=prior).probs
    np.testing.assert_allclose(labels.probs, expected, atol=1e-12)


def test_new_items_and_people_are_added_at_the_end():
    said, _ = example_votes(items=10, annotators=4)
    labels = Mean()(said)
    index = Index(["late", "item-3"], ["person-1", "zoe"], said.index.labels)
    new = Annotations(index, np.array([0, 1]), np.array([1, 1]), label=np.array([2, 0]))
    after = update(labels, new)
    assert after.index.items.tolist() == [*said.index.items.tolist(), "late"]
    assert after.index.annotators.tolist() == [*said.index.annotators.tolist(), "zoe"]
    np.testing.assert_array_equal(after.probs[10], [0, 0, 1])
    counts = said.counts()[3] + [1, 0, 0]
    np.testing.assert_allclose(after.probs[3], counts / counts.sum(), atol=1e-15)
    assert labels.count[3] == after.count[3] - 1, "the old labels stay as they were"


def test_classes_may_come_in_another_order():
    said, _ = example_votes(items=20)
    late = said.item >= 10
    before = Softmax()(said.take(~late))
    turned = reindex(said.take(late), "labels", np.array([2, 0, 1]))
    np.testing.assert_allclose(update(before, turned).probs, Softmax()(said).probs, atol=1e-12)


def test_an_unknown_class_is_refused():
    said, _ = example_votes(items=5)
    index = Index(["item-0"], ["zoe"], ["class-0", "wren"])
    new = Annotations(index, np.array([0]), np.array([0]), label=np.array([1]))
    with pytest.raises(DataError, match="'wren'"):
        update(Mean()(said), new)


def test_nothing_new():
    said, _ = example_votes(items=5)
    labels = DirichletMixture()(said)
    after = update(labels, said.take([]))
    np.testing.assert_array_equal(after.probs, labels.probs)


def test_rich_answers_after_votes():
    votes, answers = example_votes(items=250)[0], example_soft(items=250)
    before = DirichletMixture()(votes)
    after = update(before, answers)
    prior = before.fitted.prior
    np.testing.assert_allclose(
        after.probs, DirichletMixture()(votes, rich=answers, prior=prior).probs, atol=1e-12
    )
    stacked = Stack()(votes, rich=answers)
    more = update(stacked, votes.take(np.arange(40)))
    assert (more.count.sum() - stacked.count.sum()) == 40
    assert abs(more.probs - stacked.probs).max() > 1e-4


@dataclass(frozen=True)
class Watched(Mean):
    """A mean that says how many rows it was asked for."""

    def rows(self, sums):
        asked.append(len(sums))
        return super().rows(sums)


asked: list[int] = []


def test_only_what_changed_is_worked_out():
    said, _ = example_votes(items=200)
    asked.clear()
    labels = Watched()(said)
    update(labels, said.take([0, 1, 2, 3]))
    assert asked == [200, len(np.unique(said.item[:4]))]


def test_labels_that_do_not_know_their_pool_are_refused(tmp_path):
    said, _ = example_votes(items=5)
    Mean()(said).save(tmp_path / "labels.npz")
    from softlabel.aggregate import LabelDistribution

    loaded = LabelDistribution.load(tmp_path / "labels.npz")
    assert isinstance(loaded, SoftLabels)
    with pytest.raises(DataError, match="pool the answers again"):
        update(loaded, said)
    assert not hasattr(Majority()(said), "fitted")
