"""Dawid and Skene's model: hierarchical, or by EM with a fixed prior or none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from softlabel.aggregate import confusion, population
from softlabel.aggregate.confusion import Confusions
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.population import Beliefs, ConfusionPosterior
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes
from softlabel.registry import SMALLEST
from softlabel.tables import Estimand, Floats, Index


@dataclass(frozen=True)
class DawidSkene(Climber):
    """Each person has a confusion matrix C_a, each item one true class, and votes are independent:

        P(true = j | votes) proportional to pi_j prod_a C_a[j, vote of a].

    By default the model is hierarchical: row j of everybody's matrix is drawn from
    Dirichlet(strength * population[j]), and the population's matrix and the strength are learned
    from the votes.  Somebody with few votes is taken for an ordinary member of this crowd, and
    somebody with many for what they are.  Posteriors are variational; the trace is the evidence
    lower bound.  The class shares pi are drawn towards the shares of the votes, by ``anchor``
    imaginary items for every item.

    With a number for ``smoothing``, EM finds the posterior mode under a fixed prior instead: every
    row gets ``smoothing`` imaginary votes, of which the share ``diagonal`` is right, and so does
    pi, evenly.  ``smoothing=0`` is the method of 1979.
    """

    smoothing: float | None = None
    diagonal: float = 0.7
    anchor: float = 1.0
    n_iter: int = 100
    tol: float = 1e-4
    dtype: Literal["float64", "float32"] = "float64"

    name: ClassVar[str] = "dawid-skene"
    paper: ClassVar[str] = "Dawid & Skene 1979; Paun et al. 2018"
    estimand: ClassVar[Estimand] = "truth"
    limits: ClassVar = {
        "smoothing": (0, math.inf),
        "diagonal": (SMALLEST, 1 - SMALLEST),
        "anchor": (0, math.inf),
    }
    result: ClassVar[type[TruthPosterior]] = ConfusionPosterior
    parts = staticmethod(confusion.parts)

    @property
    def objective(self) -> str:
        if self.smoothing is None:
            return "evidence lower bound"
        return "penalised log-likelihood" if self.smoothing else "log-likelihood"

    def begin(self, part: Votes) -> Sums:
        return confusion.begin(part, dtype=self.dtype)

    def learn(self, sums: Sums, before: Any = None) -> Confusions | Beliefs:
        if self.smoothing is None:
            return population.learn(sums, before, self.anchor)
        return confusion.learn(sums, self.smoothing, self.diagonal)

    def penalty(self, parameters: Any) -> float:
        if self.smoothing is None:
            return population.log_hyperprior(parameters.alpha) - float(parameters.away[0])
        return confusion.log_prior(parameters, self.smoothing, self.diagonal)

    def step(self, part: Votes, parameters: Any) -> Sums:
        return confusion.step(part, parameters.prior, parameters.table)

    def posterior(self, part: Votes, parameters: Any) -> Floats:
        return confusion.posterior(part, parameters.prior, parameters.table)

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Confusions | Beliefs:
        if self.smoothing is None:
            return population.resume(sums, start, index, self.anchor)
        begun = confusion.learn(sums, self.smoothing, self.diagonal)
        return confusion.resumed(begun, start, index)

    def described(self, fitted: Fitted) -> dict[str, Any]:
        if self.smoothing is None:
            return population.described(fitted)
        return confusion.described(fitted.parameters, fitted.asked)
