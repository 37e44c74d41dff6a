"""What one may believe about the split of every item: its label, its intervals, and what one more
vote would teach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import entr, logsumexp

from softlabel.aggregate import climbing
from softlabel.aggregate.betas import Betas, quantile, vote_cdf, vote_limits
from softlabel.aggregate.evidence import Rows, distinct, grouped
from softlabel.aggregate.prior import Prior
from softlabel.errors import DataError
from softlabel.tables import Floats, Index, Ints, frozen, given_away

CELLS = 2_000_000  # numbers (items x kinds x classes) worked on at once: 16 MB an array
UNSEEN = 1e-9  # a kind of item less likely than this does not move a limit


@dataclass(frozen=True, eq=False)
class Belief:
    """The posterior of how people split over each item.

    Before any vote p ~ sum_c weight_c Dirichlet(alpha_c) (``prior``); after evidence n (votes per
    class, may be fractional) it is the mixture of Dirichlet(alpha_c + n) with weights r_c.  Items
    without evidence keep the prior.  Without a prior of its own (``given``) it is a single
    Dirichlet fitted to the same evidence.  Nothing is computed before it is asked for, and equal
    rows of evidence are worked out once.
    """

    index: Index
    evidence: Floats
    given: Prior | None = None

    def __post_init__(self) -> None:
        m, _, k = self.index.shape
        evidence = frozen(np.asarray(self.evidence, dtype=np.float64))
        if evidence.shape != (m, k):
            raise DataError(f"Belief: evidence has shape {evidence.shape}, expected {(m, k)}")
        if not (np.isfinite(evidence).all() and (evidence >= 0).all()):
            raise DataError("Belief: evidence must be finite and not below 0")
        object.__setattr__(self, "evidence", evidence)

    @cached_property
    def prior(self) -> Prior:
        """What is believed about an item before anybody answers."""
        if self.given is None:
            return climbing.one_alpha(self.index, self.evidence)
        return self.given.among(self.index.labels)

    @property
    def wide(self) -> Prior:
        """The prior for intervals."""
        return self.prior.wide or self.prior

    @cached_property
    def _distinct(self) -> tuple[Rows, Ints]:
        return distinct(self.evidence)

    # ── what it says ─────────────────────────────────────────────────────────────────────────

    def mean(self) -> Floats:
        """(m, k) the label: E[p_k] = sum_c r_c (alpha_ck + n_k) / (A_c + m)."""
        return self._per_item(lambda n, r: _mean(self.prior, n, r))

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """(m, k) and (m, k): limits between which p_k lies with chance ``level``, equal tails.

        They are about the split of the whole crowd.  The share of a few further votes strays
        further: that is ``predictive``.  They always hold the label.
        """
        tails = _tails(level)

        def limits(n: Floats, r: Floats) -> Floats:
            mix = _betas(self.wide, n, r)
            low, high = (quantile(mix, tail).reshape(n.shape) for tail in tails)
            low, high = _unskewed(low, high, _mean(self.wide, n, r), tails[0])
            label = np.minimum(_mean(self.prior, n, _kinds(self.prior, n)), 1)  # but for rounding
            return np.concatenate([np.minimum(low, label), np.maximum(high, label)], axis=1)

        return _halves(self._per_item(limits, self.wide))

    def predictive(self, votes: int, level: float = 0.9) -> tuple[Ints, Ints]:
        """(m, k) and (m, k): how many of ``votes`` further votes will go to each class, with a
        chance of at least ``level``."""
        _tails(level)
        if votes < 1:
            raise DataError(f"votes = {votes}: at least one further vote is needed")

        def limits(n: Floats, r: Floats) -> Floats:
            found = vote_limits(_betas(self.wide, n, r), votes, level)
            return np.concatenate([limit.reshape(n.shape) for limit in found], axis=1)

        low, high = _halves(self._per_item(limits, self.wide))
        return low.astype(np.int64), high.astype(np.int64)

    def predictive_cdf(self, label: Ints, count: Ints, votes: Ints) -> tuple[Floats, Floats]:
        """(m,) P(fewer than ``count``) and (m,) P(at most ``count``) of ``votes`` further votes go
        to the class ``label``, each item with its own three numbers.

        A number drawn evenly between the two is even on 0..1 if the belief is right: the fair test
        of an interval against votes that were held out.
        """
        rows, where = self._distinct
        below, at_most = np.zeros(len(where)), np.zeros(len(where))
        for part in _chunks(len(where), self.wide.alpha.size):
            n = rows.n[where[part]]
            mix = _betas(self.wide, n, _kinds(self.wide, n), np.asarray(label)[part])
            found = vote_cdf(mix, np.asarray(count)[part], np.asarray(votes)[part])
            below[part], at_most[part] = found
        return below, at_most

    def gain(self) -> Floats:
        """(m,) what one more vote is expected to teach, in nats:

        G(n) = H(q_n) - sum_k q_n(k) H(q_{n + e_k}), the information that the next vote holds about
        the one after it; how much closer in KL the label comes to the split on average.
        """
        return self._per_item(lambda n, r: _gain(self.prior, n, r)[:, None])[:, 0]

    def kinds(self) -> Floats:
        """(m, C) r_c: which kind of item each one is likely to be."""
        return self._per_item(lambda n, r: r)

    # ── what it becomes ──────────────────────────────────────────────────────────────────────

    def updated(self, items: Ints, evidence: Floats) -> Belief:
        """With more ``evidence`` (j, k) for the items of these codes (j,), under the same prior."""
        total = np.array(self.evidence)
        np.add.at(total, np.asarray(items), np.asarray(evidence, dtype=np.float64))
        return Belief(self.index, given_away(total), self.prior)

    # ── how it is worked out ─────────────────────────────────────────────────────────────────

    def _per_item(
        self, function: Callable[[Floats, Floats], Floats], prior: Prior | None = None
    ) -> Floats:
        """``function(evidence, kinds)`` of the distinct rows, a chunk at a time, given to items."""
        rows, where = self._distinct
        prior = prior or self.prior
        found = [
            function(rows.n[part], _kinds(prior, rows.n[part]))
            for part in _chunks(len(rows), prior.alpha.size)
        ]
        if not found:
            return function(rows.n, np.zeros((0, len(prior.weight))))
        return np.concatenate(found)[where]


def posterior_mean(prior: Prior, evidence: Floats) -> Floats:
    """(m, k) labels of rows of evidence under a prior of the same classes."""
    rows, where = distinct(evidence)
    means = [
        _mean(prior, rows.n[part], _kinds(prior, rows.n[part]))
        for part in _chunks(len(rows), prior.alpha.size)
    ]
    return np.concatenate(means)[where] if means else np.zeros_like(evidence)


def _chunks(rows: int, cells: int) -> Iterator[slice]:
    size = max(1, CELLS // max(cells, 1))
    return (slice(start, start + size) for start in range(0, rows, size))


def _kinds(prior: Prior, n: Floats) -> Floats:
    """(b, C) r_c of each row of evidence."""
    joint = grouped(n).log_joint(prior.alpha, prior.log_weight)
    return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))


def _mean(prior: Prior, n: Floats, r: Floats) -> Floats:
    part = r / (prior.mass + n.sum(axis=1, keepdims=True))
    return np.asarray(part @ prior.alpha + n * part.sum(axis=1, keepdims=True))


def _gain(prior: Prior, n: Floats, r: Floats) -> Floats:
    """(b,) by K + 1 labels: now, and after a vote for each class."""
    now = _mean(prior, n, r)
    mass = prior.mass + n.sum(axis=1, keepdims=True)
    after = np.zeros(len(n))
    for k in range(n.shape[1]):
        heard = r * (prior.alpha[:, k] + n[:, [k]]) / mass  # sums to q(k): the chance of this vote
        part = heard / (mass + 1)
        label = part @ prior.alpha + n * part.sum(axis=1, keepdims=True)
        label[:, k] += part.sum(axis=1)
        chance = now[:, [k]]
        after += now[:, k] * entr(label / np.where(chance > 0, chance, 1)).sum(axis=1)
    return np.asarray(np.maximum(entr(now).sum(axis=1) - after, 0))  # rounding can take it below


def _betas(prior: Prior, n: Floats, r: Floats, label: Ints | None = None) -> Betas:
    """The share of each class of each row (mixture row * k + class), or of one class per row."""
    row, kind = np.nonzero(r > UNSEEN)
    total = np.bincount(row, r[row, kind], minlength=len(n))  # what was dropped is made up for
    weight = r[row, kind] / total[row]
    if label is not None:
        a = prior.alpha[kind, label[row]] + n[row, label[row]]
        whole = prior.mass[kind] + n[row].sum(axis=1)
        return Betas(a, _rest(whole, a), weight, row, len(n))
    k = n.shape[1]
    every = prior.alpha[kind] + n[row]
    rest = _rest(every.sum(axis=1, keepdims=True), every)
    owner = (row[:, None] * k + np.arange(k)).ravel()
    return Betas(every.ravel(), rest.ravel(), np.repeat(weight, k), owner, n.size)


def _unskewed(low: Floats, high: Floats, mean: Floats, tail: float) -> tuple[Floats, Floats]:
    """Limits that hold the mean.

    A class with next to no alpha is believed to be nothing at all but for a rare large share: its
    mean lies beyond its limit.  Votes cannot tell that from a small share on every item, so the
    limit is then that of an exponential share with the same mean (3 times the mean at 90 %).  The
    same at the other end.
    """
    odds = mean / np.maximum(1 - mean, 1e-300)
    most, least = 1 - tail**odds, tail ** (1 / np.maximum(odds, 1e-300))
    return np.where(mean < low, least, low), np.where(mean > high, most, high)


def _rest(whole: Floats, part: Floats) -> Floats:
    """whole - part, the weight of all other classes; never quite 0, as it is with one class."""
    return np.asarray(np.maximum(whole - part, 1e-12))


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise DataError(f"level = {level}: must be between 0 and 1, for instance 0.9")
    return (1 - level) / 2, (1 + level) / 2


def _halves(both: Floats) -> tuple[Floats, Floats]:
    k = both.shape[1] // 2
    return both[:, :k], both[:, k:]
