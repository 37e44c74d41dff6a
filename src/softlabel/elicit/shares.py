"""Dividing what cannot be divided: percent into parts that sum exactly, chips into whole chips."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from softlabel.tables import Floats, Ints

# Percents are whole multiples of this, so that their sums are exact in any order of adding: an
# answer that is complete sums to exactly 100, and no construction takes it for one that is not.
GRAIN = 2.0**-40


def floor(percent: float) -> float:
    """The nearest number of percent below that adds up exactly."""
    return math.floor(percent / GRAIN) * GRAIN


def evenly(percent: float, parts: int) -> Floats:
    """``parts`` equal shares; what rounding leaves (under 1e-8) is added to the first."""
    shares = np.full(parts, floor(percent / parts))
    shares[0] += percent - shares.sum()
    return shares


def likeliest_first(belief: Floats, rng: np.random.Generator) -> Ints:
    """(k,) classes by belief; classes believed in equally come in random order."""
    return np.lexsort((rng.random(len(belief)), -belief))


def apportion(weights: Sequence[float] | Floats, n: int, rng: np.random.Generator) -> Ints:
    """``n`` chips in proportion to the weights: whole shares first, then the largest remainders."""
    quota = n * np.asarray(weights, dtype=np.float64) / np.sum(weights)
    chips = np.floor(quota + 1e-9).astype(np.int64)
    short = n - int(chips.sum())
    chips[likeliest_first(quota - chips, rng)[:short]] += 1
    return chips
