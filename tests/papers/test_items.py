"""Scores of single items: their file, correlations as means, and intervals over runs and items."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from softlabel.metrics import entropy, entropy_pearson, intervals
from softlabel.papers.claims.items import (
    RunScore,
    correlate_items,
    correlate_ranks,
    over_runs,
    read_items,
    round_values,
    write_items,
)
from softlabel.papers.claims.results import Result, Results, read_results, write_results


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def runs_of(rng, cell, shift, seeds=4, items=50, **more):
    """Runs whose score is the mean of their items, which differ by item and a little by seed."""
    made = []
    base = np.random.default_rng(0).exponential(size=items)
    for seed in range(seeds):
        values = (shift + base + 0.05 * rng.normal(size=items)).astype(np.float32)
        scores = {"ce": float(values.mean(dtype=np.float64))}
        made.append(Result(cell, seed, scores, f"{cell} {seed}", items={"ce": values}, **more))
    return made


# ── files ────────────────────────────────────────────────────────────────────────────────────


def test_rounding_errs_by_less_than_a_thousandth(rng):
    values = np.concatenate([rng.exponential(size=5000), 10.0 ** rng.uniform(-9, 9, 5000)])
    values = np.concatenate([values, -values])
    kept = round_values(values)
    assert kept.dtype == np.float32
    assert (np.abs(kept / values - 1) < 1e-3).all()
    np.testing.assert_array_equal(round_values(kept), kept)
    assert abs(kept[:5000].mean(dtype=np.float64) / values[:5000].mean() - 1) < 1e-5  # forgotten
    special = np.array([0.0, 1.0, -1.0, np.nan, np.inf])
    np.testing.assert_array_equal(round_values(special), special.astype(np.float32))


def test_items_come_back_from_their_file(rng, tmp_path):
    path = tmp_path / "mine-cpu-items.parquet"
    every = {
        "run b": {"ce": rng.exponential(size=30), "kl": rng.exponential(size=30)},
        "run a": {"ce": rng.exponential(size=20)},
        "none": {},
    }
    write_items(path, every)
    found = read_items(path)
    assert found.keys() == {"run a", "run b"}
    for run, scores in found.items():
        assert scores.keys() == every[run].keys()
        for name, values in scores.items():
            assert values.dtype == np.float32
            np.testing.assert_array_equal(values, round_values(every[run][name]))
    assert read_items(tmp_path / "not there.parquet") == {}
    # nothing but runs, scores and numbers: nobody is in there
    frame = pl.read_parquet(path)
    assert frame.schema == {"run": pl.String, "score": pl.String, "values": pl.List(pl.Float32)}
    before = path.read_bytes()
    write_items(path, found)
    assert path.read_bytes() == before


def test_results_are_stored_with_their_items(rng, tmp_path):
    given = Results(
        [*runs_of(rng, "soft", 0), Result("hard", 0, {"ce": 1.0}, "hard 0")], "m", "cpu"
    )
    again = read_results(write_results(given, tmp_path))
    for kept, one in zip(again.all, given.all, strict=True):
        assert kept.items.keys() == one.items.keys()
        for name, values in one.items.items():
            np.testing.assert_array_equal(kept.items[name], round_values(values))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "m-cpu-items.parquet",
        "m-cpu.jsonl",
    ]


def rare_ties(rng):
    return rng.dirichlet([0.7] * 4, 60)


def many_ties(rng):
    return rng.multinomial(3, [0.4, 0.3, 0.2, 0.1], 60) / 3


# ── correlations ─────────────────────────────────────────────────────────────────────────────


def test_pseudo_values_are_those_of_a_jackknife(rng):
    """Each item left out once, by numpy."""
    people = rng.dirichlet([0.7] * 4, 300)
    predicted = 0.6 * people + 0.4 * rng.dirichlet([0.7] * 4, 300)
    h = np.stack([entropy(people), entropy(predicted)])
    n, whole = len(people), np.corrcoef(h)[0, 1]
    without = [np.corrcoef(np.delete(h, item, axis=1))[0, 1] for item in range(n)]
    jackknife = n * whole - (n - 1) * np.array(without)
    ours = correlate_items(people, predicted)
    assert ours.mean() == pytest.approx(whole, abs=1e-12)
    assert np.corrcoef(ours, jackknife)[0, 1] > 0.999
    assert np.median(np.abs(ours - jackknife)) < 0.01 * jackknife.std()
    # so that the standard error of their mean is that of the correlation
    error = ours.std(ddof=1) / np.sqrt(n)
    assert error == pytest.approx(np.sqrt((n - 1) * np.var(without)), rel=0.02)


@pytest.mark.parametrize("people", [rare_ties, many_ties])
def test_pseudo_values_of_ranks_are_those_of_a_jackknife(rng, people):
    """Each item left out once, by scipy, with ties among people's entropies and without."""
    true = people(rng)
    predicted = 0.6 * true + 0.4 * rng.dirichlet([0.7] * 4, len(true))
    h = [entropy(true), entropy(predicted)]
    n, whole = len(true), stats.spearmanr(*h).statistic
    without = [stats.spearmanr(*(np.delete(side, one) for side in h)).statistic for one in range(n)]
    jackknife = n * whole - (n - 1) * np.array(without)
    np.testing.assert_allclose(correlate_ranks(true, predicted), jackknife, rtol=1e-6)


