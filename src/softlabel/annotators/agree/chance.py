"""Agreement with each other, and beyond chance."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.special import stdtrit

from softlabel.errors import DataError
from softlabel.metrics import Unit, bootstrap, resampled
from softlabel.registry import check_choice
from softlabel.tables import Annotations, Floats, Ints, Score

Distance = Literal["brier", "total-variation", "hellinger"]


def observed_agreement(said: Annotations) -> Floats:
    """(m,) chance that two answers to an item name the same class: sum c (c - 1) / (n (n - 1)).

    For soft labels: the chance that a class drawn from each of two people's labels is the same.
    One answer agrees with itself (1); none gives NaN.  (33, 13, 4) gives .499592 (U20, table 1).
    """
    count, own, total = _moments(said, "brier")
    pairs = count * (count - 1)
    agreement = ((total**2).sum(axis=1) - own) / np.maximum(pairs, 1)
    return np.where(count > 1, agreement, np.where(count == 1, 1.0, np.nan))


def pairwise_variation(said: Annotations) -> Floats:
    """(m,) mean total variation between the labels of two people; NaN below two answers.

    Between hard votes it is the chance that two of them differ.
    """
    count = said.votes_per_item()
    pairs = np.maximum(count * (count - 1), 1)
    if said.hard:
        apart = 1 - observed_agreement(said)
    else:
        apart = _variations(said.soft(), said.item, len(count)) / pairs
    return np.where(count > 1, apart, np.nan)


def alpha(said: Annotations, distance: Distance = "brier") -> float:
    """Krippendorff's alpha with a distance on the simplex: 1 - observed / expected disagreement.

    1 is perfect agreement, 0 what chance would give.  All three distances are 0 between equal
    labels and 1 between different classes, so on hard votes each gives the classic nominal alpha
    (Krippendorff 2011).  ``brier`` is half the squared Euclidean distance, ``hellinger`` the
    squared Hellinger distance.  Undefined (NaN) when no item has two answers or all answers are
    the same.  Repeated answers of one person count as two people: drop them first.
    """
    check_choice("distance", distance, get_args(Distance))
    if said.hard or distance != "total-variation":
        return _alpha_of_moments(*_moments(said, distance))
    said = said.take(said.votes_per_item()[said.item] > 1)
    if not len(said):
        return float("nan")
    count = said.votes_per_item()
    within = _variations(said.soft(), said.item, len(count)) / np.maximum(count - 1, 1)
    between = _variations(said.soft(), np.zeros(len(said), dtype=np.int64), 1)[0]
    return _ratio(within.sum(), between, len(said))


def alpha_score(
    said: Annotations, distance: Distance = "brier", over: Unit = "items", draws: int = 500
) -> Score:
    """Alpha with its bootstrap interval over items.

    Over annotators a person drawn twice would agree with themselves, so there the interval is a
    jackknife's that leaves out one person (one group of them, if there are many) at a time.
    """
    check_choice("unit to resample", over, get_args(Unit))
    if over == "annotators":
        return _jackknife(said, distance)
    said = said.take(said.votes_per_item()[said.item] > 1)
    if not said.hard and distance == "total-variation":
        return resampled(said, lambda cut: alpha(cut, distance), draws=draws)
    count, own, sums = _moments(said, distance)
    paired = np.flatnonzero(count)

    def statistic(drawn: Ints) -> float:
        rows = paired[drawn]
        return _alpha_of_moments(count[rows], own[rows], sums[rows])

    return bootstrap(statistic, len(paired), draws=draws)


def _jackknife(said: Annotations, distance: Distance, groups: int = 200) -> Score:
    if said.anonymous:
        raise DataError("nobody can be left out: some answers are anonymous")
    value = alpha(said, distance)
    code = np.unique(said.annotator, return_inverse=True)[1]
    people = int(code.max(initial=-1)) + 1
    n = min(people, groups)
    if n < 2:
        return Score(value, float("nan"), float("nan"), people)
    left_out = np.array([alpha(said.take(code % n != g), distance) for g in range(n)])
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    half = float(stdtrit(n - 1, 0.975) * error)
    return Score(value, value - half, value + half, people)


def _moments(said: Annotations, distance: Distance) -> tuple[Ints, Floats, Floats]:
    """Per item: how many answers, the sum of their squared lengths, and their sum (m, k).

    Lengths and sums are of the labels, or of their square roots for ``hellinger``; the sum of
    distances over all ordered pairs of n answers is then n * lengths - |sum|^2.  Hard votes have
    length 1 either way, and never become an n x k array.
    """
    count = said.votes_per_item()
    if said.probs is None:
        return count, count.astype(np.float64), said.counts()
    rows = np.sqrt(said.probs) if distance == "hellinger" else said.probs
    own = np.bincount(said.item, (rows**2).sum(axis=1), minlength=len(count)).astype(np.float64)
    sums = [np.bincount(said.item, column, minlength=len(count)) for column in rows.T]
    return count, own, np.stack(sums, axis=1)


def _alpha_of_moments(count: Ints, own: Floats, sums: Floats) -> float:
    paired = count > 1
    count, own, sums = count[paired], own[paired], sums[paired]
    n = int(count.sum())
    if not n:
        return float("nan")
    within = (count * own - (sums**2).sum(axis=1)) / (count - 1)
    between = n * own.sum() - (sums.sum(axis=0) ** 2).sum()
    return _ratio(within.sum(), between, n)


def _ratio(within: float, between: float, n: int) -> float:
    """1 - observed / expected; undefined where all answers are the same."""
    expected = between / (n - 1)
    return float("nan") if expected < 1e-12 * n else float(1 - within / expected)


def _variations(probs: Floats, group: Ints, groups: int) -> Floats:
    """Sum of total variations over ordered pairs in each group, without building the pairs:
    sorted within its group, a value is added once per smaller one and taken off per larger."""
    size = np.bincount(group, minlength=groups)
    start = np.cumsum(size) - size
    total = np.zeros(groups)
    for column in probs.T:
        order = np.lexsort((column, group))
        owner = group[order]
        rank = np.arange(len(order)) - start[owner]
        total += np.bincount(owner, column[order] * (2 * rank - size[owner] + 1), minlength=groups)
    return total
