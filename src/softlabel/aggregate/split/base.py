"""How every pool runs that asks how people split over the classes.

A pool adds up the answers to each item and turns the sums into labels, so items may be worked on
in any parts, and new answers can be added to finished labels.  ``Belief`` is the posterior of the
split of each item: its mean, its intervals, and what one more vote would teach.  There are two
entry points: ``CountPool`` for pools without a model of their own, and ``BayesPool`` for pools
with a prior, which take votes and rich answers.
"""

from __future__ import annotations

from builtins import map as in_turn
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from scipy.special import entr, gammaln

from softlabel import tables
from softlabel.aggregate.base import Map, map_items
from softlabel.aggregate.split import mixtures
from softlabel.aggregate.split.mixtures import Prior
from softlabel.errors import DataError
from softlabel.registry import Options
from softlabel.tables import Annotations, Estimand, Floats, Index, Ints, Names, SoftLabels

CELLS = 2_000_000  # numbers (items x kinds x classes) worked on at once: 16 MB an array
FEW_CELLS = 20_000  # so few are computed one by one
UNSEEN = 1e-9  # a kind of item less likely than this does not move a limit
LEAST_REST = 1e-12  # weight of all other classes: never quite 0, as it is with one class

# Pseudo-votes that a rich answer is worth inside the formula: by the votes that the item has
# besides, for its first answer and for each of six; fitted to held-out votes of CIFAR-10H.
# It is not its value in votes: see docs/pools/stack.md.
VOTES = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0)
FIRST = (2.5, 1.9, 1.6, 1.5, 1.3, 0.6)
OF_SIX = (4.8, 4.0, 2.8, 2.2, 1.3, 0.75)
ENOUGH_VOTES = 2.0  # per item, for a prior to be learned from votes


