"""MACE: people know the answer, or they spam."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from softlabel.aggregate import guesswork, warm
from softlabel.aggregate.base import Map
from softlabel.aggregate.confusion import LARGEST_TABLE
from softlabel.aggregate.em import Engine, Fitted, Sums, fit, local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.votes import Votes, ordered
from softlabel.aggregate.weighing import asked_only, put_together, rows_of
from softlabel.errors import DataError
from softlabel.randomness import uniform
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Estimand, Floats, Index, given_away

LEAST = 1e-6  # of an imaginary vote, so that nobody becomes infallible in floating point
EXACT = 1e-9  # of an objective per vote; what is nearer differs by rounding
BETTER = 10  # last steps that a restart must be ahead: where runs meet, none of them is best


class Competence(NamedTuple):
    """Votes meant and spammed (a, 2), and what was said when spamming (a, k); priors included."""

    meant: Floats
    spam: Floats


@dataclass(frozen=True)
class Mace:
    """Person a knows the answer with chance theta_a, and otherwise draws a label from xi_a:

        P(a says l | true = t) = theta_a [l = t] + (1 - theta_a) xi_a[l],   all classes even.

    ``vb``: variational Bayes with theta_a ~ Beta(alpha, beta) and xi_a ~ Dirichlet(guesses), as
    in the paper; the objective is the evidence lower bound.  ``em``: ``smoothing`` / K is added to
    all counts.  The first run starts with everybody at theta = 1/2 and an even xi; each further
    one (there are ``n_restarts`` runs) at random thetas, and the best objective is kept, or the
    first of those that meet.  The draws belong to how much people said and how well they agree, not
    to their names.
    """

    method: Literal["vb", "em"] = "vb"
    n_restarts: int = 10
    n_iter: int = 200
    tol: float = 1e-6
    alpha: float = 0.5
    beta: float = 0.5
    guesses: float = 10.0
    smoothing: float = 0.01
    seed: int = 0

    name: ClassVar[str] = "mace"
    paper: ClassVar[str] = "Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013"
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
            n_restarts=(1, math.inf),
            n_iter=(1, math.inf),
            tol=(0, math.inf),
            alpha=(LEAST, math.inf),
            beta=(LEAST, math.inf),
            guesses=(LEAST, math.inf),
            smoothing=(LEAST, math.inf),
        )
        _, a, k = said.index.shape
        guesswork.check_table(a, k)
        votes = ordered(said, self.name, gold)
        with local(votes, map, shards) as engine:
            fitted = self.best(engine, start, said.index)
            weights = self._weights(fitted.parameters)
            probs = rows_of(engine, said, guesswork.posterior, weights)
        return put_together(
            self,
            said,
            probs,
            trace=given_away(fitted.trace),
            objective=self.objective,
            converged=fitted.converged,
            **self.described(fitted),
        )

    @property
    def objective(self) -> str:
        return "evidence lower bound" if self.method == "vb" else "penalised log-likelihood"

    def best(
        self, engine: Engine, start: TruthPosterior | None = None, index: Index | None = None
    ) -> Fitted:
        """The best of all runs; from an earlier result, about the people of ``index``, is one."""
        sums = engine.sum(self.begin)
        if start is not None and index is not None:
            warm.check_same_method(self, start)
            return self._run(engine, self.resume(sums, start, index))
        best = self._run(engine, self.learn(sums))
        for run in range(1, self.n_restarts):
            begun = self.learn(engine.sum(guesswork.step, self._drawn(sums, run)))
            other = self._run(engine, begun)
            enough = BETTER * max(self.tol, EXACT) * best.asked.sum()
            if other.trace[-1] > best.trace[-1] + enough:
                best = other
        return best

    def _run(self, engine: Engine, begun: Competence) -> Fitted:
        return fit(self, engine, n_iter=self.n_iter, tol=self.tol, start=begun)

    def _drawn(self, sums: Sums, run: int) -> Floats:
        """The table of random thetas, everybody spamming as they have voted."""
        said = sums[1].sum(axis=2)
        facts = (said.sum(axis=1), sums[1][:, :, 0].sum(axis=1))
        theta = uniform(self.seed, run, *(np.rint(fact * 2**20).astype(np.int64) for fact in facts))
        return _table(theta, _shares(said + 1) * (1 - theta)[:, None])

    def begin(self, part: Votes) -> Sums:
        a, k = part.annotators, part.labels
        return guesswork.step(part, _table(np.full(a, 0.5), np.full((a, k), 0.5 / k)))

    def _imagined(self, k: int) -> tuple[float, float, float]:
        """Imaginary votes that are meant, that are spam, and spam votes for each class."""
        if self.method == "vb":
            return self.alpha, self.beta, self.guesses
        return (self.smoothing / k,) * 3

    def learn(self, sums: Sums, before: Any = None) -> Competence:
        meant, spam = sums[1][:, :, 0].sum(axis=1), sums[1][:, :, 1]
        known, careless, guess = self._imagined(spam.shape[1])
        both = np.stack([meant + known, spam.sum(axis=1) + careless], axis=1)
        return Competence(both, spam + guess)

    def penalty(self, parameters: Competence) -> float:
        meant, spam = parameters
        known, careless, guess = self._imagined(spam.shape[1])
        if self.method == "vb":
            priors = np.array([known, careless]), np.full(spam.shape[1], guess)
            return -_divergence(meant, priors[0]) - _divergence(spam, priors[1])
        return float(guess * (np.log(_shares(meant)).sum() + np.log(_shares(spam)).sum()))

    def step(self, part: Votes, parameters: Competence) -> Sums:
        return guesswork.step(part, self._weights(parameters))

    def posterior(self, part: Votes, parameters: Competence) -> Floats:
        return guesswork.posterior(part, self._weights(parameters))

    def _weights(self, parameters: Competence) -> Floats:
        """What the E-step goes by: shares, or with ``vb`` exp of expected logs."""
        meant, spam = (self._chances(counts) for counts in parameters)
        return _table(meant[:, 0], spam * meant[:, 1:])

    def _chances(self, counts: Floats) -> Floats:
        if self.method == "em":
            return _shares(counts)
        return np.asarray(np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))))

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Competence:
        """Everybody's earlier shares, of as many votes as they have now."""
        if start.confusion is None:
            raise DataError("the result of mace to start from has no confusion matrices")
        order = warm.classes(start, index)
        here, there = warm.people(start, index)
        theta = start.skill[there]
        confusion = start.confusion[there][:, order][:, :, order]
        guess = confusion.min(axis=1)  # the true class has theta on top of it
        if len(order) == 1:
            guess = confusion[:, 0] - theta[:, None]
        known, careless, each = self._imagined(len(order))
        total = sums[1].sum(axis=(1, 2))[here] + known + careless
        spammed = np.maximum((1 - theta) * total - careless, 0) + len(order) * each
        meant, spam = self.learn(sums)
        met = ~np.isnan(theta)
        meant[here[met]] = (np.stack([theta, 1 - theta], axis=1) * total[:, None])[met]
        spam[here[met]] = (_shares(guess) * spammed[:, None])[met]
        return Competence(meant, spam)

    def described(self, fitted: Fitted) -> dict[str, Any]:
        meant, spam = fitted.parameters
        theta, guess = _shares(meant)[:, 0], _shares(spam)
        a, k = guess.shape
        confusion = None
        if a * k * k * 8 <= LARGEST_TABLE:
            confusion = np.repeat(((1 - theta)[:, None] * guess)[:, None], k, axis=1)
            confusion[:, np.arange(k), np.arange(k)] += theta[:, None]
            given_away(confusion)
        return {"skill": asked_only(theta, fitted.asked > 0), "confusion": confusion}


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _table(meant: Floats, spam: Floats) -> Floats:
    """(a, k, 3) from the chance of a vote that is meant (a,) and of each that is not (a, k)."""
    ratio = meant[:, None] / spam
    return np.stack([np.log(spam), np.log1p(ratio), ratio / (1 + ratio)], axis=2)


def _divergence(found: Floats, prior: Floats) -> float:
    """KL of Dirichlet distributions from the prior, over all people."""
    total = found.sum(axis=1)
    expected = digamma(found) - digamma(total)[:, None]
    terms = ((found - prior) * expected).sum(axis=1) + gammaln(total) - gammaln(found).sum(axis=1)
    return float(terms.sum() + len(found) * (gammaln(prior).sum() - gammaln(prior.sum())))
