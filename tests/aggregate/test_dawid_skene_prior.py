"""The hierarchical prior of Dawid-Skene: against loops with scipy's functions, on simulated crowds,
and at the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import digamma, gammaln, logsumexp

from softlabel import Annotations, DataError, Index, SoftlabelError, registry
from softlabel.aggregate import BayesDawidSkene, DawidSkene
from softlabel.aggregate.truth import dawid_skene
from softlabel.testing import example_soft, example_votes


def named(items, people, classes):
    return Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(classes)],
    )


# ── against loops ────────────────────────────────────────────────────────────────────────────


IMAGINARY = 0.1 + 2 * np.eye(3)  # votes of the crowd, (true, said)


def by_loops(said, steps, anchor, gold=None):
    """(probs, trace, confusion, population, strength), person by person and vote by vote."""
    m, a, k = said.index.shape
    gold = np.full(m, -1) if gold is None else gold
    soft, q = said.soft(), np.zeros((m, k))
    np.add.at(q, said.item, soft)
    answered = q.sum(axis=1) > 0
    q[answered] /= q[answered].sum(axis=1, keepdims=True)
    sure = (gold >= 0) & answered
    q[sure] = np.eye(k)[gold[sure]]
    items, trace, alpha = 1 + anchor * q.sum(axis=0), [], None
    for _ in range(steps):
        counts = np.zeros((a, k, k))  # true, said
        for n in range(len(said)):
            counts[said.annotator[n]] += np.outer(q[said.item[n]], soft[n])
        alpha, strength = prior_by_loops(counts, alpha)
        rows, shares = counts + alpha, q.sum(axis=0) + items
        log_rows = digamma(rows) - digamma(rows.sum(axis=2, keepdims=True))
        log_shares = digamma(shares) - digamma(shares.sum())
        total = np.log(strength) - strength / 4 + (IMAGINARY * np.log(alpha / strength)).sum()
        total -= divergence(shares, items, log_shares)
        for one, j in np.ndindex(a, k):
            total -= divergence(rows[one, j], alpha[j], log_rows[one, j])
        scores = np.tile(log_shares, (m, 1))
        for n in range(len(said)):
            scores[said.item[n]] += log_rows[said.annotator[n]] @ soft[n]
        total += logsumexp(scores[answered & ~sure], axis=1).sum()
        total += scores[sure, gold[sure]].sum()
        free = answered & ~sure
        q[free] = np.exp(scores[free] - logsumexp(scores[free], axis=1, keepdims=True))
        trace.append(total)
    q[~answered] = np.nan
    return q, trace, rows / rows.sum(axis=2, keepdims=True), alpha / strength, strength


def prior_by_loops(counts, alpha):
    """One step of Minka's fixed point, from all votes together if there was none before."""
    if alpha is None:
        alpha = counts.sum(axis=0) + IMAGINARY
        alpha *= 4 / alpha.sum(axis=1, keepdims=True)
    up, down, mass = np.zeros_like(alpha), 0.0, alpha.sum(axis=1)
    for one in counts:
        up += alpha * (digamma(one + alpha) - digamma(alpha))
        down += (digamma(one.sum(axis=1) + mass) - digamma(mass)).sum()
    strength = (up.sum() + 1) / (down + 1 / 4)
    up += IMAGINARY
    return strength * up / up.sum(axis=1, keepdims=True), strength


def divergence(after, before, logs):
    """KL of one Dirichlet from another; ``logs`` are the first one's expected logarithms."""
    total = gammaln(after.sum()) - gammaln(after).sum() + ((after - before) * logs).sum()
    return total - gammaln(before.sum()) + gammaln(before).sum()


GOLD = np.array([-1, 2, 0, -1, 1] + [-1] * 35)


