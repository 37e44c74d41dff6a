"""How sure we are of a number: bootstrap over items or annotators, paired differences, seeds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from scipy.special import ndtri, stdtrit

from softlabel.errors import DataError
from softlabel.registry import check_choice
from softlabel.tables import Annotations, Floats, Ints, Score, names

Unit = Literal["items", "annotators"]
Alternative = Literal["two-sided", "less", "greater"]
Bounds = tuple[float, float]
ANYWHERE: Bounds = (-np.inf, np.inf)
CHUNK = 4_000_000  # resampled values held in memory at once
BLOCK = 250_000  # and at once for correlations, which go over them many times: in the cache


def mean(
    values: Floats,
    *,
    units: Ints | None = None,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Score:
    """Mean with its percentile bootstrap interval.

    ``units`` says to whom each value belongs (an annotator's code, for instance): then whole
    units are resampled with all their values, because values of one person are not independent.

    >>> score = mean(np.arange(100.0)); round(score.value, 1), score.n
    (49.5, 100)
    """
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise DataError(f"an interval needs one value per unit; got shape {values.shape}")
    alone = np.arange(len(values)) if units is None else np.asarray(units)
    code = np.unique(alone, return_inverse=True)[1]
    sums, sizes = np.bincount(code, values), np.bincount(code)
    rng = np.random.default_rng(seed)
    n = len(sums)
    resampled = []
    for start in range(0, draws, max(1, CHUNK // n)):
        drawn = rng.integers(0, n, (min(max(1, CHUNK // n), draws - start), n))
        resampled.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    value = float(values.mean())
    low, high = _percentiles(np.concatenate(resampled), level, value)
    return Score(value, low, high, n, values if units is None else None)


def paired(first: Floats, second: Floats, *, units: Ints | None = None, seed: int = 0) -> Score:
    """Mean of ``first - second`` with its interval: both measured on the same items."""
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if first.shape != second.shape:
        raise DataError(f"paired values differ in number: {first.shape} and {second.shape}")
    return mean(first - second, units=units, seed=seed)


def bootstrap(
    statistic: Callable[[Ints], float],
    n: int,
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Score:
    """Any statistic of unit indices, resampled with replacement: ``statistic(rows) -> number``.

    Draws in which it is NaN are left out; if it is NaN on the data, so is the interval.
    """
    return bootstrap_many(lambda rows: [statistic(rows)], n, level=level, draws=draws, seed=seed)[0]


def bootstrap_many(
    statistics: Callable[[Ints], Sequence[float]],
    n: int,
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
    centred: bool = False,
) -> list[Score]:
    """Several statistics of the same draws, such as two scores and their difference.

    A calibration error counts the noise of resampling as error, so that its draws lie above its
    value, and the interval may not hold it.  ``centred`` moves the draws of each statistic so that
    their mean is its value.
    """
    if n < 1:
        raise DataError("nothing to resample: n = 0")
    rng = np.random.default_rng(seed)
    values = [float(value) for value in statistics(np.arange(n))]
    resampled = np.array([statistics(rng.integers(0, n, n)) for _ in range(draws)], np.float64)
    for value, column in zip(values, resampled.T if centred else (), strict=centred):
        known = np.isfinite(column)
        column += value - column[known].mean() if known.any() else 0
    columns = zip(values, resampled.T, strict=True)
    return [Score(value, *_percentiles(column, level, value), n) for value, column in columns]


def correlation(
    first: Floats,
    second: Floats,
    *,
    ranks: bool = False,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> Score:
    """Pearson's correlation over items, or Spearman's with ``ranks``, with its bootstrap interval.

    Two entropies per item give the entropy correlation.  Ranks are taken anew in every draw.
    Undefined where one side does not vary; draws in which that happens are left out.

    >>> score = correlation([1, 2, 3, 4], [1, 2, 3, 5], ranks=True); round(score.value, 6), score.n
    (1.0, 4)
    """
    pair = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    if pair[0].shape != pair[1].shape or pair[0].ndim != 1 or not len(pair[0]):
        raise DataError(f"two values per item are needed; got {pair[0].shape}, {pair[1].shape}")
    n = len(pair[0])
    groups = [np.unique(side, return_inverse=True) for side in pair]
    # an item drawn twice weighs twice: correlations of weighted items need no copies of them
    of = _rank_correlation if ranks else _correlation
    value = float(of(np.ones((1, n)), groups)[0])
    rng = np.random.default_rng(seed)
    found = []
    for start in range(0, draws, max(1, BLOCK // n)):
        rows = min(max(1, BLOCK // n), draws - start)
        cell = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        times = np.bincount(cell.ravel(), minlength=rows * n).reshape(rows, n)
        found.append(of(times.astype(np.float64), groups))
    return Score(value, *_percentiles(np.concatenate(found), level, value), n)


Groups = list[tuple[Floats, Ints]]  # per side: the distinct values, and which of them an item has


def _correlation(weight: Floats, groups: Groups) -> Floats:
    """(draws,) Pearson's correlations of items with these weights (draws, n)."""
    # about their means the moments lose no digits
    x, y = (distinct[code] - distinct[code].mean() for distinct, code in groups)
    moments = weight @ np.stack([x, y, x * x, y * y, x * y], axis=1) / weight.sum(1, keepdims=True)
    mx, my, xx, yy, xy = moments.T
    return _ratio(xy - mx * my, xx - mx**2, yy - my**2, xx, yy)


def _rank_correlation(weight: Floats, groups: Groups) -> Floats:
    """(draws,) Spearman's correlations: Pearson's of the middle ranks within each draw."""
    total = weight.sum(axis=1, keepdims=True)
    ranks = []
    for distinct, code in groups:
        order = np.argsort(code, kind="stable")
        start = np.searchsorted(code[order], np.arange(len(distinct)))
        size = np.add.reduceat(weight.take(order, axis=1), start, axis=1)
        middle = size.cumsum(axis=1) - size / 2
        ranks.append(middle.take(code, axis=1) - total / 2)  # their weighted mean is 0
    x, y = ranks
    xx, yy, xy = (np.einsum("ij,ij,ij->i", weight, a, b) for a, b in ((x, x), (y, y), (x, y)))
    return _ratio(xy, xx, yy, xx, yy)


def _ratio(xy: Floats, xx: Floats, yy: Floats, scale_x: Floats, scale_y: Floats) -> Floats:
    """Covariance over deviations; NaN where a variance is nothing but rounding."""
    flat = (xx <= 1e-14 * scale_x) | (yy <= 1e-14 * scale_y)
    root = np.sqrt(np.where(flat, 1, xx) * np.where(flat, 1, yy))
    return np.where(flat, np.nan, np.clip(xy / root, -1, 1))  # rounding alone goes past 1


def resampled(
    said: Annotations,
    statistic: Callable[[Annotations], float],
    over: Unit = "items",
    *,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Score:
    """Any statistic of a table of annotations, resampling whole items or whole annotators.

    A unit drawn twice enters as two units of different names; one without answers is not drawn.
    """
    check_choice("unit to resample", over, get_args(Unit))
    if over == "annotators" and said.anonymous:
        raise DataError("annotators cannot be resampled: some answers are anonymous")
    # units without answers are none: they would only be counted
    owner = np.unique(said.item if over == "items" else said.annotator, return_inverse=True)[1]
    n = int(owner.max(initial=-1)) + 1
    order = np.argsort(owner, kind="stable")
    size = np.bincount(owner, minlength=n)
    start = np.cumsum(size) - size
    label = names([str(i) for i in range(n)])

    def of(drawn: Ints) -> float:
        sizes = size[drawn]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        cut = said.take(order[np.repeat(start[drawn], sizes) + within])
        code = np.repeat(np.arange(n), sizes)
        if over == "items":
            return statistic(replace(cut, index=replace(said.index, items=label), item=code))
        return statistic(replace(cut, index=replace(said.index, annotators=label), annotator=code))

    return bootstrap(of, n, level=level, draws=draws, seed=seed)


def over_seeds(values: Floats, level: float = 0.95, bounds: Bounds = ANYWHERE) -> Score:
    """Mean of a few independent runs with Student's t interval, as far as it lies in ``bounds``.

    The mean cannot be outside the range of what is averaged, so that cutting the interval there
    loses no coverage.  Few runs still say little: two give an interval of 12.7 standard errors to
    each side, five one of 2.8.

    >>> over_seeds([.9, .98], bounds=(0, 1)).high
    1.0
    >>> score = over_seeds([1.2, 1.3, 1.4, 1.25, 1.35]); round(score.high - score.value, 6)
    0.098162
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        raise DataError(f"an interval over seeds needs at least 2 runs, got {len(values)}")
    centre = float(values.mean())
    error = values.std(ddof=1) / np.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * error)
    return cut(Score(centre, centre - half, centre + half, len(values), values), bounds)


def over_seeds_and_items(
    values: Floats,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
    means: Floats | None = None,
) -> Score:
    """Mean of (seeds, items) with an interval that sees both: other runs and other items.

    Seeds and items are resampled independently of each other (Owen 2007, "The pigeonhole
    bootstrap").  Resampling few seeds gives too narrow an interval, so that their part is widened
    to Student's t.  That part holds what seeds and items do together, so the part of the items is
    narrowed to what they do alone (``share_of_items``): with two seeds it would else be mostly
    noise of these seeds, counted again.

    Where the items of some seeds alone are known, ``means`` are the means of all seeds: the part of
    the seeds is theirs, and that of the items is of the table.

    >>> items = np.linspace(-1, 1, 101)
    >>> score = over_seeds_and_items([items, items + .02]); score.low < 0 < score.high, score.n
    (True, 2)
    >>> over_seeds_and_items([items, items + .02], means=[0, .02, .04]).n
    3
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2 or not table.shape[1]:
        raise DataError(f"(seeds, items) with at least 2 seeds are needed; got {table.shape}")
    every = table.mean(axis=1) if means is None else np.asarray(means, dtype=np.float64)
    if every.ndim != 1 or len(every) < len(table):
        raise DataError(f"means of at least {len(table)} seeds are needed; got {every.shape}")
    seeds, items = len(every), table.shape[1]
    centre = float(every.mean())
    wide = float(stdtrit(seeds - 1, (1 + level) / 2) / ndtri((1 + level) / 2))
    wide *= np.sqrt(seeds / (seeds - 1))
    by_seed = resampling_weights(seeds, draws, seed + 1) @ (every - centre) * wide
    by_item = resampling_weights(items, draws, seed) @ (table.mean(axis=0) - table.mean())
    by_item *= np.sqrt(share_of_items(table))
    low, high = _percentiles(centre + by_seed + by_item, level, centre)
    return Score(centre, min(low, centre), max(high, centre), seeds)


def share_of_items(table: Floats) -> float:
    """Return how much of the variance of the means of items, over the seeds of a table (seeds,
    items), is theirs and not of single seeds: 1 - 1/F of the analysis of variance, at least 0.

    >>> items, seeds = np.linspace(-1, 1, 101), np.array([[0.0], [1.0]])
    >>> round(share_of_items(items + seeds), 6)
    1.0
    >>> share_of_items(items * [[1], [-1]])
    0.0
    """
    means = table.mean(axis=0)
    noise = table - means - table.mean(axis=1, keepdims=True) + table.mean()
    of_means = float(((means - means.mean()) ** 2).sum())
    of_noise = float((noise**2).sum()) / (len(table) * (len(table) - 1))
    if not of_means > 0:
        return 1.0 if np.isnan(of_means) else 0.0
    return max(0.0, 1 - of_noise / of_means)


@lru_cache(maxsize=8)
def resampling_weights(n: int, draws: int, seed: int = 0) -> Floats:
    """Return (draws, n) how often each of n units is drawn, as a share: the same for all who ask,
    because drawing takes longer than what is computed with it."""
    rng = np.random.default_rng(seed)
    cell = rng.integers(0, n, (draws, n)) + n * np.arange(draws)[:, None]
    return np.bincount(cell.ravel(), minlength=draws * n).reshape(draws, n) / n


def cut(score: Score, bounds: Bounds) -> Score:
    """The part of an interval that lies within ``bounds``; it always holds the value itself, which
    a floor or rounding may have put outside."""
    lowest, highest = min(bounds[0], score.value), max(bounds[1], score.value)
    return replace(score, low=max(score.low, float(lowest)), high=min(score.high, float(highest)))


# ── p-values: for a few runs, where an interval says more but a reader asks ────────────────────


def paired_wilcoxon(first: Floats, second: Floats, alternative: Alternative = "two-sided") -> float:
    """P-value of Wilcoxon's signed-rank test on paired runs (the same seeds), exact for few.

    ``less`` asks whether ``first`` is below ``second``.  With 5 seeds the smallest one-sided value
    there is, is 1/32: it cannot survive a correction for 12 comparisons.  Equal runs give 1.

    >>> paired_wilcoxon([.1, .2, .3, .4, .5], [.2, .4, .6, .8, 1.], "less")
    0.03125
    """
    check_choice("alternative", alternative, get_args(Alternative))
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if first.shape != second.shape or first.ndim != 1 or not len(first):
        raise DataError(f"paired runs differ in number: {first.shape} and {second.shape}")
    if not np.isfinite(first - second).all():
        raise DataError("a paired difference is not a finite number")
    if (first == second).all():
        return 1.0
    from scipy.stats import wilcoxon  # half a second that nobody else should wait for

    return float(wilcoxon(first, second, alternative=alternative).pvalue)


def holm(p_values: Floats) -> Floats:
    """P-values adjusted for their number, step down (Holm 1979): below .05 the family holds.

    >>> holm([.01, .04, .03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise DataError(f"p-values are a list of numbers in 0..1; got {p_values!r}")
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def _percentiles(resampled: Floats, level: float, value: float) -> tuple[float, float]:
    """Return the limits; NaN where the ``value`` itself, or that of every draw, is undefined."""
    tail = (1 - level) / 2
    resampled = resampled[~np.isnan(resampled)]
    if np.isnan(value) or not len(resampled):
        return float("nan"), float("nan")
    with np.errstate(invalid="ignore"):  # infinite scores (a class given no chance) stay infinite
        low, high = np.quantile(resampled, [tail, 1 - tail], method="nearest")
    return float(low), float(high)
