"""Empirical Bayes without a shape: the items seen so far are the prior."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr

from softlabel.aggregate.base import Map
from softlabel.aggregate.bayes import posterior
from softlabel.aggregate.belief import posterior_mean
from softlabel.aggregate.dirichlet import weight_range
from softlabel.aggregate.dirichlet_mixture import DirichletMixture, Levels
from softlabel.aggregate.evidence import distinct
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution
from softlabel.randomness import name_keys, uniform
from softlabel.registry import SMALLEST, check_parameters
from softlabel.tables import Annotations, Estimand, Floats, Index, Ints

FEWEST = 10  # items with votes: fewer say nothing about what others are like
EASY = 0.03  # an unanimous item is drawn as if it had this entropy


@dataclass(frozen=True)
class Atoms:
    """A mixture of Dirichlet(scale * pbar_j), one per item seen, plus a part of the mixture that
    smooths them.

    pbar_j is the label of item j under ``dirichlet-mixture`` (fitted, or ``prior``).  The atoms
    share the weight ``share``, the mixture has the rest.  Items with equal evidence are one atom;
    of more than ``most`` different ones a sample is drawn by name, with chances in proportion to
    .03 + entropy, and each stands for as many as it was drawn for.  Fewer than ten items make no
    atoms: then it is the mixture alone.  Intervals are those of the
    mixture: atoms are points, and too few of them lie near an item to say how sure one may be.
    """

    share: float = 0.9
    scale: float = 100.0
    most: int = 800
    levels: Levels = "auto"
    weight: float | None = None
    seed: int = 0

    name: ClassVar[str] = "atoms"
    paper: ClassVar[str] = "Robbins 1956; Laird 1978"
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
        check_parameters(
            self, share=(SMALLEST, 1 - SMALLEST), scale=(SMALLEST, 1e6), most=(1, 10**6)
        )
        check_parameters(self, **weight_range(self.weight))

        def find(index: Index, evidence: Floats) -> Prior:
            return self.fit(index, evidence, prior)

        return posterior(self, find, said, map, shards, rich)

    def fit(self, index: Index, evidence: Floats, prior: Prior | None = None) -> Prior:
        """The prior of these items, fitted to their evidence (m, k)."""
        smooth = DirichletMixture(self.levels).fit(index, evidence) if prior is None else prior
        smooth = smooth.among(index.labels)
        some = np.flatnonzero(evidence.sum(axis=1) > 0)
        if len(some) < FEWEST:
            return smooth
        rows, where = distinct(evidence[some])
        label = posterior_mean(smooth, rows.n)
        chosen, times = self._sample(index, label, rows.times, some, where)
        alpha = np.maximum(self.scale * label[chosen], SMALLEST)
        return Prior(
            index.labels,
            np.concatenate([alpha, smooth.alpha]),
            np.concatenate([self.share * times / times.sum(), (1 - self.share) * smooth.weight]),
            f"{len(chosen):,} atoms of {len(some):,} items beside {smooth.made_by}",
            smooth.wide or smooth,
        )

    def _sample(
        self, index: Index, label: Floats, times: Floats, some: Ints, where: Ints
    ) -> tuple[Ints, Floats]:
        """Atoms and how many items each stands for, by priority sampling (Duffield, Lund & Thorup
        2007): without bias, and without chance where there are few."""
        if len(times) <= self.most:
            return np.arange(len(times)), times
        keys = name_keys(index.items[some])
        first = np.full(len(times), np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(first, where, keys)  # whichever item comes first in the table
        size = times * (EASY + entr(label).sum(axis=1))
        # numbers of (0, 1]: a draw of exactly 0 would be chosen with certainty
        priority = size / (1 - uniform(self.seed, first))
        order = np.argsort(-priority, kind="stable")
        chosen, least = np.sort(order[: self.most]), priority[order[self.most]]
        return chosen, times[chosen] / np.minimum(size[chosen] / least, 1)