def test_a_correlation_with_a_constant_is_undefined(rng):
    people = rng.dirichlet([1.0] * 3, 20)
    for constant in ([1 / 3, 1 / 3, 1 / 3], [0.7, 0.2, 0.1]):
        predicted = np.tile(constant, (20, 1))
        assert np.isnan(correlate_items(people, predicted)).all()
        assert np.isnan(correlate_ranks(people, predicted)).all()
        assert math.isnan(entropy_pearson(people, predicted))  # the score itself
    assert np.isnan(correlate_items(np.eye(3)[np.arange(20) % 3], people)).all()


# ── intervals ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("freedom", [1, 4, 9.5, 200, math.inf])
def test_p_is_below_5_percent_where_the_interval_excludes_it(freedom):
    score = RunScore(2.0, 0.5, 3.0, 5, freedom=freedom)
    for at, side in ((0.5, 1), (3.0, -1)):
        assert score.p_value(at) == pytest.approx(0.05)
        assert score.p_value(at + 1e-6 * side) > 0.05 > score.p_value(at - 1e-6 * side)
    assert score.p_value(2.0) == pytest.approx(1)
    assert math.isnan(RunScore(2.0, math.nan, math.nan, 1, freedom=freedom).p_value())
    assert math.isnan(RunScore(2.0, 1.0, 3.0, 5).p_value())  # of unknown freedom
    sure = RunScore(2.0, 2.0, 2.0, 5, freedom=freedom)
    assert (sure.p_value(2.0), sure.p_value(0.0)) == (1.0, 0.0)


def test_over_runs_alone_it_is_students_test(rng):
    values = rng.normal(0.3, 0.5, 6)
    score = over_runs(values)
    theirs = stats.ttest_1samp(values, 0)
    assert (score.n, score.items, score.freedom) == (6, 0, 5)
    assert (score.low, score.high) == pytest.approx(tuple(theirs.confidence_interval()))
    assert score.p_value() == pytest.approx(theirs.pvalue)
    alone = over_runs(values[:1])
    assert (alone.value, alone.n, math.isnan(alone.low)) == (values[0], 1, True)
    assert over_runs([]) is None
    assert over_runs([0.99, 0.9], "10h/accuracy").high == 1
    assert over_runs([0.99, 0.9]).high > 1  # a difference may be anything


def test_a_difference_is_over_runs_and_items(rng):
    """The items of one run are those of the other: only their differences count."""
    soft, hard = runs_of(rng, "soft", 0.0), runs_of(rng, "hard", 0.3)
    found = Results([*soft, *hard]).difference("soft", "hard", "ce")
    table = np.array(
        [a.items["ce"] - b.items["ce"] for a, b in zip(soft, hard, strict=True)], np.float64
    )
    both = intervals.over_seeds_and_items(table)
    assert (found.n, found.items) == (4, 50)
    assert found.value == pytest.approx(table.mean(), abs=1e-6)
    assert (found.low, found.high) == pytest.approx((both.low, both.high), abs=1e-6)
    assert 3 < found.freedom < 52  # between those of runs and those of both
    # Satterthwaite's, of the two variances, by hand
    alone = intervals.share_of_items(table)
    errors = table.mean(axis=1).var(ddof=1) / 4, alone * table.mean(axis=0).var(ddof=1) / 50
    by_hand = sum(errors) ** 2 / (errors[0] ** 2 / 3 + errors[1] ** 2 / 49)
    assert found.freedom == pytest.approx(by_hand)
    # other means keep the interval of these test items: a published number is of them, too
    assert Results(soft).mean("soft", "ce").items == 0


@pytest.mark.parametrize("lost", ["all but one", "another score", "another number"])
def test_without_the_items_of_two_runs_it_is_over_runs(rng, lost):
    soft, hard = runs_of(rng, "soft", 0.0), runs_of(rng, "hard", 0.3)
    for seed in (1, 2, 3):
        values = hard[seed].items["ce"]
        other = {"another score": {"kl": values}, "another number": {"ce": values[1:]}}
        hard[seed] = replace(hard[seed], items=other.get(lost, {}))
    found = Results([*soft, *hard]).difference("soft", "hard", "ce")
    apart = [a.scores["ce"] - b.scores["ce"] for a, b in zip(soft, hard, strict=True)]
    student = intervals.over_seeds(apart)
    assert (found.n, found.items, found.freedom) == (4, 0, 3)
    assert (found.value, found.low, found.high) == (student.value, student.low, student.high)


def test_runs_without_items_count_as_runs(rng):
    """The items' part is that of the runs whose items are known, the runs' part that of all."""
    soft, hard = runs_of(rng, "soft", 0.0), runs_of(rng, "hard", 0.3)
    known = [a.items["ce"] - b.items["ce"] for a, b in zip(soft[1:3], hard[1:3], strict=True)]
    apart = [a.scores["ce"] - b.scores["ce"] for a, b in zip(soft, hard, strict=True)]
    soft[0], hard[3] = replace(soft[0], items={}), replace(hard[3], items={})
    found = Results([*soft, *hard]).difference("soft", "hard", "ce")
    both = intervals.over_seeds_and_items(np.array(known, np.float64), means=apart)
    assert (found.n, found.items) == (4, 50)
    assert found.value == pytest.approx(np.mean(apart))
    assert (found.low, found.high) == (both.low, both.high)
