"""People and models in one pool: models speak first, calibrated on people; people do the rest.

``calibration`` predicts the votes of each item from what models said, by the votes of other items.
The prediction P moves the prior of the item in two ways, and the votes decide how much each counts:

- The prior of people alone, a mixture of Dirichlets, keeps its strengths and is tilted: the weight
  of a kind is multiplied by sum_k mu_ck (P_k / mu_k)^t, and its mean, if that serves, by the
  same odds, class by class.  With t = 1 the mean of the whole is then P.
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
    Posterior,
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
LESS = (1.0, 0.5, 0.2, 0.0)  # how much less than fitted the Dirichlets around the prediction count
LEAST_GAIN = 2.0  # nats of all votes, by which something unusual must be better
UNMOVED = 0.03  # of the weights of people's prior stay, whatever models say
FIT_ITEMS = 5_000  # a few weights need no more
STEPS = 100  # of EM
RARE = 1e-4  # a kind of people's prior less common than this beside the commonest is left out
CELLS = 2_000_000  # numbers (items x kinds x classes) worked on at once


@dataclass(frozen=True)
class Move:
    """How what models make us expect moves the prior of people: by the power ``tilt`` of the odds,
    the weights of its kinds, and with ``bend`` their means too."""

    tilt: float
    bend: bool

    def __call__(self, prior: Prior, expected: Floats) -> tuple[Floats, Floats]:
        """(b, C, k) the alphas and (b, C) the log weights, given what is expected (b, k)."""
        mean = prior.alpha / prior.mass[:, None]
        odds = (expected / (prior.weight @ mean)) ** self.tilt
        norm = odds @ mean.T
        weight = prior.log_weight + np.log(norm)
        weight = weight - logsumexp(weight, axis=1, keepdims=True)
        weight = np.logaddexp(np.log1p(-UNMOVED) + weight, np.log(UNMOVED) + prior.log_weight)
        if self.bend:
            alpha = prior.mass[None, :, None] * mean[None] * odds[:, None, :] / norm[:, :, None]
        else:
            alpha = np.broadcast_to(prior.alpha, (len(expected), *prior.alpha.shape))
        return alpha, np.asarray(weight)


MOVES = (
    Move(1.0, True),  # the first is usual: another one must be better beyond chance
    *(Move(tilt, bend) for tilt in (0.5, 1.5, 2.0) for bend in (True, False)),
    *(Move(1.0, False), Move(0.0, False)),
)


@dataclass(frozen=True, eq=False)
class JudgedBelief(Belief):
    """The posterior of each item under its own prior, of people and models.

    ``given`` is the prior of people alone.  ``expected`` (m, k) is what models make us expect.
    ``move`` is how it moves the prior of people; ``share`` (1 + S,) how much that prior and each
    strength around the expected split count.
    """

    expected: Floats = field(kw_only=True)
    move: Move = field(kw_only=True)
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
            return np.asarray((kinds.r * votes / kinds.mass).sum(axis=1, keepdims=True))

        return self._per_item(part)[:, 0]

    def _per_item(self, function: Callable[[Kinds], Floats], wide: bool = False) -> Floats:
        items, k = self.evidence.shape
        size = max(1, CELLS // ((len(self.prior.weight) + len(STRENGTHS)) * k))
        starts = range(0, items, size) if items else [0]
        return np.concatenate([function(self._kinds_of(slice(i, i + size))) for i in starts])

    def _kinds_of(self, part: slice, wide: bool = False) -> Kinds:
        n = self.evidence[part]
        alpha, weight = join_priors(self.prior, self.expected[part], self.move)
        return weigh_kinds(n, alpha, weight, self.share)


def join_priors(people: Prior, expected: Floats, move: Move) -> tuple[Floats, Floats]:
    """(b, C + S, k) the alphas of people's prior, moved, and of the strengths around what is
    expected; and (b, C) the log weights of the former."""
    moved, weight = move(people, expected)
    around = STRENGTHS[:, None] * expected[:, None, :]
    return np.concatenate([moved, around], axis=1), weight


def weigh_kinds(n: Floats, alpha: Floats, weight: Floats, share: Floats) -> Kinds:
    """Return what items with evidence n (b, k) may be."""
    with np.errstate(divide="ignore"):  # a share may be 0
        own = np.broadcast_to(np.log(share[1:]), (len(n), len(STRENGTHS)))
        joint = np.concatenate([weight + np.log(share[0]), own], axis=1)
    joint = joint + log_votes(n, alpha)
    r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    return Kinds(n, alpha, np.asarray(r))


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
        index, k = annotations.index, len(annotations.index.labels)
        has_rich, _ = separate_rich(annotations, None)
        counting = Counting(has_rich)
        sums = map_items(counting.sums, annotations, map, shards)
        votes = counting.evidence(sums, k)
        prior = self._find_prior(index, counting.prior_evidence(sums, k), prior)
        belief, models, why = self.believe(index, votes, judges, prior)
        count = annotations.votes_per_item()
        people = np.ones(len(votes))
        fitted = None if models else Posterior(counting, belief.prior)  # models answer no updates
        if isinstance(belief, JudgedBelief):
            assert judges is not None, "the belief is theirs, too"
            count, people = count + judges.votes_per_item(), belief.weigh_people()
        probs = np.where(count[:, None] > 0, belief.mean(), np.nan)
        return JudgedDistribution(
            index,
            tables.given_away(probs),
            count,
            self.estimand,
            repr(self),
            belief,
            why=why,
            fitted=fitted,
            sums=tables.given_away(sums) if fitted else None,
            chosen="people and models" if models else "people alone",
            models=models,
            votes=votes,
            more={"people": np.where(count > 0, people, np.nan)},
        )

    def believe(
        self, index: Index, votes: Floats, judges: Annotations | None, prior: Prior | None = None
    ) -> tuple[Belief, Calibrated | None, str]:
        """Return what is believed about items with these votes (m, k), the predictions of models
        if they are any good, and why."""
        people = self._find_prior(index, votes, prior)
        if judges is None:
            return Belief(index, votes, people), None, "no models were asked"
        models, why = self._calibrate(judges, votes, index)
        if models is None:
            return Belief(index, votes, people), None, why
        most = 2 * CELLS // (len(people.weight) * len(index.labels))
        some = sample_items(index.items, min(FIT_ITEMS, max(most, 200)))
        some = some[votes[some].sum(axis=1) > 0]
        usual = usual_shares(models.explained)
        move, share = choose_move(people, votes[some], models.probs[some], usual)
        belief = JudgedBelief(index, votes, people, expected=models.probs, move=move, share=share)
        return belief, models, f"{why}; {_explain(belief)}"

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
        number = said.shape[1]
        told = (
            f"{number:,} model{'s' * (number != 1)} calibrated on the votes of {answered:,} items"
        )
        each = models.gains.sum() / max(votes.sum(), 1)
        if not models.useful:
            return None, f"{told}: no better than none at votes of other items, so left out"
        return models, f"{told}: a vote of another item is predicted {each:.3f} nats better"


def choose_move(
    people: Prior, votes: Floats, expected: Floats, usual: Floats
) -> tuple[Move, Floats]:
    """Return how the prior of people is moved, and how much it and each strength around the
    expected split count (1 + S,).

    What counts is how well a vote is predicted from the models and the other votes of its item:
    the whole likelihood is mostly that of first votes, for which models are good, while the label
    is about what follows them.  One vote per item tells little: then it is as usual.
    """
    best: tuple[float, Move, Floats] | None = None
    for move in MOVES:
        alpha, weight = join_priors(people, expected, move)
        fitted = fit_shares(votes, alpha, weight, usual)
        for less in LESS if move is MOVES[0] or best is not None else (1.0,):
            share = np.concatenate([[1 - less * fitted[1:].sum()], less * fitted[1:]])
            value = predict_last(votes, alpha, weight, share)
            if best is None or value > best[0] + (LEAST_GAIN if best[1] is MOVES[0] else 0):
                best = value, move, share
    assert best is not None, "some move is tried"
    return best[1], best[2]


def fit_shares(votes: Floats, alpha: Floats, weight: Floats, usual: Floats) -> Floats:
    """(1 + S,) how much people's prior and each strength around the expected split count, by the
    marginal likelihood of the votes, with what is usual as a few items more."""
    each = log_votes(votes, alpha)
    kinds = weight.shape[1]
    moved = logsumexp(weight + each[:, :kinds], axis=1, keepdims=True)
    joint = np.concatenate([moved, each[:, kinds:]], axis=1)
    chance, share = np.exp(joint - joint.max(axis=1, keepdims=True)), usual
    for _ in range(STEPS):
        seen = (1 / (chance @ share)) @ chance
        share = (share * seen + USUAL_ITEMS * usual) / (len(votes) + USUAL_ITEMS)
    return share


def predict_last(votes: Floats, alpha: Floats, weight: Floats, share: Floats) -> float:
    """Return the log likelihood of every vote, given the other votes of its item."""
    row, label = np.nonzero(votes)
    times = votes[row, label]
    others = votes[row]
    others[np.arange(len(row)), label] = np.maximum(times - 1, 0)
    q = weigh_kinds(others, alpha[row], weight[row], share).mean()
    return float(times @ np.log(q[np.arange(len(row)), label]))


def usual_shares(explained: float) -> Floats:
    """(1 + S,) how much people's prior and each strength count before votes tell: the less models
    explain of the votes, the more people's prior."""
    away = (np.log(STRENGTHS) - np.log(USUAL_STRENGTH)) / STRENGTH_SPREAD
    strengths = np.exp(-(away**2) / 2)
    around = USUAL_AROUND * min(1.0, explained / ENOUGH_EXPLAINED)
    return np.concatenate([[1 - around], around * strengths / strengths.sum()])


def _explain(belief: JudgedBelief) -> str:
    around = belief.share[1:]
    moved = f"as people's prior says, tilted by {belief.move.tilt:g}"
    if around.sum() < 1e-9:
        return f"items are {moved}"
    strength = float(np.exp(around @ np.log(STRENGTHS) / around.sum()))
    return (
        f"{around.sum():.0%} of items are as predicted but for chance, as if by {strength:.0f} "
        f"votes, the others {moved}"
    )
