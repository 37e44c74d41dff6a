"""Which answers look wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.elicit import ZERO_IS_100
from softlabel.tables import Bools, Statements

# the errors of C22; its third, "no chance for the top class", comes as none or as zero
ERRORS = ("out-of-range", "contradictory", "zero-first", "no-number-first")


def flags(said: Statements) -> dict[str, Bools]:
    """(n,) masks of implausible answers, by name.  The first four are the errors of C22."""
    first, second = column(said.named, 0, -1), column(said.named, 1, -1)
    p1, p2 = column(said.percent, 0, np.nan), column(said.percent, 1, np.nan)
    given = ~np.isnan(said.percent)
    small = (said.percent > 0) & (said.percent <= 1)
    mended = said.repairs.get(ZERO_IS_100, np.zeros(len(said), dtype=np.bool_))
    return {
        "out-of-range": (said.percent > 100).any(axis=1),
        "contradictory": said.contradictory,
        "zero-first": (p1 == 0) | mended,
        "no-number-first": (first >= 0) & np.isnan(p1),
        "same-class-twice": (second >= 0) & (first == second),
        "second-above-first": p2 > p1,
        "sum-above-100": np.where(given, said.percent, 0).sum(axis=1) > 100,
        "nothing-stated": np.where(given, said.percent, 0).sum(axis=1) == 0,
        "all-ruled-out": ~said.possible.any(axis=1),
        "none-ruled-out": said.possible.all(axis=1),
        "unit-scale": (given & small).any(axis=1) & ~(given & ~small & (said.percent != 0)).any(1),
    }


def column(rows: npt.NDArray[Any], number: int, fill: float) -> npt.NDArray[Any]:
    """One column of a table that may not have it."""
    return rows[:, number] if rows.shape[1] > number else np.full(len(rows), fill)


@dataclass(frozen=True)
class Rounding:
    """How people round: shares of all stated chances."""

    n: int
    multiple_of_5: float
    multiple_of_10: float
    exactly_100: float


def rounding(said: Statements) -> Rounding:
    """Heaping of the stated chances on round numbers (chances as stated, after repairs)."""
    values = said.percent[~np.isnan(said.percent)]
    if not len(values):
        return Rounding(0, float("nan"), float("nan"), float("nan"))
    fives, tens = (float((values % step == 0).mean()) for step in (5, 10))
    return Rounding(len(values), fives, tens, float((values == 100).mean()))
