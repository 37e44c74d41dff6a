"""Predictions held against people: scores with intervals, over runs, and runs in pairs.

Everything is worked out from saved predictions, so any metric, also one that was registered after
the runs were made, can be asked for at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import stdtrit

from softlabel import intervals, registry
from softlabel.errors import DataError
from softlabel.tables import Floats, Ints, Predictions, Score, SoftLabels

DEFAULT = ("accuracy", "cross-entropy", "kl", "entropy-pearson", "ece")
DRAWS = 1000  # of the bootstrap over items


class Ran(Protocol):
    """What is needed of a run; see ``softlabel.runs.Run``."""

    @property
    def seed(self) -> int: ...

    @property
    def predictions(self) -> Predictions: ...


class Matched(NamedTuple):
    """The same h items twice: what people believe and what was predicted, both (h, k); ``rows``
    (h,) are theirs in the table of people."""

    true: Floats
    predicted: Floats
    rows: Ints


def matched(predictions: Predictions, people: SoftLabels) -> Matched:
    """The items that were predicted and answered, in the order of ``people``.

    Items are matched by name, and classes too; it must be the same classes on both sides.
    """
    ours, theirs = predictions.index.labels.tolist(), people.index.labels.tolist()
    if sorted(ours) != sorted(theirs):
        odd = sorted(set(ours) ^ set(theirs))[0]
        raise DataError(
            f"class {odd!r} is only {'predicted' if odd in ours else 'among the labels'}; "
            "predictions and people must speak of the same classes"
        )
    place = {item: row for row, item in enumerate(predictions.index.items.tolist())}
    asked = np.array([place.get(item, -1) for item in people.index.items.tolist()], dtype=np.int64)
    both = (asked >= 0) & people.answered
    if not both.any():
        raise DataError(
            f"none of the {int(people.answered.sum())} items that people answered "
            f"({_some(people.index.items)}) is among the {len(place)} predicted "
            f"({_some(predictions.index.items)}); items are matched by name"
        )
    columns = [ours.index(label) for label in theirs]
    probs = predictions.probs[asked[both]][:, columns]
    return Matched(people.probs[both], probs, np.flatnonzero(both))


def scores(
    predictions: Predictions,
    people: SoftLabels,
    names: Iterable[str] = DEFAULT,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> dict[str, Score]:
    """Each metric (``ece:bins=10`` too) with its 95 % bootstrap interval over items."""
    true, predicted, _ = matched(predictions, people)
    found = {}
    for name in names:
        metric = registry.parse("metric", name)
        value = metric(true, predicted)
        if np.ndim(value):
            found[name] = intervals.mean(value, draws=draws, seed=seed)
        else:
            found[name] = intervals.bootstrap(
                _resampled(metric, true, predicted), len(true), draws=draws, seed=seed
            )
    return found


def over_runs(
    runs: Sequence[Ran], people: SoftLabels, names: Iterable[str] = DEFAULT
) -> dict[str, Score]:
    """Each metric's mean over runs that differ in their seed alone, with Student's t interval.

    A single run has no interval: its limits are NaN.
    """
    pairs = [matched(run.predictions, people) for run in _one_per_seed(runs).values()]
    found = {}
    for name in names:
        metric = registry.parse("metric", name)
        values = np.array([_of(metric, pair) for pair in pairs])
        if len(values) > 1:
            found[name] = intervals.over_seeds(values)
        else:
            found[name] = Score(float(values[0]), float("nan"), float("nan"), 1, values)
    return found


def paired(
    first: Sequence[Ran],
    second: Sequence[Ran],
    people: SoftLabels,
    metric: str = "cross-entropy",
    *,
    level: float = 0.95,
    draws: int = DRAWS,
) -> Score:
    """Mean of ``first - second`` over runs matched by seed, with its interval over items and seeds.

    Both are samples: other items would have been asked, other seeds drawn.  The variance of the
    mean is that of its item part (bootstrap over items of the mean over seeds) plus that of its
    seed part (of the seeds' own means), the interval Student's t with Satterthwaite's degrees of
    freedom.  With one seed only the items are counted.  ``by_item`` holds the differences by seed.
    """
    ours, theirs = _one_per_seed(first), _one_per_seed(second)
    if odd := sorted(set(ours) ^ set(theirs)):
        where = "first" if odd[0] in ours else "second"
        raise DataError(
            f"seed {odd[0]} is among the {where} runs only ({len(odd)} seeds without a partner); "
            "runs are compared seed by seed"
        )
    measure = registry.parse("metric", metric)
    seeds = sorted(ours)
    a = [matched(ours[seed].predictions, people) for seed in seeds]
    b = [matched(theirs[seed].predictions, people) for seed in seeds]
    if any(not np.array_equal(pair.rows, a[0].rows) for pair in (*a, *b)):
        raise DataError("these runs were tested on different items; compare like with like")
    by_seed = np.array([_of(measure, x) - _of(measure, y) for x, y in zip(a, b, strict=True)])
    items = _item_variance(measure, a, b, draws)
    n, m = len(seeds), len(a[0].true)
    between = float(by_seed.var(ddof=1) / n) if n > 1 else 0.0
    total = items + between
    freedom = (
        total**2 / (items**2 / (m - 1) + (between**2 / (n - 1) if n > 1 else 0)) if total else 1
    )
    half = float(stdtrit(freedom, (1 + level) / 2) * np.sqrt(total))
    centre = float(by_seed.mean())
    return Score(centre, centre - half, centre + half, n, by_seed)


# ── underneath ───────────────────────────────────────────────────────────────────────────────


def _value(metric: Callable[..., Any], true: Floats, predicted: Floats) -> float:
    return float(np.mean(metric(true, predicted)))


def _resampled(
    metric: Callable[..., Any], true: Floats, predicted: Floats
) -> Callable[[Ints], float]:
    return lambda rows: _value(metric, true[rows], predicted[rows])


def _item_variance(
    metric: Callable[..., Any], a: Sequence[Matched], b: Sequence[Matched], draws: int
) -> float:
    """Variance, as other items are drawn, of the mean over seeds of the difference."""
    m = len(a[0].true)
    if m < 2:
        raise DataError("an interval over items needs at least 2 items, got 1")
    if np.ndim(metric(a[0].true, a[0].predicted)):
        each = np.mean(
            [_each(metric, x) - _each(metric, y) for x, y in zip(a, b, strict=True)], axis=0
        )
        return float(each.var(ddof=1) / m)

    def difference(rows: Ints) -> float:
        pairs = zip(a, b, strict=True)
        return float(np.mean([_at(metric, x, rows) - _at(metric, y, rows) for x, y in pairs]))

    rng = np.random.default_rng(0)
    drawn = np.array([difference(rng.integers(0, m, m)) for _ in range(draws)])
    return float(np.nanvar(drawn, ddof=1))


def _of(metric: Callable[..., Any], pair: Matched) -> float:
    return _value(metric, pair.true, pair.predicted)


def _each(metric: Callable[..., Any], pair: Matched) -> Floats:
    return np.asarray(metric(pair.true, pair.predicted))


def _at(metric: Callable[..., Any], pair: Matched, rows: Ints) -> float:
    return _value(metric, pair.true[rows], pair.predicted[rows])


def _one_per_seed(runs: Sequence[Ran]) -> dict[int, Ran]:
    if not runs:
        raise DataError("there are no runs to evaluate")
    by_seed: dict[int, Ran] = {}
    for run in runs:
        if run.seed in by_seed:
            raise DataError(
                f"two runs have seed {run.seed}, so they differ in something else; group them by it"
            )
        by_seed[run.seed] = run
    return by_seed


def _some(items: Any) -> str:
    shown = ", ".join(repr(item) for item in items[:2].tolist())
    return f"{shown}, …" if len(items) > 2 else shown
