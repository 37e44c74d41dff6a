"""Empirical Bayes with one Dirichlet for all items."""

from __future__ import annotations

import math
from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar

from softlabel.aggregate import climbing
from softlabel.aggregate.base import Map
from softlabel.aggregate.bayes import posterior
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Estimand, Floats, Index


@dataclass(frozen=True)
class Dirichlet:
    """q_k = (alpha_k + n_k) / (A + m): shares, shrunk towards what the crowd says on average.

    alpha is fitted to all items by Minka's fixed point, or comes with ``prior``.  Soft annotations
    are evidence: each counts ``weight`` votes, shared as its label says (None: as measured, see
    ``bayes.rich_weight``); annotations that are all one-hot are votes.
    """

    weight: float | None = None

    name: ClassVar[str] = "dirichlet"
    paper: ClassVar[str] = "Minka 2000"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(
        self,
        said: Annotations,
        map: Map = in_turn,
        shards: int = 1,
        *,
        rich: Annotations | None = None,
        prior: Prior | None = None,
    ) -> LabelDistribution:
        def find(index: Index, evidence: Floats) -> Prior:
            return self.fit(index, evidence) if prior is None else prior.among(index.labels)

        check_parameters(self, **weight_range(self.weight))
        return posterior(self, find, said, map, shards, rich)

    def fit(self, index: Index, evidence: Floats) -> Prior:
        """The prior of these items, fitted to their evidence (m, k)."""
        return climbing.one_alpha(index, evidence)


def weight_range(weight: float | None) -> dict[str, tuple[float, float]]:
    """The range of ``weight``, if it is a number."""
    return {} if weight is None else {"weight": (0, math.inf)}
