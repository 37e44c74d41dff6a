"""The noise ceiling, against simulated truth where the ceiling can be counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from softlabel import DataError, UnknownName, metrics
from softlabel.metrics.ceiling import fitted_prior, halved

ITEMS, CLASSES = 1500, 10


def alike(rng):
    return rng.dirichlet([0.1] * CLASSES, ITEMS)


def spread(rng):
    return rng.dirichlet([1.0] * CLASSES, ITEMS)


def clear_and_disputed(rng):
    """Four items in five clear, the fifth anything: what people say of photographs."""
    truth = rng.dirichlet([0.01] * CLASSES, ITEMS)
    disputed = rng.random(ITEMS) < 0.2
    truth[disputed] = rng.dirichlet([1.0] * CLASSES, disputed.sum())
    return truth


def one_rival(rng):
    """A shape the model does not have: all doubt is about one other class."""
    truth = np.full((ITEMS, CLASSES), 1e-4)
    doubt, best = rng.beta(0.4, 4, ITEMS), rng.integers(0, CLASSES, ITEMS)
    rival = (best + rng.integers(1, CLASSES, ITEMS)) % CLASSES
    truth[np.arange(ITEMS), best] += 1 - doubt
    truth[np.arange(ITEMS), rival] += doubt
    return truth / truth.sum(axis=1, keepdims=True)


def reached(truth, votes, kind, rng):
    """What the truth itself reaches, over ten fresh sets of votes."""
    of = {"pearson": stats.pearsonr, "spearman": stats.spearmanr}[kind]
    sides = (
        (stats.entropy(truth, axis=1), stats.entropy(rng.multinomial(votes, truth), axis=1))
        for _ in range(10)
    )
    return np.mean([of(*side)[0] for side in sides])


CASES = [  # truth, votes, how near the model comes, how near the halves come (of ranks as well)
    (alike, 5, 0.03, (0.10, 0.10)),
    (alike, 50, 0.01, (0.01, 0.01)),
    (spread, 10, 0.05, (0.06, 0.06)),
    (spread, 50, 0.02, (0.04, 0.04)),
    # items on which both halves are unanimous tie: ranks take that for reliability
    (clear_and_disputed, 5, 0.03, (0.08, 0.10)),
    (clear_and_disputed, 50, 0.01, (0.02, 0.10)),
    (one_rival, 5, 0.13, (0.12, 0.12)),
    (one_rival, 50, 0.02, (0.02, 0.02)),
]


@pytest.mark.parametrize("kind", ["pearson", "spearman"])
@pytest.mark.parametrize(("make", "votes", "near", "near_halves"), CASES)
def test_estimates_what_the_truth_would_reach(make, votes, near, near_halves, kind):
    rng = np.random.default_rng(1)
    truth = make(rng)
    counts = rng.multinomial(votes, truth)
    expected = reached(truth, votes, kind, rng)
    model = metrics.noise_ceiling(counts, kind, draws=10)
    halves = metrics.noise_ceiling(counts, kind, "split-half", draws=10)
    assert model.value == pytest.approx(expected, abs=near)
    assert halves.value == pytest.approx(expected, abs=near_halves[kind == "spearman"])


def test_taking_shares_for_the_truth_would_be_too_hopeful():
    rng = np.random.default_rng(2)
    truth = alike(rng)
    counts = rng.multinomial(5, truth)
    expected = reached(truth, 5, "pearson", rng)
    naive = reached(counts / 5, 5, "pearson", rng)
    assert naive > expected + 0.1
    assert abs(metrics.noise_ceiling(counts, draws=10).value - expected) < 0.03


def test_more_votes_raise_the_ceiling():
    rng = np.random.default_rng(3)
    truth = clear_and_disputed(rng)
    for method in ("parametric", "split-half"):
        found = [
            metrics.noise_ceiling(rng.multinomial(n, truth), method=method, draws=10).value
            for n in (4, 16, 64)
        ]
        assert found == sorted(found)
        assert found[-1] < 1


def test_numbers_of_votes_may_differ():
    rng = np.random.default_rng(4)
    truth = alike(rng)
    votes = rng.integers(0, 60, ITEMS)
    counts = rng.multinomial(votes, truth)
    score = metrics.noise_ceiling(counts, draws=10)
    some = votes > 0
    assert score.n == some.sum()
    shares = counts[some] / votes[some, None]
    expected = metrics.entropy_pearson(truth[some], shares)
    assert score.value == pytest.approx(expected, abs=0.02)
    assert score.low < score.value < score.high
    assert metrics.noise_ceiling(counts, method="split-half", draws=5).n == (votes > 1).sum()


def test_halves_are_drawn_without_replacement():
    counts = np.array([[3, 2, 0], [1, 0, 0], [0, 7, 1]])
    drawn = np.array([halved(counts, np.random.default_rng(seed)) for seed in range(2000)])
    assert (drawn.sum(axis=2) == [2, 0, 4]).all()
    assert (drawn <= counts).all()
    np.testing.assert_allclose(drawn.mean(axis=0), counts * [[2 / 5], [0], [4 / 8]], atol=0.03)
    # the share of pairs of the three first-class votes, of all pairs of five: 3/10
    assert (drawn[:, 0, 0] == 2).mean() == pytest.approx(0.3, abs=0.03)


def test_the_fitted_model_finds_its_concentration():
    rng = np.random.default_rng(5)
    for concentration in (1.0, 10.0):
        counts = rng.multinomial(50, rng.dirichlet([concentration / 10] * 10, ITEMS))
        grid, belief = fitted_prior(counts)
        np.testing.assert_allclose(belief.sum(axis=1), 1)
        centre = np.exp(belief.mean(axis=0) @ np.log(grid))
        assert centre == pytest.approx(concentration, rel=0.15)


def test_a_seed_repeats():
    counts = np.random.default_rng(6).multinomial(9, [0.5, 0.3, 0.2], 100)
    first, second = (metrics.noise_ceiling(counts, draws=5, seed=3).value for _ in range(2))
    assert first == second != metrics.noise_ceiling(counts, draws=5, seed=4).value


def test_without_variation_there_is_no_ceiling():
    score = metrics.noise_ceiling(np.array([[4, 0], [4, 0]]), method="split-half", draws=5)
    assert np.isnan(score.value)


def test_real_people(data_folder):
    """CIFAR-10H: with 51 votes even the truth would stop at about .95."""
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")[:3000]
    model = metrics.noise_ceiling(counts, draws=10)
    halves = metrics.noise_ceiling(counts, method="split-half", draws=10)
    assert 0.92 < halves.value < model.value < 0.97


REFUSED = [
    (lambda: metrics.noise_ceiling([[0.5, 0.5]]), "whole numbers of votes"),
    (lambda: metrics.noise_ceiling([[-1, 2]]), "whole numbers of votes"),
    (lambda: metrics.noise_ceiling([1, 2]), r"shape \(m, k\)"),
    (lambda: metrics.noise_ceiling([[0, 0]]), "no item has 1 votes"),
    (lambda: metrics.noise_ceiling([[1, 0]], method="split-half"), "no item has 2 votes"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
    with pytest.raises(UnknownName, match="no method called 'guess'"):
        metrics.noise_ceiling([[3, 2]], method="guess")