# ── what is believed about each item ─────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Belief:
    """The posterior of how people split over each item.

    Before any vote p ~ sum_c weight_c Dirichlet(alpha_c) (``prior``); after evidence n (votes per
    class, may be fractional) it is the mixture of Dirichlet(alpha_c + n) with weights r_c.  Items
    without evidence keep the prior.  Without a prior of its own (``given``) it is a single
    Dirichlet fitted to the same evidence.  Nothing is computed before it is needed, and equal rows
    of evidence are computed once.
    """

    index: Index
    evidence: Floats
    given: Prior | None = None

    def __post_init__(self) -> None:
        m, _, k = self.index.shape
        evidence = tables.frozen(np.asarray(self.evidence, dtype=np.float64))
        if evidence.shape != (m, k):
            raise DataError(f"Belief: evidence has shape {evidence.shape}, expected {(m, k)}")
        if not (np.isfinite(evidence).all() and (evidence >= 0).all()):
            raise DataError("Belief: evidence must be finite and not below 0")
        object.__setattr__(self, "evidence", evidence)

    @cached_property
    def prior(self) -> Prior:
        """What is believed about an item before anybody answers."""
        if self.given is None:
            return mixtures.fit_dirichlet(self.index, self.evidence)
        return self.given.among(self.index.labels)

    @property
    def wide(self) -> Prior:
        """The prior for intervals."""
        return self.prior.wide or self.prior

    @cached_property
    def _distinct(self) -> tuple[mixtures.Rows, Ints]:
        return mixtures.distinct(self.evidence)

    def mean(self) -> Floats:
        """(m, k) the label: E[p_k] = sum_c r_c (alpha_ck + n_k) / (A_c + m)."""
        return self._per_item(Kinds.mean)

    def interval(self, level: float = 0.9) -> tuple[Floats, Floats]:
        """(m, k) and (m, k): limits between which p_k lies with chance ``level``, equal tails.

        They are about the split of the whole crowd.  The share of a few further votes strays
        further: that is ``predictive``.  They always hold the label.
        """
        tails = _tails(level)

        def limits(kinds: Kinds) -> Floats:
            mix = kinds.betas()
            low, high = (mixtures.quantile(mix, tail).reshape(kinds.n.shape) for tail in tails)
            # A class with next to no alpha is believed to be nothing at all but for a rare large
            # share: its mean lies beyond its limit.  Votes cannot tell that from a small share on
            # every item, so the limit is then that of an exponential share with the same mean (3
            # times the mean at 90 %).  The same at the other end.
            mean = kinds.mean()
            odds = mean / np.maximum(1 - mean, 1e-300)
            most, least = 1 - tails[0] ** odds, tails[0] ** (1 / np.maximum(odds, 1e-300))
            low, high = np.where(mean < low, least, low), np.where(mean > high, most, high)
            return np.concatenate([low, high], axis=1)

        low, high = np.split(self._per_item(limits, wide=True), 2, axis=1)
        label = np.minimum(self.mean(), 1)  # but for rounding
        return np.minimum(low, label), np.maximum(high, label)

    def predictive(self, votes: int, level: float = 0.9) -> tuple[Ints, Ints]:
        """(m, k) and (m, k): how many of ``votes`` further votes will go to each class, with a
        chance of at least ``level``."""
        _tails(level)
        if votes < 1:
            raise DataError(f"votes = {votes}: at least one further vote is needed")

        def limits(kinds: Kinds) -> Floats:
            both = mixtures.vote_limits(kinds.betas(), votes, level)
            return np.concatenate([limit.reshape(kinds.n.shape) for limit in both], axis=1)

        low, high = np.split(self._per_item(limits, wide=True), 2, axis=1)
        return low.astype(np.int64), high.astype(np.int64)

    def predictive_cdf(self, label: Ints, count: Ints, votes: Ints) -> tuple[Floats, Floats]:
        """(m,) P(fewer than ``count``) and (m,) P(at most ``count``) of ``votes`` further votes go
        to the class ``label``, each item with its own three numbers.

        A number drawn evenly between the two is even on 0..1 if the belief is right: the fair test
        of an interval against votes that were held out.
        """
        items = len(self.evidence)
        below, at_most = np.zeros(items), np.zeros(items)
        for part in _chunks(items, self.wide.alpha.size):
            mix = self._kinds_of(part, wide=True).betas(np.asarray(label)[part])
            limits = mixtures.vote_cdf(mix, np.asarray(count)[part], np.asarray(votes)[part])
            below[part], at_most[part] = limits
        return below, at_most

    def gain(self) -> Floats:
        """(m,) what one more vote is expected to teach, in nats:

        G(n) = H(q_n) - sum_k q_n(k) H(q_{n + e_k}), the information that the next vote holds about
        the one after it; how much closer in KL the label comes to the split on average.
        """
        return self._per_item(lambda kinds: kinds.gain()[:, None])[:, 0]

    def draw(self, rng: np.random.Generator) -> Floats:
        """(m, k) a split of each item, drawn from the posterior."""
        items = len(self.evidence)
        drawn = [self._kinds_of(part).draw(rng) for part in _chunks(items, self.prior.alpha.size)]
        return np.concatenate(drawn) if drawn else np.zeros_like(self.evidence)

    def kinds(self) -> Floats:
        """(m, C) r_c: which kind of item each one is likely to be."""
        return self._per_item(lambda kinds: kinds.r)

    def update(self, items: Ints, evidence: Floats) -> Self:
        """Return the belief after more ``evidence`` (j, k) for items of codes (j,), same prior."""
        total = np.array(self.evidence)
        np.add.at(total, np.asarray(items), np.asarray(evidence, dtype=np.float64))
        return replace(self, evidence=tables.given_away(total), given=self.prior)

    def take(self, items: Ints) -> Self:
        """Return the belief about these items (codes) alone, in this order, same prior."""
        index = replace(self.index, items=self.index.items[items])
        return replace(self, index=index, evidence=self.evidence[items], given=self.prior)

    def _per_item(self, function: Callable[[Kinds], Floats], wide: bool = False) -> Floats:
        """Return ``function`` of every item, from chunks that memory holds; equal rows once."""
        rows, where = self._distinct
        if not wide and 0 < len(rows) * self.prior.alpha.size <= CELLS:
            return function(self._few_kinds)[where]
        return _by_chunks(function, self.wide if wide else self.prior, rows)[where]

    @cached_property
    def _few_kinds(self) -> Kinds:
        """The kinds of the distinct rows, if they are one chunk: gain and mean share them."""
        return find_kinds(self.prior, self._distinct[0].n)

    def _kinds_of(self, part: slice, wide: bool = False) -> Kinds:
        """Return the kinds of some items in their order."""
        return find_kinds(self.wide if wide else self.prior, self.evidence[part])


