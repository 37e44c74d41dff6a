"""Dawid and Skene's model, by EM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from softlabel.aggregate import confusion
from softlabel.aggregate.confusion import Confusions
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes
from softlabel.parameters import SMALLEST
from softlabel.tables import Estimand, Floats, Index


@dataclass(frozen=True)
class DawidSkene(Climber):
    """Each person has a confusion matrix C_a, each item one true class, and votes are independent:

        P(true = j | votes) proportional to pi_j prod_a C_a[j, vote of a].

    EM from vote shares.  Every row of every matrix gets ``smoothing`` imaginary votes, of which the
    share ``diagonal`` is right (a Dirichlet prior; EM then finds the posterior mode), and so does
    pi, evenly: people with few votes stay ordinary instead of becoming infallible.
    ``smoothing=0`` is the method of 1979.
    """

    smoothing: float = 4.0
    diagonal: float = 0.7
    n_iter: int = 100
    tol: float = 1e-6
    dtype: Literal["float64", "float32"] = "float64"

    name: ClassVar[str] = "dawid-skene"
    paper: ClassVar[str] = "Dawid & Skene 1979"
    estimand: ClassVar[Estimand] = "truth"
    limits: ClassVar = {"smoothing": (0, math.inf), "diagonal": (SMALLEST, 1 - SMALLEST)}
    parts = staticmethod(confusion.parts)

    @property
    def objective(self) -> str:
        return "penalised log-likelihood" if self.smoothing else "log-likelihood"

    def begin(self, part: Votes) -> Sums:
        return confusion.begin(part, dtype=self.dtype)

    def learn(self, sums: Sums) -> Confusions:
        return confusion.learn(sums, self.smoothing, self.diagonal)

    def penalty(self, parameters: Confusions) -> float:
        return confusion.log_prior(parameters, self.smoothing, self.diagonal)

    def step(self, part: Votes, parameters: Confusions) -> Sums:
        return confusion.step(part, *parameters)

    def posterior(self, part: Votes, parameters: Confusions) -> Floats:
        return confusion.posterior(part, *parameters)

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Confusions:
        return confusion.resumed(self.learn(sums), start, index)

    def described(self, fitted: Fitted) -> dict[str, Any]:
        return confusion.described(fitted.parameters, fitted.asked)
