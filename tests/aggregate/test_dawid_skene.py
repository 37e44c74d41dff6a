"""Dawid-Skene: worked by hand, against loops written from the formula, against crowd-kit, on
simulated truth, and at the edges."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, SoftlabelError
from softlabel.aggregate import DawidSkene, FastDawidSkene, Share
from softlabel.testing import example_soft, example_votes


def named(items, people, classes):
    return Index(
        [f"i{i}" for i in range(items)],
        [f"p{i}" for i in range(people)],
        [f"c{i}" for i in range(classes)],
    )


def table(rows, classes=None):
    """Votes from rows of items: one column per person, -1 for no vote."""
    rows = np.array(rows)
    item, who = np.nonzero(rows >= 0)
    index = named(*rows.shape, classes or int(rows.max()) + 1)
    return Annotations(index, item, who, label=rows[item, who])


HAND = table([[0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 1]])


# ── by hand ──────────────────────────────────────────────────────────────────────────────────


def test_one_step_by_hand():
    found = DawidSkene(smoothing=0, n_iter=1, tol=0)(HAND)
    np.testing.assert_allclose(
        found.probs[:, 0], [0.925926, 0.980392, 0.074074, 0.019608], atol=5e-7
    )
    assert found.trace[0] == pytest.approx(-7.045789, abs=5e-7)
    np.testing.assert_allclose(found.confusion[0], [[5 / 6, 1 / 6], [1 / 6, 5 / 6]], atol=1e-12)
    np.testing.assert_allclose(found.confusion[2], [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], atol=1e-12)
    np.testing.assert_allclose(found.prior, 0.5)


def test_two_steps_by_hand():
    found = DawidSkene(smoothing=0, n_iter=2, tol=0)(HAND)
    assert found.probs[0, 0] == pytest.approx(0.997314, abs=5e-7)
    assert found.trace[1] == pytest.approx(-5.925202, abs=5e-7)


def test_the_limit_by_hand():
    found = DawidSkene(smoothing=0, n_iter=500, tol=0)(HAND)
    assert found.trace[-1] == pytest.approx(-5.545177, abs=5e-7)
    np.testing.assert_allclose(found.confusion[2], 0.5, atol=1e-6)
    np.testing.assert_allclose(found.skill, [1, 1, 0.5], atol=1e-6)


def test_one_smoothed_step_by_hand():
    """Person 1 has 5/3 + 1/3 votes where the first class is true (shares 2/3, 1, 1/3, 0), and two
    imaginary ones, 1.4 of them right: (5/3 + 1.4) / 4 = 0.766667."""
    found = DawidSkene(smoothing=2, diagonal=0.7, n_iter=1, tol=0)(HAND)
    assert found.confusion[0, 0, 0] == pytest.approx((5 / 3 + 1.4) / 4, abs=1e-12)
    assert found.confusion[2, 1, 0] == pytest.approx((2 / 3 + 0.6) / 4, abs=1e-12)


# ── against loops ────────────────────────────────────────────────────────────────────────────


def by_loops(said, method, gold=None):
    """(posterior, trace, confusion[a, true, said]) written from the formulas, vote by vote."""
    m, a, k = said.index.shape
    votes = [(said.item[n], said.annotator[n], said.soft()[n]) for n in range(len(said))]
    gold = [-1] * m if gold is None else gold
    belief = {i: np.zeros(k) for i, _, _ in votes}
    for i, _, label in votes:
        belief[i] = belief[i] + label
    belief = {i: np.eye(k)[gold[i]] if gold[i] >= 0 else b / b.sum() for i, b in belief.items()}
    imaginary = np.full((k, k), method.smoothing * (1 - method.diagonal) / (k - 1))
    np.fill_diagonal(imaginary, method.smoothing * method.diagonal)
    trace = []
    for _ in range(method.n_iter):
        prior, chance = best_by_loops(votes, belief, imaginary, method.smoothing, a)
        total = sum((imaginary * np.log(person)).sum() for person in chance if method.smoothing)
        total += (np.log(prior) * method.smoothing / k).sum() if method.smoothing else 0
        for i in belief:
            scores = scores_by_loops([vote for vote in votes if vote[0] == i], prior, chance)
            top = scores.max()
            total += scores[gold[i]] if gold[i] >= 0 else top + np.log(np.exp(scores - top).sum())
            if gold[i] < 0:
                belief[i] = np.exp(scores - top) / np.exp(scores - top).sum()
        trace.append(total)
    return np.stack([belief.get(i, np.full(k, np.nan)) for i in range(m)]), trace, chance


def best_by_loops(votes, belief, imaginary, smoothing, people):
    """Shares of the classes, and of what everybody says of each."""
    k = len(imaginary)
    counts = [imaginary.copy() for _ in range(people)]
    for i, who, label in votes:
        for j in range(k):
            counts[who][j] += belief[i][j] * label
    prior = (sum(belief.values()) + smoothing / k) / (len(belief) + smoothing)
    totals = [person.sum(axis=1, keepdims=True) for person in counts]
    pairs = zip(counts, totals, strict=True)
    return prior, np.stack([n / np.where(total > 0, total, 1) for n, total in pairs])


def scores_by_loops(votes, prior, chance):
    """log(pi_j prod_a C_a[j, said]) of one item's votes."""
    scores = []
    for j in range(len(prior)):
        score = math.log(prior[j]) if prior[j] > 0 else -math.inf
        for _, who, label in votes:
            for said in np.flatnonzero(label):
                c = chance[who, j, said]
                score += label[said] * math.log(c) if c > 0 else -math.inf
        scores.append(score)
    return np.array(scores)


