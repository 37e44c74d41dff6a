"""GLAD: posterior and objective by loops, its maximum, abilities and difficulties recovered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from softlabel import Annotations, Index, SoftlabelError
from softlabel.aggregate import Glad
from softlabel.testing import example_soft, example_votes


def glad_by_loops(said, ability, ease):
    """Whitehill et al. 2009 at given parameters: posterior, and log-likelihood with log priors."""
    m, _, k = said.index.shape
    rows = said.soft()
    posterior, objective = [], 0.0
    for i in range(m):
        joint = [1 / k] * k
        for n in range(len(said)):
            if said.item[n] != i:
                continue
            s = 1 / (1 + math.exp(-ability[said.annotator[n]] * math.exp(ease[i])))
            for t in range(k):
                for label in range(k):
                    chance = s if label == t else (1 - s) / (k - 1)
                    joint[t] *= chance ** rows[n][label]
        posterior.append([j / sum(joint) for j in joint])
        objective += math.log(sum(joint))
    normal = [*ability, *ease]
    objective -= sum(0.5 * (x - 1) ** 2 + 0.5 * math.log(2 * math.pi) for x in normal)
    return np.array(posterior), objective


def inputs():
    return [example_votes(items=10)[0], example_soft(items=8)]


@pytest.mark.parametrize("which", [0, 1])
def test_posterior_and_objective_by_loops(which):
    said = inputs()[which]
    found = Glad(n_iter=5, tol=0)(said)
    ease = -np.log(found.difficulty)
    posterior, objective = glad_by_loops(said, found.ability, ease)
    np.testing.assert_allclose(found.probs, posterior, atol=1e-10)
    assert found.trace[-1] == pytest.approx(objective, rel=1e-10)


def test_it_begins_at_the_prior():
    said = inputs()[0]
    m, a, _ = said.index.shape
    _, objective = glad_by_loops(said, np.ones(a), np.ones(m))
    assert Glad(n_iter=1, tol=0)(said).trace[0] == pytest.approx(objective, rel=1e-10)


@pytest.mark.parametrize("which", [0, 1])
def test_it_ends_where_nothing_better_is_near(which):
    """A general optimiser, begun at our result, finds no higher point of the same objective."""
    said = inputs()[which]
    found = Glad(n_iter=3000, tol=0)(said)
    here = np.concatenate([found.ability, -np.log(found.difficulty)])
    a = len(found.ability)
    best = minimize(lambda x: -glad_by_loops(said, x[:a], x[a:])[1], here, method="BFGS")
    assert -best.fun <= found.trace[-1] + 1e-5
    np.testing.assert_allclose(best.x, here, atol=5e-3)


@given(seed=st.integers(0, 10_000), soft=st.booleans())
def test_the_objective_never_falls(seed, soft):
    said = example_soft(seed, 15) if soft else example_votes(seed, 15, right=0.5)[0]
    trace = Glad(n_iter=25, tol=0)(said).trace
    assert len(trace) == 26  # before the first step, and after every one
    assert (np.diff(trace) >= -1e-9 * abs(trace[1:])).all()


def planted(seed=0, items=400, people=20):
    """Abilities from adversary to expert, easy and hard items, three classes, all votes."""
    rng = np.random.default_rng(seed)
    ability = np.concatenate([rng.uniform(0.5, 2.5, people - 3), [0, 0, -1]])
    ease = rng.normal(0, 0.8, items)
    truth = rng.integers(0, 3, items)
    right = rng.random((items, people)) < 1 / (1 + np.exp(-ability * np.exp(ease)[:, None]))
    other = (truth[:, None] + rng.integers(1, 3, (items, people))) % 3
    label = np.where(right, truth[:, None], other)
    index = Index(
        [f"i{i}" for i in range(items)], [f"p{i}" for i in range(people)], ["a", "b", "c"]
    )
    item, person = np.divmod(np.arange(items * people), people)
    return Annotations(index, item, person, label=label.ravel()), truth, ability, ease


def test_abilities_and_difficulties_are_recovered():
    said, truth, ability, ease = planted()
    found = Glad(n_iter=300)(said)
    vote = said.counts().argmax(axis=1)
    assert (found.probs.argmax(axis=1) == truth).mean() >= (vote == truth).mean()
    assert np.corrcoef(found.ability, ability)[0, 1] > 0.97
    assert found.ability[-1] < 0 < found.ability[:-3].min()
    assert np.corrcoef(-np.log(found.difficulty), ease)[0, 1] > 0.7
    right = (said.label == truth[said.item]).reshape(len(truth), -1).mean(axis=0)
    np.testing.assert_allclose(found.skill, right, atol=0.08)


def test_gold_turns_a_liar_round():
    """One person always says the other class; gold on some items shows it for all."""
    index = Index([f"i{i}" for i in range(20)], ["liar"], ["no", "yes"])
    said = Annotations(index, np.arange(20), np.zeros(20, int), label=np.ones(20, int))
    gold = np.where(np.arange(20) < 10, 0, -1)
    found = Glad()(said, gold=gold)
    assert found.ability[0] < 0
    assert (found.probs[:, 0] > 0.5).all()
    assert (found.probs[:10, 0] == 1).all()
    assert (Glad()(said).probs[:, 1] > 0.5).all()


def test_a_warm_start_is_there_already():
    said, _, _, _ = planted(items=60)
    done = Glad(n_iter=500, tol=0)(said)
    again = Glad(n_iter=1, tol=0)(said, start=done)
    assert again.trace[0] == pytest.approx(done.trace[-1], rel=1e-12)
    np.testing.assert_allclose(again.probs, done.probs, atol=1e-6)


def test_new_people_and_items_start_at_the_prior():
    said, _, _, _ = planted(items=30, people=8)
    some = said.take((said.annotator < 5) & (said.item < 20))
    index = Index(said.index.items[:20], said.index.annotators[:5], said.index.labels)
    known = Annotations(index, some.item, some.annotator, label=some.label)
    done = Glad()(known)
    warm = Glad(n_iter=1, tol=0)(said, start=done)
    ability = np.concatenate([done.ability, np.ones(3)])
    ease = np.concatenate([-np.log(done.difficulty), np.ones(10)])
    assert warm.trace[0] == pytest.approx(glad_by_loops(said, ability, ease)[1], rel=1e-10)


def test_unanswered_items_have_no_difficulty_and_the_unasked_no_ability():
    said, _ = example_votes()
    found = Glad()(said.take((said.item != 3) & (said.annotator != 2)))
    assert np.isnan(found.difficulty[3])
    assert np.isnan(found.ability[2])
    assert np.isnan(found.skill[2])
    assert np.isfinite(np.delete(found.ability, 2)).all()


def test_parameters_are_looked_at():
    said, _ = example_votes()
    for wrong in ({"n_iter": 0}, {"tol": -1.0}):
        with pytest.raises(SoftlabelError, match=next(iter(wrong))):
            Glad(**wrong)(said)
