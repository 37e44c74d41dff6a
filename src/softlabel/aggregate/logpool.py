"""The geometric mean of the annotators' labels."""

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
class LogPool:
    """Logarithmic opinion pool: p proportional to exp((1/M) sum_m log(p^m + floor)).

    Sharper than the mean where people agree.  Without a floor one person's zero is a veto; the
    default of 1 % keeps it a strong objection.
    """

    floor: float = 0.01

    name: ClassVar[str] = "log-pool"
    paper: ClassVar[str] = "Genest & Zidek 1986"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> SoftLabels:
        check(self, floor=(SMALLEST, math.inf))
        return pool(self, self.rows, said, map, shards)

    def rows(self, said: Annotations) -> Floats:
        """(m, k) labels."""
        m, _, k = said.index.shape
        votes = np.maximum(said.votes_per_item(), 1)[:, None]
        if said.hard:  # a vote is log(1 + floor) on one class and log(floor) on the others
            logs = said.counts() * (np.log1p(self.floor) - np.log(self.floor))
        else:
            each = np.log(said.soft() + self.floor)
            logs = np.stack([np.bincount(said.item, each[:, j], minlength=m) for j in range(k)], 1)
        mean = logs / votes
        weights = np.exp(mean - mean.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
