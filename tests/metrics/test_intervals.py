"""Intervals cover what they should, and equal textbook values where there are some."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from softlabel import DataError
from softlabel.annotators import alpha
from softlabel.metrics import intervals
from softlabel.testing import example_votes


def test_over_seeds_equals_the_textbook():
    score = intervals.over_seeds([1.2, 1.3, 1.4, 1.25, 1.35])
    assert score.value == pytest.approx(1.3)
    assert score.high - score.value == pytest.approx(0.098162, abs=1e-6)


def test_no_interval_over_seeds_reaches_beyond_what_is_possible():
    two = [0.9, 0.98]
    low, high = stats.t.interval(0.95, 1, np.mean(two), stats.sem(two))
    assert high > 1.4  # what Student says of an accuracy
    score = intervals.over_seeds(two, bounds=(0, 1))
    assert (score.low, score.high, score.n) == (pytest.approx(low), 1, 2)
    assert intervals.over_seeds(two).high == pytest.approx(high)
    outside = intervals.over_seeds([-0.01, -0.02], bounds=(0, np.inf))  # a floor can do that
    assert outside.low == outside.value == -0.015


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_cutting_an_interval_at_the_range_loses_no_coverage(runs):
    """Runs that are right .97 of the time; whether the mean is in the interval is the same."""
    rng = np.random.default_rng(runs)
    hits = []
    for _ in range(2000):
        values = rng.beta(97, 3, runs)
        whole, part = intervals.over_seeds(values), intervals.over_seeds(values, bounds=(0, 1))
        hits.append((whole.low <= 0.97 <= whole.high, part.low <= 0.97 <= part.high))
    assert [a == b for a, b in hits] == [True] * len(hits)
    assert 0.9 < np.mean(hits) < 0.99


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


PAIRS = {
    "continuous": (np.random.default_rng(0).normal(size=60), np.random.default_rng(1).random(60)),
    "tied": tuple(np.random.default_rng(2).integers(0, 5, (2, 60)).astype(float)),
    "far from zero": tuple(1e6 + np.random.default_rng(3).random((2, 60))),
}


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("ranks", [False, True])
def test_weighted_correlations_equal_scipy_on_copied_items(name, ranks):
    """The value, and the limits of a plain bootstrap that copies items and asks scipy."""
    first, second = PAIRS[name]
    score = intervals.correlation(first, second, ranks=ranks, draws=200)
    of = stats.spearmanr if ranks else stats.pearsonr
    assert score.value == pytest.approx(of(first, second)[0], abs=1e-9)
    rng = np.random.default_rng(0)
    drawn = [of(first[rows], second[rows])[0] for rows in rng.integers(0, 60, (200, 60))]
    low, high = np.quantile(drawn, [0.025, 0.975], method="nearest")
    assert (score.low, score.high) == pytest.approx((low, high), abs=1e-9)


def test_the_interval_of_a_correlation_covers_it():
    rng, hit = np.random.default_rng(4), 0
    for seed in range(200):
        x = rng.normal(size=80)
        y = 0.6 * x + 0.8 * rng.normal(size=80)
        score = intervals.correlation(x, y, draws=300, seed=seed)
        hit += score.low <= 0.6 <= score.high
    assert 0.88 <= hit / 200 <= 0.99


def test_correlation_with_a_constant_is_undefined():
    for ranks in (False, True):
        score = intervals.correlation([0.1] * 9, np.arange(9.0), ranks=ranks, draws=20)
        assert np.isnan([score.value, score.low, score.high]).all()
    # two items: a draw of one of them twice has no correlation and is left out
    assert intervals.correlation([0, 1], [0, 1], draws=50).low == pytest.approx(1)


def test_correlations_of_many_items_are_resampled_in_parts(monkeypatch):
    first, second = PAIRS["continuous"]
    whole = intervals.correlation(first, second, draws=100)
    monkeypatch.setattr(intervals, "BLOCK", 130)
    parts = intervals.correlation(first, second, draws=100)
    assert (whole.low, whole.high) == pytest.approx((parts.low, parts.high))


def test_five_seeds_prove_little():
    """The smallest one-sided value is 1/32; over 12 comparisons nothing survives."""
    a, b = np.arange(5.0), 1.1 * np.arange(5.0) + 0.1
    assert intervals.paired_wilcoxon(a, b, "less") == 1 / 32
    assert intervals.paired_wilcoxon(a, b) == 1 / 16
    assert intervals.paired_wilcoxon(a, b, "greater") == 1
    assert (intervals.holm([1 / 32] * 12) == 12 / 32).all()
    assert intervals.paired_wilcoxon(a, a) == 1


def test_wilcoxon_by_counting_signs():
    """All 2**6 ways to turn differences around, counted."""
    rng = np.random.default_rng(5)
    difference = rng.normal(0.4, 1, 6)
    rank = stats.rankdata(abs(difference))
    signs = np.array(np.meshgrid(*[[0, 1]] * 6)).reshape(6, -1).T
    expected = (signs @ rank >= rank[difference > 0].sum()).mean()
    assert intervals.paired_wilcoxon(difference, np.zeros(6), "greater") == pytest.approx(expected)


def test_holm_by_its_definition():
    p = np.random.default_rng(6).random(7) ** 3
    adjusted = intervals.holm(p)
    for level in (0.01, 0.05, 0.2, 0.5):
        rejected = set()
        for step, where in enumerate(np.argsort(p)):
            if p[where] > level / (len(p) - step):
                break
            rejected.add(int(where))
        assert set(np.flatnonzero(adjusted <= level).tolist()) == rejected
    assert len(intervals.holm([])) == 0


# ── runs and items ───────────────────────────────────────────────────────────────────────────


def draw_scores(rng, seeds, items, of_seed, of_item, of_both):
    """(seeds, items): what a seed does to all items, an item to all seeds, and each pair alone."""
    return (
        of_seed * rng.normal(size=(seeds, 1))
        + of_item * rng.normal(size=(1, items))
        + of_both * rng.normal(size=(seeds, items))
    )


@pytest.mark.parametrize(("seeds", "known"), [(5, 5), (10, 10), (5, 2), (3, 2)])
@pytest.mark.parametrize(
    "effects",
    [(1.0, 0.5, 0.5), (0.05, 1.0, 0.5), (0.1, 1.0, 0.5), (0.1, 0.3, 1.0), (0.0, 0.0, 1.0)],
    ids=["seeds", "items", "both", "pairs", "pairs alone"],
)
def test_coverage_over_seeds_and_items(seeds, known, effects):
    """Whatever varies most: other seeds and other items have this mean 95 times in 100, also where
    the items of some seeds alone are known."""
    rng = np.random.default_rng(7)
    tables = [draw_scores(rng, seeds, 100, *effects) for _ in range(600)]
    scores = [
        intervals.over_seeds_and_items(table[:known], draws=400, means=table.mean(axis=1))
        for table in tables
    ]
    assert 0.92 <= np.mean([one.low <= 0 <= one.high for one in scores]) <= 0.985


def test_an_interval_over_seeds_and_items_sees_what_either_alone_does_not():
    """Over seeds alone, and over items alone, too few intervals hold the truth."""
    rng = np.random.default_rng(8)
    tables = [draw_scores(rng, 5, 100, 0.2, 1.0, 0.2) for _ in range(300)]
    alone = [intervals.over_seeds(table.mean(axis=1)) for table in tables]
    assert np.mean([one.low <= 0 <= one.high for one in alone]) < 0.9
    alone = [intervals.mean(table.mean(axis=0), draws=200) for table in tables]
    assert np.mean([one.low <= 0 <= one.high for one in alone]) < 0.85


def test_what_seeds_and_items_do_together_is_counted_once():
    """Pairs that vary and nothing else: counted twice, intervals would be 1.41 times as wide."""
    rng = np.random.default_rng(9)
    tables = [draw_scores(rng, 40, 60, 0.0, 0.0, 1.0) for _ in range(200)]
    halves = [intervals.over_seeds_and_items(table, draws=400).half for table in tables]
    assert 1 < np.mean(halves) / (1.96 / np.sqrt(40 * 60)) < 1.15


@pytest.mark.parametrize("seeds", [2, 5])
def test_the_share_of_items_is_that_of_the_analysis_of_variance(seeds):
    rng = np.random.default_rng(10)
    tables = [draw_scores(rng, seeds, 50, 0.7, 0.4, 1.0) for _ in range(400)]
    shares = np.array([intervals.share_of_items(table) for table in tables])
    means = np.array([table.mean(axis=0).var(ddof=1) for table in tables])
    assert np.mean(shares * means) == pytest.approx(0.16, abs=0.03)  # what items do alone
    centred = tables[0] - tables[0].mean(axis=1, keepdims=True)
    f = stats.f_oneway(*centred.T).statistic * 49 / 50  # of one way: a mean per seed is not counted
    assert shares[0] == pytest.approx(max(0, 1 - 1 / f))


def test_with_many_seeds_it_is_the_plain_bootstrap_of_rows_and_columns():
    table = 3 + draw_scores(np.random.default_rng(10), 80, 60, 0.5, 0.7, 0.1)
    rng = np.random.default_rng(0)
    drawn = [table[rng.integers(0, 80, 80)][:, rng.integers(0, 60, 60)].mean() for _ in range(3000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    score = intervals.over_seeds_and_items(table, draws=4000)
    assert (score.value, score.n) == (pytest.approx(table.mean()), 80)
    assert (score.low, score.high) == pytest.approx((low, high), abs=0.04 * (high - low))
    narrow = intervals.over_seeds_and_items(table, level=0.5, draws=4000)
    assert (narrow.low, narrow.high) == pytest.approx(
        np.quantile(drawn, [0.25, 0.75]), abs=0.04 * (high - low)
    )


def test_scores_that_do_not_vary_have_an_interval_of_no_width():
    score = intervals.over_seeds_and_items(np.full((3, 4), 0.25))
    assert (score.value, score.low, score.high) == pytest.approx((0.25, 0.25, 0.25))
    assert np.isnan(intervals.over_seeds_and_items([[1.0, np.nan], [1.0, 2.0]]).low)


REFUSED = [
    (lambda: intervals.over_seeds_and_items([[1.0, 2.0]]), r"at least 2 seeds .* got \(1, 2\)"),
    (lambda: intervals.over_seeds_and_items([1.0, 2.0]), r"\(seeds, items\) .* got \(2,\)"),
    (lambda: intervals.over_seeds_and_items(np.zeros((3, 0))), r"got \(3, 0\)"),
    (
        lambda: intervals.over_seeds_and_items(np.zeros((3, 2)), means=[1.0]),
        r"means of at least 3 seeds .* got \(1,\)",
    ),
    (lambda: intervals.correlation([1.0], [1.0, 2.0]), "two values per item"),
    (lambda: intervals.paired_wilcoxon([1.0], [1.0, 2.0]), "differ in number"),
    (lambda: intervals.paired_wilcoxon([np.nan], [1.0]), "not a finite number"),
    (lambda: intervals.holm([0.2, 1.2]), "in 0..1"),
    (lambda: intervals.mean(np.zeros(0)), "one value per unit"),
    (lambda: intervals.over_seeds([1.0]), "at least 2 runs, got 1"),
    (lambda: intervals.paired(np.zeros(3), np.zeros(4)), "differ in number"),
    (lambda: intervals.bootstrap(lambda rows: 0.0, 0), "n = 0"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
