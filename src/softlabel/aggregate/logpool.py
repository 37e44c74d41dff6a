"""The geometric mean of the annotators' labels."""

from __future__ import annotations

import math
from builtins import map as in_turn
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softlabel.aggregate.base import Map
from softlabel.aggregate.fitting import left_out, search
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.splitting import OfCounts, split
from softlabel.registry import SMALLEST, check_parameters
from softlabel.tables import Annotations, Estimand, Floats

START = {"floor": 0.01, "power": 1.0}
LIMITS = {"floor": (1e-6, 1.0), "power": (0.5, 2.0)}  # of what is fitted


@dataclass(frozen=True)
class LogPool(OfCounts):
    """Logarithmic opinion pool: p proportional to exp((power/M) sum_m log(p^m + floor)).

    Sharper than the mean where people agree.  Without a floor one person's zero is a veto; the
    default of 1 % keeps it a strong objection.  ``floor`` or ``power`` None are fitted: the first
    choice of each answer is foretold from the others to its item.
    """

    floor: float | None = 0.01
    power: float | None = 1.0

    name: ClassVar[str] = "log-pool"
    paper: ClassVar[str] = "Genest & Zidek 1986"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> LabelDistribution:
        fitted = self.fit(said)
        why = "" if fitted is self else f"floor {fitted.floor:.3g} and power {fitted.power:.3g}"
        return split(self, fitted, said, map, shards, why)

    def fit(self, said: Annotations) -> LogPool:
        """This pool with numbers for both; .01 and 1 where no item has two answers."""
        given = {"floor": self.floor, "power": self.power}
        known = {name: (SMALLEST, math.inf) for name, value in given.items() if value is not None}
        check_parameters(self, **known)
        if len(known) == 2:
            return self
        out = left_out(said)
        free = [name for name in START if name not in known]

        def made(*values: float) -> LogPool:
            return replace(self, **dict(zip(free, values, strict=True)))

        def loss(*values: float) -> float:
            pool = made(*values)
            return out.loss(pool._labels(out.others(pool._log), out.number))

        first = [START[name] for name in free]
        limits = [LIMITS[name] for name in free]
        return made(*(search(loss, first, limits) if len(out) else first))

    def sums(self, said: Annotations) -> Floats:
        """(m, 2k) the counts, then the sums of log(p + floor)."""
        m, _, k = said.index.shape
        counts = said.counts()
        if said.hard:  # a vote is log(1 + floor) on one class and log(floor) on the others
            zero, one = self._log(np.array([0.0, 1.0])).tolist()
            logs = counts * one + (said.votes_per_item()[:, None] - counts) * zero
        else:
            each = self._log(said.soft())
            logs = np.stack([np.bincount(said.item, each[:, j], minlength=m) for j in range(k)], 1)
        return np.concatenate([counts, logs], axis=1)

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels."""
        k = sums.shape[1] // 2
        return self._labels(sums[:, k:], sums[:, :k].sum(axis=1))

    def _log(self, chance: Floats) -> Floats:
        assert self.floor is not None, "fitted before it is used"
        return np.log(chance + self.floor)

    def _labels(self, logs: Floats, number: Floats) -> Floats:
        assert self.power is not None, "fitted before it is used"
        mean = self.power * logs / np.maximum(number, 1)[:, None]
        weights = np.exp(mean - mean.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
