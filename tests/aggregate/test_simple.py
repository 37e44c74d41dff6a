"""Simple pools whose numbers are fitted by leaving answers out; extremising; weights of people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import Annotations, Index, SoftlabelError
from softlabel.aggregate import Extremised, LogPool, Mean, Softmax, Weighted
from softlabel.aggregate.split.simple import (
    LeaveOneOut,
    Sharpened,
    confusion_table,
    distances,
    search,
)
from softlabel.sampling import votes_from_counts
from softlabel.testing import example_soft, example_votes
from softlabel.testing.examples import reindex


def as_rows(votes):
    return Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())


def loss_by_loops(pool, said):
    """Each answer's first choice (ties in equal parts) foretold by pooling the others."""
    total, number = 0.0, 0
    soft = said.soft()
    first = [(row == max(row)) / np.sum(row == max(row)) for row in soft]
    for n in range(len(said)):
        others = [j for j in range(len(said)) if said.item[j] == said.item[n] and j != n]
        if others:
            label = pool(said.take(others)).probs[said.item[n]]
            total -= float(first[n] @ np.log(label))
            number += 1
    return total / number


@pytest.mark.parametrize("pool", [Softmax(0.7), LogPool(0.05, 1.4)], ids=str)
@pytest.mark.parametrize("kind", ["votes", "soft"])
def test_answers_are_left_out_one_at_a_time(pool, kind):
    said = example_votes(items=12)[0] if kind == "votes" else example_soft(items=12)
    out = LeaveOneOut.of(said)
    if isinstance(pool, Softmax):
        label = pool.rows(out.votes)
    else:
        label = pool._labels(out.others(pool._log), out.number)
    assert out.loss(label) == pytest.approx(loss_by_loops(pool, said), abs=1e-9)


def test_votes_and_one_hot_rows_leave_out_alike():
    votes, _ = example_votes()
    codes, rows = LeaveOneOut.of(votes), LeaveOneOut.of(as_rows(votes))
    for tau in (0.3, 1.0, 4.0):
        few, many = (out.loss(Softmax(tau).rows(out.votes)) for out in (codes, rows))
        assert few == pytest.approx(many, abs=1e-12)


def test_the_search_finds_the_lowest_point():
    found = search(
        lambda x, y: (np.log(x) - 1) ** 2 + (np.log(x) - np.log(y) - 2) ** 2,
        [1.0, 1.0],
        [(1e-9, 1e9)] * 2,
    )
    np.testing.assert_allclose(found, [np.e, 1 / np.e], rtol=0.01)


@pytest.mark.parametrize("kind", ["votes", "soft"])
def test_a_fitted_softmax_is_better_than_any_on_a_grid(kind):
    said = example_votes(items=200)[0] if kind == "votes" else example_soft(items=60)
    made = Softmax(tau=None)(said)
    out = LeaveOneOut.of(said)
    best = out.loss(made.fitted.rows(out.votes))
    for tau in np.exp(np.linspace(-2, 3, 60)):
        assert best <= out.loss(Softmax(tau).rows(out.votes)) + 1e-5
    assert f"tau = {made.fitted.tau:.4g}" in made.why


def test_a_fitted_log_pool_is_better_than_the_default():
    said = example_soft(items=60)
    fitted = LogPool(floor=None, power=None)(said).fitted
    out = LeaveOneOut.of(said)
    ours, usual = (out.loss(p._labels(out.others(p._log), out.number)) for p in (fitted, LogPool()))
    assert ours < usual
    half = LogPool(floor=None, power=1.0)(said).fitted
    assert half.power == 1.0
    assert half.floor != 0.01


@pytest.mark.parametrize("pool", [Softmax(None), LogPool(None, None), Extremised()], ids=str)
def test_fitted_numbers_do_not_depend_on_order_or_shards(pool):
    for said in (example_votes()[0], example_soft()):
        before = pool(said)
        turned = reindex(said, "labels", np.array([2, 0, 1]))
        shuffled = said.take(np.random.default_rng(0).permutation(len(said)))
        for other in (pool(turned), pool(shuffled), pool(said, shards=7)):
            for name in ("tau", "floor", "power"):
                if hasattr(before.fitted, name):
                    assert getattr(other.fitted, name) == getattr(before.fitted, name)


@pytest.mark.parametrize("pool", [Softmax(None), LogPool(None, None), Extremised()], ids=str)
def test_single_answers_leave_nothing_to_fit_on(pool):
    index = Index(["a", "b"], ["p"], ["x", "y", "z"])
    said = Annotations(index, np.array([0, 1]), np.array([0, 0]), label=np.array([0, 2]))
    np.testing.assert_array_equal(pool(said).probs.argmax(axis=1), [0, 2])


# ── extremised ───────────────────────────────────────────────────────────────────────────────


def test_without_floor_and_power_it_is_the_mean():
    said = example_soft()
    plain = Extremised(floor=0.0, power=1.0)(said).probs
    np.testing.assert_allclose(plain, Mean()(said).probs, atol=1e-12)


def test_extremised_by_hand():
    """lin = (.6, .4), floor .2 even: (.58, .42); squared and scaled."""
    label = Sharpened(0.2, 2.0, None).labels(np.array([[0.6, 0.4]]))
    np.testing.assert_allclose(
        label, [[0.58**2 / (0.58**2 + 0.42**2), 0.42**2 / (0.58**2 + 0.42**2)]]
    )


