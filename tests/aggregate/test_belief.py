"""The posterior of how people split, against scipy, Monte Carlo and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softlabel import DataError, Index
from softlabel.aggregate import Belief, Prior


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def mixed(seed=0, kinds=4, classes=3):
    rng = np.random.default_rng(seed)
    labels = index_of(1, classes).labels
    return Prior(
        labels, rng.gamma(1.0, 2.0, (kinds, classes)) + 0.05, rng.dirichlet(np.ones(kinds))
    )


def believed(evidence, prior):
    evidence = np.asarray(evidence, dtype=float)
    return Belief(index_of(*evidence.shape), evidence, prior)


COUNTS = [[0, 0, 0], [1, 0, 0], [3, 1, 0], [0, 7, 2], [20, 1, 1]]


def kinds_by_scipy(prior, counts):
    """(C,) the chance of each kind of item, from scipy's Dirichlet-multinomial."""
    chance = [
        weight * stats.dirichlet_multinomial.pmf(counts, alpha, sum(counts))
        for alpha, weight in zip(prior.alpha, prior.weight, strict=True)
    ]
    return np.array(chance) / np.sum(chance)


def label_by_loops(prior, n):
    """E[p | n] as the formula says, with n any numbers."""
    from math import exp, lgamma

    logs = []
    for alpha, weight in zip(prior.alpha, prior.weight, strict=True):
        total = lgamma(sum(alpha)) - lgamma(sum(alpha) + sum(n))
        for a, x in zip(alpha, n, strict=True):
            total += lgamma(a + x) - lgamma(a)
        logs.append(np.log(weight) + total)
    r = [exp(value - max(logs)) for value in logs]
    label = np.zeros(len(n))
    for alpha, share in zip(prior.alpha, r, strict=True):
        label += share * (alpha + np.asarray(n)) / (sum(alpha) + sum(n))
    return label / sum(r)


def test_kinds_are_those_of_scipy():
    prior = mixed()
    found = believed(COUNTS, prior).kinds()
    expected = [kinds_by_scipy(prior, counts) for counts in COUNTS]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_label_is_the_posterior_mean():
    prior = mixed(1)
    rows = [*COUNTS, [0.3, 1.7, 2.2], [4.8, 0, 0.1]]  # fractional evidence too
    found = believed(rows, prior).mean()
    np.testing.assert_allclose(found, [label_by_loops(prior, row) for row in rows], atol=1e-12)


def test_one_kind_is_shrunk_shares():
    """alpha = (1, 2, 1) and votes (3, 0, 1): (4, 2, 2) of 8."""
    prior = Prior(index_of(1, 3).labels, [[1.0, 2.0, 1.0]], [1.0])
    np.testing.assert_allclose(believed([[3, 0, 1]], prior).mean(), [[0.5, 0.25, 0.25]])


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_of_one_kind_are_scipys_beta(level):
    prior = Prior(index_of(1, 3).labels, [[1.2, 0.4, 2.0]], [1.0])
    low, high = believed(COUNTS, prior).interval(level)
    alpha = prior.alpha[0] + np.array(COUNTS)
    rest = alpha.sum(axis=1, keepdims=True) - alpha
    tail = (1 - level) / 2
    np.testing.assert_allclose(low, stats.beta.ppf(tail, alpha, rest), atol=2e-9)
    np.testing.assert_allclose(high, stats.beta.ppf(1 - tail, alpha, rest), atol=2e-9)


def test_limits_cut_equal_tails_off_the_mixture():
    prior = mixed(2, kinds=5)
    belief = believed(COUNTS, prior)
    for limit, tail in zip(belief.interval(0.9), (0.05, 0.95), strict=True):
        for row, counts in enumerate(COUNTS):
            r = kinds_by_scipy(prior, counts)
            for j in range(3):
                a = prior.alpha[:, j] + counts[j]
                b = prior.alpha.sum(axis=1) + sum(counts) - a
                below = float(r @ stats.beta.cdf(limit[row, j], a, b))
                assert below == pytest.approx(tail, abs=1e-8)


