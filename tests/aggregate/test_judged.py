"""People and models in one pool: against a simulated truth, with useful and useless models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from softlabel import DataError, Index
from softlabel.aggregate import Auto, Judged, JudgedBelief, Prior
from softlabel.aggregate.split.calibration import Design, calibrate, collect_answers
from softlabel.aggregate.split.judged import STRENGTHS, Move, Parts, log_votes, usual_shares
from softlabel.tables import Annotations, names

LABELS = ("bird", "cat", "dog", "frog")
HELD = 40  # votes that judge the labels


def make_crowd(items=500, per_item=2, skill=3.0, seed=0, ordered=False):
    """Return votes, answers of three models, and the split behind each item.

    A model names a class by chances that are the split to the power of ``skill``; 0: by chance.
    """
    rng = np.random.default_rng(seed)
    k = len(LABELS)
    kind = rng.integers(k, size=items)
    gamma = rng.gamma(0.4 + 3 * np.eye(k)[kind]) + 1e-4
    truth = gamma / gamma.sum(axis=1, keepdims=True)
    index = Index(names([f"i{i}" for i in range(items)]), names(["p"]), names(LABELS))
    index = replace(index, ordered=ordered)
    item = np.repeat(np.arange(items), per_item)
    label = draw(rng, truth[item])
    votes = Annotations(index, item, np.zeros(len(item), int), label=label)
    power = truth**skill
    said = np.repeat(np.arange(items), 3)
    named = draw(rng, (power / power.sum(axis=1, keepdims=True))[said])
    models = replace(index, annotators=names(["m1", "m2", "m3"]))
    judges = Annotations(models, said, np.tile(np.arange(3), items), label=named)
    return votes, judges, truth


def draw(rng, probs):
    return (probs.cumsum(axis=1) < rng.random((len(probs), 1))).sum(axis=1)


def loss(labels, truth):
    """Return the mean KL of the label from the split."""
    probs = labels.probs
    return float((truth * np.log(truth / probs)).sum(axis=1).mean())


@pytest.mark.parametrize("per_item", [1, 2, 5])
def test_models_that_know_something_help(per_item):
    votes, judges, truth = make_crowd(per_item=per_item)
    with_models = Judged()(votes, judges=judges)
    assert with_models.chosen == "people and models"
    assert loss(with_models, truth) < 0.9 * loss(Auto()(votes), truth)


@pytest.mark.parametrize("per_item", [1, 2, 5])
@pytest.mark.parametrize("useless", ["shuffled", "one class", "adversary of nobody"])
def test_useless_models_do_no_harm(per_item, useless):
    votes, judges, truth = make_crowd(per_item=per_item, skill=0.0 if useless[0] == "a" else 3.0)
    if useless == "shuffled":
        order = np.random.default_rng(3).permutation(len(truth))
        judges = replace(judges, item=order[judges.item])
    if useless == "one class":
        judges = replace(judges, label=np.full(len(judges), 3))
    assert loss(Judged()(votes, judges=judges), truth) <= loss(Auto()(votes), truth) + 0.005


def test_a_model_that_lies_consistently_is_understood():
    votes, judges, truth = make_crowd(per_item=2)
    liar = replace(judges, label=(judges.label + 1) % len(LABELS))
    honest, lies = (loss(Judged()(votes, judges=each), truth) for each in (judges, liar))
    assert lies < loss(Auto()(votes), truth) + 0.005
    assert lies == pytest.approx(honest, abs=0.02)


def test_intervals_hold_what_was_held_out():
    votes, judges, truth = make_crowd(items=1500, per_item=2, seed=5)
    belief = Judged()(votes, judges=judges).belief
    assert isinstance(belief, JudgedBelief)
    rng = np.random.default_rng(6)
    held = np.array([rng.multinomial(HELD, p) for p in truth])
    top = belief.mean().argmax(axis=1)
    count = held[np.arange(len(held)), top]
    below, at_most = belief.predictive_cdf(top, count, held.sum(axis=1))
    drawn = below + rng.random(len(below)) * (at_most - below)
    assert 0.87 <= ((drawn > 0.05) & (drawn < 0.95)).mean() <= 0.93


def test_an_item_that_nobody_answered_has_the_label_of_the_models():
    votes, judges, truth = make_crowd(per_item=2)
    some = votes.take(votes.item >= 100)
    labels = Judged()(some, judges=judges)
    assert labels.answered.all()
    np.testing.assert_allclose(labels.more["people"][:100], 0, atol=1e-12)
    assert (labels.more["people"][100:] > 0).all()
    constant = some.counts().sum(axis=0) / len(some)
    told = (truth * np.log(truth / labels.probs)).sum(axis=1)[:100].mean()
    assert told < 0.7 * (truth * np.log(truth / constant)).sum(axis=1)[:100].mean()


def test_more_votes_are_more_people():
    few, many = (make_crowd(per_item=n) for n in (1, 8))
    shares = [
        Judged()(votes, judges=judges).more["people"].mean() for votes, judges, _ in (few, many)
    ]
    assert shares[0] < shares[1]


def test_no_vote_of_an_item_is_in_its_own_prediction(monkeypatch):
    monkeypatch.setattr("softlabel.aggregate.split.calibration.PENALTIES", (10.0,))  # chosen by all
    votes, judges, _ = make_crowd(items=120, per_item=2)
    counts, said = votes.counts(), collect_answers(judges, votes.index)
    before = calibrate(said, counts, votes.index, folds=5).probs
    counts[7] = [0, 0, 0, 30]
    after = calibrate(said, counts, votes.index, folds=5).probs
    np.testing.assert_array_equal(before[7], after[7])
    assert (before != after).any()


def test_the_order_of_items_and_models_does_not_matter():
    votes, judges, _ = make_crowd(items=150, per_item=2)
    label = Judged()(votes, judges=judges)
    rng = np.random.default_rng(1)
    to, models = rng.permutation(150), np.array([2, 0, 1])
    index = replace(votes.index, items=votes.index.items[np.argsort(to)])
    moved = Judged()(
        replace(votes, index=index, item=to[votes.item]),
        judges=replace(
            judges,
            index=replace(judges.index, items=index.items, annotators=names(["m2", "m3", "m1"])),
            item=to[judges.item],
            annotator=models[judges.annotator],
        ),
    )
    np.testing.assert_allclose(moved.probs[to], label.probs, atol=2e-4)


def test_probabilities_say_more_than_labels():
    votes, judges, truth = make_crowd(per_item=1, seed=2)
    rng = np.random.default_rng(4)
    noisy = truth * np.exp(rng.normal(0, 0.3, truth.shape))
    one = replace(judges.index, annotators=names(["m1"]))
    items = np.arange(len(truth))
    nobody = np.zeros(len(items), int)
    soft = Annotations(one, items, nobody, probs=noisy / noisy.sum(axis=1, keepdims=True))
    hard = Annotations(one, items, nobody, label=noisy.argmax(axis=1))
    losses = [loss(Judged()(votes, judges=each), truth) for each in (soft, hard)]
    assert losses[0] < losses[1]


def test_samples_of_a_model_are_averaged():
    votes, judges, _ = make_crowd(items=40, per_item=1)
    twice = Annotations(
        judges.index, np.array([0, 0, 3]), np.array([1, 1, 1]), label=np.array([2, 0, 1])
    )
    said = collect_answers(twice, votes.index)
    assert said.shape == (40, 1, 4)  # models without answers are left out
    np.testing.assert_allclose(said[0, 0], [0.5, 0, 0.5, 0])
    np.testing.assert_allclose(said[3, 0], [0, 1, 0, 0])
    np.testing.assert_allclose(said[1], 0)


def test_the_bent_prior_has_the_expected_mean(monkeypatch):
    monkeypatch.setattr("softlabel.aggregate.split.judged.UNMOVED", 0.0)
    rng = np.random.default_rng(0)
    prior = Prior(names(LABELS), rng.gamma(1, 2, (6, 4)) + 0.1, rng.dirichlet(np.ones(6)))
    expected = rng.dirichlet(np.ones(4), 5)
    with np.errstate(divide="ignore"):
        alpha, weight = Move(1.0, True)(prior, expected)
        mean = alpha / alpha.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(np.einsum("bc,bck->bk", np.exp(weight), mean), expected)
        np.testing.assert_allclose(alpha.sum(axis=2), np.broadcast_to(prior.mass, (5, 6)))
        alpha, same = Move(1.0, False)(prior, expected)
    np.testing.assert_array_equal(alpha, np.broadcast_to(prior.alpha, (5, 6, 4)))
    np.testing.assert_array_equal(same, weight)


def test_a_model_that_is_sure_and_wrong_does_not_outweigh_many_votes():
    """Models help with first votes and not with tenth ones: what counts is the vote to come."""
    votes, judges, truth = make_crowd(items=600, per_item=10, skill=1.0)
    assert loss(Judged()(votes, judges=judges), truth) <= loss(Auto()(votes), truth) + 0.002


def test_the_likelihood_of_votes_is_that_of_scipy():
    rng = np.random.default_rng(0)
    alpha, n = (
        rng.gamma(1, 2, (3, 2, 4)) + 0.1,
        np.array([[0, 2, 1, 0], [0, 0, 0, 0], [3, 0, 0, 1]]),
    )
    ours = log_votes(n.astype(float), alpha)
    for row in range(3):
        total = int(n[row].sum())
        theirs = [stats.dirichlet_multinomial.logpmf(n[row], a, total) for a in alpha[row]]
        constant = stats.multinomial.logpmf(n[row], total, np.full(4, 0.25)) + total * np.log(4)
        np.testing.assert_allclose(ours[row], np.array(theirs) - constant, atol=1e-9)


def test_the_fit_is_the_same_from_anywhere():
    votes, judges, _ = make_crowd(items=60, per_item=2, ordered=True)
    design = Design.of(collect_answers(judges, votes.index), ordered=True)
    items, counts = np.arange(60), votes.counts()
    start = design.start(counts)
    rng = np.random.default_rng(0)
    near, far = (
        design.fit(items, counts, 3.0, start + s * rng.normal(size=len(start))) for s in (0, 1)
    )
    np.testing.assert_allclose(design.predict(items, near), design.predict(items, far), atol=5e-3)


@pytest.mark.parametrize("ordered", [False, True])
def test_what_is_usual_depends_on_what_models_explain(ordered):
    assert usual_shares(0.0, ordered)[0] == 1
    assert usual_shares(1.0, ordered)[0] == pytest.approx(0.2)
    assert usual_shares(0.025, ordered).sum() == pytest.approx(1)
    assert len(usual_shares(1.0, ordered)) == 2 + len(STRENGTHS)


def test_a_vote_is_predicted_from_the_others_as_by_its_label():
    """Votes are taken out one at a time: the same number as from the labels of the others."""
    rng = np.random.default_rng(0)
    people, others = (
        Prior(names(LABELS), rng.gamma(1, 2, (size, 4)) + 0.1, rng.dirichlet(np.ones(size)))
        for size in (3, 5)
    )
    parts = Parts.of(people, others, rng.dirichlet(np.ones(4), 3), Move(1.5, True))
    share = rng.dirichlet(np.ones(2 + len(STRENGTHS)))
    votes = np.array([[0.0, 2, 1, 0], [1, 0, 0, 0], [3, 0, 0, 1]])
    every, but_one, times = parts.score(votes)
    row, label = np.nonzero(votes)
    np.testing.assert_array_equal(times, votes[row, label])
    for place, (item, one) in enumerate(zip(row, label, strict=True)):
        rest = votes.copy()
        rest[item, one] -= 1
        theirs = parts.weigh(rest, share).mean()[item, one]
        ours = logsumexp(every[item], b=share) - logsumexp(but_one[place], b=share)
        assert ours == pytest.approx(np.log(theirs), abs=1e-9)


def test_predictions_for_other_items_tell_which_classes_are_taken_for_each_other():
    """People doubt between birds and cats, and never about dogs or frogs, as models show.  Where
    models are lost, a vote for dog says more than one for cat; no strength around the prediction
    can say both."""
    rng = np.random.default_rng(6)
    kinds = np.array([[0.5, 0.5, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]) * 0.97 + 0.03 / 4
    truth = kinds[rng.integers(0, 3, 900)]
    index = Index(names([f"i{i}" for i in range(900)]), names(["p"]), names(LABELS))
    votes = Annotations(index, np.arange(900), np.zeros(900, int), label=draw(rng, truth))
    item = np.repeat(np.arange(900), 3)
    said, lost = draw(rng, truth[item]), rng.random(2700) < 0.4
    said[lost] = rng.integers(0, 4, lost.sum())
    models = replace(index, annotators=names(["m1", "m2", "m3"]))
    judges = Annotations(models, item, np.tile(np.arange(3), 900), label=said)
    label = Judged()(votes, judges=judges)
    assert label.models is not None
    counts, expected = votes.counts(), label.models.probs
    around = [(s * expected + counts) / (s + 1) for s in STRENGTHS]
    best = min(float(-(truth * np.log(q)).sum(axis=1).mean()) for q in around)
    ours = float(-(truth * np.log(label.probs)).sum(axis=1).mean())
    assert ours < best - 0.02


def test_auto_uses_models_and_says_so():
    votes, judges, _ = make_crowd(items=150, per_item=2)
    labels = Auto()(votes, judges=judges)
    np.testing.assert_array_equal(labels.probs, Judged()(votes, judges=judges).probs)
    assert labels.chosen == "judged, people and models"
    assert "3 models calibrated on the votes of 150 items" in labels.why


def test_other_items_and_nameless_models_are_refused():
    votes, judges, _ = make_crowd(items=30)
    other = replace(judges.index, items=judges.index.items[::-1])
    with pytest.raises(DataError, match="the same items"):
        Judged()(votes, judges=replace(judges, index=other))
    with pytest.raises(DataError, match="without the name of its model"):
        Judged()(votes, judges=replace(judges, annotator=np.full(len(judges), -1)))


def test_beliefs_of_some_items_are_those_of_all():
    votes, judges, _ = make_crowd(items=200, per_item=2)
    belief = Judged()(votes, judges=judges).belief
    some = belief.take(np.array([9, 2, 77]))
    for name in ("mean", "gain"):
        np.testing.assert_allclose(
            getattr(some, name)(), getattr(belief, name)()[[9, 2, 77]], rtol=1e-9
        )
    low, high = belief.interval()
    assert (low <= belief.mean() + 1e-12).all()
    assert (belief.mean() <= high + 1e-12).all()
    more = belief.update([9], [[0, 5.0, 0, 0]])
    assert more.mean()[9, 1] > belief.mean()[9, 1]
    drawn = belief.draw(np.random.default_rng(0))
    np.testing.assert_allclose(drawn.sum(axis=1), 1)
