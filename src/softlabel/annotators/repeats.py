"""Repeats: how much a person's answer changes when the same item is shown twice."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.metrics import total_variation
from softlabel.sampling import pair_codes
from softlabel.tables import Annotations, Bools, Floats, Ints, Statements


@dataclass(frozen=True)
class Repeats:
    """Items shown twice: how often the top class changed, and the labels' mean total variation."""

    pairs: int
    changed: int
    variation: float

    @property
    def change_rate(self) -> float:
        return self.changed / self.pairs if self.pairs else math.nan


NEVER = Repeats(0, 0, math.nan)  # nothing was shown twice


@dataclass(frozen=True)
class Stability:
    """The repeat statistics of C22, section 4."""

    pairs: int
    changed: int  # pairs whose top class differs
    points: Floats  # |p1 - p1'| in percentage points, for pairs with the same top class

    @property
    def change_rate(self) -> float:
        return self.changed / self.pairs if self.pairs else math.nan

    @property
    def mean_points(self) -> float:
        return float(self.points.mean()) if len(self.points) else math.nan


def find_repeats(answers: Statements | Annotations) -> tuple[Ints, Ints]:
    """Return the row numbers of the first and the second answer of one person to one item."""
    pair = pair_codes(answers)
    order = np.argsort(pair, kind="stable")  # answers of one person to one item, in their order
    same = pair[order][1:] == pair[order][:-1]
    begins = same & ~np.r_[False, same[:-1]]  # of three answers only the first two are compared
    second = order[1:][begins]
    by_second = np.argsort(second)
    return order[:-1][begins][by_second], second[by_second]


def measure_stability(statements: Statements) -> Stability:
    """Measure how the top class and its chance change between two answers (C22, section 4)."""
    first, second = find_repeats(statements)
    if not len(first) or not statements.named.shape[1]:
        return Stability(len(first), 0, np.zeros(0))
    same = statements.named[first, 0] == statements.named[second, 0]
    points = abs(statements.percent[first, 0] - statements.percent[second, 0])[same]
    return Stability(len(first), int((~same).sum()), points[~np.isnan(points)])


def repeat_distance(annotations: Annotations) -> Floats:
    """Return the total variation between the two labels of every repeated item."""
    first, second = find_repeats(annotations)
    return total_variation(annotations.take(first).soft(), annotations.take(second).soft())


def measure_repeats(
    annotations: Annotations, statements: Statements | None = None, asked: Bools | None = None
) -> tuple[Repeats, Mapping[str, Repeats]]:
    """Return the repeats of everybody, and of each annotator who was shown something twice.

    ``statements`` are the answers that ``annotations`` were made from, row by row.  With them, the
    top class is the one named first, which need not be the one with most mass.  ``asked`` (n,)
    marks the answers that were asked for a second time on purpose: an answer may also arrive late,
    after its item was shown again.
    """
    first, second = find_repeats(annotations)
    if asked is not None:
        first, second = first[asked[second]], second[asked[second]]
    if not len(first):
        return NEVER, {}
    own, again = annotations.take(first).soft(), annotations.take(second).soft()
    distance = total_variation(own, again)
    if statements is None:
        changed = own.argmax(axis=1) != again.argmax(axis=1)
    else:
        changed = statements.named[first, 0] != statements.named[second, 0]
    owner, names = annotations.annotator[first], annotations.index.annotators

    def summarise(rows: Bools) -> Repeats:
        return Repeats(int(rows.sum()), int(changed[rows].sum()), float(distance[rows].mean()))

    everybody = summarise(np.ones(len(first), dtype=np.bool_))
    return everybody, {str(names[a]): summarise(owner == a) for a in np.unique(owner)}
