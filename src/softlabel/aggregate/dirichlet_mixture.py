"""Empirical Bayes with a Dirichlet for each class and level of difficulty."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar, Literal

from softlabel.aggregate import climbing
from softlabel.aggregate.base import Map
from softlabel.aggregate.bayes import posterior
from softlabel.aggregate.dirichlet import weight_range
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Estimand, Floats, Index

Levels = Literal["auto", 1, 3]


@dataclass(frozen=True)
class DirichletMixture:
    """q_k = sum_c r_c (alpha_ck + n_k) / (A_c + m), r_c proportional to weight_c P(n | alpha_c).

    There is one Dirichlet per class, shaped like the confusions of that class, and with three
    ``levels`` one each for easy, middling and hard items (``auto``: three from 2,000 items on).
    They are fitted to all items by MAP-EM (``climbing``), or come with ``prior``: fitted to other
    items, a prior needs no votes of these.  Soft annotations are evidence worth ``weight`` votes.
    """

    levels: Levels = "auto"
    weight: float | None = None
    n_iter: int = 50

    name: ClassVar[str] = "dirichlet-mixture"
    paper: ClassVar[str] = "Minka 2000; Holmes, Harris & Quince 2012"
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

        check_parameters(self, n_iter=(1, 100_000), **weight_range(self.weight))
        return posterior(self, find, said, map, shards, rich)

    def fit(self, index: Index, evidence: Floats) -> Prior:
        """The prior of these items, fitted to their evidence (m, k)."""
        levels = None if self.levels == "auto" else self.levels
        return climbing.by_class(index, evidence, levels, self.n_iter)