@dataclass(frozen=True, eq=False)
class Kinds:
    """What some items may be: with chance ``r`` (b, C) of the kind whose posterior is Dirichlet(
    alpha_c + n).  ``n`` (b, k) is the evidence, ``alpha`` (C, k), or (b, C, k) where each item has
    kinds of its own."""

    n: Floats
    alpha: Floats
    r: Floats

    @cached_property
    def mass(self) -> Floats:
        """(b, C) A_c + m."""
        return np.asarray(self.alpha.sum(axis=-1) + self.n.sum(axis=1, keepdims=True))

    def _blend(self, part: Floats) -> Floats:
        """(b, k) sum_c part_c (alpha_c + n)."""
        shared = self.alpha.ndim == 2
        known = part @ self.alpha if shared else (part[:, None, :] @ self.alpha)[:, 0]
        return np.asarray(known + self.n * part.sum(axis=1, keepdims=True))

    def mean(self) -> Floats:
        """(b, k) the label."""
        return self._blend(self.r / self.mass)

    def gain(self) -> Floats:
        """(b,) the gain, from K + 1 labels: now, and after a vote for each class."""
        now, after = self.mean(), np.zeros(len(self.n))
        for k in range(self.n.shape[1]):
            # sums to q(k): the chance of this vote
            heard = self.r * (self.alpha[..., k] + self.n[:, [k]]) / self.mass
            part = heard / (self.mass + 1)
            label = self._blend(part)
            label[:, k] += part.sum(axis=1)
            chance = now[:, [k]]
            after += now[:, k] * entr(label / np.where(chance > 0, chance, 1)).sum(axis=1)
        return np.asarray(np.maximum(entr(now).sum(axis=1) - after, 0))  # rounding can fall below

    def betas(self, label: Ints | None = None) -> mixtures.Betas:
        """The share of each class of each item (mixture item * k + class), or of one class per
        item."""
        row, kind = np.nonzero(self.r > UNSEEN)
        total = np.bincount(row, self.r[row, kind], minlength=len(self.n))  # makes up for the rest
        weight = self.r[row, kind] / total[row]
        known = self.alpha[kind] if self.alpha.ndim == 2 else self.alpha[row, kind]
        if label is not None:
            each = np.arange(len(row)), label[row]
            a = known[each] + self.n[row, label[row]]
            rest = np.maximum(self.mass[row, kind] - a, LEAST_REST)
            return mixtures.Betas(a, rest, weight, row, len(self.n))
        k = self.n.shape[1]
        every = known + self.n[row]
        rest = np.maximum(every.sum(axis=1, keepdims=True) - every, LEAST_REST)
        owner = (row[:, None] * k + np.arange(k)).ravel()
        return mixtures.Betas(every.ravel(), rest.ravel(), np.repeat(weight, k), owner, self.n.size)

    def draw(self, rng: np.random.Generator) -> Floats:
        """(b, k) a split of each item: a kind by its chance, then of its Dirichlet."""
        chance = self.r.cumsum(axis=1)
        kind = (chance < rng.random((len(chance), 1)) * chance[:, [-1]]).sum(axis=1)
        rows = np.arange(len(kind))
        known = self.alpha[kind] if self.alpha.ndim == 2 else self.alpha[rows, kind]
        gamma = rng.standard_gamma(known + self.n) + 1e-300
        return np.asarray(gamma / gamma.sum(axis=1, keepdims=True))


def find_kinds(prior: Prior, n: Floats) -> Kinds:
    """Return what items with this evidence may be, under a prior that they share."""
    if len(n) * prior.alpha.size <= FEW_CELLS:  # to group them takes longer than to compute them
        rise = (gammaln(prior.alpha + n[:, None, :]) - gammaln(prior.alpha)).sum(axis=2)
        joint = prior.log_weight + rise - gammaln(prior.mass + n.sum(axis=1, keepdims=True))
        joint += gammaln(prior.mass)
    else:
        joint = mixtures.group_rows(n).log_joint(prior.alpha, prior.log_weight)
    r = np.exp(joint - joint.max(axis=1, keepdims=True))
    return Kinds(n, prior.alpha, np.asarray(r / r.sum(axis=1, keepdims=True)))


def posterior_mean(prior: Prior, evidence: Floats) -> Floats:
    """(m, k) labels of rows of evidence under a prior of the same classes."""
    rows, where = mixtures.distinct(evidence)
    return _by_chunks(Kinds.mean, prior, rows)[where]


