"""How sure we are of a number: bootstrap over items or annotators, paired differences, seeds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from softlabel.errors import DataError
from softlabel.parameters import check_choice
from softlabel.tables import Annotations, Floats, Index, Ints, Score, names

Unit = Literal["items", "annotators"]
CHUNK = 4_000_000  # resampled values held in memory at once


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
    low, high = _percentiles(np.concatenate(resampled), level)
    return Score(float(values.mean()), low, high, n, values if units is None else None)


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

    Draws in which it is undefined (NaN) are left out; if it is undefined on the data, so is the
    interval.
    """
    if n < 1:
        raise DataError("nothing to resample: n = 0")
    rng = np.random.default_rng(seed)
    value = float(statistic(np.arange(n)))
    resampled = np.array([statistic(rng.integers(0, n, n)) for _ in range(draws)])
    resampled = resampled[~np.isnan(resampled)]
    if np.isnan(value) or not len(resampled):
        return Score(value, float("nan"), float("nan"), n)
    return Score(value, *_percentiles(resampled, level), n)


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
        within = np.arange(size[drawn].sum()) - np.repeat(
            np.cumsum(size[drawn]) - size[drawn], size[drawn]
        )
        rows = order[np.repeat(start[drawn], size[drawn]) + within]
        code = np.repeat(np.arange(n), size[drawn])
        items = label if over == "items" else said.index.items
        people = said.index.annotators if over == "items" else label
        cut = said.take(rows)
        return statistic(
            Annotations(
                Index(items, people, said.index.labels),
                code if over == "items" else cut.item,
                cut.annotator if over == "items" else code,
                cut.label,
                cut.probs,
            )
        )

    return bootstrap(of, n, level=level, draws=draws, seed=seed)


def over_seeds(values: Floats, level: float = 0.95) -> Score:
    """Mean of a few independent runs with Student's t interval.

    >>> score = over_seeds([1.2, 1.3, 1.4, 1.25, 1.35]); round(score.high - score.value, 6)
    0.098162
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) < 2:
        raise DataError(f"an interval over seeds needs at least 2 runs, got {len(values)}")
    centre = float(values.mean())
    error = values.std(ddof=1) / np.sqrt(len(values))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2) * error)
    return Score(centre, centre - half, centre + half, len(values), values)


def _percentiles(resampled: Floats, level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):  # infinite scores (a class given no chance) stay infinite
        low, high = np.quantile(resampled, [tail, 1 - tail], method="nearest")
    return float(low), float(high)