GOLD = np.array([-1, 2, 0, -1, 1] + [-1] * 35)


@pytest.mark.parametrize("said", [example_votes()[0], example_soft()], ids=["hard", "soft"])
@pytest.mark.parametrize("smoothing", [0, 2.0])
@pytest.mark.parametrize("gold", [None, GOLD], ids=["no gold", "gold"])
def test_against_loops(said, smoothing, gold):
    method = DawidSkene(smoothing=smoothing, n_iter=6, tol=0)
    found = method(said, gold=gold)
    posterior, trace, confusion = by_loops(said, method, gold)
    np.testing.assert_allclose(found.probs, posterior, atol=1e-12)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-12)
    np.testing.assert_allclose(found.confusion, confusion, atol=1e-12)
    right = sum(found.prior[j] * found.confusion[:, j, j] for j in range(3))
    np.testing.assert_allclose(found.skill, right, atol=1e-12)


def test_two_votes_of_one_person_on_one_item_are_two_votes():
    said = Annotations(named(3, 2, 2), [0, 0, 1, 2, 2], [0, 0, 0, 1, 0], label=[0, 1, 1, 0, 0])
    method = DawidSkene(smoothing=4, n_iter=4, tol=0)
    np.testing.assert_allclose(method(said).probs, by_loops(said, method)[0], atol=1e-12)


def test_thousands_of_votes_on_one_item_do_not_underflow():
    """Chances multiply to 1e-900 and less; the loops add logarithms."""
    rng = np.random.default_rng(0)
    rows = np.stack([rng.random(1500) < 0.45, rng.random(1500) < 0.55, rng.random(1500) < 0.5])
    said = table(rows.astype(int))
    method = DawidSkene(smoothing=1, n_iter=3, tol=0)
    posterior, trace, _ = by_loops(said, method)
    found = method(said)
    np.testing.assert_allclose(found.probs, posterior, atol=1e-9)
    np.testing.assert_allclose(found.trace, trace, rtol=1e-12)
    assert (found.trace < -700).all()


def test_an_impossible_class_stays_impossible_on_long_items():
    """A zero counts more against a class than any number of unlikely votes."""
    rows = np.zeros((3, 1200), int)
    rows[0, :] = np.arange(1200) % 3  # 400 votes each
    rows[1, :], rows[2, :] = 1, 2
    gold = np.array([-1, 1, 2])
    sure = table(rows, 3)
    found = DawidSkene(smoothing=0, n_iter=1, tol=0)(sure, gold=gold)
    assert found.probs[0].sum() == pytest.approx(1)
    assert np.isfinite(found.trace).all()


# ── against crowd-kit ────────────────────────────────────────────────────────────────────────


