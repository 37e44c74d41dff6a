"""ZenCrowd: the formulas by loops, bad people found, an objective that climbs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import Annotations, SoftlabelError
from softlabel.aggregate import ZenCrowd
from softlabel.testing import example_soft, example_votes


def e_step(said, trust):
    """Posterior and log-likelihood, every factor written out."""
    m, _, k = said.index.shape
    joint = [[1 / k] * k for _ in range(m)]
    for n in range(len(said)):
        q = trust[said.annotator[n]]
        for t in range(k):
            for label in range(k):
                chance = q if label == t else (1 - q) / (k - 1)
                joint[said.item[n]][t] *= chance ** said.soft()[n][label]
    posterior = [[j / sum(row) for j in row] for row in joint]
    return posterior, sum(math.log(sum(row)) for row in joint)


def m_step(said, posterior, right, wrong):
    _, a, k = said.index.shape
    hits, total = [right] * a, [right + wrong] * a
    for n in range(len(said)):
        for label in range(k):
            weight = said.soft()[n][label]
            hits[said.annotator[n]] += weight * posterior[said.item[n]][label]
            total[said.annotator[n]] += weight
    return [hits[p] / total[p] for p in range(a)]


def zencrowd_by_loops(said, steps, first=0.8, right=2.0, wrong=1.0):
    """Posterior, trace and reliability."""
    trust, trace = [first] * said.index.shape[1], []
    posterior, _ = e_step(said, trust)
    for _ in range(steps):
        trust = m_step(said, posterior, right, wrong)
        posterior, loglik = e_step(said, trust)
        prior = sum(right * math.log(q) + wrong * math.log(1 - q) for q in trust)
        trace.append(loglik + prior)
    return np.array(posterior), np.array(trace), np.array(trust)


BOTH = [lambda: example_votes(items=12)[0], lambda: example_soft(items=9)]


@pytest.mark.parametrize(
    "make", [lambda: example_votes(items=12)[0], lambda: example_soft(items=9)]
)
def test_by_loops(make):
    said = make()
    posterior, trace, trust = zencrowd_by_loops(said, 7)
    found = ZenCrowd(n_iter=7, tol=0)(said)
    np.testing.assert_allclose(found.probs, posterior, atol=1e-10)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-10)
    np.testing.assert_allclose(found.skill, trust, atol=1e-10)


def test_three_liars_against_three_careful_people():
    """Careful people agree with each other, those who guess agree with nobody."""
    rng = np.random.default_rng(1)
    said, truth = example_votes(1, 300, 6, right=1.0)
    guess = rng.integers(0, 3, len(said))
    careful = (said.annotator < 3) & (rng.random(len(said)) < 0.9)
    label = np.where(careful, said.label, guess)
    votes = Annotations(said.index, said.item, said.annotator, label=label)
    found = ZenCrowd()(votes)
    vote = votes.counts().argmax(axis=1)
    assert (found.probs.argmax(axis=1) == truth).mean() > (vote == truth).mean() + 0.02
    np.testing.assert_allclose(found.skill[:3], 0.9 + 0.1 / 3, atol=0.06)
    np.testing.assert_allclose(found.skill[3:], 1 / 3, atol=0.1)


@given(seed=st.integers(0, 10_000), soft=st.booleans())
def test_the_objective_never_falls(seed, soft):
    said = example_soft(seed, 15) if soft else example_votes(seed, 15, right=0.5)[0]
    trace = ZenCrowd(n_iter=20, tol=0)(said).trace
    assert len(trace) == 20
    assert (np.diff(trace) >= -1e-9 * abs(trace[1:])).all()


def test_it_stops_when_nothing_changes():
    said, _ = example_votes(items=100)
    found = ZenCrowd(tol=1e-6)(said)
    assert found.converged
    assert len(found.trace) < 100
    long = ZenCrowd(n_iter=400, tol=0)(said)
    np.testing.assert_allclose(found.probs, long.probs, atol=2e-3)
    assert not ZenCrowd(n_iter=2)(said).converged


def test_parameters_are_looked_at():
    said, _ = example_votes()
    for wrong in ({"n_iter": 0}, {"first": 1.0}, {"right": 0.0}, {"wrong": -1.0}, {"tol": -1.0}):
        with pytest.raises(SoftlabelError, match=next(iter(wrong))):
            ZenCrowd(**wrong)(said)