def _by_chunks(function: Callable[[Kinds], Floats], prior: Prior, rows: mixtures.Rows) -> Floats:
    """Return ``function`` of distinct rows, from chunks that memory holds."""
    if not len(rows):
        return function(Kinds(rows.n, prior.alpha, np.zeros((0, len(prior.weight)))))
    chunks = [rows.n[part] for part in _chunks(len(rows), prior.alpha.size)]
    return np.concatenate([function(find_kinds(prior, n)) for n in chunks])


def _chunks(rows: int, cells: int) -> Iterator[slice]:
    size = max(1, CELLS // max(cells, 1))
    return (slice(start, start + size) for start in range(0, rows, size))


def _tails(level: float) -> tuple[float, float]:
    if not 0 < level < 1:
        raise DataError(f"level = {level}: must be between 0 and 1, for instance 0.9")
    return (1 - level) / 2, (1 + level) / 2


# ── labels, and the two entry points ─────────────────────────────────────────────────────────


class FittedPool(Protocol):
    """A pool whose parameters are known: the label of an item is a function of sums."""

    def sums(self, annotations: Annotations) -> Floats:
        """(m, t) sums over the answers to each item; columns that are missing at the end are 0."""

    def rows(self, sums: Floats) -> Floats:
        """(m, k) the labels."""

    def belief(self, index: Index, sums: Floats) -> Belief:
        """Return what else is believed about the same items."""


@dataclass(frozen=True, eq=False, repr=False)
class LabelDistribution(SoftLabels):
    """How people split over the classes, and how sure one may be of that.

    ``belief`` holds what is believed about the split of each item: its intervals and the gain of
    one more vote.  ``chosen`` and ``why`` are filled by pools that choose for themselves or fit
    their parameters.  ``fitted`` is the pool with the parameters it used, ``sums`` what it made
    the labels of: with them ``update`` adds new answers.
    """

    belief: Belief | None = None
    chosen: str = ""
    why: str = ""
    fitted: FittedPool | None = field(default=None, repr=False)
    sums: Floats | None = field(default=None, repr=False)


def make_labels(
    pooler: Any, fitted: FittedPool, index: Index, sums: Floats, count: Ints, why: str = ""
) -> LabelDistribution:
    """Make the result from the sums of the items; an item nobody answered has no label."""
    sums = tables.given_away(sums)
    probs = np.where(count[:, None] > 0, fitted.rows(sums), np.nan)
    about = pooler.estimand, repr(pooler)
    belief = fitted.belief(index, sums)
    return LabelDistribution(
        index, tables.given_away(probs), count, *about, belief, why=why, fitted=fitted, sums=sums
    )


def shares(counts: Floats) -> Floats:
    """(m, k) mass per class divided by the mass of the item; 0 / 0 is 0."""
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(total > 0, total, 1))


class CountSums:
    """A fitted pool without a model of its own, whose sums are, or begin with, vote counts.

    What is believed beside its label is the posterior of a single Dirichlet fitted to the same
    votes, soft annotations as fractions of a vote.
    """

    def sums(self, annotations: Annotations) -> Floats:
        """(m, k) votes per item and class."""
        return annotations.counts()

    def belief(self, index: Index, sums: Floats) -> Belief:
        """Return the belief about the same votes."""
        return Belief(index, sums[:, : len(index.labels)])


class CountPool(Options):
    """The entry point of pools without a prior: fit the parameters, then make the labels."""

    estimand: ClassVar[Estimand] = "distribution"

    def __call__(
        self, annotations: Annotations, map: Map = in_turn, shards: int = 1
    ) -> LabelDistribution:
        """Return one label per item of ``annotations``, as people split; ``map`` and ``shards``
        spread the work."""
        fitted = self.fit(annotations)
        sums = map_items(fitted.sums, annotations, map, shards)
        why = self.explain(fitted)
        return make_labels(self, fitted, annotations.index, sums, annotations.votes_per_item(), why)

    def fit(self: Any, annotations: Annotations) -> Any:
        """Return the pool with its parameters known: itself, if nothing is to be fitted."""
        return self

    def explain(self, fitted: Any) -> str:
        """Return the parameters that were fitted, in words."""
        return ""


