"""How good labels are, against formulas and brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, entr

from softlabel import Index
from softlabel.aggregate import Belief, Prior
from softlabel.allocate import Allocation, FitVotes, Greedy, Uniform, measure_quality
from softlabel.allocate.quality import plan_next

ALPHA = np.array([0.6, 0.3, 0.2])
INDEX = Index([f"i{n}" for n in range(300)], [], ["a", "b", "c"])


def make_state(votes=4, policy=None, seed=0):
    """A state whose prior is right: splits are drawn from it."""
    rng = np.random.default_rng(seed)
    prior = Prior(INDEX.labels, ALPHA[None], np.ones(1), "known")
    split = rng.dirichlet(ALPHA, len(INDEX.items))
    evidence = rng.multinomial(votes, split).astype(float)
    policy = policy or Greedy(blend=0.0, even=1.0)
    return Allocation(INDEX, policy, fit=FitVotes(prior), evidence=evidence), split


def test_the_expected_error_is_that_of_the_formula():
    """E[KL(p || q)] = H(q) - E[H(p)], and E[H(p)] of a Dirichlet is known."""
    state, _ = make_state()
    belief = state.belief
    alpha = belief.prior.alpha[0] + belief.evidence
    total = alpha.sum(axis=1, keepdims=True)
    inner = digamma(total[:, 0] + 1) - (alpha / total * digamma(alpha + 1)).sum(axis=1)
    exact = float((entr(alpha / total).sum(axis=1) - inner).mean())
    found = measure_quality(state).kl
    assert found.value == pytest.approx(exact, rel=0.05)
    assert found.low < exact < found.high


def test_equal_votes_are_worth_themselves():
    for votes in (3, 8):
        state, _ = make_state(votes, Uniform())
        assert measure_quality(state).equal == pytest.approx(votes, rel=0.25)


def test_the_next_answers_buy_what_their_gains_say():
    state, _ = make_state()
    best = np.sort(state.gain)[-20:]
    found = measure_quality(state, n=20).gain
    assert plan_next(state, 1)[0] == state.gain.argmax()
    assert found.low <= best.sum() / len(INDEX.items) <= found.high


def test_the_plan_of_the_next_answers_is_that_of_choosing_one_by_one():
    state, _ = make_state(policy=Greedy(blend=0.0, even=1.0, explore=0.0, most=6))
    pending, rng = np.zeros(len(INDEX.items), dtype=np.int64), np.random.default_rng(0)
    for _ in range(40):
        pending[state.choose(1, pending=pending, rng=rng).items] += 1
    items, times = plan_next(state, 40)
    worth = state.weigh() / (state.answers + 1) ** 2
    assert times.sum() == pending.sum() == 40
    assert worth[items].sum() == pytest.approx(worth[pending > 0].sum())  # equals may differ


def test_corrected_answers_are_as_if_they_had_been_so_from_the_start():
    state, split = make_state()
    rng = np.random.default_rng(1)
    evidence = state.evidence.copy()
    evidence[:5] = rng.multinomial(2, split[:5])
    answers = evidence.sum(axis=1).astype(np.int64)
    assert state.correct(evidence, answers).tolist() == [0, 1, 2, 3, 4]
    fresh = Allocation(INDEX, state.policy, fit=state.fit, evidence=evidence)
    assert np.allclose(state.weigh(), fresh.weigh())
    assert np.allclose(state.belief.mean(), Belief(INDEX, evidence, state.belief.prior).mean())


def test_weights_order_items_as_choosing_does():
    state, _ = make_state(policy=Greedy(blend=0.0, even=1.0, explore=0.0, stop=0.003))
    weight = state.weigh()
    assert ((weight == 0) == state.done).all()
    pending = np.random.default_rng(3).integers(0, 4, len(INDEX.items))
    chosen = state.choose(30, pending=pending).items
    priority = weight / (state.answers + pending + 1) ** 2
    assert np.sort(priority[chosen]) == pytest.approx(np.sort(priority)[-30:])
