"""Agreement with oneself: items that a person was shown twice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.metrics import total_variation
from softlabel.sampling import pair_codes
from softlabel.tables import Annotations, Bools, Floats, Ints, Statements


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


@dataclass(frozen=True)
class Repeats:
    """Of the items shown twice: how often the top class changed, and how far the label moved
    (mean total variation)."""

    pairs: int
    changed: int
    variation: float

    @property
    def change_rate(self) -> float:
        return self.changed / self.pairs if self.pairs else math.nan


NEVER = Repeats(0, 0, math.nan)  # of those who were shown nothing twice


def repeats(said: Statements | Annotations) -> tuple[Ints, Ints]:
    """Row numbers of first and second answers of one person to one item."""
    pair = pair_codes(said)
    order = np.argsort(pair, kind="stable")  # answers of one person to one item, in their order
    same = pair[order][1:] == pair[order][:-1]
    begins = same & ~np.r_[False, same[:-1]]  # of three answers only the first two are compared
    second = order[1:][begins]
    by_second = np.argsort(second)
    return order[:-1][begins][by_second], second[by_second]


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
    return total_variation(each.take(first).soft(), each.take(second).soft())


def steadiness(
    each: Annotations, said: Statements | None = None, asked: Bools | None = None
) -> tuple[Repeats, Mapping[str, Repeats]]:
    """Of everybody, and of each annotator who was shown something twice.

    ``said`` are the statements that the labels ``each`` were made from, row by row: then the top
    class is the one that was named first, which need not be the one with most mass.  ``asked`` (n,)
    says which answers were asked for a second time on purpose: an answer may also come late, after
    its item was shown anew.
    """
    first, second = repeats(each)
    if asked is not None:
        first, second = first[asked[second]], second[asked[second]]
    if not len(first):
        return NEVER, {}
    apart = total_variation(each.take(first).soft(), each.take(second).soft())
    changed = _top(each, said, first) != _top(each, said, second)
    owner, people = each.annotator[first], each.index.annotators
    mine = {
        str(people[a]): _repeats(changed[owner == a], apart[owner == a]) for a in np.unique(owner)
    }
    return _repeats(changed, apart), mine


def _top(each: Annotations, said: Statements | None, rows: Ints) -> Ints:
    if said is None:
        return np.asarray(each.take(rows).soft().argmax(axis=1))
    return np.asarray(said.named[rows, 0])


def _repeats(changed: Bools, apart: Floats) -> Repeats:
    return Repeats(len(apart), int(changed.sum()), float(apart.mean()))
