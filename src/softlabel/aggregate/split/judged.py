"""People and models in one pool: models speak first, calibrated on people; people do the rest.

``calibration`` predicts the votes of each item from what models said, by the votes of other items.
The prediction P moves the prior of the item in two ways, and the votes decide how much each counts:

- The prior of people alone, a mixture of Dirichlets, keeps its strengths, and is tilted so that
  its mean becomes P: alpha_c proportional to A_c mu_ck (P_k / mu_k)^t, weight_c times the norm.
- Dirichlets around P itself, of several strengths: the prior of items that people see as the models
  predict, but for chance.

Models that predict no votes of other items are left out: then the label is that of people alone.
"""

from __future__ import annotations

from builtins import map as in_turn
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import gammaln, logsumexp

from softlabel import tables
from softlabel.aggregate.base import Map, map_items
from softlabel.aggregate.split.base import (
    Belief,
    Counting,
    Kinds,
    LabelDistribution,
    separate_rich,
)
from softlabel.aggregate.split.calibration import Calibrated, calibrate, collect_answers
from softlabel.aggregate.split.choice import choose_for_votes
from softlabel.aggregate.split.mixtures import Prior, sample_items
from softlabel.aggregate.split.population import estimate_population
from softlabel.registry import Options
from softlabel.tables import Annotations, Estimand, Floats, Index, Ints, Score

# Chosen by leaving out one data set at a time (bench/judged.py, docs/pools/judged.md).
STRENGTHS = 2.0 ** np.arange(-1, 8)  # of the Dirichlets around the prediction, in votes
USUAL_STRENGTH, STRENGTH_SPREAD = 12.0, 1.0  # before votes tell; the spread is of logarithms
USUAL_AROUND = 0.8  # of items are as the models predict but for chance, before votes tell ...
ENOUGH_EXPLAINED = 0.05  # ... if the models explain so much of the variance of votes
USUAL_ITEMS = 5.0  # that what is usual is worth beside the items seen
TILTS = (0.0, 0.5, 1.0, 1.5, 2.0)
FIT_ITEMS = 5_000  # a few weights need no more
STEPS = 100  # of EM
RARE = 1e-4  # a kind of people's prior less common than this beside the commonest is left out
CELLS = 2_000_000  # numbers (items x kinds x classes) worked on at once