class BayesPool(Options):
    """The entry point of pools with a prior: add up votes and rich answers, find the prior, fit
    what else there is to fit, and make the labels.

    ``counting(rich)`` returns how answers are added up, where there are rich answers or not;
    ``fit_sums(index, counting, sums, prior)`` the fitted pool, and where its parameters come from.
    """

    estimand: ClassVar[Estimand] = "distribution"

    def __call__(
        self: Any,
        annotations: Annotations,
        map: Map = in_turn,
        shards: int = 1,
        *,
        rich: Annotations | None = None,
        prior: Prior | None = None,
    ) -> LabelDistribution:
        """Return one label per item of ``annotations``, as people split.  ``rich`` are soft answers
        to the same items, ``prior`` is one fitted to other items, and ``map`` and ``shards`` spread
        the work."""
        has_rich, answers = separate_rich(annotations, rich)
        counting = self.counting(has_rich)
        parts = [map_items(counting.sums, table, map, shards) for table in answers]
        sums = np.zeros((len(parts[0]), max(part.shape[1] for part in parts)))
        for part in parts:
            sums[:, : part.shape[1]] += part
        sums = tables.given_away(sums)
        count = np.sum([table.votes_per_item() for table in answers], axis=0)
        fitted, why = self.fit_sums(annotations.index, counting, sums, prior)
        return make_labels(self, fitted, annotations.index, sums, count, why)


# ── votes and rich answers as evidence ───────────────────────────────────────────────────────


def rich_weight(votes: Floats, answers: Floats) -> Floats:
    """Return pseudo-votes per rich answer, by how many votes and rich answers an item has."""
    first, six = np.interp(votes, VOTES, FIRST), np.interp(votes, VOTES, OF_SIX)
    return np.asarray(first + (six - first) * np.clip((answers - 1) / 5, 0, 1))


@dataclass(frozen=True)
class Counting:
    """Votes and rich answers added up per item: columns ``votes`` (k), and where there are rich
    answers the sum of their labels (k) and their number (1).

    ``rich`` says that soft tables hold rich answers; then a one-hot row is a sure answer and no
    vote.  ``weight`` is what a rich answer is worth in votes; None: ``rich_weight``.
    """

    rich: bool
    weight: float | None = None

    def sums(self, annotations: Annotations) -> Floats:
        """(m, k) of votes, (m, 2k + 1) of rich answers."""
        counts = annotations.counts()
        if annotations.hard or not (self.rich or is_rich(annotations)):
            return counts
        number = annotations.votes_per_item()[:, None]
        return np.concatenate([np.zeros_like(counts), counts, number], axis=1)

    def evidence(self, sums: Floats, k: int) -> Floats:
        """(m, k) n = votes + w * sum of the rich answers."""
        votes = sums[:, :k]
        if sums.shape[1] == k:
            return votes
        answers = sums[:, 2 * k]
        each: Any = self.weight
        if each is None:
            each = rich_weight(votes.sum(axis=1), answers)[:, None]
        return tables.given_away(votes + each * sums[:, k : 2 * k])

    def prior_evidence(self, sums: Floats, k: int) -> Floats:
        """(m, k) the evidence from which a prior is learned.

        A prior is about votes.  Where items have two or more on average, all rich answers to an
        item together teach as much as one; without votes they are all there is.
        """
        votes, answered = sums[:, :k], (sums[:, :k].sum(axis=1) > 0)
        if sums.shape[1] == k:
            return votes
        answered |= sums[:, 2 * k] > 0
        if votes.sum() < ENOUGH_VOTES * answered.sum():
            return self.evidence(sums, k)
        return tables.given_away(votes + shares(sums[:, k : 2 * k]))


@dataclass(frozen=True, eq=False)
class Posterior:
    """A Bayesian pool whose prior is known: the label is E[p | n]."""

    counting: Counting
    prior: Prior

    def sums(self, annotations: Annotations) -> Floats:
        return self.counting.sums(annotations)

    def rows(self, sums: Floats) -> Floats:
        return posterior_mean(self.prior, self.counting.evidence(sums, len(self.prior.labels)))

    def belief(self, index: Index, sums: Floats) -> Belief:
        return Belief(index, self.counting.evidence(sums, len(index.labels)), self.prior)


class PosteriorPool(BayesPool):
    """A pool whose label is the mean of the posterior under a prior that ``fit`` learns."""

    def counting(self: Any, rich: bool) -> Counting:
        return Counting(rich, self.weight)

    def fit_sums(
        self, index: Index, counting: Counting, sums: Floats, prior: Prior | None
    ) -> tuple[Posterior, str]:
        evidence = counting.prior_evidence(sums, len(index.labels))
        prior = self.find_prior(index, evidence, prior)
        return Posterior(counting, prior), prior.made_by

    def find_prior(self: Any, index: Index, evidence: Floats, prior: Prior | None) -> Any:
        """Return the prior that is given, or fit one."""
        return self.fit(index, evidence) if prior is None else prior.among(index.labels)


