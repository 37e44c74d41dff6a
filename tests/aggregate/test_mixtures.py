"""The Dirichlet mixture: EM against loops, planted kinds of items, the rules of its size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import digamma, gammaln

from softlabel import DataError, Index, SoftlabelError
from softlabel.aggregate import Dirichlet, DirichletMixture
from softlabel.aggregate.split.mixtures import (
    Rows,
    confusions,
    distinct,
    fit_mixture,
    group_rows,
    majorities,
)
from softlabel.sampling import votes_from_counts
from softlabel.testing.examples import reindex


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def counted(counts):
    return votes_from_counts(index_of(*np.shape(counts)), np.asarray(counts))


def crowd(items, votes, seed=0, classes=4):
    """Items with a leading class, which is confused with its neighbour; easy ones and hard."""
    rng = np.random.default_rng(seed)
    lead = rng.integers(0, classes, items)
    hard = rng.random(items) < 0.3
    alpha = np.full((items, classes), 0.02)
    alpha[np.arange(items), lead] = np.where(hard, 2.0, 12.0)
    alpha[np.arange(items), (lead + 1) % classes] = np.where(hard, 1.5, 0.2)
    split = rng.standard_gamma(alpha) + 1e-12
    split /= split.sum(axis=1, keepdims=True)
    return rng.multinomial(votes, split), split


def mean_kl(split, label):
    return (split * np.log(np.maximum(split, 1e-300) / label)).sum(axis=1).mean()


# ── the pieces ───────────────────────────────────────────────────────────────────────────────


@given(
    arrays(np.int64, st.tuples(st.integers(0, 30), st.integers(1, 6)), elements=st.integers(0, 3))
)
def test_distinct_rows_are_those_of_numpy(table):
    rows, where = distinct(table.astype(float))
    expected, times = np.unique(table, axis=0, return_counts=True)
    if len(table):
        np.testing.assert_array_equal(rows.n, expected)
        np.testing.assert_array_equal(rows.times, times)
    np.testing.assert_array_equal(rows.n[where], table)


def test_distinct_rows_of_any_numbers():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, (400, 9)) + rng.choice([0.0, 0.25, 1e-9], (400, 9))
    rows, where = distinct(table)
    np.testing.assert_array_equal(rows.n, np.unique(table, axis=0))
    np.testing.assert_array_equal(rows.n[where], table)


def test_distinct_rows_of_very_many_combinations():
    """30 columns of up to 100 values do not fit into one number."""
    table = np.random.default_rng(1).integers(0, 100, (50, 30)).astype(float)
    table[25:] = table[:25]
    rows, where = distinct(table)
    assert len(rows) == 25
    np.testing.assert_array_equal(rows.n[where], table)


def test_the_log_likelihood_by_loops():
    rng = np.random.default_rng(2)
    n = np.array([[0, 0, 0], [3, 0, 1], [0.5, 0.25, 0], [3, 3, 3]], dtype=float)
    alpha, weight = rng.gamma(1, 1, (4, 3)) + 1e-3, rng.dirichlet(np.ones(4))
    found = group_rows(n).log_joint(alpha, np.log(weight))
    for i, row in enumerate(n):
        for c in range(4):
            value = (
                np.log(weight[c]) + gammaln(alpha[c].sum()) - gammaln(alpha[c].sum() + row.sum())
            )
            for k in range(3):
                value += gammaln(alpha[c, k] + row[k]) - gammaln(alpha[c, k])
            assert found[i, c] == pytest.approx(value, abs=1e-12)


def one_step_by_loops(n, times, alpha, weight, d=0.01, a0=0.01):
    """E-step, weights, and three sweeps of the fixed point, as the formulas say."""
    items, kinds, classes = len(n), len(weight), n.shape[1]
    r = np.zeros((items, kinds))
    for i in range(items):
        for c in range(kinds):
            mass = alpha[c].sum()
            log = np.log(weight[c]) + gammaln(mass) - gammaln(mass + n[i].sum())
            log += sum(
                gammaln(alpha[c, k] + n[i, k]) - gammaln(alpha[c, k]) for k in range(classes)
            )
            r[i, c] = np.exp(log)
        r[i] /= r[i].sum()
    total = times.sum()
    new_weight = [(sum(times * r[:, c]) + 1) / (total + kinds) for c in range(kinds)]
    for _ in range(3):
        new = np.zeros_like(alpha)
        for c in range(kinds):
            mass = alpha[c].sum()
            down = sum(
                times[i] * r[i, c] * (digamma(n[i].sum() + mass) - digamma(mass))
                for i in range(items)
            )
            for k in range(classes):
                up = sum(
                    times[i] * r[i, c] * (digamma(n[i, k] + alpha[c, k]) - digamma(alpha[c, k]))
                    for i in range(items)
                )
                new[c, k] = (alpha[c, k] * up + d) / (down + d / a0)
        alpha = np.clip(new, 1e-5, 500)
    return alpha, np.array(new_weight)


def test_a_step_of_em_by_loops():
    rng = np.random.default_rng(3)
    n = np.unique(rng.poisson(1.5, (30, 3)), axis=0).astype(float)
    times = rng.integers(1, 5, len(n)).astype(float)
    alpha, weight = rng.gamma(1, 1, (4, 3)) + 0.01, rng.dirichlet(np.ones(4))
    found = fit_mixture(Rows(n, times), alpha, weight, n_iter=1)
    expected = one_step_by_loops(n, times, alpha, weight)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_the_objective_never_falls(seed):
    counts, _ = crowd(80, 1 + seed, seed)
    rows, _ = distinct(counts.astype(float))
    rng = np.random.default_rng(seed)
    alpha = rng.gamma(1, 1, (5, 4)) + 0.05
    _, _, trace = fit_mixture(rows, alpha, np.full(5, 0.2), n_iter=40)
    assert (np.diff(trace) >= -1e-9 * abs(trace[:-1])).all()
    assert trace[-1] > trace[0]


def test_confusions_are_what_the_other_votes_say():
    """Two items lead with c0 (the other votes: 1 for c1, 2 for c2), one is tied."""
    rows = Rows(np.array([[4.0, 1, 0], [5, 0, 2], [0, 2, 2]]), np.array([1.0, 1, 2]))
    np.testing.assert_allclose(majorities(rows.n), [[1, 0, 0], [1, 0, 0], [0, 0.5, 0.5]])
    np.testing.assert_allclose(confusions(rows), [[0, 1 / 3, 2 / 3], [0, 0, 1], [0, 1, 0]])
    silent = Rows(np.array([[3.0, 0, 0]]), np.ones(1))
    np.testing.assert_allclose(confusions(silent)[1], [0.5, 0, 0.5])


# ── the pool ─────────────────────────────────────────────────────────────────────────────────


def test_it_finds_planted_kinds_of_items():
    counts, split = crowd(3000, 5)
    mixture, single = DirichletMixture()(counted(counts)), Dirichlet()(counted(counts))
    ours, theirs = mean_kl(split, mixture.probs), mean_kl(split, single.probs)
    assert ours < 0.9 * theirs, (ours, theirs)


def test_a_prior_of_other_items_helps_where_votes_are_few():
    many, _ = crowd(1500, 25, seed=1)
    few, split = crowd(1500, 2, seed=2)
    prior = DirichletMixture()(counted(many)).belief.prior
    other = DirichletMixture()(counted(few), prior=prior).probs
    own = DirichletMixture()(counted(few)).probs
    assert mean_kl(split, other) < mean_kl(split, own)


def test_intervals_cover_planted_splits():
    counts, split = crowd(2500, 6, seed=5)
    low, high = DirichletMixture()(counted(counts)).belief.interval(0.9)
    lead = counts.argmax(axis=1)
    rows = np.arange(len(counts))
    inside = (split[rows, lead] >= low[rows, lead]) & (split[rows, lead] <= high[rows, lead])
    assert 0.87 <= inside.mean() <= 0.95


def test_levels_go_by_the_number_of_items():
    small, large = crowd(1999, 3)[0], crowd(2000, 3)[0]
    assert len(DirichletMixture()(counted(small)).belief.prior.weight) == 4
    assert len(DirichletMixture()(counted(large)).belief.prior.weight) == 12
    assert len(DirichletMixture(levels=3)(counted(small)).belief.prior.weight) == 12
    assert len(DirichletMixture(levels=1)(counted(large)).belief.prior.weight) == 4


@pytest.mark.parametrize("levels", [1, 3])
def test_the_order_of_classes_and_items_does_not_matter(levels):
    said = counted(crowd(300, 4, seed=6)[0])
    before = DirichletMixture(levels)(said).probs
    order = np.array([2, 0, 3, 1])
    after = DirichletMixture(levels)(reindex(said, "labels", order)).probs
    np.testing.assert_allclose(after, before[:, order], atol=1e-12)
    turn = np.random.default_rng(0).permutation(300)
    after = DirichletMixture(levels)(reindex(said, "items", turn)).probs
    np.testing.assert_allclose(after, before[turn], atol=1e-12)


def test_classes_that_are_alike_stay_alike():
    """Data that look the same after swapping two classes give such labels."""
    half = crowd(150, 3, seed=7)[0]
    said = counted(np.concatenate([half, half[:, [1, 0, 2, 3]]]))
    probs = DirichletMixture()(said).probs
    np.testing.assert_allclose(probs[:150], probs[150:, [1, 0, 2, 3]], atol=1e-12)


def test_many_different_items_are_sampled_by_name(monkeypatch):
    from softlabel.aggregate.split import mixtures

    counts, _ = crowd(2000, 25, seed=8)
    whole = DirichletMixture(1)(counted(counts)).probs
    monkeypatch.setattr(mixtures, "FIT_ITEMS", 100)
    said = counted(counts)
    sampled = DirichletMixture(1)(said).probs
    assert 1e-6 < abs(sampled - whole).mean() < 0.01
    turn = np.random.default_rng(0).permutation(2000)
    again = DirichletMixture(1)(reindex(said, "items", turn)).probs
    np.testing.assert_allclose(again, sampled[turn], atol=1e-12)


def test_too_many_classes_are_refused_by_name():
    index = Index(["one"], [], [f"c{j}" for j in range(10_001)])
    counts = np.zeros((1, 10_001), int)
    counts[0, 5] = 3
    with pytest.raises(DataError, match=r"10001 classes .* use dirichlet"):
        DirichletMixture()(votes_from_counts(index, counts))
    assert Dirichlet()(votes_from_counts(index, counts)).probs[0].argmax() == 5


def test_parameters_are_checked():
    said = counted([[1, 2]])
    with pytest.raises(SoftlabelError, match="levels of DirichletMixture called '2'"):
        DirichletMixture(levels=2)(said)
    with pytest.raises(SoftlabelError, match="n_iter = 0"):
        DirichletMixture(n_iter=0)(said)


@pytest.mark.parametrize("counts", [[[1]], [[3], [0]], [[1, 0]], [[0, 0, 1]]])
def test_the_smallest_tables_work(counts):
    made = DirichletMixture()(counted(counts))
    answered = np.sum(counts, axis=1) > 0
    np.testing.assert_allclose(made.probs[answered].sum(axis=1), 1)
    np.testing.assert_array_equal(np.isnan(made.probs[:, 0]), ~answered)
