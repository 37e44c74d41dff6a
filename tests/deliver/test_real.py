"""Real votes and real soft labels, delivered."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import datasets, metrics
from softlabel.aggregate import Mean
from softlabel.construct import Clamp
from softlabel.deliver import (
    SLS,
    Aggregate,
    Draws,
    Mixed,
    Multipass,
    PerAnnotator,
    SparseK,
    Subsample,
    TrainingLabels,
)

RNG = Draws(0)


@pytest.fixture(scope="module")
def cifar10h(data_folder):
    data = datasets.cifar10h.load("counts")
    return TrainingLabels.of(Mean()(data.annotations), data.annotations, data.gold)


@pytest.fixture(scope="module")
def cifar10s(data_folder):
    """The 1,000 images with all 6,723 released answers, repeats as annotators of their own."""
    return Clamp()(datasets.cifar10s.load("all").statements)


def entropy_correlation(one, other):
    return np.corrcoef(metrics.entropy(one), metrics.entropy(other))[0, 1]


def test_every_vote_of_cifar10h_has_its_turn(cifar10h):
    """Rounds of 47 to 63 epochs: after each item's own round its mean is its vote share."""
    delivery, size = Multipass()(cifar10h, RNG), cifar10h.each.votes_per_item()
    items, total = np.arange(10_000), np.zeros((10_000, 10))
    for epoch in range(size.max()):
        total += delivery.labels_for(epoch, items, RNG) * (epoch < size)[:, None]
    assert (total == cifar10h.each.counts()).all()
    again = delivery.labels_for(int(size[0]), items[:1], RNG)
    assert (again == delivery.labels_for(0, items[:1], RNG)).all()


def test_drawn_classes_of_cifar10h_have_the_shares_as_their_mean(cifar10h):
    """30 epochs; the mean squared error of 30 draws is (1 - |p|^2) / 30 over all items."""
    epochs, items = 30, np.arange(10_000)
    wanted = (1 - (cifar10h.pooled**2).sum(axis=1)).mean() / epochs
    for policy in (SLS(), PerAnnotator()):
        delivery = policy(cifar10h, RNG)
        mean = sum(delivery.labels_for(e, items, RNG) for e in range(epochs)) / epochs
        error = ((mean - cifar10h.pooled) ** 2).sum(axis=1)
        assert abs(error.mean() - wanted) < 5 * error.std() / np.sqrt(len(items))


def test_five_votes_of_cifar10h(cifar10h):
    share = SparseK(5)(cifar10h, RNG).expected()
    assert share * 5 == pytest.approx(np.round(share * 5), abs=1e-9)
    assert (share * 5 <= cifar10h.each.counts() + 1e-9).all()


@pytest.mark.parametrize(("m", "published"), [(2, 0.377), (8, 0.708), (32, 0.948)])
def test_fewer_votes_know_less_of_the_entropy(m, published, cifar10h, cifar10s):
    """Correlation with the entropy of all votes, on the images of CIFAR-10S; the published values
    are one draw each, ours the mean of five."""
    known = cifar10h.only(cifar10s.index.items.astype(int))
    found = [
        entropy_correlation(Subsample(m)(known, Draws(seed)).expected(), known.pooled)
        for seed in range(5)
    ]
    assert np.mean(found) == pytest.approx(published, abs=0.04)


@pytest.mark.parametrize(("m", "published"), [(1, 0.313), (3, 0.525), (6, 0.612)])
def test_fewer_rich_answers_know_less_of_the_entropy(m, published, cifar10h, cifar10s):
    known = TrainingLabels.of(Mean()(cifar10s), cifar10s)
    votes = cifar10h.pooled[cifar10s.index.items.astype(int)]
    found = [
        entropy_correlation(Subsample(m)(known, Draws(seed)).expected(), votes) for seed in range(5)
    ]
    assert np.mean(found) == pytest.approx(published, abs=0.04)


def test_a_thousand_relabelled_among_ten_thousand(cifar10h, cifar10s):
    """CIFAR-10S in its training set: soft where people were asked, one-hot elsewhere."""
    images = cifar10s.index.items.astype(int)
    pooled = np.full((10_000, 10), np.nan)
    pooled[images] = Mean()(cifar10s).probs
    known = TrainingLabels(cifar10h.hard, pooled)
    for policy in (Mixed(), Aggregate()):  # the same, where the soft label is all that is wanted
        labels = policy(known, RNG).labels_for(0, np.arange(10_000), RNG)
        assert (labels[images] == pooled[images]).all()
        rest = np.setdiff1d(np.arange(10_000), images)
        assert (labels[rest] == np.eye(10)[cifar10h.hard[rest]]).all()
    even = Mixed("uniform")(known, RNG).labels_for(0, np.arange(10_000), RNG)
    assert (even[images] == 0.1).all()
    assert (even.max(axis=1) == 1).sum() == 9000