def is_rich(annotations: Annotations) -> bool:
    """Return whether annotations are soft and not all one-hot: those are votes."""
    if annotations.hard:
        return False
    probs = annotations.soft()
    return bool((probs.max(axis=1, initial=0) != probs.sum(axis=1)).any())


def separate_rich(votes: Annotations, rich: Annotations | None) -> tuple[bool, list[Annotations]]:
    """Return whether there are rich answers, and the tables to add up; votes become codes."""
    if rich is None:
        return is_rich(votes), [votes]
    if rich.hard:
        raise DataError("rich= takes soft annotations (probs), not votes: votes come first")
    if is_rich(votes):
        raise DataError("with rich= the first table holds votes, but some of its rows are soft")
    for name in ("items", "labels"):
        if getattr(votes.index, name).tolist() != getattr(rich.index, name).tolist():
            raise DataError(f"votes and rich answers must have the same {name}, in the same order")
    label = votes.label
    if label is None:
        label = votes.soft().argmax(axis=1)
    return True, [replace(votes, label=label, probs=None), rich]


# ── new answers to finished labels ───────────────────────────────────────────────────────────


def update(labels: LabelDistribution, new: Annotations) -> LabelDistribution:
    """Add new answers to labels, under the same prior and the same fitted parameters.

    Equal to pooling all answers with that prior.  The work grows with the new answers, besides
    copying the table.  New items and people are added at the end; classes must be known.  Fit
    anew now and then: parameters learned from few votes are those of few votes.
    """
    fitted, sums = labels.fitted, labels.sums
    if fitted is None or sums is None:
        raise DataError(
            "these labels do not know what made them (they were loaded from a file, or are no "
            "label distribution): pool the answers again, then update"
        )
    items, place = join_names(labels.index.items, new.index.items)
    people, _ = join_names(labels.index.annotators, new.index.annotators)
    same = len(items) == len(labels) and len(people) == len(labels.index.annotators)
    index = labels.index
    if not same:
        joined = Index(items, people, labels.index.labels, ordered=labels.index.ordered)
        index = joined.keep_ids(new.index, labels.index)
    known = {name: code for code, name in enumerate(labels.index.labels.tolist())}
    for name in new.index.labels.tolist():
        if name not in known:
            raise DataError(f"a new answer has the class {name!r}, which the labels do not know")
    code = np.array([known[name] for name in new.index.labels.tolist()])
    touched, row = np.unique(place[new.item], return_inverse=True)
    own = Index(items[touched], new.index.annotators, labels.index.labels)
    if new.label is not None:
        said = Annotations(own, row, new.annotator, label=code[new.label])
    else:
        soft = np.zeros((len(new), len(known)))
        soft[:, code] = new.soft()
        said = Annotations(own, row, new.annotator, probs=tables.given_away(soft))
    more = fitted.sums(said)
    added = (0, len(items) - len(labels))
    sums = np.pad(sums, (added, (0, max(more.shape[1] - sums.shape[1], 0))))
    sums[touched, : more.shape[1]] += more
    probs = np.pad(labels.probs, (added, (0, 0)), constant_values=np.nan)
    count = np.pad(labels.count, added)
    if len(touched):
        probs[touched] = fitted.rows(sums[touched])
        count[touched] += np.bincount(row)
    sums, probs, count = tables.given_away(sums), tables.given_away(probs), tables.given_away(count)
    belief = fitted.belief(index, sums)
    made: dict[str, Any] = {
        "index": index,
        "probs": probs,
        "count": count,
        "belief": belief,
        "sums": sums,
    }
    return replace(labels, **made, more={}, facts={})  # what they said held for fewer answers


def join_names(old: Names, new: Names) -> tuple[Names, Ints]:
    """Return both lists of names, the new ones at the end, and the place of each of ``new``."""
    if np.array_equal(old, new):
        return old, np.arange(len(old))
    known = {name: place for place, name in enumerate(old.tolist())}
    fresh = [name for name in new.tolist() if name not in known]
    known.update((name, len(old) + place) for place, name in enumerate(fresh))
    where = np.array([known[name] for name in new.tolist()], dtype=np.int64)
    return (tables.names([*old.tolist(), *fresh]) if fresh else old), where
