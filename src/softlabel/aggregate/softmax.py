"""Softmax of the vote counts."""

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


@dataclass(frozen=True)
class Softmax(OfCounts):
    """exp(d_j / tau) / sum_a exp(d_a / tau) of the counts d.

    (2, 1, 0, 0) gives (.610, .225, .083, .083).  It depends on the scale of the counts: with 50
    votes it is all but hard, with 2 it leaves mass on classes nobody chose.  ``tau`` None is
    fitted: each vote, or first choice, is foretold from the others on its item.
    """

    tau: float | None = 1.0

    name: ClassVar[str] = "softmax"
    paper: ClassVar[str] = "Uma et al. 2020, equation 4"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> LabelDistribution:
        fitted = self.fit(said)
        why = "" if fitted is self else f"tau = {fitted.tau:.4g}"
        return split(self, fitted, said, map, shards, why)

    def fit(self, said: Annotations) -> Softmax:
        """This pool with a number for ``tau``; 1 where no item has two answers."""
        if self.tau is not None:
            check_parameters(self, tau=(SMALLEST, math.inf))
            return self
        out = left_out(said)
        if not len(out):
            return replace(self, tau=1.0)

        def loss(tau: float) -> float:
            return out.loss(replace(self, tau=tau).rows(out.votes))

        return replace(self, tau=search(loss, [1.0], [(1e-3, 1e3)])[0])

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels."""
        assert self.tau is not None, "fitted before it is used"
        scaled = sums / self.tau
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # the largest becomes 1
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
