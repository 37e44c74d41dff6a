"""Mixtures of Dirichlet distributions: the prior of how people split over an item.

``Prior`` is the mixture.  ``fit_dirichlet`` and ``fit_by_class`` fit it to votes.  The share of one
class under it is a mixture of Beta distributions (``Betas``), and the number of votes for the class
among N further ones a mixture of beta-binomials: quantiles of both are computed, never sampled.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import betainc, expit, gammaln, logit, logsumexp, psi

from softlabel.errors import DataError
from softlabel.randomness import name_keys, uniform
from softlabel.tables import Bools, Floats, Index, Ints, Names, frozen, names

MOST_CODES = 2**62  # codes of combined columns stay below this


@dataclass(frozen=True, eq=False)
class Prior:
    """A mixture over kinds of item: p ~ sum_c weight_c Dirichlet(alpha_c).

    ``alpha`` (C, k) has one row per kind, ``weight`` (C,) says how common each is, ``labels`` are
    the classes.  It is a value: fit it on some items, save it, give it to a pool of others.
    ``wide`` is the prior for intervals of pools whose own kinds are too narrow for them (atoms).
    """

    labels: Names
    alpha: Floats
    weight: Floats
    made_by: str = ""
    wide: Prior | None = None

    def __post_init__(self) -> None:
        labels = names(self.labels)
        alpha = frozen(np.asarray(self.alpha, dtype=np.float64))
        weight = frozen(np.asarray(self.weight, dtype=np.float64))
        if alpha.ndim != 2 or alpha.shape != (len(weight), len(labels)) or not len(weight):
            raise DataError(
                f"Prior: alpha has shape {alpha.shape}, expected (kinds, classes) = "
                f"{(len(weight), len(labels))}"
            )
        if not (np.isfinite(alpha).all() and (alpha > 0).all()):
            raise DataError("Prior: every alpha must be a finite number above 0")
        if not ((weight > 0).all() and abs(weight.sum() - 1) < 1e-6):
            raise DataError("Prior: weights must be above 0 and sum to 1")
        for name, value in (("labels", labels), ("alpha", alpha), ("weight", weight)):
            object.__setattr__(self, name, value)

    @cached_property
    def log_weight(self) -> Floats:
        """(C,) logarithms of the weights."""
        return np.log(self.weight)

    @cached_property
    def mass(self) -> Floats:
        """(C,) A_c = sum_k alpha_ck: how many votes each kind of item is worth beforehand."""
        return np.asarray(self.alpha.sum(axis=1))

    def among(self, labels: Names) -> Prior:
        """Return the same prior with the classes in this order; refuse other classes by name."""
        wanted, known = labels.tolist(), self.labels.tolist()
        if wanted == known:
            return self
        if sorted(wanted) != sorted(known):
            odd = sorted(set(wanted) ^ set(known))[0]
            where = "the prior, but not the data" if odd in known else "the data, but not the prior"
            raise DataError(f"{where}, has a class called {odd!r}: fit a prior of these classes")
        order = [known.index(label) for label in wanted]
        wide = None if self.wide is None else self.wide.among(labels)
        return Prior(labels, self.alpha[:, order], self.weight, self.made_by, wide)

    def save(self, path: str | Path) -> None:
        """Write plain arrays to one ``.npz``: ``labels``, ``alpha``, ``weight``, ``made_by``, and
        where there is one ``wide_alpha`` and ``wide_weight``."""
        arrays: dict[str, Any] = {
            "labels": np.array(self.labels.tolist(), dtype=np.str_),
            "alpha": self.alpha,
            "weight": self.weight,
            "made_by": np.array(self.made_by),
        }
        if self.wide is not None:
            arrays |= {"wide_alpha": self.wide.alpha, "wide_weight": self.wide.weight}
        with Path(path).open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> Prior:
        """Read what ``save`` wrote; nothing in the file is ever executed."""
        if not zipfile.is_zipfile(path):
            raise DataError(f"{path}: is no .npz file, or a damaged one; not a prior")
        with np.load(path, allow_pickle=False) as file:
            missing = {"labels", "alpha", "weight", "made_by"} - set(file)
            if missing:
                raise DataError(f"{path}: no array called {sorted(missing)[0]!r}; not a prior")
            labels = names(file["labels"].tolist())
            wide = None
            if {"wide_alpha", "wide_weight"} <= set(file):
                wide = cls(labels, file["wide_alpha"], file["wide_weight"])
            return cls(labels, file["alpha"], file["weight"], str(file["made_by"]), wide)


# ── votes added up: equal rows once, and histograms ──────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of a table of evidence: ``n[u, k]``, each occurring ``times[u]`` times.

    Most items of a crowd share their counts with many others: a million items with five votes on
    ten classes have at most 2,002 different rows.
    """

    n: Floats
    times: Floats

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def groups(self) -> Groups:
        return group_rows(self.n)


