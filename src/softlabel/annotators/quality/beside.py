"""Who is unlike everybody else: much faster, or alone with their opinion.

A flag names a fact and the limit that it passed.  It excludes nobody.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

HASTE = 1 / 3  # of everybody's median time
ALONE = 3.0  # robust standard deviations below the usual agreement with the others
FEW = 5  # answers, and people, below which nothing is called unusual
ROUNDING = 1e-9  # where most people are alike, sums in another order single nobody out


@dataclass(frozen=True)
class Usual:
    """What is usual among these people: the seconds of the middle person (NaN: not known), and
    the agreement with the others below which somebody is alone."""

    seconds: float
    alone: float

    def flags(self, answers: int, seconds: float, agreement: float) -> list[str]:
        """What of one person's answers is not; of those with few answers nothing is said."""
        if answers < FEW:
            return []
        found = []
        if seconds < HASTE * self.seconds:
            found.append(f"fast: {seconds:.1f} s an answer, others {self.seconds:.1f} s")
        if agreement < self.alone:
            found.append(f"agrees with the others by {agreement:.2f}, under {self.alone:.2f}")
        return found


def usual(seconds: Iterable[float], agreement: Iterable[float]) -> Usual:
    """Of everybody's median seconds and of everybody's agreement with the others."""
    known = [value for value in seconds if math.isfinite(value)]
    return Usual(float(np.median(known)) if known else math.nan, far_below(agreement))


def far_below(values: Iterable[float]) -> float:
    """The limit under which a value is unlike the others: median - ``ALONE`` robust standard
    deviations (1.4826 times the median distance from the median); -inf of fewer than ``FEW``."""
    known = np.array([value for value in values if math.isfinite(value)])
    if len(known) < FEW:
        return -math.inf
    middle = float(np.median(known))
    spread = 1.4826 * float(np.median(abs(known - middle)))
    return middle - ALONE * spread - ROUNDING
