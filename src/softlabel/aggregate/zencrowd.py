"""ZenCrowd: one reliability per person, all classes equally common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softlabel.aggregate import guesswork
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes
from softlabel.aggregate.weighing import skills_from
from softlabel.registry import SMALLEST
from softlabel.tables import Estimand, Floats, Index, given_away

LEAST = 1e-6  # of an imaginary vote, so that nobody becomes infallible in floating point


@dataclass(frozen=True)
class ZenCrowd(Climber):
    """Person a names the true class with chance q_a and each other one with (1 - q_a) / (K - 1):

        P(true = j | votes) proportional to prod_a q_a^[vote = j] ((1 - q_a) / (K - 1))^[vote ≠ j].

    EM from q_a = ``first`` for everybody.  Everybody gets ``right`` and ``wrong`` imaginary votes
    (a Beta prior; EM then finds the posterior mode).  The factor graph of the paper, for one
    independent question per item, as in the comparison of Zheng et al. 2017.
    """

    first: float = 0.8
    right: float = 2.0
    wrong: float = 1.0
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "zencrowd"
    paper: ClassVar[str] = "Demartini, Difallah & Cudré-Mauroux 2012"
    estimand: ClassVar[Estimand] = "truth"
    objective: ClassVar[str] = "penalised log-likelihood"
    limits: ClassVar = {
        "first": (SMALLEST, 1 - SMALLEST),
        "right": (LEAST, math.inf),
        "wrong": (LEAST, math.inf),
    }

    def begin(self, part: Votes) -> Sums:
        return self.step(part, np.full(part.annotators, self.first))

    def learn(self, sums: Sums, before: Any = None) -> Floats:
        right, wrong = sums[1][:, 0].T
        right, wrong = right + self.right, wrong + self.wrong
        return np.asarray(right / (right + wrong))

    def penalty(self, reliability: Floats) -> float:
        log_right, log_wrong = np.log(reliability).sum(), np.log1p(-reliability).sum()
        return float(self.right * log_right + self.wrong * log_wrong)

    def step(self, part: Votes, reliability: Floats) -> Sums:
        return guesswork.step(part, _table(reliability, part.labels))

    def posterior(self, part: Votes, reliability: Floats) -> Floats:
        return guesswork.posterior(part, _table(reliability, part.labels))

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Floats:
        return skills_from(self, start, index, self.learn(sums))

    def described(self, fitted: Fitted) -> dict[str, Any]:
        return {"skill": given_away(np.where(fitted.asked > 0, fitted.parameters, np.nan))}


def _table(reliability: Floats, k: int) -> Floats:
    miss = np.log1p(-reliability) - np.log(max(k - 1, 1))
    return np.stack([miss, np.log(reliability) - miss, np.ones_like(miss)], axis=1)[:, None]
