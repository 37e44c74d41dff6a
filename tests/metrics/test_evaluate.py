"""Scores, runs over seeds and in pairs, against independent arithmetic and planted truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from softlabel import Index, Predictions, SoftLabels, metrics, registry
from softlabel.errors import DataError, UnknownName
from softlabel.metrics import evaluate

LABELS = ["x", "y", "z"]


class Ran(NamedTuple):
    """As much of a run as is needed."""

    seed: int
    predictions: Predictions


def simplex(rng: np.random.Generator, m: int, k: int = 3) -> np.ndarray:
    return rng.dirichlet(np.ones(k), m)


def predicted(probs: np.ndarray, labels: list[str] = LABELS) -> Predictions:
    return Predictions(Index([f"i{j}" for j in range(len(probs))], [], labels), probs)


def believed(probs: np.ndarray, count: int = 5) -> SoftLabels:
    items = [f"i{j}" for j in range(len(probs))]
    return SoftLabels(Index(items, [], LABELS), probs, np.full(len(probs), count))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_items_and_classes_are_matched_by_name(rng):
    truth, guess = simplex(rng, 20), simplex(rng, 20)
    straight = evaluate.scores(predicted(guess), believed(truth), ["kl", "ece"], draws=50)
    order, swap = rng.permutation(20), [2, 0, 1]
    index = Index([f"i{j}" for j in order], [], [LABELS[j] for j in swap])
    shuffled = Predictions(index, guess[order][:, swap])
    turned = evaluate.scores(shuffled, believed(truth), ["kl", "ece"], draws=50)
    assert [str(turned[name]) for name in turned] == [str(straight[name]) for name in straight]
    assert straight["kl"].value == pytest.approx(metrics.kl(truth, guess).mean())


def test_only_items_on_both_sides_count(rng):
    truth, guess = simplex(rng, 9), simplex(rng, 6)
    silent = np.arange(9) == 2
    people = SoftLabels(
        Index([f"i{j}" for j in range(9)], [], LABELS),
        np.where(silent[:, None], np.nan, truth),
        np.where(silent, 0, 4),
    )
    score = evaluate.scores(predicted(guess), people, ["brier"])["brier"]
    kept = [0, 1, 3, 4, 5]
    assert score.n == 5
    np.testing.assert_allclose(
        score.by_item, ((truth - np.pad(guess, ((0, 3), (0, 0)))) ** 2).sum(1)[kept]
    )


def test_strangers_are_refused(rng):
    people = believed(simplex(rng, 3))
    other = Predictions(Index(["a", "b"], [], LABELS), simplex(rng, 2))
    with pytest.raises(DataError, match=r"none of the 3 items .*'i0', 'i1', ….* 2 predicted"):
        evaluate.scores(other, people, ["kl"])
    with pytest.raises(DataError, match="class 'w' is only predicted"):
        evaluate.scores(predicted(simplex(rng, 3), ["x", "y", "w"]), people, ["kl"])
    with pytest.raises(UnknownName, match=r"no metric called 'klo' \(did you mean 'kl'\?\)"):
        evaluate.scores(predicted(simplex(rng, 3)), people, ["klo"])


def test_intervals_of_a_mean_are_those_of_many_items(rng):
    """With 2,000 items the bootstrap is the central limit theorem."""
    truth, guess = simplex(rng, 2000), simplex(rng, 2000)
    score = evaluate.scores(predicted(guess), believed(truth), ["brier"])["brier"]
    low, high = stats.norm.interval(0.95, score.by_item.mean(), stats.sem(score.by_item))
    assert (score.low, score.high) == pytest.approx((low, high), abs=0.1 * (high - low))


def test_a_metric_registered_today_works_today(rng, monkeypatch):
    monkeypatch.setitem(registry.FAMILIES, "metric", dict(registry.members("metric")))
    registry.register("metric", metrics_of_today)
    people, guess = believed(simplex(rng, 10)), simplex(rng, 10)
    found = evaluate.scores(predicted(guess), people, ["metrics-of-today:power=2"], draws=20)
    (score,) = found.values()
    assert score.value == pytest.approx((guess[:, 0] ** 2).sum())
    assert score.low < score.value < score.high


def metrics_of_today(true: np.ndarray, predicted: np.ndarray, power: int = 1) -> float:
    """Not a mean: it is resampled whole."""
    return float((predicted[:, 0] ** power).sum())


metrics_of_today.better = "lower"


def test_over_runs_is_students_t(rng):
    truth = simplex(rng, 30)
    ran = [Ran(seed, predicted(simplex(rng, 30))) for seed in range(5)]
    score = evaluate.over_runs(ran, believed(truth), ["cross-entropy"])["cross-entropy"]
    values = [metrics.cross_entropy(truth, run.predictions.probs).mean() for run in ran]
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (score.value, score.low, score.high) == pytest.approx((np.mean(values), low, high))
    assert score.n == 5


@pytest.mark.parametrize("name", [*registry.members("metric"), "ece:bins=5"])
def test_two_seeds_give_no_impossible_interval(name):
    """One seed at either end of what there is: Student's interval would be far beyond it."""
    truth = np.eye(3)[np.arange(30) % 3] * 0.98 + 0.02 / 3
    truth[::5] = [0.4, 0.35, 0.25]  # entropies that vary
    ran = [Ran(0, predicted(truth)), Ran(1, predicted(np.roll(truth, 1, axis=1)))]
    lowest, highest = evaluate.bounds(name)
    score = evaluate.over_runs(ran, believed(truth), [name])[name]
    assert lowest <= score.low <= score.value <= score.high <= highest
    known = evaluate.measured(ran, believed(truth), name, draws=5)
    other = evaluate.measured(ran[::-1], believed(truth), name, draws=5)
    apart = evaluate.difference(known, other)
    assert lowest - highest <= apart.low <= apart.high <= highest - lowest


