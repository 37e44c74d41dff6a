"""CATD: trust that knows how little it knows of people with few votes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincinv

from softlabel.aggregate import weighing
from softlabel.aggregate.base import Map
from softlabel.aggregate.em import local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.votes import ordered
from softlabel.registry import SMALLEST, check_parameters
from softlabel.tables import Annotations, Estimand, Floats


@dataclass(frozen=True)
class Catd:
    """Confidence-aware truth discovery: a vote with weights

        w_a = chi2(alpha / 2; n_a) / (errors of a against the weighted vote + floor),

    the inverse of an upper confidence limit of a's error, for n_a votes; chi2(q; n) is the q
    quantile with n degrees of freedom.  Truth and weights take turns, from the plain vote, for
    ``n_iter`` steps or until no weight changes by more than ``tol`` of itself; who has weight
    decides who errs, so that many steps confirm themselves.  ``floor`` keeps people without errors
    from deciding alone.  The result is the share of the weighted vote.
    """

    alpha: float = 0.05
    floor: float = 0.5
    n_iter: int = 2
    tol: float = 1e-6

    name: ClassVar[str] = "catd"
    paper: ClassVar[str] = "Li, Li, Gao, Su, Zhao, Demirbas, Fan & Han 2014"
    estimand: ClassVar[Estimand] = "truth"

    def __call__(
        self,
        said: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> TruthPosterior:
        limits = {"n_iter": (1, math.inf), "tol": (0, math.inf)}
        check_parameters(self, alpha=(SMALLEST, 1), floor=(SMALLEST, math.inf), **limits)
        converged = False
        with local(ordered(said, self.name, gold), map, shards) as engine:
            share, votes = weighing.agreed(engine, np.ones(len(said.index.annotators)))
            share = weighing.skills_from(self, start, said.index, share)
            weight = self.weights(share, votes)
            for _ in range(1, self.n_iter):
                share, _ = weighing.agreed(engine, weight)
                before, weight = weight, self.weights(share, votes)
                converged = bool((abs(weight - before) <= self.tol * weight).all())
                if converged and self.tol > 0:
                    break
            probs = weighing.rows_of(engine, said, weighing.shares, weight)
        skill = weighing.asked_only(share, votes > 0)
        return weighing.put_together(self, said, probs, skill=skill, converged=converged)

    def weights(self, share: Floats, votes: Floats) -> Floats:
        """What each person counts, by the share of their votes that agreed and how many they are;
        0 for who has none."""
        lower = 2 * gammaincinv(np.where(votes > 0, votes, 1) / 2, self.alpha / 2)
        errors = votes * (1 - share)
        return np.where(votes > 0, lower / (errors + self.floor), 0.0)
