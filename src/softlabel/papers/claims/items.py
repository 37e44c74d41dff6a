"""Scores of single items in every run, and intervals that see both runs and items.

``results/<paper>-<scale>-items.parquet`` has a row for each run and score: ``run``, ``score`` and
``values``, a number for each test item, in the order of the run's predictions.  There are no names
of items, no labels and no predictions.  Numbers are rounded to three significant digits, which
compresses well, and whose error the mean over items forgets.

A mean over items has its items' values.  A correlation is no mean, but nearly one of its items'
*pseudo-values*: the correlation plus the influence of each item on it (Efron & Tibshirani 1993).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import stdtr, stdtrit

from softlabel._util.files import write_atomically
from softlabel.metrics import entropy, entropy_spearman, evaluate, intervals
from softlabel.tables import Floats, Score

Values = npt.NDArray[np.float32]
Items = Mapping[str, Values]  # by score
BITS = 10  # of the fraction that are kept: an error of .05 %
CORRELATIONS = ("entropy-r", "rank-r")
SHARES = ("auroc", "aupr", "fpr95", "rms", "rms-dropped", "ece-mass")  # scores from 0 to 1


@dataclass(frozen=True)
class RunScore(Score):
    """A mean over runs.  The interval is also over so many ``items``, which are ``known`` for so
    many runs, or over runs alone if both are 0.  ``freedom`` are the degrees of freedom of its
    error."""

    items: int = 0
    known: int = 0
    freedom: float = math.nan

    def p_value(self, at: float = 0.0) -> float:
        """Return the two-sided p-value of "the true mean is ``at``", by Student's t: below .05 if
        and only if the interval excludes it.

        >>> round(RunScore(2.0, 0.0, 4.0, 5, freedom=4).p_value(), 6)
        0.05
        """
        half = self.value - self.low if at < self.value else self.high - self.value
        if not math.isfinite(half) or math.isnan(self.freedom):
            return math.nan
        if half == 0:
            return 1.0 if at == self.value else 0.0
        t = float(stdtrit(self.freedom, 0.975)) * abs(self.value - at) / half
        return 2 * float(stdtr(self.freedom, -t))


def over_runs(
    values: Sequence[float] | Floats, score: str = "", items: Sequence[Values | None] = ()
) -> RunScore | None:
    """Return the mean over runs with its 95 % interval: of one run without interval, of none None.

    With the values of the ``items`` of two runs or more the interval is over runs and items, else
    it is Student's over runs.  It ends where a score such as ``10h/accuracy`` does.
    """
    n = len(values)
    if n < 2:
        return RunScore(float(values[0]), math.nan, math.nan, 1) if n else None
    name = score.rpartition("/")[2]
    bounds = evaluate.bounds("entropy-pearson" if name in CORRELATIONS else name)
    bounds = (0.0, 1.0) if name in SHARES else bounds
    runs = intervals.over_seeds(np.asarray(values), bounds=bounds)
    known = [one for one in items if one is not None]
    if len(known) < 2 or len({len(one) for one in known}) != 1:
        return RunScore(runs.value, runs.low, runs.high, n, freedom=n - 1)
    table, means = np.stack(known).astype(np.float64), np.asarray(values, dtype=np.float64)
    both = intervals.over_seeds_and_items(table, means=means)
    freedom = _freedom(means, table)
    known_of, items_of = table.shape
    return RunScore(
        runs.value, both.low, both.high, n, items=items_of, known=known_of, freedom=freedom
    )


def _freedom(of_runs: Floats, table: Floats) -> float:
    """Return the degrees of freedom of a mean over runs and items: Satterthwaite's, of the sum of
    two variances."""
    of_items, share = table.mean(axis=0), intervals.share_of_items(table)
    parts = (of_runs, 1.0), (of_items, share)
    errors = [(part * each.var(ddof=1) / len(each), len(each) - 1) for each, part in parts]
    below = sum(error**2 / freedom for error, freedom in errors if freedom)
    return float(sum(error for error, _ in errors) ** 2 / below) if below else math.inf


def correlate_items(people: Floats, predicted: Floats) -> Floats:
    """Return the pseudo-value of every item in the correlation of entropies, whose mean it is.

    >>> rng = np.random.default_rng(0)
    >>> people, predicted = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    >>> pseudo = correlate_items(people, predicted)
    >>> expected = np.corrcoef(entropy(people), entropy(predicted))[0, 1]
    >>> bool(np.isclose(pseudo.mean(), expected))
    True
    """
    sides = [entropy(people), entropy(predicted)]
    if any(np.ptp(side) < 1e-12 for side in sides):  # nothing but rounding, as in metrics
        return np.full(len(people), np.nan)
    x, y = ((side - side.mean()) / side.std() for side in sides)
    r = float((x * y).mean())
    return np.asarray(r + x * y - r * (x**2 + y**2) / 2)


def correlate_ranks(people: Floats, predicted: Floats) -> Floats:
    """Return the pseudo-value of every item in Spearman's correlation of entropies.

    Leaving out an item changes the ranks of all others, so they are those of a jackknife.

    >>> rng = np.random.default_rng(0)
    >>> people, predicted = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    >>> error = correlate_ranks(people, predicted).mean() - entropy_spearman(people, predicted)
    >>> bool(abs(error) < .01)
    True
    """
    n, whole = len(people), entropy_spearman(people, predicted)
    if n < 3 or math.isnan(whole):
        return np.full(n, np.nan)
    x, y = (_rank_without(entropy(side)) for side in (people, predicted))
    spread = (x**2).sum(axis=1) * (y**2).sum(axis=1)
    without = (x * y).sum(axis=1) / np.sqrt(np.where(spread > 0, spread, np.nan))
    return np.asarray(n * whole - (n - 1) * without)


def _rank_without(values: Floats) -> Floats:
    """Return (items, items) the ranks of all items, centred, without the item of each row."""
    higher, equal = values > values[:, None], values == values[:, None]
    below = higher.sum(axis=0) + (equal.sum(axis=0) + 1) / 2  # their ranks among all
    ranks = below - higher - equal / 2
    ranks -= (ranks.sum(axis=1) - ranks.diagonal())[:, None] / (len(values) - 1)
    np.fill_diagonal(ranks, 0)
    return np.asarray(ranks)


# ── files ────────────────────────────────────────────────────────────────────────────────────


def round_values(values: Floats | Values) -> Values:
    """Round to the bits that are kept.

    >>> round_values(np.array([0.123456, 3.14159, 0.0])).tolist()
    [0.1234130859375, 3.140625, 0.0]
    """
    fraction, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    rounded = np.ldexp(np.round(fraction * 2**BITS) / 2**BITS, exponent)
    return np.asarray(rounded, dtype=np.float32)


def write_items(path: Path, every: Mapping[str, Items]) -> None:
    """Write the items' scores of every run, by its name."""
    rows = [(run, name, values) for run, some in every.items() for name, values in some.items()]
    frame = pl.DataFrame(
        {
            "run": [run for run, _, _ in rows],
            "score": [name for _, name, _ in rows],
            "values": pl.Series([round_values(values).tolist() for _, _, values in rows]),
        },
        schema={"run": pl.String, "score": pl.String, "values": pl.List(pl.Float32)},
    ).sort("score", "run")
    with write_atomically(path) as part:
        frame.write_parquet(part, compression="zstd", compression_level=19, statistics=False)


def read_items(path: Path) -> dict[str, dict[str, Values]]:
    """Read the items' scores by run and score; of a file that is not there none."""
    if not path.exists():
        return {}
    every: dict[str, dict[str, Values]] = {}
    for run, score, values in pl.read_parquet(path).iter_rows():
        every.setdefault(run, {})[score] = np.array(values, dtype=np.float32)
    return every
