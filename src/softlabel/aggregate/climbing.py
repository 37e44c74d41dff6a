"""Fitting a mixture of Dirichlets to votes: MAP-EM on histograms.

E-step: r_ic proportional to weight_c P(n_i | alpha_c).  M-step: weight_c = (sum_i r_ic + 1) /
(N + C), and three sweeps of Minka's fixed point under a Gamma(1 + d, d / a0) prior on each alpha:

    alpha_ck <- (alpha_ck S_ck + d) / (D_c + d / a0)
    S_ck = sum_i r_ic [psi(n_ik + alpha_ck) - psi(alpha_ck)]
    D_c  = sum_i r_ic [psi(m_i + A_c) - psi(A_c)]

Both steps raise the penalised likelihood, so the trace never falls (but for the clip at 1e-5 and
500).  Minka 2000, "Estimating a Dirichlet distribution"; Holmes, Harris & Quince 2012.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp, psi

from softlabel.aggregate.evidence import Groups, Rows, distinct, drawn
from softlabel.aggregate.prior import Prior
from softlabel.errors import DataError
from softlabel.tables import Floats, Index

D, A0 = 0.01, 0.01  # of the prior on alpha: d = 0.2 costs .010 to .015 nats on CIFAR-10H
SMALLEST, LARGEST = 1e-5, 500.0
SWEEPS = 3
FIT_ITEMS = 50_000  # a few hundred parameters need no more
CELLS = 100_000_000  # numbers in alpha: beyond this a mixture over classes does not fit


def fitted_rows(index: Index, evidence: Floats) -> Rows:
    """Distinct evidence of the items that have any; of very many different items a sample, drawn
    by their names."""
    some = evidence[evidence.sum(axis=1) > 0]
    rows, _ = distinct(some)
    if len(rows) <= FIT_ITEMS:
        return rows
    few = evidence[drawn(index.items, FIT_ITEMS)]
    return distinct(few[few.sum(axis=1) > 0])[0]


def climb(
    rows: Rows, alpha: Floats, weight: Floats, n_iter: int, tol: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """(alpha, weight, trace) after ``n_iter`` steps, or as soon as one of them raises the
    objective per item by no more than ``tol``."""
    groups, times = rows.groups, rows.times
    items, kinds = times.sum(), len(weight)
    alpha, log_weight = np.clip(alpha, SMALLEST, LARGEST), np.log(weight)
    trace: list[float] = []
    for _ in range(n_iter if len(rows) else 0):
        joint = groups.log_joint(alpha, log_weight)
        each = logsumexp(joint, axis=1, keepdims=True)
        trace.append(float(times @ each[:, 0]) + _penalty(alpha, log_weight))
        if tol and len(trace) > 1 and trace[-1] - trace[-2] <= tol * items:
            break
        r = np.exp(joint - each) * times[:, None]
        log_weight = np.log((r.sum(axis=0) + 1) / (items + kinds))
        votes, totals = groups.member.T @ r, groups.of_total.T @ r
        for _ in range(SWEEPS):
            alpha = _sweep(groups, votes, totals, alpha)
    return alpha, np.exp(log_weight), np.array(trace)


def _sweep(groups: Groups, votes: Floats, totals: Floats, alpha: Floats) -> Floats:
    """One fixed-point step; ``votes`` (g, C) and ``totals`` (t, C) are the histograms."""
    share = np.ascontiguousarray(alpha.T)
    lift = votes * (psi(share[groups.label] + groups.value[:, None]) - psi(share)[groups.label])
    up = np.zeros_like(share)
    if len(lift):
        first = np.flatnonzero(np.r_[True, groups.label[1:] != groups.label[:-1]])
        up[groups.label[first]] = np.add.reduceat(lift, first, axis=0)
    mass = alpha.sum(axis=1)
    down = (totals * (psi(mass + groups.total[:, None]) - psi(mass))).sum(axis=0)
    return np.asarray(np.clip((share * up + D) / (down + D / A0), SMALLEST, LARGEST).T)


def _penalty(alpha: Floats, log_weight: Floats) -> float:
    """Log of the priors on alpha and on the weights, but for constants."""
    return float(D * np.log(alpha).sum() - D / A0 * alpha.sum() + log_weight.sum())


# ── what the fit cannot tell ─────────────────────────────────────────────────────────────────

# The concentration of crowds: one Dirichlet fitted to each of 34 public data sets has a mass A with
# the median 1.6, from .26 (CIFAR-10H) to 9.3 (offensiveness), and log A a deviation of 1.05.  Its
# prior is wider than that, because few crowds are one Dirichlet.
USUAL_MASS, MASS_SPREAD = 1.5, 1.5
STEP, STEPS = 0.7, 5  # of the scales that are tried, in logarithms, to either side
UNLIKELY = 0.005  # a scale less likely than this, beside the best, is left out
UNSEEN_VOTES, MOST_UNSEEN = 0.5, 5.0  # per class of a kind of item, and over all its classes


def widened(prior: Prior, rows: Rows) -> Prior:
    """The fitted prior, and what these rows cannot tell about it.

    Were a fitted prior taken as known, labels would be too sure and intervals too narrow where few
    votes fitted it (Morris 1983; Laird & Louis 1987).  Two things are uncertain.  How rare a class
    is that nobody chose on items of a kind: each class gets half an unseen vote more (Jeffreys).
    And how far items differ: all alphas times a scale, weighted by the likelihood of the rows and
    by a prior on the concentration.  Votes on many items leave one scale, one vote per item all.
    """
    if not len(rows):
        return prior
    groups, k = rows.groups, prior.alpha.shape[1]
    joint = groups.log_joint(prior.alpha, prior.log_weight)
    r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True)) * rows.times[:, None]
    rise = psi(prior.mass + groups.total[:, None]) - psi(prior.mass)
    down = ((groups.of_total.T @ r) * rise).sum(axis=0)
    unseen = min(UNSEEN_VOTES, MOST_UNSEEN / k) / (down + D / A0)
    alpha = prior.alpha + unseen[:, None]

    def scaled(step: int) -> tuple[float, Floats]:
        """Log of how likely this scale is, and the alphas."""
        here = np.maximum(np.exp(STEP * step) * alpha, SMALLEST)
        each = logsumexp(groups.log_joint(here, prior.log_weight), axis=1)
        away = np.log(concentration(here, prior.weight) / USUAL_MASS) / MASS_SPREAD
        return float(rows.times @ each) - away**2 / 2, here

    found = [scaled(0)]
    for side in (-1, 1):
        for step in range(1, STEPS + 1):
            found.append(scaled(side * step))
            if found[-1][0] < max(log for log, _ in found) + np.log(UNLIKELY):
                break
    log = np.array([value for value, _ in found])
    kept = np.flatnonzero(log >= log.max() + np.log(UNLIKELY))
    chance = np.exp(log[kept] - log.max())
    weight = np.concatenate([each * prior.weight for each in chance / chance.sum()])
    kinds = np.concatenate([found[i][1] for i in kept])
    return Prior(prior.labels, kinds, weight / weight.sum(), prior.made_by)


def concentration(alpha: Floats, weight: Floats) -> float:
    """The mass A of the single Dirichlet whose shares vary as much as those of this mixture."""
    mass = alpha.sum(axis=1, keepdims=True)
    share = alpha / mass
    mean = weight @ share
    variance = weight @ (share * (1 - share) / (mass + 1) + share**2) - mean**2
    return float(max((mean * (1 - mean)).sum() / max(variance.sum(), 1e-300) - 1, 1e-3))


# ── one kind of item ─────────────────────────────────────────────────────────────────────────


def one_alpha(index: Index, evidence: Floats) -> Prior:
    """A single Dirichlet for all items, by the same fixed point.

    With no more than one vote per item any concentration fits equally well: then the usual one.
    """
    k = len(index.labels)
    rows = fitted_rows(index, evidence)
    shares = rows.times @ rows.n if len(rows) else np.zeros(k)
    alpha = USUAL_MASS * (shares[None, :] + 1 / k) / (shares.sum() + 1)
    weight = np.ones(1)
    if not single(rows):
        alpha, weight, _ = climb(rows, alpha, weight, n_iter=300, tol=1e-9)
    return widened(
        Prior(index.labels, alpha, weight, f"one Dirichlet fitted to {_items(rows)}"), rows
    )


def single(rows: Rows) -> bool:
    """True where no item has more than one vote: nothing then tells how far items differ."""
    return bool(rows.n.sum(axis=1).max(initial=0) <= 1 + 1e-9)


# ── one kind of item per class and level of difficulty ───────────────────────────────────────

ONE_LEVEL = ((0.9, 3.0),)  # (share on the class itself, votes it is worth) at the start
THREE_LEVELS = ((0.99, 20.0), (0.85, 8.0), (0.5, 4.0))
MANY_ITEMS = 2000  # from here on three levels pay; below they overfit


def by_class(index: Index, evidence: Floats, levels: int | None, n_iter: int) -> Prior:
    """One Dirichlet per class and level of difficulty, started from the confusions of the votes.

    With no more than one vote per item kinds cannot be told apart: then one Dirichlet for all.
    """
    k = len(index.labels)
    rows = fitted_rows(index, evidence)
    answered = int((evidence.sum(axis=1) > 0).sum())
    used = levels or (3 if answered >= MANY_ITEMS else 1)
    table = THREE_LEVELS if used == 3 else ONE_LEVEL
    if len(table) * k * k > CELLS:
        raise DataError(
            f"a Dirichlet for each of {k} classes needs {len(table)} x {k} x {k} numbers, more "
            f"than {CELLS}; use dirichlet, which has one for all"
        )
    if len(rows) and single(rows):
        return one_alpha(index, evidence)
    away = confusions(rows)
    alpha = np.concatenate([conc * (mass * np.eye(k) + (1 - mass) * away) for mass, conc in table])
    even = np.full(len(alpha), 1 / len(alpha))
    alpha, weight, _ = climb(rows, alpha, even, n_iter)
    made_by = f"{len(alpha)} Dirichlets fitted to {_items(rows)}"
    return widened(Prior(index.labels, alpha, weight, made_by), rows)


def confusions(rows: Rows) -> Floats:
    """(k, k) how the votes for other classes spread on items whose majority is c: rows sum to 1.

    Ties belong to all tied classes in equal parts, so that the order of classes does not matter.
    Where nobody ever said anything else the rest is even.
    """
    k = rows.n.shape[1]
    if k == 1:
        return np.ones((1, 1))
    away = majorities(rows.n).T @ (rows.n * rows.times[:, None])
    np.fill_diagonal(away, 0)
    total = away.sum(axis=1, keepdims=True)
    even = (1 - np.eye(k)) / (k - 1)
    return np.where(total > 0, away / np.where(total > 0, total, 1), even)


def majorities(n: Floats) -> Floats:
    """(u, k) 1 on the class with most evidence; ties in equal parts."""
    tied = n >= n.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


def _items(rows: Rows) -> str:
    return f"{int(rows.times.sum()):,} items"