@dataclass(frozen=True, eq=False)
class JudgedBelief(Belief):
    """The posterior of each item under its own prior, of people and models.

    ``given`` is the prior of people alone.  ``expected`` (m, k) is what models make us expect.
    ``tilt`` is how far it moves the prior of people; ``share`` (1 + S,) how much that prior and
    each strength around the expected split count.
    """

    expected: Floats = field(kw_only=True)
    tilt: float = field(kw_only=True)
    share: Floats = field(kw_only=True)

    @property
    def wide(self) -> Prior:
        return self.prior

    def take(self, items: Ints) -> Self:
        """Return the belief about these items (codes) alone, in this order, same prior."""
        return replace(super().take(items), expected=self.expected[items])

    def weigh_people(self) -> Floats:
        """(m,) how much of each label is people's votes of the item: sum_c r_c m / (A_c + m)."""

        def part(kinds: Kinds) -> Floats:
            votes = kinds.n.sum(axis=1, keepdims=True)
            return (kinds.r * votes / kinds.mass).sum(axis=1, keepdims=True)

        return self._per_item(part)[:, 0]

    def _per_item(self, function: Callable[[Kinds], Floats], wide: bool = False) -> Floats:
        items, k = self.evidence.shape
        size = max(1, CELLS // ((len(self.prior.weight) + len(STRENGTHS)) * k))
        starts = range(0, items, size) if items else [0]
        return np.concatenate([function(self._kinds_of(slice(i, i + size))) for i in starts])

    def _kinds_of(self, part: slice, wide: bool = False) -> Kinds:
        n, expected = self.evidence[part], self.expected[part]
        tilted, weight = tilt_prior(self.prior, expected, self.tilt)
        around = STRENGTHS[:, None] * expected[:, None, :]
        alpha = np.concatenate([tilted, around], axis=1)
        own = np.broadcast_to(np.log(self.share[1:]), (len(n), len(STRENGTHS)))
        joint = np.concatenate([weight + np.log(self.share[0]), own], axis=1)
        joint = joint + log_votes(n, alpha)
        r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        return Kinds(n, alpha, np.asarray(r))


def tilt_prior(prior: Prior, expected: Floats, tilt: float) -> tuple[Floats, Floats]:
    """(b, C, k) the alphas and (b, C) the log weights of people's prior, moved towards what is
    expected (b, k).  With a tilt of 1 their mean is what is expected, of 0 that of the prior."""
    mean = prior.alpha / prior.mass[:, None]
    odds = (expected / (prior.weight @ mean)) ** tilt
    norm = odds @ mean.T
    alpha = prior.mass[None, :, None] * mean[None] * odds[:, None, :] / norm[:, :, None]
    weight = prior.log_weight + np.log(norm)
    return alpha, np.asarray(weight - logsumexp(weight, axis=1, keepdims=True))


def log_votes(n: Floats, alpha: Floats) -> Floats:
    """(b, C) the log likelihood of votes n (b, k) under Dirichlets alpha (b, C, k), but for a
    constant of the row."""
    mass, total = alpha.sum(axis=2), n.sum(axis=1, keepdims=True)
    row, label = np.nonzero(n)
    rise = gammaln(alpha[row, :, label] + n[row, label][:, None]) - gammaln(alpha[row, :, label])
    up = np.zeros(mass.shape)
    np.add.at(up, row, rise)
    return np.asarray(up + gammaln(mass) - gammaln(mass + total))


@dataclass(frozen=True, eq=False, repr=False)
class JudgedDistribution(LabelDistribution):
    """Labels of people and models.  ``models`` is the calibrated prediction for each item, None
    where models were left out; ``votes`` (m, k) the evidence of people."""

    models: Calibrated | None = None
    votes: Floats | None = None

    def population(self, chance: Floats | None = None, level: float = 0.9) -> dict[str, Score]:
        """Return how all items together split over the classes, with intervals.

        The estimate is unbiased whatever the models said, if ``chance`` (m,) is the probability
        with which each item was asked about; None: the same for all items.
        """
        assert self.votes is not None, "the pool keeps the votes"
        expected = np.zeros_like(self.votes) if self.models is None else self.models.probs
        found = estimate_population(self.votes, expected, chance, level)
        return dict(zip(self.index.ids("labels"), found, strict=True))


@dataclass(frozen=True)
class Judged(Options):
    """q = sum_c r_c (alpha_c + n) / (A_c + m), with the prior of each item moved by what models
    said of it (``judges``), as far as they predict people's votes of other items.

    Soft annotations are evidence, as for ``dirichlet-mixture``.  ``folds`` is how many parts of
    the items are predicted by the others.  Items that nobody answered have a label of the models
    alone.  ``more["people"]`` says how much of each label is people.  Without models, or with ones
    that predict nothing, it is the pool that ``auto`` chooses for the votes.
    """

    folds: int = 5

    name: ClassVar[str] = "judged"
    paper: ClassVar[str] = "this package"
    estimand: ClassVar[Estimand] = "distribution"
    limits: ClassVar = {"folds": (2, 100)}

    def __call__(
        self,
        annotations: Annotations,
        map: Map = in_turn,
        shards: int = 1,
        *,
        judges: Annotations | None = None,
        prior: Prior | None = None,
    ) -> LabelDistribution:
        """Return one label per item of ``annotations``, as people split.  ``judges`` are answers of
        models to the same items, ``prior`` is one of people, fitted to other items."""
        index = annotations.index
        has_rich, _ = separate_rich(annotations, None)
        counting = Counting(has_rich)
        sums = map_items(counting.sums, annotations, map, shards)
        votes = counting.evidence(sums, len(index.labels))
        people = self._find_prior(index, counting.prior_evidence(sums, len(index.labels)), prior)
        count = annotations.votes_per_item()
        models, why = None, "no models were asked"
        if judges is not None:
            models, why = self._calibrate(judges, votes, index)
            count = count + judges.votes_per_item() * (models is not None)
        belief = _believe(index, votes, people, models)
        if isinstance(belief, JudgedBelief):
            why = f"{why}; {_explain(belief)}"
        more = belief.weigh_people() if isinstance(belief, JudgedBelief) else np.ones(len(votes))
        probs = np.where(count[:, None] > 0, belief.mean(), np.nan)
        return JudgedDistribution(
            index,
            tables.given_away(probs),
            count,
            self.estimand,
            repr(self),
            belief,
            why=why,
            chosen="people and models" if models else "people alone",
            models=models,
            votes=votes,
            more={"people": np.where(count > 0, more, np.nan)},
        )

    def _find_prior(self, index: Index, evidence: Floats, prior: Prior | None) -> Prior:
        pool, _ = choose_for_votes(index, evidence.sum(axis=1), prior)
        found: Prior = pool.fit(index, evidence) if prior is None else prior.among(index.labels)
        kept = found.weight > RARE * found.weight.max()
        weight = found.weight[kept] / found.weight[kept].sum()
        return Prior(found.labels, found.alpha[kept], weight, found.made_by)

    def _calibrate(
        self, judges: Annotations, votes: Floats, index: Index
    ) -> tuple[Calibrated | None, str]:
        """Return the predictions, or None if they are no better than none, and why."""
        said = collect_answers(judges, index)
        answered = int((votes.sum(axis=1) > 0).sum())
        if answered < 2 * self.folds:
            return None, f"{answered} items with votes are too few to calibrate models"
        models = calibrate(said, votes, index, self.folds)
        told = f"{said.shape[1]:,} models, calibrated on the votes of {answered:,} items"
        each = models.gains.sum() / max(votes.sum(), 1)
        if not models.useful:
            return None, f"{told}, do not predict the votes of other items: left out"
        return models, f"{told}, predict a vote of another item {each:.3f} nats better than none"


def _believe(index: Index, votes: Floats, people: Prior, models: Calibrated | None) -> Belief:
    if models is None:
        return Belief(index, votes, people)
    most = 10 * CELLS // (len(people.weight) * len(index.labels))
    some = sample_items(index.items, min(FIT_ITEMS, max(most, 100)))
    some = some[votes[some].sum(axis=1) > 0]
    tilt, share = fit_shares(people, votes[some], models.probs[some], models.explained)
    return JudgedBelief(index, votes, people, expected=models.probs, tilt=tilt, share=share)


def fit_shares(
    people: Prior, votes: Floats, expected: Floats, explained: float
) -> tuple[float, Floats]:
    """Return the tilt of people's prior, and how much it and each strength around the expected
    split count (1 + S,), by the marginal likelihood of the votes.

    One vote per item says nothing about strengths: then what is usual counts.
    """
    usual = usual_shares(explained)
    around = log_votes(votes, STRENGTHS[:, None] * expected[:, None, :])
    best: tuple[float, float, Floats] | None = None
    for tilt in TILTS:
        alpha, weight = tilt_prior(people, expected, tilt)
        moved = logsumexp(weight + log_votes(votes, alpha), axis=1, keepdims=True)
        joint = np.concatenate([moved, around], axis=1)
        most = joint.max(axis=1, keepdims=True)
        chance, share = np.exp(joint - most), usual
        for _ in range(STEPS):
            seen = (1 / (chance @ share)) @ chance
            share = (share * seen + USUAL_ITEMS * usual) / (len(votes) + USUAL_ITEMS)
        value = float(
            np.log(chance @ share).sum() + most.sum() + USUAL_ITEMS * usual @ np.log(share)
        )
        if best is None or value > best[0]:
            best = value, tilt, share
    assert best is not None, "some tilt is tried"
    return best[1], best[2]


def usual_shares(explained: float) -> Floats:
    """(1 + S,) how much people's prior and each strength count before votes tell: the less models
    explain of the votes, the more people's prior."""
    away = (np.log(STRENGTHS) - np.log(USUAL_STRENGTH)) / STRENGTH_SPREAD
    strengths = np.exp(-(away**2) / 2)
    around = USUAL_AROUND * min(1.0, explained / ENOUGH_EXPLAINED)
    return np.concatenate([[1 - around], around * strengths / strengths.sum()])


def _explain(belief: JudgedBelief) -> str:
    around = belief.share[1:]
    strength = float(np.exp(around @ np.log(STRENGTHS) / around.sum()))
    return (
        f"{around.sum():.0%} of items are as predicted but for chance, as if by {strength:.0f} "
        f"votes, the others as people's prior says, tilted by {belief.tilt:g}"
    )