def test_intervals_hold_what_monte_carlo_draws():
    prior, counts = mixed(3), np.array([3, 1, 0])
    rng = np.random.default_rng(5)
    kind = rng.choice(len(prior.weight), 40_000, p=kinds_by_scipy(prior, counts))
    drawn = rng.standard_gamma(prior.alpha[kind] + counts)
    drawn /= drawn.sum(axis=1, keepdims=True)
    low, high = believed([counts], prior).interval(0.9)
    inside = ((drawn >= low) & (drawn <= high)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=0.006)  # four standard errors


@pytest.mark.parametrize("votes", [1, 4, 25])
def test_predictive_limits_are_scipys_beta_binomial(votes):
    prior = Prior(index_of(1, 3).labels, [[1.2, 0.4, 2.0]], [1.0])
    low, high = believed(COUNTS, prior).predictive(votes, 0.9)
    alpha = prior.alpha[0] + np.array(COUNTS)
    rest = alpha.sum(axis=1, keepdims=True) - alpha
    np.testing.assert_array_equal(low, stats.betabinom.ppf(0.05, votes, alpha, rest))
    np.testing.assert_array_equal(high, stats.betabinom.ppf(0.95, votes, alpha, rest))


def test_predictive_limits_of_a_mixture_hold_what_is_drawn():
    prior, counts, votes = mixed(4), np.array([2, 2, 0]), 30
    rng = np.random.default_rng(6)
    kind = rng.choice(len(prior.weight), 40_000, p=kinds_by_scipy(prior, counts))
    share = rng.standard_gamma(prior.alpha[kind] + counts)
    drawn = rng.multinomial(votes, share / share.sum(axis=1, keepdims=True))
    low, high = believed([counts], prior).predictive(votes, 0.9)
    assert (((drawn >= low) & (drawn <= high)).mean(axis=0) >= 0.895).all()
    assert ((drawn > low) & (drawn < high)).mean(axis=0).min() < 0.9, "no wider than need be"


def test_chances_of_further_votes():
    prior = mixed(5)
    count, votes, label = np.array([0, 2, 5, 1, 9]), np.array([3, 6, 5, 12, 9]), [0, 1, 2, 0, 1]
    below, at_most = believed(COUNTS, prior).predictive_cdf(label, count, votes)
    for i, counts in enumerate(COUNTS):
        r = kinds_by_scipy(prior, counts)
        a = prior.alpha[:, label[i]] + counts[label[i]]
        b = prior.alpha.sum(axis=1) + sum(counts) - a
        assert at_most[i] == pytest.approx(r @ stats.betabinom.cdf(count[i], votes[i], a, b))
        wanted = r @ stats.betabinom.cdf(count[i] - 1, votes[i], a, b)
        assert below[i] == pytest.approx(wanted, abs=1e-12)


def gain_by_brute_force(prior, n):
    def entropy(q):
        return -sum(x * np.log(x) for x in q if x > 0)

    now = label_by_loops(prior, n)
    after = 0.0
    for k in range(len(n)):
        more = np.array(n, dtype=float)
        more[k] += 1
        after += now[k] * entropy(label_by_loops(prior, more))
    return entropy(now) - after


def test_the_gain_of_a_vote_by_brute_force():
    prior = mixed(6, kinds=6, classes=4)
    rows = [[0, 0, 0, 0], [1, 0, 0, 0], [2, 2, 0, 0], [9, 0, 0, 1], [0.5, 0.25, 3, 0]]
    expected = [gain_by_brute_force(prior, row) for row in rows]
    np.testing.assert_allclose(believed(rows, prior).gain(), expected, atol=1e-12)


def test_the_gain_is_how_much_nearer_the_label_comes():
    """E KL(p || q_n) - E KL(p || q_{n+1}), by Monte Carlo over p and the next vote."""
    prior, n = mixed(7), np.array([2, 1, 0])
    rng = np.random.default_rng(8)
    kind = rng.choice(len(prior.weight), 200_000, p=kinds_by_scipy(prior, n))
    p = rng.standard_gamma(prior.alpha[kind] + n)
    p /= p.sum(axis=1, keepdims=True)
    after = believed(n + np.eye(3), prior).mean()
    now = believed([n], prior).mean()[0]
    nearer = (p * (p @ np.log(after).T - (p @ np.log(now))[:, None])).sum(axis=1)
    error = nearer.std() / np.sqrt(len(nearer))
    assert believed([n], prior).gain()[0] == pytest.approx(nearer.mean(), abs=4 * error)