def distinct(evidence: Floats) -> tuple[Rows, Ints]:
    """Return the distinct rows in rising order, and the row of each item."""
    code = np.zeros(len(evidence), dtype=np.int64)
    size = 1
    for place in np.flatnonzero(evidence.any(axis=0)):  # zeros tell no rows apart
        column = evidence[:, place]
        top, values = column.max(initial=0), column.astype(np.int64)
        if top < 2**20 and (values == column).all():  # small whole numbers are their own codes
            here = int(top) + 1
        else:
            kinds, values = np.unique(column, return_inverse=True)
            here = max(len(kinds), 1)
        if size > MOST_CODES // here:  # too many combinations for one number: renumber
            used, code = np.unique(code, return_inverse=True)
            size = len(used)
        code = code * here + values
        size *= here
    groups = np.unique(code, return_index=True, return_inverse=True, return_counts=True)
    _, first, where, times = groups
    return Rows(evidence[first], times.astype(np.float64)), where


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows sorted so that each value is worked out once: histograms of n_ik and of m_i.

    ``label[g]`` and ``value[g]`` name the group of rows with that much evidence for that class;
    ``member`` (u, g) says which rows are in it.  ``total[t]`` and ``of_total`` (u, t) are the same
    for the sums of the rows.  Values of 0 change nothing and are left out.
    """

    label: Ints
    value: Floats
    member: Any
    total: Floats
    of_total: Any

    def log_joint(self, alpha: Floats, log_weight: Floats) -> Floats:
        """(u, C) log weight_c + log P(n_i | alpha_c), but for a constant of the row:

        lgamma(A_c) - lgamma(A_c + m) + sum_k [lgamma(alpha_ck + n_k) - lgamma(alpha_ck)].
        """
        share = np.ascontiguousarray(alpha.T)
        rise = gammaln(share[self.label] + self.value[:, None]) - gammaln(share)[self.label]
        mass = alpha.sum(axis=1)
        fall = gammaln(mass) - gammaln(mass + self.total[:, None])
        return np.asarray(log_weight + (self.member @ rise + self.of_total @ fall))


def group_rows(n: Floats) -> Groups:
    """Return the histograms of these rows."""
    from scipy.sparse import csr_array  # takes a tenth of a second to load

    u = len(n)
    label, row = np.nonzero(n.T)
    value = n[row, label]
    keys = np.lexsort((value, label))
    label, row, value = label[keys], row[keys], value[keys]
    new = np.ones(len(keys), dtype=np.bool_)
    new[1:] = (label[1:] != label[:-1]) | (value[1:] != value[:-1])
    group = np.cumsum(new) - 1
    total, which = np.unique(n.sum(axis=1), return_inverse=True)
    return Groups(
        label=label[new],
        value=value[new],
        member=csr_array((np.ones(len(row)), (row, group)), shape=(u, int(new.sum()))),
        total=total,
        of_total=csr_array((np.ones(u), (np.arange(u), which)), shape=(u, len(total))),
    )


def sample_items(items: Names, most: int, seed: int = 0) -> Ints:
    """Return codes of at most ``most`` items, drawn by name: the same ones in any order."""
    if len(items) <= most:
        return np.arange(len(items))
    key = uniform(seed, name_keys(items))
    return np.sort(np.argpartition(key, most)[:most])


def majorities(n: Floats) -> Floats:
    """(u, k) 1 on the class with most evidence; ties in equal parts."""
    tied = n >= n.max(axis=1, keepdims=True) - 1e-9
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))


# ── fitting a mixture: MAP-EM on histograms ──────────────────────────────────────────────────
# E-step: r_ic proportional to weight_c P(n_i | alpha_c).  M-step: weight_c = (sum_i r_ic + 1) /
# (N + C), and three sweeps of Minka's fixed point under a Gamma(1 + d, d / a0) prior on each alpha:
#
#     alpha_ck <- (alpha_ck S_ck + d) / (D_c + d / a0)
#     S_ck = sum_i r_ic [psi(n_ik + alpha_ck) - psi(alpha_ck)]
#     D_c  = sum_i r_ic [psi(m_i + A_c) - psi(A_c)]
#
# Both steps raise the penalised likelihood, so the trace never falls (but for the clip at 1e-5 and
# 500).  Minka 2000, "Estimating a Dirichlet distribution"; Holmes, Harris & Quince 2012.

D, A0 = 0.01, 0.01  # of the prior on alpha: d = 0.2 costs .010 to .015 nats on CIFAR-10H
SMALLEST, LARGEST = 1e-5, 500.0
SWEEPS = 3
FIT_ITEMS = 50_000  # a few hundred parameters need no more
CELLS = 100_000_000  # numbers in alpha: beyond this a mixture over classes does not fit

# The concentration of crowds: one Dirichlet fitted to each of 34 public data sets has a mass A with
# the median 1.6, from .26 (CIFAR-10H) to 9.3 (offensiveness), and log A has a standard deviation of
# 1.05.  Its prior is wider than that, because few crowds are one Dirichlet.
USUAL_MASS, MASS_SPREAD = 1.5, 1.5
STEP, STEPS = 0.7, 5  # of the scales that are tried, in logarithms, to either side
UNLIKELY = 0.005  # a scale less likely than this, beside the best, is left out
UNSEEN_VOTES, MOST_UNSEEN = 0.5, 5.0  # per class of a kind of item, and over all its classes

ONE_LEVEL = ((0.9, 3.0),)  # (share on the class itself, votes it is worth) at the start
THREE_LEVELS = ((0.99, 20.0), (0.85, 8.0), (0.5, 4.0))
MANY_ITEMS = 2000  # from here on three levels pay; below they overfit


def fit_dirichlet(index: Index, evidence: Floats) -> Prior:
    """Fit a single Dirichlet for all items.

    With no more than one vote per item any concentration fits equally well: then the usual one.
    """
    k = len(index.labels)
    rows = _rows_to_fit(index, evidence)
    shares = rows.times @ rows.n if len(rows) else np.zeros(k)
    alpha = USUAL_MASS * (shares[None, :] + 1 / k) / (shares.sum() + 1)
    weight = np.ones(1)
    if not _only_single_votes(rows):
        alpha, weight, _ = fit_mixture(rows, alpha, weight, n_iter=300, tol=1e-9)
    made_by = f"one Dirichlet fitted to {int(rows.times.sum()):,} items"
    return widen(Prior(index.labels, alpha, weight, made_by), rows)


def fit_by_class(index: Index, evidence: Floats, levels: int | None, n_iter: int) -> Prior:
    """Fit one Dirichlet per class and level of difficulty, from the confusions of the votes.

    With no more than one vote per item kinds cannot be told apart: then one Dirichlet for all.
    """
    k = len(index.labels)
    rows = _rows_to_fit(index, evidence)
    levels = levels or (3 if (evidence.sum(axis=1) > 0).sum() >= MANY_ITEMS else 1)
    table = THREE_LEVELS if levels == 3 else ONE_LEVEL
    if len(table) * k * k > CELLS:
        raise DataError(
            f"a Dirichlet for each of {k} classes needs {len(table)} x {k} x {k} numbers, more "
            f"than {CELLS}; use dirichlet, which has one for all"
        )
    if len(rows) and _only_single_votes(rows):
        return fit_dirichlet(index, evidence)
    away = confusions(rows)
    alpha = np.concatenate([conc * (mass * np.eye(k) + (1 - mass) * away) for mass, conc in table])
    even = np.full(len(alpha), 1 / len(alpha))
    alpha, weight, _ = fit_mixture(rows, alpha, even, n_iter)
    made_by = f"{len(alpha)} Dirichlets fitted to {int(rows.times.sum()):,} items"
    return widen(Prior(index.labels, alpha, weight, made_by), rows)


def _rows_to_fit(index: Index, evidence: Floats) -> Rows:
    """Return distinct evidence of answered items; of very many a sample, drawn by name."""
    rows, _ = distinct(evidence[evidence.sum(axis=1) > 0])
    if len(rows) <= FIT_ITEMS:
        return rows
    few = evidence[sample_items(index.items, FIT_ITEMS)]
    return distinct(few[few.sum(axis=1) > 0])[0]


def _only_single_votes(rows: Rows) -> bool:
    """Return whether no item has more than one vote: then nothing tells how far items differ."""
    return bool(rows.n.sum(axis=1).max(initial=0) <= 1 + 1e-9)


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


def fit_mixture(
    rows: Rows, alpha: Floats, weight: Floats, n_iter: int, tol: float = 0.0
) -> tuple[Floats, Floats, Floats]:
    """Return (alpha, weight, trace) after ``n_iter`` steps, or as soon as one of them raises the
    objective per item by no more than ``tol``."""
    groups, times = rows.groups, rows.times
    items, kinds = times.sum(), len(weight)
    alpha, log_weight = np.clip(alpha, SMALLEST, LARGEST), np.log(weight)
    trace: list[float] = []
    for _ in range(n_iter if len(rows) else 0):
        joint = groups.log_joint(alpha, log_weight)
        each = logsumexp(joint, axis=1, keepdims=True)
        # the log of the priors on alpha and on the weights, but for constants
        penalty = float(D * np.log(alpha).sum() - D / A0 * alpha.sum() + log_weight.sum())
        trace.append(float(times @ each[:, 0]) + penalty)
        if tol and len(trace) > 1 and trace[-1] - trace[-2] <= tol * items:
            break
        r = np.exp(joint - each) * times[:, None]
        log_weight = np.log((r.sum(axis=0) + 1) / (items + kinds))
        votes, totals = groups.member.T @ r, groups.of_total.T @ r
        for _ in range(SWEEPS):
            share, mass = np.ascontiguousarray(alpha.T), alpha.sum(axis=1)
            rise = psi(share[groups.label] + groups.value[:, None]) - psi(share)[groups.label]
            up = np.zeros_like(share)
            if len(rise):
                first = np.flatnonzero(np.r_[True, groups.label[1:] != groups.label[:-1]])
                up[groups.label[first]] = np.add.reduceat(votes * rise, first, axis=0)
            down = (totals * (psi(mass + groups.total[:, None]) - psi(mass))).sum(axis=0)
            alpha = np.clip((share * up + D) / (down + D / A0), SMALLEST, LARGEST).T
    return alpha, np.exp(log_weight), np.array(trace)


def widen(prior: Prior, rows: Rows) -> Prior:
    """Return the fitted prior with what these rows leave uncertain about it.

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

    def scale(step: int) -> tuple[float, Floats]:
        """Return the log of how likely this scale is, and the alphas."""
        here = np.maximum(np.exp(STEP * step) * alpha, SMALLEST)
        each = logsumexp(groups.log_joint(here, prior.log_weight), axis=1)
        away = np.log(concentration(here, prior.weight) / USUAL_MASS) / MASS_SPREAD
        return float(rows.times @ each) - away**2 / 2, here

    tried = [scale(0)]
    for side in (-1, 1):
        for step in range(1, STEPS + 1):
            tried.append(scale(side * step))
            if tried[-1][0] < max(log for log, _ in tried) + np.log(UNLIKELY):
                break
    log = np.array([value for value, _ in tried])
    kept = np.flatnonzero(log >= log.max() + np.log(UNLIKELY))
    chance = np.exp(log[kept] - log.max())
    weight = np.concatenate([each * prior.weight for each in chance / chance.sum()])
    kinds = np.concatenate([tried[i][1] for i in kept])
    return Prior(prior.labels, kinds, weight / weight.sum(), prior.made_by)


