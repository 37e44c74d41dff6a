"""The best pool of each side, chosen on other items; intervals; and what an answer is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from softlabel.metrics import intervals
from softlabel.tables import Floats, Ints, Score


def split_batches(batch: Ints, folds: int, seed: int = 0) -> Ints:
    """Return the fold (m,) of each item; a batch, and so its people, is in one fold."""
    number = int(batch.max()) + 1
    return np.asarray((np.random.default_rng([seed, 1]).permutation(number) % folds)[batch])


def choose(
    values: Mapping[str, Floats], rest: Mapping[str, Floats], fold: Ints
) -> tuple[Floats, tuple[str, ...]]:
    """Compose the scores (m,) of the pools that are best on other items, and name them.

    ``values`` (m,) are scores by pool, lower being better; ``rest`` (folds,) is how well each did
    without a fold.  Each fold gets the scores of the pool that did best without it.
    """
    names, tried = list(rest), np.stack(list(rest.values()))
    best = tuple(names[place] for place in tried.argmin(axis=0))
    chosen = np.empty(len(fold))
    for one, name in enumerate(best):
        chosen[fold == one] = values[name][fold == one]
    return chosen, best


def choose_simply(values: Mapping[str, Floats], fold: Ints) -> tuple[Floats, tuple[str, ...]]:
    """Choose where no score depends on other items: by the means outside each fold."""
    folds = range(int(fold.max()) + 1)
    rest = {
        name: np.array([each[fold != one].mean() for one in folds]) for name, each in values.items()
    }
    return choose(values, rest, fold)


def over_batches(values: Floats, batch: Ints) -> Score:
    """Return the mean of scores (m,) with its interval: batches are drawn again, each with all its
    items and people.  Votes and orders are drawn item by item, so that this holds their chance."""
    return replace(intervals.mean(values, units=batch), by_item=None)


def find_votes(goal: float, curve: Floats, votes: Sequence[int]) -> float:
    """Return how many votes come as close as ``goal``, on a curve that falls with their number.

    Between two numbers the curve is taken as linear in the logarithm of votes; beyond its ends it
    is not known, and the end is returned.

    >>> round(find_votes(0.5, np.array([1.0, 0.25]), (1, 8)), 6)
    4.0
    """
    falling = np.minimum.accumulate(curve)
    return float(np.exp(np.interp(-goal, -falling, np.log(votes))))


def worth(goal: Floats, curve: Floats, votes: Sequence[int], batch: Ints) -> Score:
    """Return how many votes come as close as scores ``goal`` (m,), given the scores ``curve``
    (numbers, m) of each number of votes; batches are drawn again."""
    number = int(batch.max()) + 1
    sums = np.stack([np.bincount(batch, one, number) for one in (goal, *curve)])
    size = np.bincount(batch, minlength=number)

    def statistic(rows: Ints) -> float:
        means = sums[:, rows].sum(axis=1) / size[rows].sum()
        return find_votes(float(means[0]), means[1:], votes)

    return intervals.bootstrap(statistic, number)
