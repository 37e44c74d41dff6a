"""The ordinal pool: against its formula, simulated raters, real ratings, and where it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import dirichlet_multinomial

from softlabel import Index, datasets
from softlabel.aggregate import Auto, Dirichlet, DirichletMixture, Ordinal
from softlabel.aggregate.split import ordinal
from softlabel.sampling import votes_from_counts

STEPS = np.array([-2.0, -0.7, 0.7, 2.0])


def index(items, classes, ordered=True):
    names = [f"i{i}" for i in range(items)], [], [str(j) for j in range(classes)]
    return Index(*names, ordered=ordered)


def simulate(rng, items=300):
    """Ratings of raters who differ around the place of each item: truth (m, 5)."""
    place = rng.normal(0, 1.5, items)
    below = expit((STEPS - place[:, None]) / 0.6)
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def pool(kind, counts):
    """Only the ordinal pool is told of the order."""
    ordered = isinstance(kind, Ordinal)
    return kind(votes_from_counts(index(*counts.shape, ordered), counts))


def loss(labels, truth):
    return -(truth * np.log(labels.probs)).sum(axis=1).mean()


@pytest.mark.parametrize("votes", [1, 2, 4])
def test_simulated_raters_are_predicted_better_than_without_the_order(votes):
    rng = np.random.default_rng(votes)
    truth = simulate(rng)
    counts = rng.multinomial(votes, truth)
    ours = loss(pool(Ordinal(), counts), truth)
    for other in (Auto(), Dirichlet(), DirichletMixture()):
        assert ours < loss(pool(other, counts), truth) - 0.002, other.name


def test_classes_without_an_order_lose_nothing():
    """Items that are one of four unrelated classes, numbered at random."""
    rng = np.random.default_rng(0)
    truth = np.where(np.eye(4)[rng.integers(0, 4, 600)] > 0, 0.85, 0.05)
    counts = rng.multinomial(3, truth)
    ours, theirs = (loss(pool(kind, counts), truth) for kind in (Ordinal(), DirichletMixture()))
    assert ours < theirs + 0.002


def test_the_label_is_the_posterior_mean_of_the_mixture():
    """Against scipy's Dirichlet-multinomial, kind by kind."""
    rng = np.random.default_rng(1)
    counts = rng.multinomial(5, simulate(rng, 60))
    labels = pool(Ordinal(), counts)
    prior = labels.belief.prior
    n = counts[7]
    joint = [
        w * dirichlet_multinomial.pmf(n, a, 5)
        for w, a in zip(prior.weight, prior.alpha, strict=True)
    ]
    mean = [(a + n) / (a.sum() + 5) for a in prior.alpha]
    np.testing.assert_allclose(labels.probs[7], np.average(mean, axis=0, weights=joint), rtol=1e-8)


def test_kinds_are_cumulative_logits():
    share = np.array([0.1, 0.2, 0.3, 0.25, 0.15])
    alpha = ordinal._make_kinds(STEPS, share)
    place, width, strength = ordinal._grid()
    kind = 137
    below = 1 / (1 + np.exp(-(STEPS - place[kind]) / width[kind]))
    steps = [below[0], *np.diff(below), 1 - below[-1]]
    expected = strength[kind] * (0.9 * np.array(steps) + 0.1 * share)
    np.testing.assert_allclose(alpha[kind], expected)


def test_with_one_vote_per_item_the_prior_has_the_shares_of_all_votes():
    rng = np.random.default_rng(2)
    counts = rng.multinomial(1, simulate(rng, 400))
    labels = pool(Ordinal(), counts)
    prior = labels.belief.prior
    share = (counts.sum(axis=0) + 0.5) / (counts.sum() + 2.5)
    mean = prior.weight @ (prior.alpha / prior.mass[:, None])
    np.testing.assert_allclose(mean, share, atol=1e-9)
    assert "usual kinds" in labels.why
    # a vote for an end tells more about its neighbour than about the other end
    first = labels.probs[counts[:, 0] > 0][0] / share
    assert (np.diff(first) < 0).all()


def test_the_weights_raise_the_likelihood():
    rng = np.random.default_rng(3)
    rows, _ = ordinal.distinct(rng.multinomial(4, simulate(rng, 200)).astype(float))
    share = rows.times @ rows.n / rows.n.sum()
    alpha, usual = ordinal._make_kinds(STEPS, share), ordinal._usual_weights()

    def fit_of(weight):
        joint = rows.groups.log_joint(alpha, np.log(weight))
        each = rows.times @ ordinal.logsumexp(joint, axis=1)
        return each + ordinal.USUAL_ITEMS * usual @ np.log(weight)

    assert fit_of(ordinal._fit_weights(rows, alpha, usual)) > fit_of(usual) + 1


def test_two_classes_have_no_order():
    counts = np.array([[3, 1], [0, 4], [2, 2], [4, 0]])
    ours, theirs = (pool(kind, counts).probs for kind in (Ordinal(), DirichletMixture()))
    np.testing.assert_array_equal(ours, theirs)


def test_real_ratings_are_predicted_no_worse(data_folder):
    """POPQUORN: two votes of each of 400 items, the others held out (bench/ordinal.py has more)."""
    for part, least in (("offensiveness", 0.0), ("politeness", 0.002)):
        counts = datasets.load(f"popquorn/{part}").annotations.counts().astype(int)[:400]
        rng = np.random.default_rng(0)
        drawn = np.stack([rng.multivariate_hypergeometric(row, 2) for row in counts])
        held = (counts - drawn) / (counts - drawn).sum(axis=1, keepdims=True)
        ours, theirs = (loss(pool(kind, drawn), held) for kind in (Ordinal(), Auto()))
        assert ours < theirs - least, part