def planted(items=300, per_item=8, people=25, k=5, seed=0, least=0.5):
    """Votes by people with their own confusion matrices, the truth, and the matrices."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, items)
    matrices = np.empty((people, k, k))
    for a in range(people):
        for j in range(k):
            right = rng.uniform(least, 0.95)
            matrices[a, j] = np.insert((1 - right) * rng.dirichlet(np.ones(k - 1)), j, right)
    item = np.repeat(np.arange(items), per_item)
    who = np.concatenate([rng.choice(people, per_item, replace=False) for _ in range(items)])
    chances = matrices[who, truth[item]]
    label = (chances.cumsum(axis=1) < rng.random((len(item), 1))).sum(axis=1).clip(max=k - 1)
    return Annotations(named(items, people, k), item, who, label=label), truth, matrices


def test_equals_crowd_kit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        crowdkit = pytest.importorskip("crowdkit.aggregation")
        pandas = pytest.importorskip("pandas")
        said, _, _ = planted()
        frame = pandas.DataFrame({"task": said.item, "worker": said.annotator, "label": said.label})
        theirs = crowdkit.DawidSkene(n_iter=20, tol=-np.inf).fit_predict_proba(frame)
    ours = DawidSkene(smoothing=0, n_iter=20, tol=0)(said)
    wanted = theirs.sort_index()[sorted(theirs.columns)].to_numpy()
    np.testing.assert_allclose(ours.probs, wanted, atol=1e-6)


# ── simulated truth ──────────────────────────────────────────────────────────────────────────


def test_confusion_matrices_are_recovered():
    said, truth, matrices = planted(items=4000, per_item=8, people=20, k=4)
    found = DawidSkene()(said)
    assert found.converged
    assert (found.probs.argmax(axis=1) == truth).mean() > 0.97
    off = abs(found.confusion - matrices)
    assert off.mean() < 0.015  # 400 votes a row: the standard error of a chance of .5 is .025
    right = np.diagonal(matrices, axis1=1, axis2=2).mean(axis=1)
    np.testing.assert_allclose(found.skill, right, atol=0.03)


def test_smoothing_helps_people_with_few_votes():
    """25 votes for ten rows of ten: unsmoothed, most rows are one vote's."""
    said, truth, _ = planted(items=400, per_item=6, people=96, k=10, seed=1, least=0.6)

    def accuracy(pooler):
        return (pooler(said).probs.argmax(axis=1) == truth).mean()

    vote, smoothed, bare = map(accuracy, (Share(), DawidSkene(), DawidSkene(smoothing=0)))
    assert smoothed > bare
    assert smoothed >= vote - 0.01


