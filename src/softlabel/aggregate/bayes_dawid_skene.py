"""Dawid and Skene's model with a posterior over the confusion matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaincinv

from softlabel.aggregate import confusion, population
from softlabel.aggregate.confusion import expected_rows
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.population import Beliefs, ConfusionPosterior
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes
from softlabel.errors import DataError
from softlabel.parameters import SMALLEST
from softlabel.tables import Estimand, Floats, Index, given_away

OUTSIDE = 0.05  # on either side of a 90 % interval


@dataclass(frozen=True)
class BayesDawidSkene(Climber):
    """Dawid-Skene with Dirichlet priors on pi and on every row of every confusion matrix, whose
    posteriors are approximated by q(truth) q(pi) prod q(C) (independent Bayesian classifier
    combination, variational).

    By default the prior of a row is learned from everybody's votes, as in ``dawid-skene``.  With a
    number for ``smoothing``, a row for true class j has the prior Dirichlet(``smoothing`` * e_j),
    where e_j has ``diagonal`` at j and the rest spread evenly; pi has Dirichlet(1, ..., 1).  The
    trace is the evidence lower bound.  ``confusion`` is the posterior mean, ``confusion_low`` and
    ``confusion_high`` bound the middle 90 % of each entry's Beta marginal.
    """

    smoothing: float | None = None
    diagonal: float = 0.7
    anchor: float = 1.0
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "bayes-dawid-skene"
    paper: ClassVar[str] = "Kim & Ghahramani 2012; Simpson et al. 2013; Paun et al. 2018"
    estimand: ClassVar[Estimand] = "truth"
    objective: ClassVar[str] = "evidence lower bound"
    limits: ClassVar = {
        "smoothing": (SMALLEST, math.inf),
        "diagonal": (SMALLEST, 1 - SMALLEST),
        "anchor": (0, math.inf),
    }
    result: ClassVar = ConfusionPosterior
    parts = staticmethod(confusion.parts)

    def begin(self, part: Votes) -> Sums:
        return confusion.begin(part)

    def learn(self, sums: Sums, before: Any = None) -> Beliefs:
        if self.smoothing is None:
            return population.learn(sums, before, self.anchor)
        _, counts, mass = sums
        return population.believed(counts, mass, *self._fixed(len(mass)))

    def _fixed(self, k: int) -> tuple[Floats, Floats]:
        """The priors of rows, (said, true) and the same either way round, and of the classes."""
        assert self.smoothing is not None, "a prior that is learned is not fixed"
        return self.smoothing * expected_rows(k, self.diagonal), np.ones(k)

    def penalty(self, parameters: Beliefs) -> float:
        """Minus the divergence of the posteriors over pi and confusions from their priors."""
        away = float(parameters.away[0])
        return -away if self.smoothing else population.log_hyperprior(parameters.alpha) - away

    def step(self, part: Votes, parameters: Beliefs) -> Sums:
        return confusion.step(part, parameters.prior, parameters.table)

    def posterior(self, part: Votes, parameters: Beliefs) -> Floats:
        return confusion.posterior(part, parameters.prior, parameters.table)

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Beliefs:
        """The counts behind the earlier means; of new people, those of vote shares."""
        if self.smoothing is None:
            return population.resume(sums, start, index, self.anchor)
        if not isinstance(start, ConfusionPosterior):
            raise DataError("the result to start from does not say how many votes it rests on")
        fixed = self._fixed(len(sums[2]))
        return population.believed(*population.counts_behind(sums, start, index, *fixed), *fixed)

    def described(self, fitted: Fitted) -> dict[str, Any]:
        alpha = fitted.parameters.rows.transpose(0, 2, 1)
        rest = alpha.sum(axis=2, keepdims=True) - alpha
        return population.described(fitted) | {
            "confusion_low": given_away(_quantile(alpha, rest, OUTSIDE)),
            "confusion_high": given_away(_quantile(alpha, rest, 1 - OUTSIDE)),
        }


def _quantile(alpha: Floats, rest: Floats, share: float) -> Floats:
    """Of the Beta marginals; with one class alone there is nothing to be unsure of."""
    if alpha.shape[-1] == 1:
        return np.ones_like(alpha)
    return np.ascontiguousarray(betaincinv(alpha, rest, share))
