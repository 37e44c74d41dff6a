"""Zero-based skill: a vote whose weights learn from its own outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from softlabel.aggregate import weighing
from softlabel.aggregate.base import Map
from softlabel.aggregate.em import local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.votes import ordered
from softlabel.registry import SMALLEST, check_parameters
from softlabel.tables import Annotations, Estimand


@dataclass(frozen=True)
class ZeroBasedSkill:
    """Skills follow the agreement with a vote that is weighted by them:

        w_a <- w_a + rate (share of a's votes that equal the weighted majority - w_a),

    from w_a = 1 / K; every ``patience`` steps ``rate`` is multiplied by ``decay``.  It stops
    when no skill is further than ``tol`` from its share.  A tie is agreed with in equal parts.
    The result is the share of the weighted vote.
    """

    rate: float = 1.0
    patience: int = 20
    decay: float = 0.5
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "zero-based-skill"
    paper: ClassVar[str] = "Toloka's practice; Ustalov, Pavlichenko & Tseitlin 2024"
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
        check_parameters(
            self,
            rate=(SMALLEST, 1),
            patience=(1, math.inf),
            decay=(SMALLEST, 1),
            n_iter=(1, math.inf),
            tol=(0, math.inf),
        )
        k = len(said.index.labels)
        skill = weighing.skills_from(self, start, said.index, 1 / k)
        with local(ordered(said, self.name, gold), map, shards) as engine:
            for step in range(1, self.n_iter + 1):
                share, votes = weighing.agreed(engine, skill)
                off = abs(share - skill).max(initial=0, where=votes > 0)
                if off < self.tol:
                    break
                skill = skill + self.rate * self.decay ** (step // self.patience) * (share - skill)
            probs = weighing.rows_of(engine, said, weighing.shares, skill)
        skill = weighing.asked_only(skill, votes > 0)
        return weighing.put_together(self, said, probs, skill=skill, converged=bool(off < self.tol))