def test_known_items_teach_who_says_the_opposite():
    """Three of five swap the classes: the vote is wrong, and gold on a fifth of the items mends
    the rest."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 200)
    rows = np.stack([truth, truth, 1 - truth, 1 - truth, 1 - truth], axis=1)
    said = table(np.where(rng.random(rows.shape) < 0.1, 1 - rows, rows))
    gold = np.where(np.arange(200) < 40, truth, -1)
    alone, taught = DawidSkene()(said), DawidSkene()(said, gold=gold)
    assert (alone.probs.argmax(axis=1) == truth).mean() < 0.2
    assert (taught.probs.argmax(axis=1) == truth).mean() > 0.95
    np.testing.assert_array_equal(taught.probs[:40], np.eye(2)[truth[:40]])
    names = {f"i{i}": f"c{truth[i]}" for i in range(40)}
    np.testing.assert_array_equal(DawidSkene()(said, gold=names).probs, taught.probs)


# ── starting warm ────────────────────────────────────────────────────────────────────────────


def test_a_finished_result_has_nothing_to_gain():
    said, _, _ = planted()
    method = DawidSkene(tol=1e-9, n_iter=500)
    done = method(said)
    again = method(said, start=done)
    assert again.trace[0] == pytest.approx(done.trace[-1], abs=1e-9)
    assert len(again.trace) == 2
    np.testing.assert_allclose(again.probs, done.probs, atol=1e-3)


def test_people_and_classes_are_found_by_name():
    said, _, _ = planted()
    done = DawidSkene()(said)
    people, classes = np.arange(25)[::-1], np.array([3, 1, 4, 0, 2])
    index = Index(said.index.items, said.index.annotators[people], said.index.labels[classes])
    place = np.argsort(classes)
    turned = Annotations(index, said.item, 24 - said.annotator, label=place[said.label])
    again = DawidSkene(n_iter=1)(turned, start=done)
    assert again.trace[0] == pytest.approx(done.trace[-1], rel=1e-12)
    np.testing.assert_allclose(again.probs, done.probs[:, classes], atol=1e-9)


def test_new_votes_do_not_begin_from_nothing():
    said, truth, _ = planted(items=600, people=40)
    before = DawidSkene()(said.take(said.item < 500))
    warm, cold = DawidSkene()(said, start=before), DawidSkene()(said)
    assert warm.trace[0] > cold.trace[0] + 100
    assert (warm.probs.argmax(axis=1) == truth).mean() > 0.97


def test_somebody_new_starts_like_everybody():
    said, _, _ = planted()
    known = said.take(said.annotator < 20)
    index = Index(said.index.items, said.index.annotators[:20], said.index.labels)
    before = DawidSkene()(Annotations(index, known.item, known.annotator, label=known.label))
    found = DawidSkene()(said, start=before)
    assert not np.isnan(found.skill).any()
    np.testing.assert_allclose(found.probs, DawidSkene()(said).probs, atol=0.05)


def test_other_classes_and_other_methods_are_no_start():
    said, _ = example_votes()
    done = DawidSkene()(said)
    with pytest.raises(DataError, match="FastDawidSkene cannot start from what DawidSkene made"):
        FastDawidSkene()(said, start=done)
    index = Index(said.index.items, said.index.annotators, ["class-0", "class-1", "else"])
    other = Annotations(index, said.item, said.annotator, label=said.label)
    with pytest.raises(DataError, match="other classes: 'class-2'"):
        DawidSkene()(other, start=done)


# ── edges ────────────────────────────────────────────────────────────────────────────────────


def test_nobody_answered_and_nobody_asked():
    said = Annotations(named(3, 3, 2), [0, 0, 2], [0, 1, 0], label=[0, 0, 1])
    found = DawidSkene(smoothing=2, diagonal=0.7)(said)
    assert np.isnan(found.probs[1]).all()
    assert found.count.tolist() == [2, 0, 1]
    assert np.isnan(found.skill[2])
    np.testing.assert_allclose(found.confusion[2], [[0.7, 0.3], [0.3, 0.7]])
    bare = DawidSkene(smoothing=0)(said)
    assert np.isnan(bare.confusion[2]).all()
    assert np.isnan(bare.skill).tolist() == [False, False, True]


@pytest.mark.parametrize("smoothing", [0, 2.0])
def test_one_of_everything(smoothing):
    one_class = Annotations(named(2, 2, 1), [0, 0, 1], [0, 1, 0], label=[0, 0, 0])
    found = DawidSkene(smoothing=smoothing)(one_class)
    np.testing.assert_array_equal(found.probs, 1)
    np.testing.assert_allclose(found.skill, 1)
    assert found.trace[-1] == pytest.approx(0)
    one_vote = Annotations(named(1, 1, 3), [0], [0], label=[2])
    assert DawidSkene(smoothing=smoothing)(one_vote).probs[0].argmax() == 2
    one_person = Annotations(named(4, 1, 2), [0, 1, 2, 3], [0] * 4, label=[0, 1, 1, 0])
    found = DawidSkene(smoothing=smoothing)(one_person)
    np.testing.assert_array_equal(found.probs.argmax(axis=1), [0, 1, 1, 0])


def test_a_class_that_was_never_voted_for_stays_unlikely():
    said = table([[0, 0, 1], [0, 0, 0], [1, 1, 0], [1, 1, 1]], classes=3)
    assert (DawidSkene()(said).probs[:, 2] < 0.1).all()
    np.testing.assert_array_equal(DawidSkene(smoothing=0)(said).probs[:, 2], 0)


def test_no_votes_at_all():
    nobody = Annotations(named(2, 1, 2), np.zeros(0, int), np.zeros(0, int), label=np.zeros(0, int))
    found = DawidSkene()(nobody)
    assert np.isnan(found.probs).all()


def test_tables_that_do_not_fit_are_refused_with_their_size():
    many = Index(["one"], [f"p{i}" for i in range(10)], [f"c{i}" for i in range(100_000)])
    said = Annotations(many, [0], [0], label=[99_999])
    with pytest.raises(DataError, match=r"10 annotators with 100,000 x .*800\.0 GB.*one-coin"):
        DawidSkene()(said)


def test_large_tables_have_fewer_threads(monkeypatch):
    monkeypatch.setattr("softlabel.aggregate.truth.dawid_skene.cores", lambda: 64)
    monkeypatch.setattr("softlabel.aggregate.truth.dawid_skene.memory", lambda: 16 * 10**9)
    index = Index(["one"], [f"p{i}" for i in range(5000)], [f"c{i}" for i in range(100)])
    said = Annotations(index, [0], [0], label=[0])  # 400 MB a table, 4 GB for all
    assert DawidSkene().parts(said, None) == 10
    assert DawidSkene().parts(said, 50) == 50
    assert DawidSkene().parts(HAND, None) is None


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"smoothing": -1}, "smoothing = -1 is not in"),
        ({"diagonal": 0}, "diagonal = 0 is not in"),
        ({"n_iter": 0}, "n_iter = 0 is not in"),
        ({"tol": float("nan")}, "tol = nan is not in"),
        ({"dtype": "float16"}, "float16"),
    ],
)
def test_wrong_parameters_are_refused(wrong, complaint):
    with pytest.raises(SoftlabelError, match=complaint):
        DawidSkene(**wrong)(HAND)


def test_single_precision_is_near():
    said, _, _ = planted()
    half, whole = DawidSkene(dtype="float32", n_iter=10)(said), DawidSkene(n_iter=10)(said)
    assert half.confusion.dtype == np.float64
    np.testing.assert_allclose(half.probs, whole.probs, atol=1e-4)
    np.testing.assert_allclose(half.trace, whole.trace, rtol=1e-5)


def test_the_result_says_what_it_is():
    found = DawidSkene()(HAND)
    assert found.estimand == "truth"
    assert found.made_by.startswith("DawidSkene(smoothing=")
    assert found.objective == "evidence lower bound"
    assert DawidSkene(smoothing=4)(HAND).objective == "penalised log-likelihood"
    assert DawidSkene(smoothing=0)(HAND).objective == "log-likelihood"
    np.testing.assert_allclose(found.confusion.sum(axis=2), 1)
    assert found.prior.sum() == pytest.approx(1)
