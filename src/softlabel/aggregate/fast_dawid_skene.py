"""Dawid and Skene's model with hard decisions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from softlabel.aggregate import confusion
from softlabel.aggregate.confusion import Confusions
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes
from softlabel.registry import SMALLEST
from softlabel.tables import Estimand, Floats, Index


@dataclass(frozen=True)
class FastDawidSkene(Climber):
    """Dawid-Skene that decides for one class per item in every step: classification EM.

    It climbs sum_i max_j log(pi_j prod_a C_a[j, vote of a]) from the class with most votes, and
    usually settles in fewer steps.  Classes that are exactly level share an item evenly, which is
    another maximum of the same objective and favours none.  Priors are those of ``dawid-skene``.
    """

    smoothing: float = 2.0
    diagonal: float = 0.7
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "fast-dawid-skene"
    paper: ClassVar[str] = "Sinha, Rao & Balasubramanian 2018"
    estimand: ClassVar[Estimand] = "truth"
    objective: ClassVar[str] = "penalised classification log-likelihood"
    limits: ClassVar = {"smoothing": (0, math.inf), "diagonal": (SMALLEST, 1 - SMALLEST)}
    parts = staticmethod(confusion.parts)

    def begin(self, part: Votes) -> Sums:
        return confusion.begin(part, hard=True)

    def learn(self, sums: Sums, before: Any = None) -> Confusions:
        return confusion.learn(sums, self.smoothing, self.diagonal)

    def penalty(self, parameters: Confusions) -> float:
        return confusion.log_prior(parameters, self.smoothing, self.diagonal)

    def step(self, part: Votes, parameters: Confusions) -> Sums:
        return confusion.step(part, *parameters, hard=True)

    def posterior(self, part: Votes, parameters: Confusions) -> Floats:
        return confusion.posterior(part, *parameters, hard=True)

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Confusions:
        return confusion.resumed(self.learn(sums), start, index)

    def described(self, fitted: Fitted) -> dict[str, Any]:
        return confusion.described(fitted.parameters, fitted.asked)
