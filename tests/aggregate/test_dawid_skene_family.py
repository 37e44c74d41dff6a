"""One coin, hard decisions, and a posterior over confusions: what they share, and where they must
agree with Dawid-Skene, with loops, or with each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, dirichlet

from softlabel import Annotations, Index
from softlabel.aggregate import BayesDawidSkene, DawidSkene, FastDawidSkene, OneCoin
from softlabel.testing import example_soft, example_votes


def named(items, people, classes):
    return Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(classes)],
    )


@st.composite
def annotations(draw):
    """Few items, people and classes; hard or soft; items without votes; people twice."""
    items, people, classes = draw(st.tuples(*[st.integers(1, size) for size in (6, 4, 4)]))
    n = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    item, who = rng.integers(0, items, n), rng.integers(0, people, n)
    index = named(items, people, classes)
    if draw(st.booleans()):
        return Annotations(index, item, who, label=rng.integers(0, classes, n))
    probs = rng.dirichlet(np.full(classes, 0.5), n)
    probs[rng.random(probs.shape) < 0.3] = 0
    probs[probs.sum(axis=1) == 0] = 1
    return Annotations(index, item, who, probs=probs / probs.sum(axis=1, keepdims=True))


METHODS = [
    DawidSkene(tol=0, n_iter=30),
    DawidSkene(smoothing=0, tol=0, n_iter=30),
    OneCoin(tol=0, n_iter=30),
    OneCoin(smoothing=0, tol=0, n_iter=30),
    FastDawidSkene(tol=0, n_iter=30),
    FastDawidSkene(smoothing=0, tol=0, n_iter=30),
    BayesDawidSkene(tol=0, n_iter=30),
    BayesDawidSkene(smoothing=0.1, diagonal=0.3, tol=0, n_iter=30),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@given(said=annotations(), known=st.booleans())
def test_the_objective_never_falls(method, said, known):
    items, _, classes = said.index.shape
    gold = np.where(np.arange(items) % 3 == 0, np.arange(items) % classes, -1) if known else None
    trace = method(said, gold=gold).trace
    assert len(trace) == 30
    room = 1e-9 * (1 + abs(trace).max())
    assert (np.diff(trace) >= -room).all()


@pytest.mark.parametrize("method", METHODS[::2], ids=repr)
def test_known_items_are_certain_and_others_on_the_simplex(method):
    said = example_soft()
    gold = np.where(np.arange(40) % 5 == 0, 1, -1)
    found = method(said, gold=gold)
    known = (gold >= 0) & found.answered
    np.testing.assert_array_equal(found.probs[known], np.eye(3)[gold[known]])
    np.testing.assert_allclose(found.probs[found.answered].sum(axis=1), 1)


@pytest.mark.parametrize("kind", [OneCoin, FastDawidSkene, BayesDawidSkene])
@pytest.mark.parametrize(
    "said", [example_votes(items=200)[0], example_soft()], ids=["hard", "soft"]
)
def test_a_finished_result_starts_where_it_ended(kind, said):
    done = kind()(said)
    again = kind(n_iter=1)(said, start=done)
    assert again.trace[0] == pytest.approx(done.trace[-1], rel=1e-9)
    np.testing.assert_allclose(again.probs, done.probs, atol=1e-9)


@pytest.mark.parametrize("kind", [OneCoin, FastDawidSkene, BayesDawidSkene])
def test_edges(kind):
    one_class = Annotations(named(2, 3, 1), [0, 0], [0, 1], label=[0, 0])
    found = kind()(one_class)
    assert found.probs[0].tolist() == [1.0]
    assert np.isnan(found.probs[1]).all()
    assert np.isnan(found.skill).tolist() == [False, False, True]
    one_vote = Annotations(named(1, 1, 3), [0], [0], label=[2])
    assert kind()(one_vote).probs[0].argmax() == 2


# ── one coin ─────────────────────────────────────────────────────────────────────────────────


def coin_by_loops(said, method, gold):
    m, a, k = said.index.shape
    rows = [(int(said.item[n]), int(said.annotator[n]), said.soft()[n]) for n in range(len(said))]
    answered = sorted({i for i, _, _ in rows})
    belief = {i: sum(row for item, _, row in rows if item == i) for i in answered}
    belief = {i: np.eye(k)[gold[i]] if gold[i] >= 0 else b / b.sum() for i, b in belief.items()}
    s, trace = method.smoothing, []
    for _ in range(method.n_iter):
        prior = (sum(belief.values()) + s / k) / (len(answered) + s)
        right = np.empty(a)
        for p in range(a):
            mine = [(i, row) for i, who, row in rows if who == p]
            hits = sum(float(row @ belief[i]) for i, row in mine)
            right[p] = (hits + s * method.diagonal) / (sum(row.sum() for _, row in mine) + s)
        total = s * np.log(prior).sum() / k
        for p in right:
            total += s * (method.diagonal * math.log(p) + (1 - method.diagonal) * math.log(1 - p))
        for i in answered:
            scores = np.log(prior)
            for item, who, row in rows:
                if item == i:
                    for label in range(k):
                        chances = np.full(k, (1 - right[who]) / (k - 1))
                        chances[label] = right[who]
                        scores = scores + row[label] * np.log(chances)
            if gold[i] >= 0:
                total += scores[gold[i]]
                continue
            weights = np.exp(scores - scores.max())
            total += scores.max() + math.log(weights.sum())
            belief[i] = weights / weights.sum()
        trace.append(total)
    posterior = np.full((m, k), np.nan)
    for i in answered:
        posterior[i] = belief[i]
    return posterior, trace, right


@pytest.mark.parametrize("said", [example_votes()[0], example_soft()], ids=["hard", "soft"])
@pytest.mark.parametrize("gold", [np.full(40, -1), np.arange(40) % 3 - 1], ids=["none", "gold"])
def test_one_coin_against_loops(said, gold):
    method = OneCoin(n_iter=5, tol=0)
    posterior, trace, right = coin_by_loops(said, method, gold)
    found = method(said, gold=gold)
    np.testing.assert_allclose(found.probs, posterior, atol=1e-12)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-12)
    np.testing.assert_allclose(found.skill, right, atol=1e-12)


def test_one_coin_takes_very_many_classes():
    index = named(3, 2, 100_000)
    said = Annotations(index, [0, 0, 1, 2], [0, 1, 0, 1], label=[99_999, 99_999, 5, 7])
    np.testing.assert_array_equal(OneCoin()(said).probs.argmax(axis=1), [99_999, 5, 7])


def test_one_coin_recovers_planted_skills():
    rng = np.random.default_rng(0)
    truth, right = rng.integers(0, 4, 3000), np.linspace(0.3, 0.95, 12)
    item = np.repeat(np.arange(3000), 6)
    who = np.concatenate([rng.choice(12, 6, replace=False) for _ in range(3000)])
    other = (truth[item] + rng.integers(1, 4, len(item))) % 4
    label = np.where(rng.random(len(item)) < right[who], truth[item], other)
    found = OneCoin()(Annotations(named(3000, 12, 4), item, who, label=label))
    np.testing.assert_allclose(found.skill, right, atol=0.04)


# ── hard decisions ───────────────────────────────────────────────────────────────────────────


def test_fast_decides_for_one_class_and_climbs_what_it_says():
    """The trace is the log of the likeliest class's chance, computed here from the result."""
    said, truth = example_votes(items=150)
    found = FastDawidSkene(smoothing=1, n_iter=4, tol=0)(said)
    assert set(np.unique(found.probs[found.answered])) <= {0.0, 0.5, 1 / 3, 1.0}
    total = np.log(found.prior).sum() / 3
    expected = np.where(np.eye(3, dtype=bool), 0.7, 0.15)
    total += (expected * np.log(found.confusion)).sum()
    for i in range(150):
        rows = said.item == i
        scores = np.log(found.prior) + sum(
            np.log(found.confusion[who, :, label])
            for who, label in zip(said.annotator[rows], said.label[rows], strict=True)
        )
        total += scores.max() if rows.any() else 0
    assert found.trace[-1] == pytest.approx(total, rel=1e-12)
    assert (found.probs.argmax(axis=1) == truth).mean() > 0.9