def test_a_confusion_shaped_floor_by_hand():
    """Leading class c0: two items, all for c0 and half for c1; one even item added."""
    counts = np.array([[2.0, 0], [3, 1], [0, 4]])
    table = confusion_table(counts)
    expected = np.array([[1 + 0.75 + 0.5, 0.25 + 0.5], [0.5, 1.5]])
    np.testing.assert_allclose(table, expected / expected.sum(axis=1, keepdims=True))
    label = Sharpened(0.5, 1.0, table).labels(np.array([[1.0, 0.0]]))
    np.testing.assert_allclose(label, [0.5 * np.array([1, 0]) + 0.5 * table[0]])


def test_the_fitted_power_mends_answers_that_are_too_flat():
    """People who know the split and state it flatter than it is; what each would choose shows."""
    rng = np.random.default_rng(0)
    split = rng.dirichlet([0.6, 0.3, 0.3], 400) + 1e-3
    split /= split.sum(axis=1, keepdims=True)
    item = np.repeat(np.arange(400), 5)
    chosen = np.array([rng.choice(3, p=split[i]) for i in item])
    flat = np.sqrt(split[item]) * np.where(np.eye(3)[chosen] > 0, 1.6, 1.0)
    index = Index([f"i{i}" for i in range(400)], [], ["x", "y", "z"])
    nobody = np.full(len(item), -1)
    said = Annotations(index, item, nobody, probs=flat / flat.sum(axis=1, keepdims=True))
    made = Extremised(shape="even")(said)
    assert 1.2 < made.fitted.power <= 2

    def distance(label):
        return (split * np.log(split / label)).sum(axis=1).mean()

    assert distance(made.probs) < distance(Mean()(said).probs)


def test_fitting_floor_and_power_lowers_the_loss():
    said = example_votes(items=300, right=0.8)[0]
    out = LeaveOneOut.of(said)
    from softlabel.aggregate import shares

    lin = shares(out.votes)
    fitted = Extremised()(said).fitted
    best = out.loss(fitted.labels(lin))
    for other in (
        replace(fitted, floor=0.3),
        replace(fitted, power=2.0),
        replace(fitted, floor=0.01),
    ):
        assert best <= out.loss(other.labels(lin)) + 1e-9
    given = Extremised(floor=0.25)(said).fitted
    assert given.floor == 0.25


def test_too_many_classes_for_a_table_of_confusions():
    index = Index(["one"], [], [f"c{j}" for j in range(10_001)])
    counts = np.zeros((1, 10_001), int)
    counts[0, 5] = 3
    said = votes_from_counts(index, counts)
    with pytest.raises(SoftlabelError, match="shape=even"):
        Extremised()(said)
    assert Extremised(shape="even")(said).probs[0].argmax() == 5


def test_extremised_parameters_are_checked():
    with pytest.raises(SoftlabelError, match=r"floor = 1\.5"):
        Extremised(floor=1.5)(example_soft())
    with pytest.raises(SoftlabelError, match="power = 0"):
        Extremised(power=0.0)(example_soft())


# ── weighted ─────────────────────────────────────────────────────────────────────────────────


def distances_by_loops(said):
    soft = said.soft()
    found = []
    for n in range(len(said)):
        others = [soft[j] for j in range(len(said)) if said.item[j] == said.item[n] and j != n]
        if not others:
            found.append(0.0)
            continue
        size = len(others) + 1
        found.append((size - 1) / size * ((soft[n] - np.mean(others, axis=0)) ** 2).sum())
    return np.array(found)


@pytest.mark.parametrize("kind", ["votes", "soft"])
def test_distances_by_loops(kind):
    said = example_votes(items=15)[0] if kind == "votes" else example_soft(items=15)
    np.testing.assert_allclose(distances(said), distances_by_loops(said), atol=1e-12)


def test_weights_by_the_formula():
    said = example_soft(items=15)
    apart = distances_by_loops(said)
    crowd = apart.mean()
    fitted = Weighted(shrinkage=4.0)(said).fitted
    for a in range(len(said.index.annotators)):
        own = apart[said.annotator == a]
        expected = crowd / ((4 * crowd + own.sum()) / (4 + len(own)))
        assert fitted.weight[a] == pytest.approx(expected)
    label = Weighted(shrinkage=4.0)(said).probs[3]
    rows = said.item == 3
    weight = fitted.weight[said.annotator[rows]]
    np.testing.assert_allclose(label, weight @ said.probs[rows] / weight.sum(), atol=1e-12)


def test_somebody_who_clicks_blindly_counts_less():
    votes, truth = example_votes(items=200, right=0.9)
    rng = np.random.default_rng(0)
    blind = np.where(votes.annotator == 2, rng.integers(0, 3, len(votes)), votes.label)
    said = Annotations(votes.index, votes.item, votes.annotator, label=blind)
    weight = Weighted()(said).fitted.weight
    assert weight.argmin() == 2
    assert weight[2] < 0.6 * np.delete(weight, 2).min()
    right = np.eye(3)[truth]
    answered = said.votes_per_item() > 0
    ours, plain = (
        (pool(said).probs[answered] * right[answered]).sum(axis=1).mean()
        for pool in (Weighted(), Mean())
    )
    assert ours > plain


def test_without_differences_all_weigh_the_same():
    votes, _ = example_votes(right=1.0)
    np.testing.assert_array_equal(Weighted()(votes).fitted.weight, 1)


def test_anonymous_votes_cannot_be_weighed():
    said = votes_from_counts(Index(["one"], [], ["x", "y"]), np.array([[2, 1]]))
    with pytest.raises(SoftlabelError, match="weighs people"):
        Weighted()(said)
