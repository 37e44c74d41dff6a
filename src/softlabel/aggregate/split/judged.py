"""People and models in one pool: models speak first, calibrated on people; people do the rest.

``calibration`` predicts the votes of each item from what models said, by the votes of other items.
The prior of an item has three parts, and the votes decide how much each counts:

- The prior of people alone, a mixture of Dirichlets, keeps its strengths and is tilted: the weight
  of a kind is multiplied by sum_k mu_ck (P_k / mu_k)^t, and its mean, if that serves, by the
  same odds, class by class.  With t = 1 the mean of the whole is then P.
- The predictions for other items, as kinds of items, tilted in the same way.  How predictions
  differ tells how items differ before people tell it: which classes are rarely in doubt, and which
  are taken for each other.
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

# Chosen on the sets of bench/judged.py; docs/pools/judged.md says what leaving a set out adds.
STRENGTHS = 2.0 ** np.arange(-1, 8)  # of the Dirichlets around the prediction, in votes
USUAL_STRENGTH, STRENGTH_SPREAD = 48.0, 1.0  # before votes tell; the spread is of logarithms
OTHERS, OTHERS_STRENGTH = 100, 40.0  # predictions for other items, and their strength in votes
# The shares of predictions for other items, and of Dirichlets around the item's own, before votes
# tell.  On a scale people stray to the next step, so that a vote says less about the others.
USUAL_ORDERED, USUAL_NOMINAL = (0.3, 0.5), (0.75, 0.05)
ENOUGH_EXPLAINED = 0.05  # of the variance of votes, for models to count as much as usual
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
class Parts:
    """The kinds of which the prior of each item is made: ``alpha`` (b, K, k), the logarithm of
    their ``weight`` (b, K) within their part, and where each of the P parts begins (``start``):
    people's prior, the predictions for other items, and each strength around the item's own."""

    alpha: Floats
    weight: Floats
    start: Ints

    @classmethod
    def of(cls, people: Prior, others: Prior, expected: Floats, move: Move) -> Parts:
        """Make the parts for items of which this is expected (b, k)."""
        (alpha, weight), (like, near) = move(people, expected), move(others, expected)
        around = STRENGTHS[:, None] * expected[:, None, :]
        alone = np.zeros((len(expected), len(STRENGTHS)))
        first = np.array([0, weight.shape[1]])
        each = weight.shape[1] + near.shape[1] + np.arange(len(STRENGTHS))
        return cls(
            np.concatenate([alpha, like, around], axis=1),
            np.concatenate([weight, near, alone], axis=1),
            np.concatenate([first, each]),
        )

    def weigh(self, n: Floats, share: Floats) -> Kinds:
        """Return what items with evidence n (b, k) may be, if each part counts so much (P,)."""
        size = np.diff(self.start, append=self.weight.shape[1])
        with np.errstate(divide="ignore"):  # a share may be 0
            joint = self.weight + np.repeat(np.log(share), size) + log_votes(n, self.alpha)
        r = np.exp(joint - joint.max(axis=1, keepdims=True))
        return Kinds(n, self.alpha, np.asarray(r / r.sum(axis=1, keepdims=True)))

    def score(self, votes: Floats) -> tuple[Floats, Floats, Floats]:
        """(b, P) the log likelihood of the votes by each part, but for a constant of the row; the
        same of all votes but one (v, P), for every item and class with votes; and how many such
        votes there are (v,)."""
        each = self.weight + log_votes(votes, self.alpha)
        row, label = np.nonzero(votes)
        n, mass, total = votes[row, label], self.alpha.sum(axis=2)[row], votes.sum(axis=1)[row]
        one = np.minimum(n, 1)  # soft evidence may be less than a vote
        known = self.alpha[row, :, label]
        rise = gammaln(known + n[:, None]) - gammaln(known + (n - one)[:, None])
        fall = gammaln(mass + total[:, None]) - gammaln(mass + (total - one)[:, None])
        parts = [
            np.asarray(np.logaddexp.reduceat(part, self.start, axis=1))
            for part in (each, each[row] - rise + fall)
        ]
        return parts[0], parts[1], n / one


@dataclass(frozen=True, eq=False)
class JudgedBelief(Belief):
    """The posterior of each item under its own prior, of people and models.

    ``given`` is the prior of people alone.  ``expected`` (m, k) is what models make us expect, and
    ``others`` a sample of it as a prior.  ``move`` is how it moves both priors; ``share`` (P,)
    how much each of them and each strength around the expected split count.
    """

    expected: Floats = field(kw_only=True)
    others: Prior = field(kw_only=True)
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
        kinds = len(self.prior.weight) + len(self.others.weight) + len(STRENGTHS)
        size = max(1, CELLS // (kinds * k))
        starts = range(0, items, size) if items else [0]
        return np.concatenate([function(self._kinds_of(slice(i, i + size))) for i in starts])

    def _kinds_of(self, part: slice, wide: bool = False) -> Kinds:
        parts = Parts.of(self.prior, self.others, self.expected[part], self.move)
        return parts.weigh(self.evidence[part], self.share)


def sample_predictions(index: Index, expected: Floats) -> Prior:
    """Return the predictions for some items, drawn by name, as a prior: one kind for each."""
    some = expected[sample_items(index.items, OTHERS, seed=2)]
    weight = np.full(len(some), 1 / len(some))
    return Prior(index.labels, OTHERS_STRENGTH * some, weight, f"{len(some):,} predictions")


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
        others = sample_predictions(index, models.probs)
        kinds = len(people.weight) + len(others.weight)
        some = sample_items(
            index.items, min(FIT_ITEMS, max(2 * CELLS // (kinds * len(votes.T)), 200))
        )
        some = some[votes[some].sum(axis=1) > 0]
        usual = usual_shares(models.explained, index.ordered)
        move, share = choose_move(people, others, votes[some], models.probs[some], usual)
        belief = JudgedBelief(
            index, votes, people, expected=models.probs, others=others, move=move, share=share
        )
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
    people: Prior, others: Prior, votes: Floats, expected: Floats, usual: Floats
) -> tuple[Move, Floats]:
    """Return how the priors are moved, and how much they and each strength around the expected
    split count (P,).

    What counts is how well a vote is predicted from the models and the other votes of its item:
    the whole likelihood is mostly that of first votes, for which models are good, while the label
    is about what follows them.  One vote per item tells little: then it is as usual.
    """
    if votes.sum(axis=1).max(initial=0) <= 1 + 1e-9:
        return MOVES[0], usual
    row = np.nonzero(votes)[0]
    best: tuple[float, Move, Floats] | None = None
    for move in MOVES:
        every, but_one, times = Parts.of(people, others, expected, move).score(votes)
        fitted = fit_shares(every, usual)
        for less in LESS if move is MOVES[0] or best is not None else (1.0,):
            around = less * fitted[2:]
            rest = fitted[:2] * ((1 - around.sum()) / fitted[:2].sum())
            share = np.concatenate([rest, around])
            value = float(times @ (_blend(every[row], share) - _blend(but_one, share)))
            if best is None or value > best[0] + (LEAST_GAIN if best[1] is MOVES[0] else 0):
                best = value, move, share
    assert best is not None, "some move is tried"
    return best[1], best[2]


def fit_shares(joint: Floats, usual: Floats) -> Floats:
    """(P,) how much each part counts, by the likelihood of the votes of each item (b, P), with what
    is usual as a few items more."""
    chance, share = np.exp(joint - joint.max(axis=1, keepdims=True)), usual
    for _ in range(STEPS):
        seen = (1 / (chance @ share)) @ chance
        share = (share * seen + USUAL_ITEMS * usual) / (len(joint) + USUAL_ITEMS)
    return share


def _blend(joint: Floats, share: Floats) -> Floats:
    """(b,) the log likelihood of all parts together, from that of each (b, P)."""
    most = joint.max(axis=1)
    return np.asarray(most + np.log(np.exp(joint - most[:, None]) @ share))


def usual_shares(explained: float, ordered: bool) -> Floats:
    """(P,) how much each part counts before votes tell: the less models explain of the votes,
    the more people's prior."""
    away = (np.log(STRENGTHS) - np.log(USUAL_STRENGTH)) / STRENGTH_SPREAD
    strengths = np.exp(-(away**2) / 2)
    usual = np.array(USUAL_ORDERED if ordered else USUAL_NOMINAL)
    others, around = usual * min(1.0, explained / ENOUGH_EXPLAINED)
    return np.concatenate([[1 - others - around, others], around * strengths / strengths.sum()])


def _explain(belief: JudgedBelief) -> str:
    own, like, around = belief.share[0], belief.share[1], belief.share[2:]
    told = f"{own:.0%} of items are as people's prior says, tilted by {belief.move.tilt:g}"
    told += f", {like:.0%} as other items are predicted"
    if around.sum() < 1e-9:
        return told
    strength = float(np.exp(around @ np.log(STRENGTHS) / around.sum()))
    told += f", and {around.sum():.0%} as they are predicted themselves but for chance"
    return f"{told}, as if by {strength:.0f} votes"
