"""Votes weighted by trust (wawa, zero-based-skill, catd): worked numbers, loops, bad people."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from softlabel import Annotations, Index, SoftlabelError
from softlabel.aggregate import Catd, Wawa, ZeroBasedSkill
from softlabel.testing import example_soft, example_votes


def table(votes, labels=2):
    """Votes from a list of items, each a list of labels by person (None: not asked)."""
    rows = [
        (i, p, label)
        for i, item in enumerate(votes)
        for p, label in enumerate(item)
        if label is not None
    ]
    item, person, label = np.array(rows).T
    index = Index(
        [f"i{i}" for i in range(len(votes))],
        [f"p{p}" for p in range(len(votes[0]))],
        [f"c{j}" for j in range(labels)],
    )
    return Annotations(index, item, person, label=label)


# majority 0, 0, 1, 1 and a tie
SMALL = [[0, 0, 1, None], [0, 0, 1, 0], [1, 1, 1, 0], [0, 1, None, 1], [1, 0, None, None]]


def test_wawa_by_hand():
    """Item 3 is 0, 1, 1 and so 1; item 4 is level, which is half an agreement for both."""
    found = Wawa()(table(SMALL))
    skill = [(1 + 1 + 1 + 0 + 0.5) / 5, (1 + 1 + 1 + 1 + 0.5) / 5, 1 / 3, 2 / 3]
    np.testing.assert_allclose(found.skill, skill, atol=1e-15)
    first = (0.7 + 0.9) / (0.7 + 0.9 + 1 / 3)
    np.testing.assert_allclose(found.probs[0], [first, 1 - first], atol=1e-15)
    np.testing.assert_allclose(found.probs[4], [0.9 / 1.6, 0.7 / 1.6], atol=1e-15)
    assert found.objective == ""
    assert len(found.trace) == 0


def test_wawa_takes_gold_for_the_majority():
    found = Wawa()(table(SMALL), gold={"i0": "c1", "i4": "c1"})
    skill = [(0 + 1 + 1 + 0 + 1) / 5, (0 + 1 + 1 + 1 + 0) / 5, 2 / 3, 2 / 3]
    np.testing.assert_allclose(found.skill, skill, atol=1e-15)
    np.testing.assert_array_equal(found.probs[[0, 4]], [[0, 1], [0, 1]])


def test_a_start_changes_nothing_for_wawa():
    said = table(SMALL)
    before = Wawa()(said, gold={"i0": "c1"})
    np.testing.assert_array_equal(Wawa()(said, start=before).probs, Wawa()(said).probs)


def weighted_vote(said, trust):
    """Per item the set of winners, by loops."""
    m, _, k = said.index.shape
    rows = said.soft()
    winners = []
    for i in range(m):
        score = [0.0] * k
        for n in range(len(said)):
            if said.item[n] == i:
                for label in range(k):
                    score[label] += rows[n][label] * trust[said.annotator[n]]
        winners.append([j for j in range(k) if score[j] >= max(score) * (1 - 1e-9)])
    return winners


def agreement(said, trust):
    """Per person: share of agreement with the weighted vote, and votes, by loops."""
    winners, rows = weighted_vote(said, trust), said.soft()
    right, total = np.zeros(len(trust)), np.zeros(len(trust))
    for n in range(len(said)):
        for label in range(rows.shape[1]):
            here = winners[said.item[n]]
            right[said.annotator[n]] += rows[n][label] * (label in here) / len(here)
            total[said.annotator[n]] += rows[n][label]
    return right / total, total


def shares(said, trust):
    m, _, k = said.index.shape
    score = np.zeros((m, k))
    for n in range(len(said)):
        score[said.item[n]] += said.soft()[n] * trust[said.annotator[n]]
    return score / score.sum(axis=1, keepdims=True)


BOTH = [lambda: example_votes(4, 25, right=0.5)[0], lambda: example_soft(4, 20)]


@pytest.mark.parametrize("make", BOTH)
def test_wawa_by_loops(make):
    said = make()
    skill, _ = agreement(said, np.ones(7))
    found = Wawa()(said)
    np.testing.assert_allclose(found.skill, skill, atol=1e-12)
    np.testing.assert_allclose(found.probs, shares(said, skill), atol=1e-12)


@pytest.mark.parametrize("make", BOTH)
def test_zero_based_skill_by_loops(make):
    said = make()
    skill, rate = np.full(7, 1 / 3), 1.0
    for step in range(1, 31):
        rate *= 0.5 if step % 4 == 0 else 1
        skill = skill + rate * (agreement(said, skill)[0] - skill)
    found = ZeroBasedSkill(patience=4, n_iter=30, tol=0)(said)
    np.testing.assert_allclose(found.skill, skill, atol=1e-12)
    np.testing.assert_allclose(found.probs, shares(said, skill), atol=1e-12)


def test_zero_based_skill_by_hand():
    """One step is wawa; the second moves item 3 to p0 and p1's side, if they outweigh p2 and p3."""
    said = table(SMALL)
    once = ZeroBasedSkill(n_iter=1)(said)
    np.testing.assert_allclose(once.skill, Wawa()(said).skill, atol=1e-15)
    # item 4: p1 (.9) beats p0 (.7), so that p1 gains the other half of the tie and p0 loses it
    twice = ZeroBasedSkill(n_iter=2)(said)
    np.testing.assert_allclose(twice.skill, [3 / 5, 1.0, 1 / 3, 2 / 3], atol=1e-15)
    done = ZeroBasedSkill()(said)
    assert done.converged
    np.testing.assert_allclose(done.skill, twice.skill, atol=1e-6)