def test_fast_settles_in_fewer_steps():
    said, _ = example_votes(items=400, right=0.6)
    tight = {"tol": 1e-9, "n_iter": 1000}
    assert len(FastDawidSkene(**tight)(said).trace) < len(DawidSkene(**tight)(said).trace)


def test_fast_favours_no_class_of_equals():
    """One vote each way, and nothing known of either person."""
    said = Annotations(named(1, 2, 2), [0, 0], [0, 1], label=[0, 1])
    np.testing.assert_array_equal(FastDawidSkene()(said).probs, [[0.5, 0.5]])


# ── posteriors of confusions ─────────────────────────────────────────────────────────────────


def bayes_by_sampling(found, method, said):
    """The evidence lower bound E_q[log p - log q] from 20,000 draws of pi and C from q."""
    rng = np.random.default_rng(0)
    a, k = said.index.shape[1:]
    before = method.smoothing * np.where(
        np.eye(k, dtype=bool), method.diagonal, (1 - method.diagonal) / (k - 1)
    )
    counts = np.zeros((a, k, k))
    for n in range(len(said)):
        counts[said.annotator[n]] += np.outer(found.probs[said.item[n]], said.soft()[n])
    return before, counts, rng


def test_bayes_bound_against_sampling():
    """After the E-step the bound is E_q[log p(votes, truth, pi, C)] + entropies; here the part of
    pi and C is drawn, with scipy's own densities."""
    said = example_votes(items=10, annotators=2)[0]
    method = BayesDawidSkene(
        smoothing=4.0, n_iter=200, tol=0
    )  # settled: the last M-step changes nothing
    found = method(said)
    before, counts, rng = bayes_by_sampling(found, method, said)
    draws, k = 4000, 3
    mass = found.probs[found.answered].sum(axis=0)
    pi = rng.dirichlet(mass + 1, draws)
    parts = np.log(pi) @ mass
    parts += [dirichlet.logpdf(p, np.ones(k)) - dirichlet.logpdf(p, mass + 1) for p in pi]
    for p in range(2):
        for j in range(k):
            after = before[j] + counts[p, j]
            rows = np.maximum(rng.dirichlet(after, draws), 1e-290)
            rows /= rows.sum(axis=1, keepdims=True)
            parts += np.log(rows) @ counts[p, j]
            parts += [dirichlet.logpdf(r, before[j]) - dirichlet.logpdf(r, after) for r in rows]
    belief = found.probs[found.answered]
    entropy = -(belief * np.log(np.maximum(belief, 1e-300))).sum()
    bound, error = parts.mean() + entropy, parts.std() / math.sqrt(draws)
    assert found.trace[-1] == pytest.approx(bound, abs=5 * error + 1e-6)