def concentration(alpha: Floats, weight: Floats) -> float:
    """Return the mass A of the single Dirichlet whose shares vary as much as this mixture's."""
    mass = alpha.sum(axis=1, keepdims=True)
    share = alpha / mass
    mean = weight @ share
    variance = weight @ (share * (1 - share) / (mass + 1) + share**2) - mean**2
    return float(max((mean * (1 - mean)).sum() / max(variance.sum(), 1e-300) - 1, 1e-3))


# ── mixtures of Beta distributions, many at a time ───────────────────────────────────────────

NEAR = 1e-9  # a limit nearer than this to 0 or 1 is called 0 or 1
PRECISION = 1e-9  # of log odds
ROUNDS = 200  # halving alone would take 40


@dataclass(frozen=True, eq=False)
class Betas:
    """``size`` mixtures: ``weight[e]`` of Beta(``a[e]``, ``b[e]``) is a part of mixture
    ``owner[e]``; the weights of each add up to 1."""

    a: Floats
    b: Floats
    weight: Floats
    owner: Ints
    size: int

    def cdf(self, x: Floats) -> Floats:
        """(size,) P(share <= x) of each mixture, each at its own x."""
        return self.sums(np.asarray(betainc(self.a, self.b, x[self.owner]), dtype=np.float64))

    def sums(self, values: Floats) -> Floats:
        """(size,) weighted sums over the parts of each mixture."""
        total = np.bincount(self.owner, self.weight * values, minlength=self.size)
        return np.asarray(total, dtype=np.float64)

    def only(self, these: Bools) -> Betas:
        """Return the mixtures for which ``these`` is True, renumbered."""
        keep = these[self.owner]
        owner = (np.cumsum(these) - 1)[self.owner[keep]]
        return Betas(self.a[keep], self.b[keep], self.weight[keep], owner, int(these.sum()))

    def vote_chances(self, total: Floats, most: int) -> Iterator[Floats]:
        """Yield (size,) P(0 votes for the class), P(1 vote), ... below ``most``, among ``total``
        further votes; 0 beyond the last of them."""
        n, whole = total[self.owner], self.a + self.b
        log_p = gammaln(self.b + n) - gammaln(self.b) + gammaln(whole) - gammaln(whole + n)
        for count in range(most):
            yield self.sums(np.exp(log_p))
            left = n - count
            with np.errstate(divide="ignore", invalid="ignore"):
                more = np.log(left) - np.log(count + 1)
                more = more + np.log(self.a + count) - np.log(self.b + left - 1)
            log_p = np.where(left > 0, log_p + more, -np.inf)


