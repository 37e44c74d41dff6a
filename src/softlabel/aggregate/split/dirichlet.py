"""Empirical Bayes: pools whose prior is learned from all items.

``dirichlet`` has one Dirichlet for all items, ``dirichlet-mixture`` one for each class and level
of difficulty, and ``atoms`` one for each item seen.  The label is the mean of the posterior.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import entr

from softlabel.aggregate.split.base import PosteriorPool, posterior_mean
from softlabel.aggregate.split.mixtures import Prior, distinct, fit_by_class, fit_dirichlet
from softlabel.randomness import name_keys, uniform
from softlabel.registry import SMALLEST
from softlabel.tables import Floats, Index, Ints

FEWEST = 10  # items with votes: fewer say nothing about what others are like
EASY = 0.03  # an unanimous item is drawn as if it had this entropy

Levels = Literal["auto", 1, 3]


@dataclass(frozen=True)
class Dirichlet(PosteriorPool):
    """q_k = (alpha_k + n_k) / (A + m): shares, shrunk towards what the crowd says on average.

    alpha is fitted to all items by Minka's fixed point, or comes with ``prior``.  Soft annotations
    are evidence: each counts ``weight`` votes, shared as its label says (None: as measured, see
    ``rich_weight``); annotations that are all one-hot are votes.
    """

    weight: float | None = None

    name: ClassVar[str] = "dirichlet"
    paper: ClassVar[str] = "Minka 2000"
    limits: ClassVar = {"weight": (0, math.inf)}

    def fit(self, index: Index, evidence: Floats) -> Prior:
        """Return the prior of these items, fitted to their evidence (m, k)."""
        return fit_dirichlet(index, evidence)


@dataclass(frozen=True)
class DirichletMixture(PosteriorPool):
    """q_k = sum_c r_c (alpha_ck + n_k) / (A_c + m), r_c proportional to weight_c P(n | alpha_c).

    There is one Dirichlet per class, shaped like the confusions of that class, and with three
    ``levels`` one each for easy, middling and hard items (``auto``: three from 2,000 items on).
    They are fitted to all items by MAP-EM (``mixtures``), or come with ``prior``: fitted to other
    items, a prior needs no votes of these.  Soft annotations are evidence worth ``weight`` votes.
    """

    levels: Levels = "auto"
    weight: float | None = None
    n_iter: int = 50

    name: ClassVar[str] = "dirichlet-mixture"
    paper: ClassVar[str] = "Minka 2000; Holmes, Harris & Quince 2012"
    limits: ClassVar = {"n_iter": (1, 100_000), "weight": (0, math.inf)}

    def fit(self, index: Index, evidence: Floats) -> Prior:
        """Return the prior of these items, fitted to their evidence (m, k)."""
        levels = None if self.levels == "auto" else self.levels
        return fit_by_class(index, evidence, levels, self.n_iter)


@dataclass(frozen=True)
class Atoms(PosteriorPool):
    """A mixture of Dirichlet(scale * pbar_j), one per item seen, smoothed by a Dirichlet mixture.

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
    limits: ClassVar = {
        "share": (SMALLEST, 1 - SMALLEST),
        "scale": (SMALLEST, 1e6),
        "most": (1, 10**6),
        "weight": (0, math.inf),
    }

    def find_prior(self, index: Index, evidence: Floats, prior: Prior | None) -> Prior:
        return self.fit(index, evidence, prior)

    def fit(self, index: Index, evidence: Floats, prior: Prior | None = None) -> Prior:
        """Return the prior of these items, fitted to their evidence (m, k)."""
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
        """Return atoms and how many items each stands for, by priority sampling (Duffield, Lund &
        Thorup 2007): without bias, and without chance where there are few."""
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