@pytest.mark.parametrize("kind", [DawidSkene, BayesDawidSkene])
@pytest.mark.parametrize("said", [example_votes()[0], example_soft()], ids=["hard", "soft"])
@pytest.mark.parametrize("gold", [None, GOLD], ids=["no gold", "gold"])
@pytest.mark.parametrize("anchor", [0.0, 1.0])
def test_against_loops(kind, said, gold, anchor):
    found = kind(anchor=anchor, n_iter=8, tol=0)(said, gold=gold)
    probs, trace, mean, crowd, strength = by_loops(said, 8, anchor, gold)
    np.testing.assert_allclose(found.probs, probs, atol=1e-8)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-8)
    np.testing.assert_allclose(found.confusion, mean, atol=1e-8)
    np.testing.assert_allclose(found.population, crowd, atol=1e-8)
    assert found.strength == pytest.approx(strength, rel=1e-8)


def test_many_people_in_many_threads_are_the_same(monkeypatch):
    said, _ = example_votes(items=300, annotators=50)
    whole = DawidSkene(n_iter=5, tol=0)(said)
    monkeypatch.setattr(dawid_skene, "CELLS", 27)
    monkeypatch.setattr(dawid_skene, "cores", lambda: 3)
    parted = DawidSkene(n_iter=5, tol=0)(said)
    np.testing.assert_allclose(parted.probs, whole.probs, atol=1e-12)
    np.testing.assert_allclose(parted.trace, whole.trace, rtol=1e-12)


# ── simulated crowds ─────────────────────────────────────────────────────────────────────────


def crowd(rng, people, strength, rows):
    """Confusion matrices around those of a population."""
    return np.stack([[rng.dirichlet(strength * row) for row in rows] for _ in range(people)])


def said_by(rng, matrices, items, each):
    people, k, _ = matrices.shape
    truth, item = rng.integers(0, k, items), np.repeat(np.arange(items), each)
    who = np.concatenate([rng.choice(people, each, replace=False) for _ in range(items)])
    chances = matrices[who, truth[item]].cumsum(axis=1)
    label = (chances < rng.random((len(item), 1))).sum(axis=1).clip(max=k - 1)
    return Annotations(named(items, people, k), item, who, label=label), truth


def right(method, worlds):
    return np.mean([(method(said).probs.argmax(axis=1) == truth).mean() for said, truth in worlds])


ORDINAL = np.array(
    [
        [0.60, 0.30, 0.08, 0.01, 0.01],
        [0.20, 0.50, 0.25, 0.04, 0.01],
        [0.03, 0.20, 0.54, 0.20, 0.03],
        [0.01, 0.04, 0.25, 0.50, 0.20],
        [0.01, 0.01, 0.08, 0.30, 0.60],
    ]
)


def test_a_systematic_confusion_is_learned_from_people_with_few_votes():
    """16 votes each for five rows of five: nobody's matrix can be learned alone."""
    worlds = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        worlds.append(said_by(rng, crowd(rng, 250, 8, ORDINAL), 800, 5))
    ours, plain = right(DawidSkene(), worlds), right(DawidSkene(smoothing=0), worlds)
    assert ours > plain + 0.02
    assert ours > right(DawidSkene(smoothing=4), worlds)
    found = DawidSkene(tol=0)(worlds[0][0])
    np.testing.assert_allclose(found.population, ORDINAL, atol=0.1)


def test_a_crowd_that_misses_one_class_is_not_taken_for_an_even_one():
    """Half of what is there is not seen, and what is not there is hardly ever seen: a prior with
    the same share right for both classes loses ten points."""
    worlds = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        rows = np.array([[0.9, 0.1], [0.5, 0.5]])
        worlds.append(said_by(rng, crowd(rng, 200, 12, rows), 500, 5))
    fixed, plain = (right(DawidSkene(smoothing=s, tol=1e-6), worlds) for s in (4, 0))
    assert right(DawidSkene(), worlds) > max(fixed + 0.05, plain - 0.01)


def test_people_who_differ_and_have_many_votes_are_learned_as_they_are():
    worlds = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = np.where(np.eye(4, dtype=bool), 0.62, 0.38 / 3)
        worlds.append(said_by(rng, crowd(rng, 20, 2, rows), 2000, 5))
    plain = right(DawidSkene(smoothing=0), worlds)
    assert right(DawidSkene(), worlds) == pytest.approx(plain, abs=0.01)