def test_bayes_fixed_point_by_digamma():
    """At rest, the posterior follows from its own counts: exp E[log C] under Dirichlets."""
    from scipy.special import digamma

    said = example_soft()
    method = BayesDawidSkene(smoothing=4.0, n_iter=3000, tol=0)
    found = method(said)
    before, counts, _ = bayes_by_sampling(found, method, said)
    after = before + counts
    np.testing.assert_allclose(found.confusion, after / after.sum(axis=2, keepdims=True), atol=1e-6)
    logs = digamma(after) - digamma(after.sum(axis=2, keepdims=True))
    shares = found.probs[found.answered].sum(axis=0) + 1
    for i in np.flatnonzero(found.answered)[:10]:
        scores = digamma(shares)
        for n in np.flatnonzero(said.item == i):
            scores = scores + logs[said.annotator[n]] @ said.probs[n]
        weights = np.exp(scores - scores.max())
        np.testing.assert_allclose(found.probs[i], weights / weights.sum(), atol=1e-6)


def test_bayes_intervals_are_those_of_the_beta_marginals_where_the_truth_is_known():
    said, truth = example_votes()
    method = BayesDawidSkene(smoothing=4.0, n_iter=3000, tol=0)
    found = method(said, gold=truth)
    before, counts, _ = bayes_by_sampling(found, method, said)
    after = (before + counts)[2, 1]
    low, high = beta.ppf([0.05, 0.95], after[0], after[1:].sum())
    assert found.confusion_low[2, 1, 0] == pytest.approx(low, abs=1e-9)
    assert found.confusion_high[2, 1, 0] == pytest.approx(high, abs=1e-9)
    np.testing.assert_allclose(found.rests_on, counts.sum(axis=2), atol=1e-6)
    assert (found.confusion_low <= found.confusion).all()
    assert (found.confusion <= found.confusion_high).all()


