"""Predictions held against people: scores with intervals, over runs, and runs in pairs.

Everything is worked out from saved predictions, so any metric, also one that was registered after
the runs were made, can be asked for at any time.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import stdtrit

from softlabel import registry
from softlabel.errors import DataError
from softlabel.metrics import intervals
from softlabel.tables import Floats, Ints, Predictions, Score, SoftLabels

DEFAULT = ("accuracy", "cross-entropy", "kl", "entropy-pearson", "ece")
DRAWS = 1000  # of the bootstrap over items, for limits
FEW = 200  # for a variance, of which these give a twentieth more or less


class Ran(Protocol):
    """What is needed of a run; see ``softlabel.train.runs.Run``."""

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
    pair = matched(predictions, people)
    found = {}
    for name in names:
        metric = registry.parse("metric", name)
        value = metric(pair.true, pair.predicted)
        if np.ndim(value):
            found[name] = intervals.mean(value, draws=draws, seed=seed)
        else:
            of = partial(_value, metric, pair)
            found[name] = intervals.bootstrap(of, len(pair.true), draws=draws, seed=seed)
    return found


def over_runs(
    runs: Sequence[Ran], people: SoftLabels, names: Iterable[str] = DEFAULT
) -> dict[str, Score]:
    """Each metric's mean over runs that differ in their seed alone, with Student's t interval, as
    far as it lies in the range of the metric.

    A single run has no interval: its limits are NaN.
    """
    pairs = [matched(run.predictions, people) for run in _one_per_seed(runs).values()]
    found = {}
    for name in names:
        metric = registry.parse("metric", name)
        values = np.array([_value(metric, pair) for pair in pairs])
        if len(values) > 1:
            found[name] = intervals.over_seeds(values, bounds=bounds(name))
        else:
            found[name] = Score(float(values[0]), float("nan"), float("nan"), 1, values)
    return found


class Measured(NamedTuple):
    """One metric of runs that differ in their seed alone: its value for each seed, and what varies
    with the items, averaged over seeds: (m,) its values, or (draws,) resampled ones if it is no
    mean over items.  ``rows`` are the items among those that people answered."""

    seeds: tuple[int, ...]
    by_seed: Floats
    by_item: Floats
    is_mean: bool
    rows: Ints
    bounds: tuple[float, float] = intervals.ANYWHERE  # of the metric


def measured(runs: Sequence[Ran], people: SoftLabels, metric: str, draws: int = FEW) -> Measured:
    """All that comparing these runs with others needs; the same items are drawn for all."""
    measure = registry.parse("metric", metric)
    by_seed = dict(sorted(_one_per_seed(runs).items()))
    pairs = [matched(run.predictions, people) for run in by_seed.values()]
    m = len(pairs[0].true)
    if m < 2:
        raise DataError("an interval over items needs at least 2 items, got 1")
    _check_items(*(pair.rows for pair in pairs))
    first = measure(pairs[0].true, pairs[0].predicted)
    rng = np.random.default_rng(0)
    drawn = [] if np.ndim(first) else [rng.integers(0, m, m) for _ in range(draws)]
    each = [
        [_value(measure, pair, rows) for rows in drawn]
        if drawn
        else measure(pair.true, pair.predicted)
        for pair in pairs
    ]
    values = np.array([_value(measure, pair) for pair in pairs])
    varies = np.mean(each, axis=0)
    return Measured(tuple(by_seed), values, varies, not drawn, pairs[0].rows, bounds(metric))


def difference(first: Measured, second: Measured, level: float = 0.95) -> Score:
    """Mean of ``first - second`` over runs matched by seed, with its interval over items and seeds.

    Both are samples: other items would have been asked, other seeds drawn.  The variance of the
    mean is that of its item part (the mean over seeds, as items vary) plus that of its seed part
    (of the seeds' own means); the interval is Student's t with Satterthwaite's degrees of freedom.
    With one seed only the items are counted.  No difference is larger than the range of the metric,
    where the interval ends at the latest.  ``by_item`` holds the differences by seed.
    """
    if odd := sorted(set(first.seeds) ^ set(second.seeds)):
        where = "first" if odd[0] in first.seeds else "second"
        raise DataError(
            f"seed {odd[0]} is among the {where} runs only ({len(odd)} seeds without a partner); "
            "runs are compared seed by seed"
        )
    _check_items(first.rows, second.rows)
    apart = first.by_item - second.by_item
    n, m = len(first.seeds), len(first.rows)
    items = float(apart.var(ddof=1) / m if first.is_mean else np.nanvar(apart, ddof=1))
    by_seed = first.by_seed - second.by_seed
    between = float(by_seed.var(ddof=1) / n) if n > 1 else 0.0
    total = items + between
    spread = items**2 / (m - 1) + (between**2 / (n - 1) if n > 1 else 0)
    freedom = total**2 / spread if spread else 1
    half = float(stdtrit(freedom, (1 + level) / 2) * np.sqrt(total))
    centre = float(by_seed.mean())
    lowest, highest = first.bounds
    found = Score(centre, centre - half, centre + half, n, by_seed)
    return intervals.cut(found, (lowest - highest, highest - lowest))


def paired(
    first: Sequence[Ran],
    second: Sequence[Ran],
    people: SoftLabels,
    metric: str = "cross-entropy",
    draws: int = FEW,
) -> Score:
    """``difference`` of two groups of runs."""
    one, other = (measured(runs, people, metric, draws) for runs in (first, second))
    return difference(one, other)


def bounds(metric: str) -> tuple[float, float]:
    """The lowest and the highest value of a metric (``ece:bins=10`` too), as far as it says."""
    known = registry.members("metric").get(metric.partition(":")[0])
    found: tuple[float, float] = getattr(known, "bounds", intervals.ANYWHERE)
    return found


def _value(metric: Callable[..., Any], pair: Matched, rows: Ints | slice = slice(None)) -> float:
    return float(np.mean(metric(pair.true[rows], pair.predicted[rows])))


def _check_items(*rows: Ints) -> None:
    if any(not np.array_equal(one, rows[0]) for one in rows):
        raise DataError("these runs were tested on different items; compare like with like")


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