def quantile(mix: Betas, level: float) -> Floats:
    """(size,) the share x with P(share <= x) = level, to 1e-9 in log odds.

    Many limits are next to 0 or 1 and need one look; the rest are computed by Chandrupatla's
    method (1997), inverse quadratic steps kept inside a bracket, on the log odds.  Problems that
    are solved leave the arrays on the way.
    """
    limits = np.zeros(mix.size)
    above = mix.cdf(np.full(mix.size, 1 - NEAR)) <= level
    limits[above] = 1.0
    inside = ~above & (mix.cdf(np.full(mix.size, NEAR)) < level)
    mix = mix.only(inside)
    edge = float(logit(NEAR))
    roots, number = np.zeros(mix.size), np.arange(mix.size)
    b, a = np.full(mix.size, edge), np.full(mix.size, -edge)
    fb, fa = mix.cdf(expit(b)) - level, mix.cdf(expit(a)) - level
    c, fc, t = a.copy(), fa.copy(), np.full(mix.size, 0.5)
    for _ in range(ROUNDS):
        if not mix.size:
            break
        x = a + t * (b - a)
        fx = mix.cdf(expit(x)) - level
        same = np.sign(fx) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = x, fx
        done = (abs(b - a) <= PRECISION) | (fa == 0)
        roots[number[done]] = np.where(abs(fa) < abs(fb), a, b)[done]
        # where between a and b to look next: by an inverse parabola where it is reliable
        with np.errstate(divide="ignore", invalid="ignore"):  # flat pieces fall back to the middle
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            reliable = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
            t = fa / (fb - fa) * fc / (fb - fc)
            t = t + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
            least = np.minimum(0.5 * PRECISION / abs(b - a), 0.5)
        t = np.clip(np.where(reliable & np.isfinite(t), t, 0.5), least, 1 - least)
        if done.any():
            go = ~done
            mix, number = mix.only(go), number[go]
            a, b, c, fa, fb, fc, t = (array[go] for array in (a, b, c, fa, fb, fc, t))
    roots[number] = a
    limits[inside] = expit(roots)
    return limits


