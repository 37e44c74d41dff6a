"""The stack: its features, its fit, and what it makes of votes and rich answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from softlabel import Annotations, DataError, Index
from softlabel.aggregate import Dirichlet, DirichletMixture, Prior, Stack, fit_logit, predict_logit
from softlabel.aggregate.split.stack import RICH_ALONE, WITH_VOTES, Features, places
from softlabel.sampling import votes_from_counts
from softlabel.testing import example_soft, example_votes
from softlabel.testing.examples import reindex


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def test_who_was_named_first_and_second():
    soft = np.array(
        [
            [0.7, 0.2, 0.1, 0.0],
            [0.5, 0.5, 0.0, 0.0],  # nobody is before the other
            [0.8, 0.1, 0.1, 0.0],  # a second place that is shared is the rest, spread
            [1.0, 0.0, 0.0, 0.0],
            [0.25, 0.25, 0.25, 0.25],
        ]
    )
    first, second = places(soft)
    np.testing.assert_allclose(
        first, [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0.25] * 4]
    )
    np.testing.assert_allclose(second, [[0, 1, 0, 0], [0.5, 0.5, 0, 0], [0] * 4, [0] * 4, [0] * 4])


def test_features_by_loops():
    prior = Prior(index_of(1, 3).labels, [[2.0, 1.0, 0.5], [0.1, 0.2, 3.0]], [0.6, 0.4])
    soft = np.array([[0.7, 0.3, 0.0], [0.2, 0.2, 0.6], [0.0, 0.1, 0.9]])
    said = Annotations(index_of(2, 3), np.array([0, 0, 1]), np.full(3, -1), probs=soft)
    sums = Features(True).sums(said)
    votes = np.array([[2.0, 0, 1], [0, 0, 0]])
    sums[:, :3] = votes
    found = Features(True).features(sums, prior)
    first, second = places(soft)
    for i in range(2):
        rows = soft[said.item == i]
        evidence = votes[i] + rows.sum(axis=0)
        plain = Annotations(index_of(1, 3), np.zeros(1, int), np.full(1, -1), label=np.array([0]))
        label = Dirichlet()(plain, prior=prior).belief.update([0], [evidence - [1, 0, 0]]).mean()[0]
        expected = [
            np.log(label),
            np.log(rows.mean(axis=0) + 0.01),
            first[said.item == i].mean(axis=0),
            second[said.item == i].mean(axis=0),
            (rows == 0).mean(axis=0),
            np.log(rows + 0.01).mean(axis=0),
        ]
        np.testing.assert_allclose(found[i].T, expected, atol=1e-12)


def test_the_fit_is_scipys():
    rng = np.random.default_rng(0)
    features, times = rng.normal(size=(200, 4, 3)), rng.integers(1, 5, 200).astype(float)
    planted = np.array([1.0, -0.5, 0.3])
    chance = predict_logit(features, planted)
    target = np.array([rng.multinomial(1, row) for row in chance]).astype(float)

    def objective(weight):
        q = predict_logit(features, weight)
        loss = -(target * np.log(q)).sum(axis=1)
        return (times @ loss) / times.sum() + 1e-4 * weight @ weight

    ours = fit_logit(features, target, times, np.zeros(3))
    theirs = optimize.minimize(objective, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(ours, planted, atol=0.35)
    again = fit_logit(features, target, times, np.array([5.0, 5.0, -5.0]))
    np.testing.assert_allclose(ours, again, atol=1e-9)


def study(items=400, seed=0, votes=4, rich=2):
    """Splits, votes drawn from them, and rich answers that know them but are biased: people who
    answer richly take c3 for likelier than it is."""
    rng = np.random.default_rng(seed)
    lead = rng.integers(0, 4, items)
    alpha = np.full((items, 4), 0.15)
    alpha[np.arange(items), lead] = 3.0
    alpha[np.arange(items), (lead + 1) % 4] = 0.8
    split = rng.standard_gamma(alpha) + 1e-6
    split /= split.sum(axis=1, keepdims=True)
    hard = votes_from_counts(index_of(items, 4), rng.multinomial(votes, split))
    item = np.repeat(np.arange(items), rich)
    logs = np.log(split[item]) + rng.normal(0, 0.7, (len(item), 4)) + [0, 0, 0, 1.0]
    soft = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    return split, hard, Annotations(hard.index, item, np.full(len(item), -1), probs=soft)


def distance(split, probs):
    return (split * np.log(split / probs)).sum(axis=1).mean()


def test_it_learns_to_weigh_rich_answers():
    split, votes, rich = study()
    stacked = Stack()(votes, rich=rich)
    together = distance(split, stacked.probs)
    assert together < distance(split, DirichletMixture()(votes).probs)
    assert together < distance(split, DirichletMixture()(votes, rich=rich).probs)
    assert together < distance(split, DirichletMixture()(rich).probs)
    assert "learned from the votes of 400 items" in stacked.why
    assert (stacked.count == 6).all()


def test_few_votes_use_the_measured_weights():
    _, votes, rich = study(items=150)
    np.testing.assert_array_equal(Stack()(votes, rich=rich).fitted.weight, WITH_VOTES)
    alone = Stack()(rich)
    np.testing.assert_array_equal(alone.fitted.weight, RICH_ALONE)
    assert "measured on CIFAR-10S" in alone.why


def test_without_rich_answers_it_is_the_bayesian_label():
    _, votes, _ = study()
    np.testing.assert_allclose(Stack()(votes).probs, DirichletMixture()(votes).probs, atol=1e-12)


def test_items_without_a_rich_answer_keep_the_bayesian_label():
    _, votes, rich = study()
    some = rich.take(rich.item < 300)
    made = Stack()(votes, rich=some)
    plain = DirichletMixture()(votes, prior=made.belief.prior).probs
    np.testing.assert_allclose(made.probs[300:], plain[300:], atol=1e-12)
    assert abs(made.probs[:300] - plain[:300]).max() > 0.01


def test_order_and_shards_do_not_matter():
    _, votes, rich = study(items=250)
    before = Stack()(votes, rich=rich).probs
    order = np.array([2, 0, 3, 1])
    turned = Stack()(reindex(votes, "labels", order), rich=reindex(rich, "labels", order))
    np.testing.assert_allclose(turned.probs, before[:, order], atol=1e-12)
    np.testing.assert_allclose(Stack()(votes, rich=rich, shards=7).probs, before, atol=1e-12)


def test_the_belief_is_that_of_votes_and_answers():
    _, votes, rich = study(items=250)
    made = Stack()(votes, rich=rich)
    bayes = DirichletMixture()(votes, rich=rich, prior=made.belief.prior)
    np.testing.assert_allclose(made.belief.mean(), bayes.probs, atol=1e-12)


def test_votes_come_first():
    with pytest.raises(DataError, match="rich= takes soft"):
        Stack()(example_soft(), rich=example_votes()[0])