def test_one_run_has_no_interval_over_seeds(rng):
    score = evaluate.over_runs(
        [Ran(0, predicted(simplex(rng, 9)))], believed(simplex(rng, 9)), ["kl"]
    )
    assert np.isnan([score["kl"].low, score["kl"].high]).all()


def test_pairs_by_hand():
    """Two seeds, three items, a metric that is the first column: differences 1, 2, 3 and 3, 4, 5
    tenths.  Item means 2, 3, 4: variance of their mean 1/3; seed means 2, 4: variance 1."""
    people = believed(np.eye(3))

    def of(*firsts: float) -> Predictions:
        return predicted(np.array([[f, 1 - f, 0] for f in firsts]))

    a = [Ran(0, of(0.3, 0.4, 0.5)), Ran(1, of(0.5, 0.6, 0.7))]
    b = [Ran(1, of(0.2, 0.2, 0.2)), Ran(0, of(0.2, 0.2, 0.2))]
    score = evaluate.paired(a, b, people, "first")
    total = (1 / 3 + 1) / 100
    freedom = (4 / 3) ** 2 / ((1 / 3) ** 2 / 2 + 1**2 / 1)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(total)
    assert (score.value, score.high - score.value) == pytest.approx((0.3, half))
    np.testing.assert_allclose(score.by_item, [0.2, 0.4])
    alone = evaluate.paired(a[:1], b[1:], people, "first")  # one seed: items only
    assert alone.high - alone.value == pytest.approx(stats.t.ppf(0.975, 2) * 0.1 / np.sqrt(3))


def first(true: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return predicted[:, 0]


def first_mean(true: np.ndarray, predicted: np.ndarray) -> float:
    return float(predicted[:, 0].mean())


@pytest.fixture(autouse=True)
def planted(monkeypatch):
    """Metrics that read what a test has put into the predictions."""
    monkeypatch.setitem(registry.FAMILIES, "metric", dict(registry.members("metric")))
    for metric in (first, first_mean):
        metric.better = "lower"
        registry.register("metric", metric)


def crossed(rng: np.random.Generator, runs: int, items: int) -> tuple[list[Ran], list[Ran]]:
    """Runs whose differences are 0 in truth and vary by item, by seed, and by both."""
    noise = (
        0.05 * rng.normal(size=(1, items))
        + 0.02 * rng.normal(size=(runs, 1))
        + 0.03 * rng.normal(size=(runs, items))
    )
    column = np.clip(0.5 + noise, 0, 1)
    a = [Ran(s, predicted(np.stack([c, 1 - c, 0 * c], 1))) for s, c in enumerate(column)]
    flat = np.tile([0.5, 0.5, 0], (items, 1))
    return a, [Ran(s, predicted(flat)) for s in range(runs)]


def test_the_paired_interval_covers_the_truth():
    rng = np.random.default_rng(11)
    people = believed(np.eye(3)[rng.integers(0, 3, 40)])
    hits = []
    for _ in range(400):
        score = evaluate.paired(*crossed(rng, 5, 40), people, "first")
        hits.append(score.low <= 0 <= score.high)
    assert 0.93 <= np.mean(hits) <= 0.99  # .95 plus a little: the interaction is counted twice


def test_a_scalar_metric_gives_the_same_interval_by_resampling(rng):
    people = believed(np.eye(3)[rng.integers(0, 3, 60)])
    a, b = crossed(rng, 4, 60)
    exact, drawn = (evaluate.paired(a, b, people, name) for name in ("first", "first-mean"))
    assert drawn.value == pytest.approx(exact.value)
    assert drawn.high - drawn.low == pytest.approx(exact.high - exact.low, rel=0.1)


def test_pairs_need_partners(rng):
    people = believed(simplex(rng, 4))
    run = [Ran(seed, predicted(simplex(rng, 4))) for seed in (0, 1, 2)]
    with pytest.raises(DataError, match=r"seed 2 is among the first runs only \(1 seeds"):
        evaluate.paired(run, run[:2], people)
    with pytest.raises(DataError, match="two runs have seed 0"):
        evaluate.over_runs([run[0], run[0]], people)
    with pytest.raises(DataError, match="no runs"):
        evaluate.over_runs([], people)
    short = Ran(0, predicted(simplex(rng, 3)))
    with pytest.raises(DataError, match="different items"):
        evaluate.paired([run[0]], [short], people)
    moved = Index(["i3", "i2", "i1"], [], LABELS)
    with pytest.raises(DataError, match="different items"):  # as many, but others
        evaluate.paired([short], [Ran(0, Predictions(moved, simplex(rng, 3)))], people)
