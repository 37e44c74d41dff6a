"""A drawn class instead of the soft label: the same gradient on average, and how much more noise.

Numbers of p = (.7, .2, .1) and logits (2, 1, 0) are worked by hand.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from softlabel.deliver import P19, SLS, Draws, Multipass, PerAnnotator, StaleSLS

P = np.array([0.7, 0.2, 0.1])
LOGITS = np.array([2.0, 1.0, 0.0])
Q = special.softmax(LOGITS)
COVARIANCE = [[0.21, -0.14, -0.07], [-0.14, 0.16, -0.02], [-0.07, -0.02, 0.09]]


@pytest.fixture(scope="module")
def one_round(counted):
    """(10, 3) ten votes, seven, two and one of them, each in its epoch: P without any chance."""
    delivery = Multipass()(counted([[7, 2, 1]]), Draws(0))
    return np.concatenate([delivery.labels_for(e, [0], Draws(0)) for e in range(10)])


def test_the_mean_loss_is_the_cross_entropy(one_round):
    loss = -(one_round * np.log(Q)).sum(axis=1)
    assert loss.mean() == pytest.approx(-(P * np.log(Q)).sum(), abs=1e-12)
    assert loss.mean() == pytest.approx(0.807606, abs=1e-6)


def test_the_mean_gradient_is_that_of_the_soft_label(one_round):
    gradient = Q - one_round
    assert gradient.mean(axis=0) == pytest.approx(Q - P, abs=1e-12)
    assert gradient.mean(axis=0) == pytest.approx([-0.034759, 0.044728, -0.009969], abs=1e-6)


def test_it_is_the_gradient_of_the_mean_loss(one_round):
    """By finite differences on the logits, so that q - e_y is not taken on trust."""

    def loss(logits):
        return -(one_round * special.log_softmax(logits)).sum(axis=1).mean()

    step = 1e-6
    slope = [(loss(LOGITS + d) - loss(LOGITS - d)) / (2 * step) for d in step * np.eye(3)]
    assert slope == pytest.approx(Q - P, abs=1e-8)


def test_the_extra_noise(one_round):
    found = np.cov(Q - one_round, rowvar=False, bias=True)
    assert found == pytest.approx(np.array(COVARIANCE), abs=1e-12)
    assert np.trace(found) == pytest.approx(1 - P @ P, abs=1e-12)
    assert np.trace(found) == pytest.approx(0.46, abs=1e-12)


@pytest.mark.parametrize("policy", [SLS(), P19(), PerAnnotator(), StaleSLS(3)], ids=str)
def test_drawn_labels_have_that_mean_and_that_noise(policy, counted):
    """60,000 draws of the same p, over items and epochs; bounds of five standard errors."""
    m, epochs = 5000, 12
    known = counted(np.tile([7, 2, 1], (m, 1)))
    delivery, step = policy(known, Draws(3)), getattr(policy, "every", 1)
    times = range(0, epochs * step, step)
    drawn = np.concatenate([delivery.labels_for(e, np.arange(m), Draws(3)) for e in times])
    assert set(np.unique(drawn)) == {0, 1}
    n = len(drawn)
    off = abs(drawn.mean(axis=0) - P)
    assert (off < 5 * np.sqrt(P * (1 - P) / n)).all()
    products = (drawn - P)[:, :, None] * (drawn - P)[:, None, :]
    error = products.std(axis=0) / np.sqrt(n)
    assert (abs(products.mean(axis=0) - COVARIANCE) < 5 * error).all()


@pytest.mark.parametrize("policy", [SLS(), P19(), PerAnnotator()], ids=str)
def test_draws_of_items_and_epochs_are_independent(policy, counted):
    m = 20_000
    delivery = policy(counted(np.ones((m, 4), dtype=int)), Draws(1))
    first, second = (delivery.labels_for(e, np.arange(m), Draws(1)).argmax(axis=1) for e in (0, 1))
    for one, other in ((first, second), (first[:-1], first[1:]), (first, second[::-1])):
        table = np.bincount(4 * one + other, minlength=16)
        assert stats.chisquare(table).pvalue > 1e-6


def test_policies_and_seeds_do_not_share_draws(counted):
    """Two coins for each item: agreement in more or fewer than half of them would be no chance."""
    m = 20_000
    known = counted(np.ones((m, 2), dtype=int))
    made = {
        (policy.name, seed): policy(known, Draws(seed)).labels_for(0, np.arange(m), Draws(seed))
        for policy in (SLS(), P19(), PerAnnotator())
        for seed in (0, 1)
    }
    tosses = [labels[:, 0] for labels in made.values()]
    for place, one in enumerate(tosses):
        for other in tosses[:place]:
            assert abs((one == other).mean() - 0.5) < 5 * 0.5 / np.sqrt(m)