def test_bayes_intervals_are_wider_where_the_truth_is_not_known():
    """By the variance of the mean as the true classes are drawn from their posterior."""
    said = example_votes(items=60, right=0.6)[0]
    found = BayesDawidSkene()(said)
    rng, (_, a, k) = np.random.default_rng(0), said.index.shape
    chances = found.probs.cumsum(axis=1)
    alpha, means = found.strength * found.population, []
    for _ in range(2000):
        drawn = (chances < rng.random((len(chances), 1))).sum(axis=1).clip(max=k - 1)
        counts = np.zeros((a, k, k))
        np.add.at(counts, (said.annotator, drawn[said.item], said.label), 1)
        means.append((counts + alpha) / (counts.sum(axis=2, keepdims=True) + found.strength))
    known = found.confusion * (1 - found.confusion)
    variance = known / (found.rests_on + found.strength + 1)[:, :, None] + np.var(means, axis=0)
    size = known / variance - 1
    low = beta.ppf(0.05, found.confusion * size, (1 - found.confusion) * size)
    narrow = (found.rests_on + found.strength)[:, :, None]
    bare = beta.ppf(0.05, found.confusion * narrow, (1 - found.confusion) * narrow)
    diagonal = np.arange(k)
    ours = found.confusion_low[:, diagonal, diagonal]
    np.testing.assert_allclose(ours, low[:, diagonal, diagonal], atol=0.002)
    assert (bare[:, diagonal, diagonal] - ours).mean() > 0.007, "the doubt matters here"


def people_around(rng, people, strength, rows):
    return np.stack([[rng.dirichlet(strength * row) for row in rows] for _ in range(people)])


def mostly_right(k, right):
    return np.where(np.eye(k, dtype=bool), right, (1 - right) / (k - 1))


SYSTEMATIC = np.array([[0.8, 0.1, 0.1], [0.35, 0.55, 0.1], [0.05, 0.35, 0.6]])


def said_by(rng, matrices, items, each):
    people, k, _ = matrices.shape
    truth, item = rng.integers(0, k, items), np.repeat(np.arange(items), each)
    who = np.concatenate([rng.choice(people, each, replace=False) for _ in range(items)])
    chances = matrices[who, truth[item]].cumsum(axis=1)
    label = (chances < rng.random((len(item), 1))).sum(axis=1).clip(max=k - 1)
    return Annotations(named(items, people, k), item, who, label=label)


def test_bayes_intervals_cover_planted_confusions():
    """Of ten intervals about nine hold, averaged over crowds of several kinds."""
    worlds = [
        (40, 4, mostly_right(3, 0.7), 1500, 8),
        (80, 4, mostly_right(3, 0.7), 300, 4),
        (100, 10, SYSTEMATIC, 400, 5),
        (40, 2, mostly_right(4, 0.6), 800, 6),
        (60, 6, mostly_right(2, 0.8), 800, 3),
    ]
    held = []
    for seed in range(3):
        for people, strength, rows, items, each in worlds:
            rng = np.random.default_rng(seed)
            matrices = people_around(rng, people, strength, rows)
            found = BayesDawidSkene()(said_by(rng, matrices, items, each))
            inside = (found.confusion_low <= matrices) & (matrices <= found.confusion_high)
            held.append(inside.mean())
    assert 0.87 < np.mean(held) < 0.93
    assert min(held) > 0.78
