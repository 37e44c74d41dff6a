"""Atoms: the items themselves as the prior."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Index, SoftlabelError
from softlabel.aggregate import Atoms, DirichletMixture, Prior
from softlabel.sampling import votes_from_counts
from softlabel.testing.examples import reindex


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def counted(counts):
    return votes_from_counts(index_of(*np.shape(counts)), np.asarray(counts))


SMOOTH = Prior(index_of(1, 3).labels, [[3.0, 0.5, 0.5], [0.2, 0.3, 0.4]], [0.7, 0.3])


def test_atoms_are_labels_of_the_items_with_their_numbers():
    """Three different rows, one of them twice: weights .9 of 1/4, 1/4 and 2/4."""
    counts = np.array(3 * [[2, 0, 0], [0, 1, 1], [2, 0, 0], [0, 0, 4]])
    prior = Atoms().fit(index_of(12, 3), counts.astype(float), SMOOTH)
    label = DirichletMixture()(counted(counts), prior=SMOOTH).probs
    assert len(prior.weight) == 3 + 2
    for row, times in ((0, 2), (1, 1), (3, 1)):
        place = np.flatnonzero(abs(prior.alpha - 100 * label[row]).max(axis=1) < 1e-9)
        assert prior.weight[place] == pytest.approx(0.9 * times / 4)
    np.testing.assert_allclose(prior.alpha[-2:], SMOOTH.alpha)
    np.testing.assert_allclose(prior.weight[-2:], 0.1 * SMOOTH.weight)


def test_a_handful_of_items_makes_no_atoms():
    counts = np.array([[2, 1, 0], [0, 1, 0]])
    prior = Atoms().fit(index_of(2, 3), counts.astype(float), SMOOTH)
    np.testing.assert_array_equal(prior.alpha, SMOOTH.alpha)


def test_the_label_is_the_mean_over_atoms_by_loops():
    from math import lgamma

    counts = np.array(4 * [[2, 0, 0], [0, 1, 1], [0, 0, 4]])
    made = Atoms(share=0.5, scale=20.0)(counted(counts), prior=SMOOTH)
    prior = made.belief.prior
    for i, row in enumerate(counts):
        total, label = 0.0, np.zeros(3)
        for alpha, weight in zip(prior.alpha, prior.weight, strict=True):
            log = lgamma(alpha.sum()) - lgamma(alpha.sum() + row.sum())
            log += sum(lgamma(a + n) - lgamma(a) for a, n in zip(alpha, row, strict=True))
            chance = weight * np.exp(log)
            total += chance
            label += chance * (alpha + row) / (alpha.sum() + row.sum())
        np.testing.assert_allclose(made.probs[i], label / total, atol=1e-12)


def crowd(items, votes, seed=0):
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 3, items)
    alpha = np.array([[6, 0.3, 0.05, 0.05], [0.1, 3, 2, 0.05], [0.05, 0.05, 0.4, 8]])[kind]
    split = rng.standard_gamma(alpha) + 1e-12
    split /= split.sum(axis=1, keepdims=True)
    return rng.multinomial(votes, split), split


def test_atoms_mend_a_weak_prior():
    counts, split = crowd(600, 8)
    weak = Prior(index_of(1, 4).labels, np.full((1, 4), 1.0), [1.0])

    def distance(probs):
        return (split * np.log(np.maximum(split, 1e-300) / probs)).sum(axis=1).mean()

    said = counted(counts)
    assert distance(Atoms()(said, prior=weak).probs) < 0.9 * distance(
        DirichletMixture()(said, prior=weak).probs
    )


def test_a_sample_stands_for_all_items():
    """Priority sampling has no bias: over seeds the atoms stand for as many items as there are."""
    counts, _ = crowd(1500, 25, seed=3)
    stand = []
    for seed in range(30):
        pool = Atoms(most=60, seed=seed)
        label, times, some, where = _atoms_of(counts)
        chosen, number = pool._sample(index_of(1500, 4), label, times, some, where)
        assert len(chosen) == 60
        stand.append(number.sum())
    error = np.std(stand) / np.sqrt(len(stand))
    assert np.mean(stand) == pytest.approx(1500, abs=4 * error)


def _atoms_of(counts):
    from softlabel.aggregate.split.mixtures import distinct

    rows, where = distinct(counts.astype(float))
    label = (rows.n + 0.1) / (rows.n + 0.1).sum(axis=1, keepdims=True)
    return label, rows.times, np.arange(len(counts)), where


def test_which_atoms_are_drawn_belongs_to_the_names():
    said = counted(crowd(400, 25, seed=4)[0])
    before = Atoms(most=50)(said).probs
    turn = np.random.default_rng(0).permutation(400)
    np.testing.assert_allclose(
        Atoms(most=50)(reindex(said, "items", turn)).probs, before[turn], atol=1e-12
    )
    order = np.array([3, 1, 0, 2])
    np.testing.assert_allclose(
        Atoms(most=50)(reindex(said, "labels", order)).probs, before[:, order], atol=1e-12
    )
    assert abs(Atoms(most=50, seed=1)(said).probs - before).max() > 1e-6


def test_a_sample_is_nearly_as_good_as_all():
    counts, split = crowd(1500, 12, seed=5)
    said = counted(counts)

    def distance(pool):
        return (split * np.log(np.maximum(split, 1e-300) / pool(said).probs)).sum(axis=1).mean()

    assert distance(Atoms(most=150)) < 1.1 * distance(Atoms(most=10**6))


def test_nobody_answered():
    made = Atoms()(counted(np.zeros((2, 3), int)))
    assert np.isnan(made.probs).all()
    np.testing.assert_allclose(made.belief.mean(), 1 / 3)


def test_parameters_are_checked():
    with pytest.raises(SoftlabelError, match=r"share = 1\.5"):
        Atoms(share=1.5)(counted([[1, 2]]))
    with pytest.raises(SoftlabelError, match="most = 0"):
        Atoms(most=0)(counted([[1, 2]]))
