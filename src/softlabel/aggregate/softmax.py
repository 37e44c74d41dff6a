"""Softmax of the vote counts."""

from __future__ import annotations

import math
from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.aggregate.base import Map, pool
from softlabel.parameters import SMALLEST, check
from softlabel.tables import Annotations, Estimand, Floats, SoftLabels


@dataclass(frozen=True)
class Softmax:
    """exp(d_j / tau) / sum_a exp(d_a / tau) of the counts d.

    (2, 1, 0, 0) gives (.610, .225, .083, .083).  It depends on the scale of the counts: with 50
    votes it is all but hard, with 2 it leaves mass on classes nobody chose.
    """

    tau: float = 1.0

    name: ClassVar[str] = "softmax"
    paper: ClassVar[str] = "Uma et al. 2020, equation 4"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> SoftLabels:
        check(self, tau=(SMALLEST, math.inf))
        return pool(self, self.rows, said, map, shards)

    def rows(self, said: Annotations) -> Floats:
        """(m, k) labels."""
        scaled = said.counts() / self.tau
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # the largest becomes 1
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
