"""The one-coin model: each person is right with one chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from softlabel.aggregate.truth.base import (
    EMMethod,
    FitResult,
    Sums,
    TruthPosterior,
    Votes,
    mask_unasked,
    match_classes,
    read_only,
    resume_skill,
)
from softlabel.errors import DataError
from softlabel.registry import SMALLEST
from softlabel.tables import Floats, Index, given_away


class Coins(NamedTuple):
    """How common the classes are (k,), and how often each person is right (a,)."""

    prior: Floats
    right: Floats


@dataclass(frozen=True)
class OneCoin(EMMethod):
    """Each person a is right with chance p_a, and otherwise says any other class alike:

        P(true = j | votes) proportional to pi_j prod_a (p_a if a said j else (1 - p_a) / (k - 1)).

    EM from vote shares.  Everybody gets ``smoothing`` imaginary votes, of which the share
    ``diagonal`` is right (a Beta prior), and so does pi, evenly; ``smoothing=0`` has no prior.
    """

    smoothing: float = 2.0
    diagonal: float = 0.7
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "one-coin"
    paper: ClassVar[str] = "Zhang, Chen, Zhou & Jordan 2016"
    limits: ClassVar = {"smoothing": (0, math.inf), "diagonal": (SMALLEST, 1 - SMALLEST)}

    @property
    def objective(self) -> str:
        return "penalised log-likelihood" if self.smoothing else "log-likelihood"

    def begin(self, part: Votes) -> Sums:
        from softlabel.aggregate._kernels import skill as kernels  # loads numba

        right, asked = np.zeros(part.annotators), np.zeros(part.annotators)
        mass = np.zeros(part.labels)
        kernels.coin_begin(part.ballots(), right, asked, mass)
        return np.zeros(1), right, asked, mass

    def learn(self, sums: Sums, before: Any = None) -> Coins:
        _, right, asked, mass = sums
        total = asked + self.smoothing
        share = np.full(len(right), np.nan)  # nobody refers to who has no votes
        expected = self.smoothing * self._expected(len(mass))
        np.divide(right + expected, total, out=share, where=total > 0)
        k, items = len(mass), mass.sum() + self.smoothing
        prior = (mass + self.smoothing / k) / items if items > 0 else np.full(k, 1 / k)
        return Coins(prior, np.minimum(share, 1.0))

    def _expected(self, k: int) -> float:
        return self.diagonal if k > 1 else 1.0  # of one class nobody can be wrong

    def penalty(self, parameters: Coins) -> float:
        if self.smoothing == 0:
            return 0.0
        prior, right = parameters
        total = np.log(prior).mean() + self._expected(len(prior)) * np.log(right).sum()
        if len(prior) > 1:
            total += (1 - self.diagonal) * np.log1p(-right).sum()
        return float(self.smoothing * total)

    def step(self, part: Votes, parameters: Coins) -> Sums:
        right, asked = np.zeros(part.annotators), np.zeros(part.annotators)
        mass = np.zeros(part.labels)
        total = _expect(part, parameters, (right, asked, mass), np.zeros((0, 0)))
        return np.array([total]), right, asked, mass

    def posterior(self, part: Votes, parameters: Coins) -> Floats:
        rows = np.empty((part.items, part.labels))
        rows[np.diff(part.start) == 0] = np.nan
        _expect(part, parameters, (np.zeros(0), np.zeros(0), np.zeros(0)), rows)
        return rows

    def resume(self, sums: Sums, start: TruthPosterior, index: Index) -> Coins:
        if start.prior is None:
            raise DataError("the result to start from has no prior")
        right = resume_skill(start, index, self.learn(sums).right)
        return Coins(np.asarray(start.prior[match_classes(start, index)]), right)

    def describe(self, result: FitResult) -> dict[str, Any]:
        prior, right = result.parameters
        return {"skill": mask_unasked(right, result.asked), "prior": given_away(prior.copy())}


def _expect(part: Votes, parameters: Coins, sums: tuple[Floats, ...], rows: Floats) -> float:
    from softlabel.aggregate._kernels import skill as kernels

    prior, right = parameters
    wrong = (1 - right) / max(part.labels - 1, 1)
    logs = tuple(read_only(np.log(np.maximum(chance, kernels.TINY))) for chance in (right, wrong))
    return float(kernels.coin_expect(part.ballots(), read_only(prior), logs, sums, rows))
