"""Intervals cover what they should, and equal textbook values where there are some."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import DataError, intervals
from softlabel.agree import alpha
from softlabel.testing import example_votes


def test_over_seeds_equals_the_textbook():
    score = intervals.over_seeds([1.2, 1.3, 1.4, 1.25, 1.35])
    assert score.value == pytest.approx(1.3)
    assert score.high - score.value == pytest.approx(0.098162, abs=1e-6)


def test_the_bootstrap_interval_is_near_the_normal_one():
    values = np.random.default_rng(0).normal(3, 2, 400)
    score = intervals.mean(values, draws=4000)
    half = 1.96 * values.std() / 20
    assert score.value == values.mean()
    assert score.low == pytest.approx(score.value - half, abs=0.03)
    assert score.high == pytest.approx(score.value + half, abs=0.03)


def test_coverage_of_a_95_percent_interval():
    rng = np.random.default_rng(1)
    hit = 0
    for seed in range(300):
        score = intervals.mean(rng.exponential(size=60), draws=400, seed=seed)
        hit += score.low <= 1 <= score.high
    assert 0.88 <= hit / 300 <= 0.98  # skewed data, n = 60: a little under nominal


def test_values_of_one_person_count_as_one_person():
    """The same 20 numbers ten times over carry the information of 20."""
    values = np.random.default_rng(0).normal(size=20)
    alone = intervals.mean(values, draws=4000)
    copies = intervals.mean(np.tile(values, 10), units=np.tile(np.arange(20), 10), draws=4000)
    naive = intervals.mean(np.tile(values, 10), draws=4000)
    assert copies.n == 20
    assert copies.high - copies.low == pytest.approx(alone.high - alone.low, rel=0.1)
    assert naive.high - naive.low < (copies.high - copies.low) / 2


def test_paired_differences_are_tighter_than_apart():
    rng = np.random.default_rng(0)
    hard = rng.normal(size=200)
    better = hard - 0.1 + rng.normal(scale=0.05, size=200)
    score = intervals.paired(better, hard)
    assert score.high < 0
    assert score.high - score.low < 0.03


def test_one_seed_one_interval():
    values = np.random.default_rng(0).random(50)
    first, second = (intervals.mean(values, seed=5) for _ in range(2))
    assert (first.low, first.high) == (second.low, second.high)


def test_large_inputs_are_resampled_in_parts(monkeypatch):
    values = np.random.default_rng(0).random(50)
    whole = intervals.mean(values)
    monkeypatch.setattr(intervals, "CHUNK", 120)
    parts = intervals.mean(values)
    assert parts.low == pytest.approx(whole.low, abs=0.01)
    assert parts.high == pytest.approx(whole.high, abs=0.01)


def test_infinite_values_stay_infinite():
    assert intervals.mean(np.array([1.0, np.inf])).high == np.inf


def test_undefined_statistics_have_undefined_intervals():
    assert np.isnan(intervals.bootstrap(lambda rows: float("nan"), 5, draws=10).low)


@pytest.mark.parametrize("over", ["items", "annotators"])
def test_resampling_a_table_on_average_gives_the_table(over):
    votes, _ = example_votes(items=300)
    share = lambda said: float((said.label == 0).mean())  # noqa: E731
    score = intervals.resampled(votes, share, over, draws=300)
    assert score.value == share(votes)
    assert score.low < score.value < score.high
    assert score.n == (300 if over == "items" else 7)


def test_items_drawn_twice_are_two_items():
    """If copies were merged, agreement within an item would be computed between its copies."""
    votes, _ = example_votes(items=200, right=0.6)
    score = intervals.resampled(votes, alpha, draws=200)
    assert score.low < alpha(votes) < score.high


REFUSED = [
    (lambda: intervals.mean(np.zeros(0)), "one value per unit"),
    (lambda: intervals.over_seeds([1.0]), "at least 2 runs, got 1"),
    (lambda: intervals.paired(np.zeros(3), np.zeros(4)), "differ in number"),
    (lambda: intervals.bootstrap(lambda rows: 0.0, 0), "n = 0"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
