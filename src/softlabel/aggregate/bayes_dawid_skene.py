"""Dawid and Skene's model with a posterior over the confusion matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import betaincinv, digamma, gammaln

from softlabel.aggregate import confusion, warm
from softlabel.aggregate.confusion import expected_rows, skills
from softlabel.aggregate.em import Fitted, Sums
from softlabel.aggregate.results import NOTHING, TruthPosterior
from softlabel.aggregate.truth import Climber
from softlabel.aggregate.votes import Votes
from softlabel.errors import DataError
from softlabel.parameters import SMALLEST
from softlabel.tables import Estimand, Floats, Index, given_away

OUTSIDE = 0.05  # on either side of a 90 % interval
TINY = 1e-300  # a chance of zero that a logarithm is taken of


class Beliefs(NamedTuple):
    """Dirichlet concentrations of the classes' shares (k,) and of what people say of each class
    (a, said, true), and exp of the expected logarithms of both: the chances that votes meet."""

    prior: Floats
    table: Floats
    shares: Floats
    rows: Floats


@dataclass(frozen=True, eq=False)
class ConfusionPosterior(TruthPosterior):
    """``rests_on[a, j]``: on how many votes, in expectation, the row of ``confusion`` rests that
    says what a person says where j is true."""

    rests_on: Floats = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True)
class BayesDawidSkene(Climber):
    """Dawid-Skene with Dirichlet priors on pi and on every row of every confusion matrix, whose
    posteriors are approximated by q(truth) q(pi) prod q(C) (independent Bayesian classifier
    combination, variational).

    A row for true class j has the prior Dirichlet(``smoothing`` * e_j), where e_j has ``diagonal``
    at j and the rest spread evenly; pi has Dirichlet(1, ..., 1).  The trace is the evidence lower
    bound.  ``confusion`` is the posterior mean, ``confusion_low`` and ``confusion_high`` bound the
    middle 90 % of each entry's Beta marginal.
    """

    smoothing: float = 4.0
    diagonal: float = 0.7
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "bayes-dawid-skene"
    paper: ClassVar[str] = "Kim & Ghahramani 2012; Simpson et al. 2013"
    estimand: ClassVar[Estimand] = "truth"
    objective: ClassVar[str] = "evidence lower bound"
    limits: ClassVar = {"smoothing": (SMALLEST, math.inf), "diagonal": (SMALLEST, 1 - SMALLEST)}
    result: ClassVar = ConfusionPosterior
    parts = staticmethod(confusion.parts)

    def begin(self, part: Votes) -> Sums:
        return confusion.begin(part)

    def learn(self, sums: Sums) -> Beliefs:
        _, counts, mass = sums
        counts += self._expected(len(mass))
        shares = mass + 1
        prior = np.exp(digamma(shares) - digamma(shares.sum()))
        table = digamma(counts)
        table -= digamma(counts.sum(axis=1))[:, None, :]
        return Beliefs(prior, np.exp(table, out=table), shares, counts)

    def _expected(self, k: int) -> Floats:
        """The prior's concentrations, (said, true): the same either way round."""
        return self.smoothing * expected_rows(k, self.diagonal)

    def penalty(self, parameters: Beliefs) -> float:
        """Minus the divergence of the posteriors over pi and confusions from their priors."""
        prior, table, shares, rows = parameters
        k = len(prior)
        away = _divergence(shares[None, :, None], np.ones((k, 1)), prior[None, :, None])
        for first in range(0, len(rows), confusion.BLOCK):
            block = slice(first, first + confusion.BLOCK)
            away += _divergence(rows[block], self._expected(k), table[block])
        return -away

    def step(self, part: Votes, parameters: Beliefs) -> Sums:
        return confusion.step(part, parameters.prior, parameters.table)

    def posterior(self, part: Votes, parameters: Beliefs) -> Floats:
        return confusion.posterior(part, parameters.prior, parameters.table)

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Beliefs:
        """The counts behind the earlier means; of new people, those of vote shares."""
        none, counts, mass = sums
        if not isinstance(start, ConfusionPosterior):
            raise DataError("the result to start from does not say how many votes it rests on")
        k, before = len(mass), self._expected(len(mass))
        here, there = warm.people(start, index)
        begun = confusion.Confusions(mass, np.zeros_like(counts))
        prior, means = confusion.resumed(begun, start, index)
        votes = start.rests_on[there][:, warm.classes(start, index)] + self.smoothing
        counts[here] = np.maximum(means[here] * votes[:, None, :] - before, 0)
        return self.learn((none, counts, np.maximum(prior * (mass.sum() + k) - 1, 0)))

    def described(self, fitted: Fitted) -> dict[str, Any]:
        found: Beliefs = fitted.parameters
        alpha = np.ascontiguousarray(found.rows.transpose(0, 2, 1))
        total = alpha.sum(axis=2, keepdims=True)
        rest = total - alpha
        mean = alpha / total
        prior = found.shares / found.shares.sum()
        return {
            "confusion": given_away(mean),
            "confusion_low": given_away(_quantile(alpha, rest, OUTSIDE)),
            "confusion_high": given_away(_quantile(alpha, rest, 1 - OUTSIDE)),
            "prior": given_away(prior),
            "skill": given_away(skills(mean, prior, fitted.asked)),
            "rests_on": given_away(np.maximum(total[:, :, 0] - self.smoothing, 0)),
        }


def _divergence(alpha: Floats, before: Floats, chances: Floats) -> float:
    """KL of n x k Dirichlets along axis 1 from their priors; ``chances`` are exp E[log]."""
    total = gammaln(alpha.sum(axis=1)).sum() - gammaln(alpha).sum()
    total -= len(alpha) * (gammaln(before.sum(axis=0)).sum() - gammaln(before).sum())
    # what no vote has touched may underflow, and then weighs nothing
    return float(total + ((alpha - before) * np.log(np.maximum(chances, TINY))).sum())


def _quantile(alpha: Floats, rest: Floats, share: float) -> Floats:
    """Of the Beta marginals; with one class alone there is nothing to be unsure of."""
    if alpha.shape[-1] == 1:
        return np.ones_like(alpha)
    return np.asarray(betaincinv(alpha, rest, share))