def test_an_item_without_votes_keeps_the_prior():
    prior = mixed(8)
    mean = believed([[0, 0, 0]], prior).mean()[0]
    share = prior.alpha / prior.alpha.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mean, prior.weight @ share, atol=1e-12)


def test_nothing_is_computed_before_it_is_asked_for():
    belief = Belief(index_of(3, 2), np.array([[4.0, 1], [2, 2], [0, 3]]))
    assert not {"prior", "_distinct"} & set(vars(belief))
    belief.mean()
    assert {"prior", "_distinct"} <= set(vars(belief))


def test_more_evidence_under_the_same_prior():
    prior = mixed(9)
    before = believed(COUNTS, prior)
    after = before.update([1, 3, 1], [[1, 0, 0], [0, 0, 2], [0, 1, 0]])
    counts = np.array(COUNTS)
    counts[1] += [1, 1, 0]
    counts[3] += [0, 0, 2]
    np.testing.assert_allclose(after.mean(), believed(counts, prior).mean(), atol=1e-15)
    np.testing.assert_array_equal(before.evidence, COUNTS)


def test_the_belief_about_some_items_is_that_about_all():
    whole = believed(COUNTS, None)
    some = whole.take(np.array([4, 1, 2]))
    assert some.index.items.tolist() == ["i4", "i1", "i2"]
    for part, every in ((some.mean(), whole.mean()), (some.gain(), whole.gain())):
        np.testing.assert_allclose(part, every[[4, 1, 2]], rtol=1e-12)


def test_one_class_is_certain():
    belief = believed([[3.0], [0.0]], None)
    np.testing.assert_allclose(belief.mean(), 1, atol=1e-15)
    np.testing.assert_allclose(belief.interval(), 1, atol=1e-12)
    np.testing.assert_allclose(belief.gain(), 0, atol=1e-15)
    np.testing.assert_array_equal(belief.predictive(4), 4)


def test_no_items():
    belief = Belief(index_of(0, 3), np.zeros((0, 3)))
    assert belief.mean().shape == (0, 3)
    assert belief.gain().shape == (0,)
    assert belief.interval()[0].shape == (0, 3)


def test_chunks_do_not_show(monkeypatch):
    import softlabel.aggregate.split.base as module

    rng = np.random.default_rng(0)
    evidence = rng.poisson(1.0, (200, 3)).astype(float)
    whole = believed(evidence, mixed())
    monkeypatch.setattr(module, "CELLS", 40)
    parts = believed(evidence, mixed())
    np.testing.assert_allclose(parts.mean(), whole.mean(), atol=1e-14)
    np.testing.assert_allclose(parts.gain(), whole.gain(), atol=1e-14)
    np.testing.assert_allclose(parts.interval(), whole.interval(), atol=1e-9)


@given(
    st.lists(st.lists(st.floats(0, 30), min_size=3, max_size=3), min_size=1, max_size=5),
    st.integers(0, 50),
)
def test_beliefs_are_sound(rows, seed):
    belief = believed(rows, mixed(seed))
    mean = belief.mean()
    np.testing.assert_allclose(mean.sum(axis=1), 1, atol=1e-12)
    assert (belief.gain() >= 0).all()
    inner, outer = belief.interval(0.5), belief.interval(0.95)
    assert (outer[0] <= inner[0] + 1e-9).all()
    assert (inner[0] <= inner[1]).all()
    assert (inner[1] <= outer[1] + 1e-9).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: believed([[1, -1, 0]], mixed()), "not below 0"),
        (lambda: believed([[1, np.nan, 0]], mixed()), "finite"),
        (lambda: Belief(index_of(2, 3), np.zeros((2, 2))), r"shape \(2, 2\), expected \(2, 3\)"),
        (lambda: believed(COUNTS, mixed()).interval(1.0), "level = 1.0"),
        (lambda: believed(COUNTS, mixed()).predictive(0), "votes = 0"),
        (lambda: Prior(index_of(1, 2).labels, [[1.0, 0.0]], [1.0]), "alpha"),
        (lambda: Prior(index_of(1, 2).labels, [[1.0, 1.0]], [0.5]), "sum to 1"),
        (lambda: Prior(index_of(1, 2).labels, [[1.0]], [1.0]), r"shape \(1, 1\)"),
    ],
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
