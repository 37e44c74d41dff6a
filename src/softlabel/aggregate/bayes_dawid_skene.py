"""Dawid and Skene's model with a posterior over the confusion matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import betaincinv

from softlabel.aggregate import confusion, population
from softlabel.aggregate.base import Map
from softlabel.aggregate.confusion import expected_rows
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.population import Beliefs, ConfusionPosterior
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes, ordered
from softlabel.errors import DataError
from softlabel.registry import SMALLEST
from softlabel.tables import Annotations, Estimand, Floats, Index, given_away

OUTSIDE = 0.05  # on either side of a 90 % interval
LEAST = 1e-3  # votes that a Beta distribution has at least
TINY = 1e-300


@dataclass(frozen=True)
class BayesDawidSkene(Climber):
    """Dawid-Skene with Dirichlet priors on pi and on every row of every confusion matrix, whose
    posteriors are approximated by q(truth) q(pi) prod q(C) (independent Bayesian classifier
    combination, variational).

    By default the prior of a row is learned from everybody's votes, as in ``dawid-skene``.  With a
    number for ``smoothing``, a row for true class j has the prior Dirichlet(``smoothing`` * e_j),
    where e_j has ``diagonal`` at j and the rest spread evenly; pi has Dirichlet(1, ..., 1).  The
    trace is the evidence lower bound.  ``confusion`` is the posterior mean, ``confusion_low`` and
    ``confusion_high`` bound the middle 90 % of a Beta distribution with that mean, whose variance
    is that of the entry's Dirichlet plus what not knowing the true classes adds.
    """

    smoothing: float | None = None
    diagonal: float = 0.7
    anchor: float = 1.0
    n_iter: int = 100
    tol: float = 1e-4

    name: ClassVar[str] = "bayes-dawid-skene"
    paper: ClassVar[str] = "Kim & Ghahramani 2012; Simpson et al. 2013; Paun et al. 2018"
    estimand: ClassVar[Estimand] = "truth"
    limits: ClassVar = {
        "smoothing": (SMALLEST, math.inf),
        "diagonal": (SMALLEST, 1 - SMALLEST),
        "anchor": (0, math.inf),
    }
    result: ClassVar[type[TruthPosterior]] = ConfusionPosterior
    parts = staticmethod(confusion.parts)

    @property
    def objective(self) -> str:
        return "evidence lower bound"

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
        return population.described(fitted)

    def __call__(
        self,
        said: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> TruthPosterior:
        found = super().__call__(said, map, shards, gold=gold, start=start)
        assert isinstance(found, ConfusionPosterior), "it says on how many votes a row rests"
        low, high = _intervals(found, _doubt(ordered(said, self.name, gold), found.probs))
        return replace(found, confusion_low=given_away(low), confusion_high=given_away(high))


def _doubt(votes: Votes, probs: Floats) -> Floats:
    """(a, true, said) the variance of how many votes each entry of a confusion matrix has."""
    from softlabel.aggregate import kernels, population_kernels

    k = votes.labels
    spread = np.zeros((votes.annotators, k, k))
    population_kernels.doubt(kernels.ballots(votes), kernels.fixed(probs), spread.reshape(-1))
    return spread.transpose(0, 2, 1)


def _intervals(found: ConfusionPosterior, doubt: Floats) -> tuple[Floats, Floats]:
    """The middle 90 %.  By the law of total variance: the variance of a Dirichlet entry, were the
    true classes known, and that of its mean (n + alpha) / (N + strength) as they vary."""
    mean = found.confusion
    assert mean is not None, "every result has one"
    assert found.strength is not None, "every result has one"
    if mean.shape[-1] == 1:  # of one class there is nothing to be unsure of
        return np.ones_like(mean), np.ones_like(mean)
    total = (found.rests_on + found.strength)[:, :, None]
    known = mean * (1 - mean)
    moved = (1 - mean) ** 2 * doubt + mean**2 * (doubt.sum(axis=2, keepdims=True) - doubt)
    size = 1 / (1 / (total + 1) + moved / np.maximum(known, TINY) / total**2) - 1
    size = np.maximum(size, LEAST)
    low, high = (betaincinv(mean * size, (1 - mean) * size, q) for q in (OUTSIDE, 1 - OUTSIDE))
    return np.asarray(low), np.asarray(high)