@pytest.mark.parametrize("strength", [2.0, 12.0])
def test_the_strength_is_that_of_the_simulation(strength):
    rows, found = np.where(np.eye(3, dtype=bool), 0.75, 0.125), []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        said, _ = said_by(rng, crowd(rng, 150, strength, rows), 2000, 8)
        found.append(DawidSkene(n_iter=150, tol=0)(said))
    assert np.mean([one.strength for one in found]) == pytest.approx(strength, rel=0.12)
    np.testing.assert_allclose(np.mean([one.population for one in found], 0), rows, atol=0.03)


# ── edges ────────────────────────────────────────────────────────────────────────────────────


def test_somebody_without_votes_is_an_ordinary_member_of_the_crowd():
    said, _ = example_votes()
    index = Index(said.index.items, [*said.index.annotators.tolist(), "new"], said.index.labels)
    found = DawidSkene()(Annotations(index, said.item, said.annotator, label=said.label))
    np.testing.assert_allclose(found.confusion[-1], found.population, atol=1e-12)
    assert found.rests_on[-1].max() == 0
    assert np.isnan(found.skill[-1])


@pytest.mark.parametrize("kind", [DawidSkene, BayesDawidSkene])
def test_one_of_everything(kind):
    one_class = Annotations(named(2, 2, 1), [0, 0, 1], [0, 1, 0], label=[0, 0, 0])
    found = kind()(one_class)
    np.testing.assert_allclose(found.probs, 1)
    np.testing.assert_allclose(found.confusion, 1)
    one_vote = Annotations(named(1, 1, 3), [0], [0], label=[2])
    assert kind()(one_vote).probs[0].argmax() == 2
    one_person = Annotations(named(4, 1, 2), [0, 1, 2, 3], [0] * 4, label=[0, 1, 1, 0])
    np.testing.assert_array_equal(kind()(one_person).probs.argmax(axis=1), [0, 1, 1, 0])
    one_each = Annotations(named(3, 3, 3), [0, 1, 2], [0, 1, 2], label=[2, 0, 1])
    np.testing.assert_array_equal(kind()(one_each).probs.argmax(axis=1), [2, 0, 1])


def test_a_class_that_nobody_named_stays_unlikely():
    said, _ = example_votes()
    index = Index(said.index.items, said.index.annotators, [*said.index.labels.tolist(), "rare"])
    found = DawidSkene()(Annotations(index, said.item, said.annotator, label=said.label))
    assert (found.probs[found.answered, 3] < 0.05).all()
    assert np.isfinite(found.trace).all()


def test_hundreds_of_classes_and_a_vote_each():
    rng = np.random.default_rng(0)
    said = Annotations(
        named(400, 30, 200),
        np.arange(400),
        rng.integers(0, 30, 400),
        label=rng.integers(0, 200, 400),
    )
    found = DawidSkene(n_iter=20, tol=0)(said)
    np.testing.assert_array_equal(found.probs.argmax(axis=1), said.label)
    assert (np.diff(found.trace) > -1e-9 * abs(found.trace[-1])).all()


def test_single_precision_finds_the_same():
    said, _ = example_votes(items=200)
    found = DawidSkene(dtype="float32")(said)
    np.testing.assert_allclose(found.probs, DawidSkene()(said).probs, atol=1e-4)


def test_a_result_with_a_fixed_prior_is_no_start():
    said, _ = example_votes()
    with pytest.raises(DataError, match="does not say what it learned of the population"):
        DawidSkene()(said, start=DawidSkene(smoothing=4)(said))


def test_the_prior_is_chosen_by_name():
    assert registry.parse("aggregate", "dawid-skene").smoothing is None
    assert registry.parse("aggregate", "dawid-skene:smoothing=0").smoothing == 0
    assert registry.parse("aggregate", "dawid-skene:smoothing=none").smoothing is None
    said, _ = example_votes()
    with pytest.raises(SoftlabelError, match="anchor = -1"):
        DawidSkene(anchor=-1)(said)
    with pytest.raises(SoftlabelError, match="smoothing = -1"):
        DawidSkene(smoothing=-1)(said)
