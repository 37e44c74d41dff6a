"""One Dirichlet for all items: the fit, the label, priors as values, soft annotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from softlabel import Annotations, DataError, Index, SoftlabelError
from softlabel.aggregate import Dirichlet, DirichletMixture, Prior, rich_weight
from softlabel.aggregate.split.mixtures import A0, D, distinct, fit_mixture
from softlabel.sampling import votes_from_counts
from softlabel.testing import example_soft, example_votes


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def planted(alpha, items, votes, seed=0):
    """Votes on items whose splits are drawn from a Dirichlet."""
    rng = np.random.default_rng(seed)
    split = rng.dirichlet(alpha, items)
    counts = rng.multinomial(votes, split)
    return votes_from_counts(index_of(items, len(alpha)), counts), split


def soft(*rows, items=None):
    n, k = np.shape(rows)
    items = items or [0] * n
    index = Index([f"i{i}" for i in range(max(items) + 1)], [], [f"c{j}" for j in range(k)])
    return Annotations(index, np.array(items), np.full(n, -1), probs=np.array(rows))


def test_planted_alpha_is_found():
    alpha = np.array([2.0, 0.7, 0.3])
    said, _ = planted(alpha, 4000, 20)
    found = Dirichlet()(said).belief.prior.alpha[0]
    np.testing.assert_allclose(found, alpha, rtol=0.06)


def test_the_fit_is_the_best_there_is():
    """The penalised likelihood, written with scipy's Dirichlet-multinomial and maximised by it."""
    said, _ = planted([1.5, 0.5, 0.2], 300, 6, seed=2)
    counts = said.counts().astype(int)

    def objective(logs):
        alpha = np.exp(logs)
        likelihood = stats.dirichlet_multinomial.logpmf(counts, alpha, counts.sum(axis=1)).sum()
        return -(likelihood + D * logs.sum() - D / A0 * alpha.sum())

    best = optimize.minimize(objective, np.zeros(3), method="BFGS")
    rows, _ = distinct(said.counts())
    ours = fit_mixture(rows, np.ones((1, 3)), np.ones(1), n_iter=300, tol=1e-9)[0][0]
    assert objective(np.log(ours)) <= best.fun + 1e-4
    np.testing.assert_allclose(ours, np.exp(best.x), rtol=5e-3)


def test_labels_come_nearer_to_planted_splits_than_shares():
    said, split = planted([1.0, 0.4, 0.2, 0.1], 500, 5, seed=3)
    labels = Dirichlet()(said).probs
    shares = said.counts() / 5
    ours = (split * np.log(split / labels)).sum(axis=1).mean()
    theirs = (split * np.log(split / np.maximum(shares, 1e-3))).sum(axis=1).mean()
    assert ours < 0.7 * theirs


def test_intervals_cover_planted_splits():
    said, split = planted([1.0, 0.5, 0.5], 3000, 8, seed=4)
    low, high = Dirichlet()(said).belief.interval(0.9)
    inside = ((split >= low) & (split <= high)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.02)


def test_a_prior_of_other_items_is_a_value(tmp_path):
    others, _ = planted([2.0, 0.7, 0.3], 500, 20)
    prior = Dirichlet()(others).belief.prior
    prior.save(tmp_path / "prior.npz")
    again = Prior.load(tmp_path / "prior.npz")
    np.testing.assert_array_equal(again.alpha, prior.alpha)
    assert again.made_by == prior.made_by == "one Dirichlet fitted to 500 items"
    few = votes_from_counts(index_of(1, 3), np.array([[1, 1, 0]]))
    label = Dirichlet()(few, prior=again).probs[0]
    np.testing.assert_allclose(label, (prior.alpha[0] + [1, 1, 0]) / (prior.alpha[0].sum() + 2))


