"""Do people agree: with each other, beyond chance, with themselves; and one card per annotator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from softlabel.errors import UnknownName
from softlabel.intervals import Unit, resampled
from softlabel.metrics import entropy, total_variation
from softlabel.sampling import first_presentation
from softlabel.tables import ANONYMOUS, Annotations, Bools, Floats, Ints, Score, Statements

Distance = Literal["brier", "total-variation", "hellinger"]


def observed_agreement(said: Annotations) -> Floats:
    """(m,) chance that two answers to an item name the same class: sum c (c - 1) / (n (n - 1)).

    For soft labels: the chance that a class drawn from each of two people's labels is the same.
    One answer agrees with itself (1); none gives NaN.  (33, 13, 4) gives .499592 (U20, table 1).
    """
    count = said.votes_per_item()
    total = said.counts()
    own = np.bincount(said.item, (said.soft() ** 2).sum(axis=1), minlength=len(count))
    pairs = count * (count - 1)
    agreement = ((total**2).sum(axis=1) - own) / np.maximum(pairs, 1)
    return np.where(count > 1, agreement, np.where(count == 1, 1.0, np.nan))


def alpha(said: Annotations, distance: Distance = "brier") -> float:
    """Krippendorff's alpha with a distance on the simplex: 1 - observed / expected disagreement.

    1 is perfect agreement, 0 what chance would give.  All three distances are 0 between equal
    labels and 1 between different classes, so on hard votes each gives the classic nominal alpha
    (Krippendorff 2011).  ``brier`` is half the squared Euclidean distance, ``hellinger`` the
    squared Hellinger distance.  Undefined (NaN) when no item has two answers or all answers are
    the same.  Repeated answers of one person count as two people: drop them first.
    """
    if distance not in DISAGREEMENT:
        raise UnknownName("distance", distance, DISAGREEMENT)
    said = said.take(said.votes_per_item()[said.item] > 1)
    n = len(said)
    if n == 0:
        return float("nan")
    disagreement = DISAGREEMENT[distance]
    count = said.votes_per_item()
    within = disagreement(said.soft(), said.item, len(count)) / np.maximum(count - 1, 1)
    between = disagreement(said.soft(), np.zeros(n, dtype=np.int64), 1)[0] / (n - 1)
    if between < 1e-12 * n:
        return float("nan")
    return float(1 - within.sum() / between)


def alpha_score(
    said: Annotations, distance: Distance = "brier", over: Unit = "items", draws: int = 500
) -> Score:
    """Alpha with its bootstrap interval over items.

    Over annotators a person drawn twice would agree with themselves, so there the interval is the
    leave-one-out jackknife's.
    """
    if over == "items":
        return resampled(said, lambda cut: alpha(cut, distance), draws=draws)
    value = alpha(said, distance)
    people = np.unique(said.annotator)
    left_out = np.array([alpha(said.take(said.annotator != person), distance) for person in people])
    n = len(people)
    spread = 1.96 * np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    return Score(value, value - spread, value + spread, n)


# Sums over ordered pairs of different rows in a group, each without building the pairs.


def _brier(probs: Floats, group: Ints, groups: int) -> Floats:
    size = np.bincount(group, minlength=groups)
    own = np.bincount(group, (probs**2).sum(axis=1), minlength=groups)
    return np.asarray(size * own - (_sums(probs, group, groups) ** 2).sum(axis=1))


def _hellinger(probs: Floats, group: Ints, groups: int) -> Floats:
    size = np.bincount(group, minlength=groups)
    return np.asarray(size**2 - (_sums(np.sqrt(probs), group, groups) ** 2).sum(axis=1))


def _total_variation(probs: Floats, group: Ints, groups: int) -> Floats:
    """Sorted within its group, a value is added once per smaller one and taken off per larger."""
    size = np.bincount(group, minlength=groups)
    start = np.cumsum(size) - size
    total = np.zeros(groups)
    for column in probs.T:
        order = np.lexsort((column, group))
        owner = group[order]
        rank = np.arange(len(order)) - start[owner]
        total += np.bincount(owner, column[order] * (2 * rank - size[owner] + 1), minlength=groups)
    return total


def _sums(rows: Floats, group: Ints, groups: int) -> Floats:
    return np.stack([np.bincount(group, column, minlength=groups) for column in rows.T], axis=1)


DISAGREEMENT = {"brier": _brier, "total-variation": _total_variation, "hellinger": _hellinger}


# ── with oneself ─────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Stability:
    """How steady people are on items they were shown twice."""

    pairs: int
    changed: int  # pairs whose top class differs
    points: Floats  # |p1 - p1'| in percentage points, pairs with the same top class

    @property
    def change_rate(self) -> float:
        return self.changed / self.pairs if self.pairs else float("nan")

    @property
    def mean_points(self) -> float:
        return float(self.points.mean()) if len(self.points) else float("nan")


def repeats(said: Statements | Annotations) -> tuple[Ints, Ints]:
    """Row numbers of first and second answers of one person to one item."""
    known = np.flatnonzero(said.annotator != ANONYMOUS)
    first = first_presentation(said)
    pair = said.item.astype(np.int64) * (len(said.index.annotators) + 1) + said.annotator
    row_of = dict(zip(pair[first].tolist(), np.flatnonzero(first).tolist(), strict=True))
    again = known[~first[known]]
    # the second answer, not a third
    second = again[np.sort(np.unique(pair[again], return_index=True)[1])]
    return np.array([row_of[p] for p in pair[second].tolist()], dtype=np.int64), second


def stability(said: Statements) -> Stability:
    """Change of top class and of its chance between the two answers (C22, section 4)."""
    first, second = repeats(said)
    if not len(first) or not said.named.shape[1]:
        return Stability(len(first), 0, np.zeros(0))
    same = said.named[first, 0] == said.named[second, 0]
    points = abs(said.percent[first, 0] - said.percent[second, 0])[same]
    return Stability(len(first), int((~same).sum()), points[~np.isnan(points)])


def repeat_distance(each: Annotations) -> Floats:
    """Total variation between the two labels of every repeated item."""
    first, second = repeats(each)
    soft = each.soft()
    return total_variation(soft[first], soft[second])


# ── one card per annotator ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Card:
    """What one annotator's answers look like beside everybody else's."""

    annotator: str
    answers: int
    agreement: float  # mean over shared items of 1 - TV(own label, mean of the others)
    entropy: float  # mean entropy of own labels in nats: small is sharp
    accuracy: float  # share of answers whose top class is gold; NaN without gold


def cards(said: Annotations, gold: Ints | None = None) -> list[Card]:
    """One card per annotator of the index, in its order; without answers all figures are NaN."""
    soft, people = said.soft(), len(said.index.annotators)
    count = said.votes_per_item()[said.item]
    others = (said.counts()[said.item] - soft) / np.maximum(count - 1, 1)[:, None]
    close = np.where(count > 1, 1 - total_variation(others, soft), np.nan)
    right = np.full(len(said), np.nan)
    if gold is not None:
        known = np.asarray(gold)[said.item]
        right = np.where(known >= 0, soft.argmax(axis=1) == known, np.nan)
    figures = [close, entropy(soft), right]
    means = [_mean_by(said.annotator, values, people) for values in figures]
    answers = np.bincount(said.annotator[said.annotator >= 0], minlength=people)
    return [
        Card(name, int(answers[a]), *(float(column[a]) for column in means))
        for a, name in enumerate(said.index.annotators.tolist())
    ]


def _mean_by(owner: Ints, values: Floats, owners: int) -> Floats:
    use: Bools = ~np.isnan(values) & (owner >= 0)
    size = np.bincount(owner[use], minlength=owners)
    sums = np.bincount(owner[use], values[use], minlength=owners)
    return np.where(size > 0, sums / np.maximum(size, 1), np.nan)
