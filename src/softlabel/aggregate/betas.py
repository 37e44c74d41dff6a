"""Mixtures of Beta distributions, many at a time: quantiles, and the votes they foresee.

The share of one class under a mixture of Dirichlets is a mixture of Betas; the number of votes
for it among N further ones is a mixture of beta-binomials.  Nothing here is sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, expit, gammaln, logit

from softlabel.tables import Bools, Floats, Ints

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
        """The mixtures for which ``these`` is True, renumbered."""
        keep = these[self.owner]
        number = np.cumsum(these) - 1
        return Betas(
            self.a[keep],
            self.b[keep],
            self.weight[keep],
            number[self.owner[keep]],
            int(these.sum()),
        )


def quantile(mix: Betas, level: float) -> Floats:
    """(size,) the share x with P(share <= x) = level, to 1e-9 in log odds.

    Many limits are next to 0 or 1 and are told by one look; the rest are found by Chandrupatla's
    method (1997), inverse quadratic steps kept inside a bracket, on the log odds.
    """
    found = np.zeros(mix.size)
    above = mix.cdf(np.full(mix.size, 1 - NEAR)) <= level
    found[above] = 1.0
    open_ = ~above & (mix.cdf(np.full(mix.size, NEAR)) < level)
    found[open_] = expit(_chandrupatla(mix.only(open_), level))
    return found


def _chandrupatla(mix: Betas, level: float) -> Floats:
    """(size,) roots in log odds; the problems that are solved leave the table on the way."""
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
        t = _step(a, b, c, fa, fb, fc)
        if done.any():
            go = ~done
            mix, number = mix.only(go), number[go]
            a, b, c, fa, fb, fc, t = (array[go] for array in (a, b, c, fa, fb, fc, t))
    roots[number] = a
    return roots


def _step(a: Floats, b: Floats, c: Floats, fa: Floats, fb: Floats, fc: Floats) -> Floats:
    """Where between a and b to look next: by an inverse parabola where it can be trusted."""
    with np.errstate(divide="ignore", invalid="ignore"):  # flat pieces fall back to the middle
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        trusted = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        t = fa / (fb - fa) * fc / (fb - fc)
        t = t + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        least = np.minimum(0.5 * PRECISION / abs(b - a), 0.5)
    t = np.where(trusted & np.isfinite(t), t, 0.5)
    return np.asarray(np.clip(t, least, 1 - least))


# ── further votes ────────────────────────────────────────────────────────────────────────────


def vote_limits(mix: Betas, votes: int, level: float) -> tuple[Ints, Ints]:
    """(size,) the smallest counts c with P(count <= c) of at least (1 -+ level) / 2, among
    ``votes`` further votes: together they hold at least ``level``."""
    tails = (1 - level) / 2, (1 + level) / 2
    limits = [np.full(mix.size, votes), np.full(mix.size, votes)]
    total = np.full(mix.size, float(votes))
    at_most = np.zeros(mix.size)
    log_p = _none(mix, total)
    for count in range(votes):
        at_most += mix.sums(np.exp(log_p))
        for limit, tail in zip(limits, tails, strict=True):
            reached = (at_most >= tail - 1e-12) & (limit == votes)
            limit[reached] = count
        log_p = _next(mix, log_p, count, total)
    return limits[0], limits[1]


def vote_cdf(mix: Betas, count: Ints, votes: Ints) -> tuple[Floats, Floats]:
    """(size,) P(fewer than ``count``) and P(at most ``count``) among ``votes`` further votes, of
    each mixture its own."""
    below, at_most = np.zeros(mix.size), np.zeros(mix.size)
    total = votes.astype(np.float64)
    log_p = _none(mix, total)
    for reached in range(int(count.max(initial=-1)) + 1):
        p = mix.sums(np.exp(log_p))
        below += np.where(reached < count, p, 0)
        at_most += np.where(reached <= count, p, 0)
        log_p = _next(mix, log_p, reached, total)
    return below, at_most


def _none(mix: Betas, total: Floats) -> Floats:
    """(e,) log P(no vote) of each part."""
    n, whole = total[mix.owner], mix.a + mix.b
    return np.asarray(gammaln(mix.b + n) - gammaln(mix.b) + gammaln(whole) - gammaln(whole + n))


def _next(mix: Betas, log_p: Floats, count: int, total: Floats) -> Floats:
    """(e,) log P(count + 1 votes) from log P(count votes); -inf beyond the last vote."""
    left = total[mix.owner] - count
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.log(left) - np.log(count + 1) + np.log(mix.a + count) - np.log(mix.b + left - 1)
    return np.where(left > 0, log_p + more, -np.inf)