def test_a_prior_knows_its_classes():
    prior = Prior(index_of(1, 3).labels, [[1.0, 2.0, 3.0]], [1.0])
    turned = Index(["one"], [], ["c2", "c0", "c1"])
    label = Dirichlet()(votes_from_counts(turned, np.array([[0, 0, 1]])), prior=prior).probs[0]
    np.testing.assert_allclose(label, np.array([3, 1, 3]) / 7)
    odd = Index(["one"], [], ["c2", "c0", "wren"])
    with pytest.raises(DataError, match="'c1'"):
        Dirichlet()(votes_from_counts(odd, np.array([[0, 0, 1]])), prior=prior)


def test_a_file_that_is_no_prior_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(DataError, match="not a prior"):
        Prior.load(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", alpha=np.ones(2))
    with pytest.raises(DataError, match="'labels'"):
        Prior.load(tmp_path / "other.npz")


# ── soft annotations ─────────────────────────────────────────────────────────────────────────

EVEN = Prior(index_of(1, 2).labels, [[1.0, 1.0]], [1.0])


def test_a_soft_annotation_is_fractional_evidence():
    """One answer (.75, .25) worth 4 votes: (1 + 3, 1 + 1) of 6."""
    label = Dirichlet(weight=4.0)(soft([0.75, 0.25]), prior=EVEN).probs
    np.testing.assert_allclose(label, [[4 / 6, 2 / 6]])


def test_votes_beside_rich_answers():
    said = soft([0.75, 0.25])
    votes = Annotations(said.index, np.zeros(3, int), np.full(3, -1), label=np.array([0, 0, 1]))
    made = Dirichlet(weight=2.0)(votes, rich=said, prior=EVEN)
    np.testing.assert_allclose(made.probs, [[(1 + 2 + 1.5) / 7, (1 + 1 + 0.5) / 7]])
    assert made.count[0] == 4


def test_an_answer_counts_less_beside_votes():
    weight = rich_weight(np.array([0.0, 0, 0, 1, 5, 10, 99]), np.array([1.0, 6, 9, 1, 3, 1, 6]))
    np.testing.assert_allclose(weight, [2.5, 4.8, 4.8, 1.9, 1.3, 0.6, 0.75])
    measured = Dirichlet()(soft([0.75, 0.25]), prior=EVEN).probs
    np.testing.assert_allclose(measured, [[(1 + 0.75 * 2.5) / 4.5, (1 + 0.25 * 2.5) / 4.5]])


def test_a_sure_answer_among_doubtful_ones_is_an_answer():
    """One-hot rows are votes only where all rows are one-hot."""
    both = Dirichlet(weight=3.0)(soft([1, 0], [0.5, 0.5], items=[0, 1]), prior=EVEN).probs
    np.testing.assert_allclose(both, [[4 / 5, 1 / 5], [0.5, 0.5]])
    sure = Dirichlet(weight=3.0)(soft([1, 0], [0, 1], items=[0, 1]), prior=EVEN).probs
    np.testing.assert_allclose(sure, [[2 / 3, 1 / 3], [1 / 3, 2 / 3]])


@pytest.mark.parametrize("pool", [Dirichlet(), DirichletMixture()], ids=str)
def test_wrong_tables_are_refused(pool):
    votes, answers = example_votes()[0], example_soft()
    with pytest.raises(DataError, match="rich= takes soft annotations"):
        pool(votes, rich=votes)
    with pytest.raises(DataError, match="first table holds votes"):
        pool(answers, rich=answers)
    other = example_soft(items=7)
    with pytest.raises(DataError, match="same items"):
        pool(votes, rich=other)
    with pytest.raises(SoftlabelError, match="weight = -1"):
        type(pool)(weight=-1.0)(votes)


def test_nobody_answered():
    empty = Annotations(index_of(2, 3), np.zeros(0, int), np.zeros(0, int), label=np.zeros(0, int))
    made = Dirichlet()(empty)
    assert np.isnan(made.probs).all()
    np.testing.assert_allclose(made.belief.mean(), 1 / 3)


def test_one_vote():
    made = Dirichlet()(votes_from_counts(index_of(1, 3), np.array([[0, 1, 0]])))
    assert made.probs[0].argmax() == 1
    assert made.probs[0, 0] == pytest.approx(made.probs[0, 2])
