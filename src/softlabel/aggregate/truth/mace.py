"""MACE and ZenCrowd: people know the answer, or they guess.

Both know of a vote only how likely it is meant.  ``table[a, l]`` describes a vote of person a for
class l: the log of its chance where another class is true, how much that log gains where l is
true, and the chance that it was then meant and not a lucky guess.  Where these do not depend on l,
one column stands for all classes.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from softlabel._util.machine import GIGABYTE, memory
from softlabel.aggregate.truth import base
from softlabel.aggregate.truth.base import Engine, FitResult, Sums, TruthPosterior, Votes
from softlabel.errors import DataError
from softlabel.randomness import uniform
from softlabel.registry import SMALLEST
from softlabel.tables import Floats, Index, given_away

LEAST = 1e-6  # of an imaginary vote, so that nobody becomes infallible in floating point
EXACT = 1e-9  # of an objective per vote; what is nearer differs by rounding
BETTER = 10  # last steps that a restart must be ahead: where runs meet, none of them is best
LARGEST_TABLE = 4 * GIGABYTE  # of confusion matrices in a result


def expect_meant(part: Votes, table: Floats) -> Sums:
    """E-step with all classes equally common; ``counts[a, l]``: votes meant, and all others."""
    from softlabel.aggregate._kernels import votes as kernels  # loads numba

    counts = np.zeros((*table.shape[:2], 2))
    total = kernels.expect_meant(part.ballots(), base.read_only(table), part.labels, counts)
    return np.array([total]), counts


def infer_meant(part: Votes, table: Floats) -> Floats:
    """E-step alone."""
    from softlabel.aggregate._kernels import votes as kernels

    rows = np.empty((part.items, part.labels))
    kernels.infer_meant(part.ballots(), base.read_only(table), part.labels, rows)
    return rows


@dataclass(frozen=True)
class ZenCrowd(base.EMMethod):
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
    limits: ClassVar = {"first": (SMALLEST, 1 - SMALLEST)} | dict.fromkeys(
        ("right", "wrong"), (LEAST, math.inf)
    )
    objective: ClassVar[str] = "penalised log-likelihood"

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
        return expect_meant(part, self._table(reliability, part.labels))

    def posterior(self, part: Votes, reliability: Floats) -> Floats:
        return infer_meant(part, self._table(reliability, part.labels))

    def _table(self, reliability: Floats, k: int) -> Floats:
        miss = np.log1p(-reliability) - np.log(max(k - 1, 1))
        return np.stack([miss, np.log(reliability) - miss, np.ones_like(miss)], axis=1)[:, None]

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Floats:
        return base.resume_skill(start, index, self.learn(sums))

    def describe(self, result: FitResult) -> dict[str, Any]:
        return {"skill": base.mask_unasked(result.parameters, result.asked)}


class Competence(NamedTuple):
    """Votes meant and spammed (a, 2), and what was said when spamming (a, k); priors included."""

    meant: Floats
    spam: Floats


@dataclass(frozen=True)
class Mace(base.EMMethod):
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
    limits: ClassVar = {"n_restarts": (1, math.inf)} | dict.fromkeys(
        ("alpha", "beta", "guesses", "smoothing"), (LEAST, math.inf)
    )

    @property
    def objective(self) -> str:
        return "evidence lower bound" if self.method == "vb" else "penalised log-likelihood"

    def check(self, index: Index) -> None:
        """Refuse a table of three numbers per person and class that this machine cannot hold."""
        _, a, k = index.shape
        size, most = a * k * 3 * 8, memory() // 8  # several exist at a time while it learns
        if size > most:
            raise DataError(
                f"{a:,} annotators with {k:,} classes need tables of {size / GIGABYTE:.1f} GB, "
                f"more than {most / GIGABYTE:.1f} GB; zencrowd knows one number of each annotator"
            )

    def best(
        self, engine: Engine, start: TruthPosterior | None = None, index: Index | None = None
    ) -> FitResult:
        """Return the best of all runs; from an earlier result there is only one."""
        sums = engine.sum(self.begin)
        steps: dict[str, Any] = {"n_iter": self.n_iter, "tol": self.tol}
        if start is not None and index is not None:
            return base.fit(self, engine, start=self.resume(sums, start, index), **steps)
        best = base.fit(self, engine, start=self.learn(sums), **steps)
        voted = sums[1].sum(axis=2)
        facts = (voted.sum(axis=1), sums[1][:, :, 0].sum(axis=1))
        keys = [np.rint(fact * 2**20).astype(np.int64) for fact in facts]
        for run in range(1, self.n_restarts):
            theta = uniform(self.seed, run, *keys)  # everybody spams as they have voted
            table = _table(theta, _shares(voted + 1) * (1 - theta)[:, None])
            begun = self.learn(engine.sum(expect_meant, table))
            other = base.fit(self, engine, start=begun, **steps)
            enough = BETTER * max(self.tol, EXACT) * best.asked.sum()
            if other.trace[-1] > best.trace[-1] + enough:
                best = other
        return best

    def begin(self, part: Votes) -> Sums:
        a, k = part.annotators, part.labels
        return expect_meant(part, _table(np.full(a, 0.5), np.full((a, k), 0.5 / k)))

    def _imaginary(self, k: int) -> tuple[float, float, float]:
        """Return imaginary votes that are meant, that are spam, and spam votes for each class."""
        if self.method == "vb":
            return self.alpha, self.beta, self.guesses
        return (self.smoothing / k,) * 3

    def learn(self, sums: Sums, before: Any = None) -> Competence:
        meant, spam = sums[1][:, :, 0].sum(axis=1), sums[1][:, :, 1]
        known, careless, guess = self._imaginary(spam.shape[1])
        both = np.stack([meant + known, spam.sum(axis=1) + careless], axis=1)
        return Competence(both, spam + guess)

    def penalty(self, parameters: Competence) -> float:
        meant, spam = parameters
        known, careless, guess = self._imaginary(spam.shape[1])
        if self.method == "vb":
            priors = np.array([known, careless]), np.full(spam.shape[1], guess)
            return -_divergence(meant, priors[0]) - _divergence(spam, priors[1])
        return float(guess * (np.log(_shares(meant)).sum() + np.log(_shares(spam)).sum()))

    def step(self, part: Votes, parameters: Competence) -> Sums:
        return expect_meant(part, self._weights(parameters))

    def posterior(self, part: Votes, parameters: Competence) -> Floats:
        return infer_meant(part, self._weights(parameters))

    def infer_rows(self, engine: base.Local, parameters: Competence) -> Floats:
        return engine.rows(infer_meant, self._weights(parameters))  # one table for all pieces

    def _weights(self, parameters: Competence) -> Floats:
        """Return the table of the E-step: shares, or with ``vb`` exp of expected logs."""
        if self.method == "em":
            meant, spam = (_shares(counts) for counts in parameters)
        else:
            meant, spam = (
                np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
                for counts in parameters
            )
        return _table(meant[:, 0], spam * meant[:, 1:])

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Competence:
        """Return everybody's earlier shares, of as many votes as they have now."""
        if start.confusion is None:
            raise DataError("the result of mace to start from has no confusion matrices")
        order = base.match_classes(start, index)
        new, old = base.match_people(start, index)
        theta = start.skill[old]
        confusion = start.confusion[old][:, order][:, :, order]
        guess = confusion.min(axis=1)  # the true class has theta on top of it
        if len(order) == 1:
            guess = confusion[:, 0] - theta[:, None]
        known, careless, each = self._imaginary(len(order))
        total = sums[1].sum(axis=(1, 2))[new] + known + careless
        spammed = np.maximum((1 - theta) * total - careless, 0) + len(order) * each
        meant, spam = self.learn(sums)
        met = ~np.isnan(theta)
        meant[new[met]] = (np.stack([theta, 1 - theta], axis=1) * total[:, None])[met]
        spam[new[met]] = (_shares(guess) * spammed[:, None])[met]
        return Competence(meant, spam)

    def describe(self, result: FitResult) -> dict[str, Any]:
        meant, spam = result.parameters
        theta, guess = _shares(meant)[:, 0], _shares(spam)
        a, k = guess.shape
        confusion = None
        if a * k * k * 8 <= LARGEST_TABLE:
            confusion = np.repeat(((1 - theta)[:, None] * guess)[:, None], k, axis=1)
            confusion[:, np.arange(k), np.arange(k)] += theta[:, None]
            given_away(confusion)
        return {"skill": base.mask_unasked(theta, result.asked), "confusion": confusion}


def _shares(counts: Floats) -> Floats:
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _table(meant: Floats, spam: Floats) -> Floats:
    """(a, k, 3) from the chance of a vote that is meant (a,) and of each that is not (a, k)."""
    ratio = meant[:, None] / spam
    return np.stack([np.log(spam), np.log1p(ratio), ratio / (1 + ratio)], axis=2)


def _divergence(counts: Floats, prior: Floats) -> float:
    """Return the KL of Dirichlet distributions from the prior, summed over all people."""
    total = counts.sum(axis=1)
    expected = digamma(counts) - digamma(total)[:, None]
    terms = ((counts - prior) * expected).sum(axis=1)
    terms = terms + gammaln(total) - gammaln(counts).sum(axis=1)
    return float(terms.sum() + len(counts) * (gammaln(prior).sum() - gammaln(prior.sum())))