def vote_limits(mix: Betas, votes: int, level: float) -> tuple[Ints, Ints]:
    """(size,) the smallest counts c with P(count <= c) of at least (1 -+ level) / 2, among
    ``votes`` further votes: together they hold at least ``level``."""
    tails = (1 - level) / 2, (1 + level) / 2
    limits = [np.full(mix.size, votes), np.full(mix.size, votes)]
    at_most = np.zeros(mix.size)
    for count, p in enumerate(mix.vote_chances(np.full(mix.size, float(votes)), votes)):
        at_most += p
        for limit, tail in zip(limits, tails, strict=True):
            limit[(at_most >= tail - 1e-12) & (limit == votes)] = count
    return limits[0], limits[1]


def vote_cdf(mix: Betas, count: Ints, votes: Ints) -> tuple[Floats, Floats]:
    """(size,) P(fewer than ``count``) and P(at most ``count``) among ``votes`` further votes, of
    each mixture its own."""
    below, at_most = np.zeros(mix.size), np.zeros(mix.size)
    most = int(count.max(initial=-1)) + 1
    for reached, p in enumerate(mix.vote_chances(votes.astype(np.float64), most)):
        below += np.where(reached < count, p, 0)
        at_most += np.where(reached <= count, p, 0)
    return below, at_most
