"""Votes weighted by trust in people: wawa, zero-based skill and CATD.

All three compare everybody with the weighted vote.  Where classes are level in it, a vote for one
of them agrees in even parts.  The result is the share of the weighted vote: high where trusted
people agree, but not the chance of being right.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaincinv

from softlabel.aggregate.truth import base
from softlabel.aggregate.truth.base import Inferred, Local, Sums, TruthMethod, TruthPosterior, Votes
from softlabel.registry import SMALLEST
from softlabel.tables import Floats, Index


def agreement(engine: Local, trust: Floats) -> tuple[Floats, Floats]:
    """(a,) the share of each person's votes that agrees with the weighted vote, (a,) all votes."""
    right, votes = engine.sum(_agreement, trust)[0].T
    return right / np.where(votes > 0, votes, 1), votes


def _agreement(part: Votes, trust: Floats) -> Sums:
    from softlabel.aggregate._kernels import votes as kernels  # loads numba

    sums = np.zeros((part.annotators, 2))
    kernels.add_agreement(part.ballots(), base.read_only(trust), part.labels, sums)
    return (sums,)


def weighted_shares(part: Votes, trust: Floats) -> Floats:
    """(m, k) the shares of the weighted vote."""
    from softlabel.aggregate._kernels import votes as kernels

    rows = np.empty((part.items, part.labels))
    kernels.weighted_shares(part.ballots(), base.read_only(trust), rows)
    return rows


@dataclass(frozen=True)
class Wawa(TruthMethod):
    """Worker agreement with aggregate: a vote weighted by agreement with the plain vote,

        w_a = share of a's votes that equal the majority,   p_j proportional to sum of w_a over
        those who said j.

    It is made in one go: a ``start`` changes nothing.
    """

    name: ClassVar[str] = "wawa"
    paper: ClassVar[str] = "Appen's practice; Ustalov, Pavlichenko & Tseitlin 2024"

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        skill, given = agreement(engine, np.ones(len(index.annotators)))
        return engine.rows(weighted_shares, skill), {"skill": base.mask_unasked(skill, given)}


@dataclass(frozen=True)
class ZeroBasedSkill(TruthMethod):
    """Skills follow the agreement with a vote that is weighted by them:

        w_a <- w_a + rate (share of a's votes that equal the weighted majority - w_a),

    from w_a = 1 / K; every ``patience`` steps ``rate`` is multiplied by ``decay``.  It stops
    when no skill is further than ``tol`` from its share.
    """

    rate: float = 1.0
    patience: int = 20
    decay: float = 0.5
    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "zero-based-skill"
    paper: ClassVar[str] = "Toloka's practice; Ustalov, Pavlichenko & Tseitlin 2024"
    limits: ClassVar = {"rate": (SMALLEST, 1), "patience": (1, math.inf), "decay": (SMALLEST, 1)}

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        skill = base.resume_skill(start, index, 1 / len(index.labels))
        for step in range(1, self.n_iter + 1):
            share, given = agreement(engine, skill)
            off = abs(share - skill).max(initial=0, where=given > 0)
            if off < self.tol:
                break
            skill = skill + self.rate * self.decay ** (step // self.patience) * (share - skill)
        learned = {"skill": base.mask_unasked(skill, given), "converged": bool(off < self.tol)}
        return engine.rows(weighted_shares, skill), learned


@dataclass(frozen=True)
class Catd(TruthMethod):
    """Confidence-aware truth discovery: a vote with weights

        w_a = chi2(alpha / 2; n_a) / (errors of a against the weighted vote + floor),

    the inverse of an upper confidence limit of a's error, for n_a votes; chi2(q; n) is the q
    quantile with n degrees of freedom.  Truth and weights take turns, from the plain vote, for
    ``n_iter`` steps or until no weight changes by more than ``tol`` of itself; who has weight
    decides who errs, so that many steps confirm themselves.  ``floor`` keeps people without errors
    from deciding alone.
    """

    alpha: float = 0.05
    floor: float = 0.5
    n_iter: int = 2
    tol: float = 1e-6

    name: ClassVar[str] = "catd"
    paper: ClassVar[str] = "Li, Li, Gao, Su, Zhao, Demirbas, Fan & Han 2014"
    limits: ClassVar = {"alpha": (SMALLEST, 1), "floor": (SMALLEST, math.inf)}

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        converged = False
        share, given = agreement(engine, np.ones(len(index.annotators)))
        share = base.resume_skill(start, index, share)
        weight = self.weights(share, given)
        for _ in range(1, self.n_iter):
            share, _ = agreement(engine, weight)
            before, weight = weight, self.weights(share, given)
            converged = bool((abs(weight - before) <= self.tol * weight).all())
            if converged and self.tol > 0:
                break
        learned = {"skill": base.mask_unasked(share, given), "converged": converged}
        return engine.rows(weighted_shares, weight), learned

    def weights(self, share: Floats, votes: Floats) -> Floats:
        """(a,) what each person counts, by the share of their votes that agreed and the number of
        their votes; 0 for people without votes."""
        lower = 2 * gammaincinv(np.where(votes > 0, votes, 1) / 2, self.alpha / 2)
        errors = votes * (1 - share)
        return np.where(votes > 0, lower / (errors + self.floor), 0.0)