def test_catd_by_hand():
    """Weights after one step: chi2 quantiles over errors and the floor, from the plain vote."""
    found = Catd(n_iter=1)(table(SMALL))
    votes, errors = [5, 5, 3, 3], [1.5, 0.5, 2, 1]
    weight = [chi2.ppf(0.025, n) / (e + 0.5) for n, e in zip(votes, errors, strict=True)]
    np.testing.assert_allclose(weight, [0.415606, 0.831212, 0.086318, 0.143864], atol=1e-6)
    first = (weight[0] + weight[1]) / (weight[0] + weight[1] + weight[2])
    np.testing.assert_allclose(found.probs[0, 0], first, atol=1e-12)
    np.testing.assert_allclose(found.probs[4, 0], weight[1] / (weight[0] + weight[1]), atol=1e-12)
    np.testing.assert_allclose(found.skill, [0.7, 0.9, 1 / 3, 2 / 3], atol=1e-15)


@pytest.mark.parametrize("make", BOTH)
def test_catd_by_loops(make):
    said = make()
    weight = np.ones(7)
    for _ in range(12):
        share, total = agreement(said, weight)
        weight = chi2.ppf(0.05, total) / (total * (1 - share) + 0.2)
    found = Catd(alpha=0.1, floor=0.2, n_iter=12, tol=0)(said)
    np.testing.assert_allclose(found.probs, shares(said, weight), atol=1e-12)


def test_catd_trusts_a_long_record_more_than_a_short_one():
    """Both agree with everything, one of them twenty times as often."""
    pooler = Catd()
    few, many = pooler.weights(np.array([1.0, 1.0]), np.array([2.0, 40.0]))
    assert many > 100 * few
    unasked = pooler.weights(np.array([0.0]), np.array([0.0]))
    assert unasked == 0


@pytest.mark.parametrize("pooler", [Wawa(), ZeroBasedSkill(), Catd()])
def test_careful_people_outvote_guessers(pooler):
    rng = np.random.default_rng(2)
    said, truth = example_votes(2, 400, 7, right=1.0)
    careful = (said.annotator < 3) & (rng.random(len(said)) < 0.9)
    label = np.where(careful, said.label, rng.integers(0, 3, len(said)))
    votes = Annotations(said.index, said.item, said.annotator, label=label)
    found = pooler(votes)
    vote = votes.counts().argmax(axis=1)
    assert (found.probs.argmax(axis=1) == truth).mean() > (vote == truth).mean() + 0.03
    assert found.skill[:3].min() > found.skill[3:].max() + 0.2


@pytest.mark.parametrize("pooler", [ZeroBasedSkill(), Catd(n_iter=100)])
def test_a_warm_start_is_there_already(pooler):
    said, _ = example_votes(1, 60, right=0.6)
    done = pooler(said)
    assert done.converged
    again = type(pooler)(n_iter=2)(said, start=done)
    np.testing.assert_allclose(again.probs, done.probs, atol=1e-5)


def test_parameters_are_looked_at():
    for kind, wrong in (
        (ZeroBasedSkill, {"rate": 0.0}),
        (ZeroBasedSkill, {"decay": 2.0}),
        (ZeroBasedSkill, {"patience": 0}),
        (Catd, {"alpha": 0.0}),
        (Catd, {"floor": 0.0}),
        (Catd, {"n_iter": 0}),
    ):
        with pytest.raises(SoftlabelError, match=next(iter(wrong))):
            kind(**wrong)
