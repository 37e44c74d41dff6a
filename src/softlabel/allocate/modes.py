"""Ways of asking compared: what an answer of each arm tells about the next person's, per second.

An answer is worth what it gains in predicting an answer of somebody else about the same item.  The
same pool predicts for all arms: a conditional logit over six features of the answers, which
``stack`` uses too, with a prior and weights that are learned on other items.  Without an answer
the prediction is the prior, how often each class is given at all.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from softlabel.aggregate import (
    WITH_VOTES,
    Dirichlet,
    DirichletMixture,
    Features,
    Prior,
    fit_logit,
    predict_logit,
)
from softlabel.construct import Clamp
from softlabel.errors import DataError
from softlabel.io import Source
from softlabel.report import Frame, Html, charts
from softlabel.sampling import first_presentation
from softlabel.tables import (
    Annotations,
    Bools,
    Floats,
    Index,
    Ints,
    Names,
    Score,
    Statements,
    names,
)

Kind = Literal["votes", "rich answers"]  # of answers that are predicted
VOTES: Kind = "votes"
RICH: Kind = "rich answers"
ROWS, LOOKS = 3_000, (4, 40)  # predictions per arm; random choices of answers, per item
FOLDS = 5
MOST_VOTES = 5  # of the curve on which a worth is read
ENOUGH = 200  # items from which a prior by class is learned
FEWEST = 10  # items that a comparison needs
LEVEL, DRAWS = 0.95, 400
FARTHEST = 2.0  # times the end of the curve: as far as it is extended
CELLS = 20_000_000  # numbers that are held at once: answers x classes x sums

Weigh = Callable[["Cell"], Floats]


@dataclass(frozen=True, eq=False)
class Asked:
    """Answers in several arms: the label (n, k) of each, its item, person, arm and seconds (NaN if
    they are unknown), and the ``arms``, each with whether its answers are plain votes."""

    index: Index
    soft: Floats
    item: Ints
    person: Ints
    arm: Ints
    seconds: Floats
    arms: Mapping[str, bool]

    @property
    def is_vote(self) -> Bools:
        return np.array(list(self.arms.values()), dtype=np.bool_)[self.arm]

    @cached_property
    def reference(self) -> int:
        """The arm in whose answers worths are counted: the first of votes, or the first."""
        return list(self.arms.values()).index(True) if any(self.arms.values()) else 0

    @property
    def kinds(self) -> dict[Kind, Bools]:
        """Which answers are of each kind that there is."""
        every: dict[Kind, Bools] = {VOTES: self.is_vote, RICH: ~self.is_vote}
        return {kind: rows for kind, rows in every.items() if rows.any()}


class ArmResult(NamedTuple):
    """What one arm gave; ``median`` and ``mean`` are seconds, ``per_second`` nats."""

    name: str
    is_vote: bool
    people: int
    answers: int
    median: Score
    mean: Score
    gain: Mapping[Kind, Score]  # nats, by what is predicted
    per_second: Mapping[Kind, Score]
    worth: Mapping[Kind, Score]  # in answers of the reference arm
    break_even: Mapping[Kind, Score]  # seconds
    advantage: Mapping[Kind, Score]  # worth divided by how many times as long it takes


@dataclass(frozen=True)
class Comparison:
    """The arms in their order, the name of the ``reference``, and the gain of its first answers."""

    arms: tuple[ArmResult, ...]
    reference: str
    items: int
    curve: Mapping[Kind, tuple[float, ...]]

    @property
    def unit(self) -> str:
        """What worths are counted in."""
        own = next(arm for arm in self.arms if arm.name == self.reference)
        return "votes" if own.is_vote else f"answers by {self.reference}"

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(self.curve)

    def verdicts(self) -> list[str]:
        """Return a sentence for each arm but the reference and each kind of target."""
        others = [arm for arm in self.arms if arm.name != self.reference]
        return [self._judge(arm, kind) for arm in others for kind in self.kinds]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers under their names, each with the ends of its interval."""

        def show(value: object) -> object:
            if isinstance(value, Score):
                return {"value": value.value, "low": value.low, "high": value.high}
            return (
                {key: show(one) for key, one in value.items()} if isinstance(value, dict) else value
            )

        arms = [{key: show(value) for key, value in arm._asdict().items()} for arm in self.arms]
        curve = {kind: list(gains) for kind, gains in self.curve.items()}
        about = {"reference": self.reference, "items": self.items, "level": LEVEL}
        return about | {"arms": arms, "curve": curve, "verdicts": self.verdicts()}

    def _judge(self, arm: ArmResult, kind: Kind) -> str:
        own = next(one for one in self.arms if one.name == self.reference)
        worth, ratio = arm.worth[kind], arm.median.value / own.median.value
        target = f", judged by how well it predicts {kind}" if len(self.kinds) > 1 else ""
        said = f"An answer by {arm.name} is worth {describe(worth)} {self.unit}{target}"
        if not math.isfinite(worth.value):
            return f"There are too few answers by {arm.name} to say what one is worth."
        if not math.isfinite(ratio):
            return f"{said}. How long answers took is not known."
        said += f", and takes {ratio:.2g} times as long"
        gains = arm.advantage[kind]
        if gains.low > 1:
            return f"{said}: asking by {arm.name} is the better buy."
        if gains.high < 1:
            return f"{said}: more {self.unit} are the better buy."
        return f"{said}: undecided."


def describe(score: Score, digits: int = 2) -> str:
    """Return ``1.2 [0.9, 1.6]``."""
    if not math.isfinite(score.value):
        return "unknown"
    return f"{score.value:.{digits}f} [{score.low:.{digits}f}, {score.high:.{digits}f}]"


def draw_comparison(found: Comparison, width: float = 660) -> Html:
    """Draw the information of each arm per second, for each kind of target, with its interval."""
    dots = [
        charts.Dot(arm.name, *_ends(arm.per_second[kind]), series)
        for arm in found.arms
        for series, kind in enumerate(found.kinds)
    ]
    said = " ".join(found.verdicts())
    frame = Frame("Information per second", said, "nats per second", width=width)
    several = [f"about {kind}" for kind in found.kinds] if len(found.kinds) > 1 else []
    return charts.whiskers(dots, frame, several)


def _ends(score: Score) -> tuple[float, float, float]:
    return score.value, score.low, score.high


def read_asked(source: Source) -> Asked:
    """Return the answers of a study by arm, each person's first to each item."""
    if source.arm is None or source.votes is None:
        raise DataError(f"{source.name}: is no export of a study, so its arms are not known")
    if source.answers.anonymous:
        raise DataError(f"{source.name}: names no annotators, who are needed to compare answers")
    return make_asked(source.answers, source.arm, source.votes, source.seconds)


def make_asked(
    said: Statements | Annotations, arm: Names, votes: Bools, seconds: Floats | None = None
) -> Asked:
    """Return answers with the name of the arm of each, and which are votes; repeats are dropped."""
    first = first_presentation(said)
    soft = label_answers(said, votes)[first]
    arm_of, votes = arm[first], votes[first]
    known = sorted(set(arm_of.tolist()), key=lambda name: (not votes[arm_of == name].all(), name))
    arms = {name: bool(votes[arm_of == name].all()) for name in known}
    codes = {name: code for code, name in enumerate(known)}
    seconds = np.full(len(said), math.nan) if seconds is None else seconds
    return Asked(
        index=said.index,
        soft=soft,
        item=said.item[first],
        person=said.annotator[first],
        arm=np.array([codes[name] for name in arm_of.tolist()], dtype=np.int64),
        seconds=seconds[first],
        arms=arms,
    )


def label_answers(said: Statements | Annotations, votes: Bools) -> Floats:
    """Return the label (n, k) of each answer: votes are one-hot, statements are clamped."""
    if isinstance(said, Annotations):
        return said.soft()
    soft = np.array(Clamp()(said).soft())
    soft[votes] = np.eye(len(said.index.labels))[said.named[votes, 0]]
    return soft


# ── rows: answers that predict, and one that is predicted ────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Cell:
    """Predictions from ``n`` answers of one arm, for each look and item (l, m): the loss, NaN where
    the item has too few answers, and who is involved (l, m, n + 1), -1 for nobody."""

    loss: Floats
    person: Ints


class Look(NamedTuple):
    """One random order of the answers of each item: rows in that order, and the target of each item
    (-1: none)."""

    order: Ints
    target: Ints


def shuffle(asked: Asked, target: Bools, rng: np.random.Generator) -> Look:
    """Put the answers of each item in random order; the last of the wanted kind is the target."""
    order = np.lexsort((rng.random(len(asked.item)), asked.item))
    wanted = order[target[order]]
    last = np.full(len(asked.index.items), -1)
    last[asked.item[wanted]] = wanted  # the last assignment counts
    return Look(order, last)


def choose(asked: Asked, look: Look, arm: int, n: int) -> Ints:
    """Return the first ``n`` answers (m, n) of an arm to each item, -1 where there are fewer, or
    where the target would be one of them or of the same person."""
    rows = look.order[asked.arm[look.order] == arm]
    item, m = asked.item[rows], len(asked.index.items)
    size = np.bincount(item, minlength=m)
    start = np.cumsum(size) - size
    enough = np.flatnonzero((size >= n) & (look.target >= 0))
    chosen = np.full((m, n), -1)
    chosen[enough] = rows[start[enough][:, None] + np.arange(n)]
    own = asked.person[chosen] == asked.person[look.target][:, None]
    chosen[own.any(axis=1)] = -1
    return chosen


class Predictor:
    """Predict targets of one kind from answers of any arm, everything learned on other items."""

    def __init__(self, asked: Asked, kind: Kind, seed: int) -> None:
        rng = np.random.default_rng([seed, list(asked.kinds).index(kind)])
        self.asked, self.target = asked, asked.kinds[kind]
        self.m = len(asked.index.items)
        looks = int(np.clip(ROWS // self.m, *LOOKS))
        self.looks = [shuffle(asked, self.target, rng) for _ in range(looks)]
        self.fold = rng.permutation(self.m) % FOLDS
        alone = Index(
            names([str(n) for n in range(len(asked.item))]), names([]), asked.index.labels
        )
        rows = np.arange(len(asked.item))
        table = Annotations(alone, rows, np.full(len(rows), -1), probs=asked.soft)
        self.sums = Features(True).sums(table)  # (n, 6k + 1), to be added up

    @cached_property
    def priors(self) -> list[tuple[Prior, Floats]]:
        """What is learned on the other folds of each."""
        return [self._learn(self.fold != fold) for fold in range(FOLDS)]

    def _learn(self, items: Bools) -> tuple[Prior, Floats]:
        """Return the prior of these items, and the mean of their targets."""
        asked, k = self.asked, len(self.asked.index.labels)
        votes = asked.kinds.get(VOTES, self.target)
        evidence = np.zeros((self.m, k))
        np.add.at(evidence, asked.item[votes], asked.soft[votes])
        part = Index(asked.index.items[items], names([]), asked.index.labels)
        many = np.count_nonzero(evidence[items].sum(axis=1)) >= ENOUGH
        prior = (DirichletMixture() if many else Dirichlet()).fit(part, evidence[items])
        mean = asked.soft[self.target & items[asked.item]].sum(axis=0) + 1 / k
        return prior, mean / mean.sum()

    def predict_alone(self) -> Cell:
        """Return the loss of the prior."""
        loss = np.full((len(self.looks), self.m), math.nan)
        person = np.full((*loss.shape, 1), -1)
        for place, look in enumerate(self.looks):
            known = np.flatnonzero(look.target >= 0)
            q = np.stack([mean for _, mean in self.priors])[self.fold[known]]
            loss[place, known] = cross_entropy(self.asked.soft[look.target[known]], q)
            person[place, known, 0] = self.asked.person[look.target[known]]
        return Cell(loss, person)

    def predict(self, arm: int, n: int) -> Cell:
        """Return the loss of ``n`` answers of an arm; all NaN if too few items have them."""
        asked = self.asked
        chosen = np.stack([choose(asked, look, arm, n) for look in self.looks])  # (l, m, n)
        target = np.stack([look.target for look in self.looks])
        loss, person = np.full(target.shape, math.nan), np.full((*target.shape, n + 1), -1)
        where = np.nonzero(chosen[..., 0] >= 0)
        if len(np.unique(where[1])) < FEWEST:
            return Cell(loss, person)
        sums, true = self.sums[chosen[where]].sum(axis=1), asked.soft[target[where]]
        fold, weight = self.fold[where[1]], np.array(WITH_VOTES)
        for number, (prior, _) in enumerate(self.priors):
            features = Features(True).features(sums, prior)
            test, rest = fold == number, fold != number
            weight = fit_logit(features[rest], true[rest], np.ones(int(rest.sum())), weight)
            q = predict_logit(features[test], weight)
            loss[where[0][test], where[1][test]] = cross_entropy(true[test], q)
        person[where] = asked.person[np.column_stack([chosen[where], target[where]])]
        return Cell(loss, person)


def cross_entropy(true: Floats, q: Floats) -> Floats:
    """(n,) in nats."""
    return np.asarray(-(true * np.log(np.maximum(q, 1e-12))).sum(axis=1))


# ── estimates ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of one kind of target: of the prior, of one answer of each arm, and of 1, 2, …
    answers of the reference."""

    alone: Cell
    arms: tuple[Cell, ...]
    curve: tuple[Cell, ...]

    def estimate(self, weigh: Weigh) -> tuple[Floats, Floats]:
        """Return the gains of one answer (a,), and of 1, 2, … answers of the reference."""
        gains: list[float] = []
        before = self.alone
        for cell in self.curve:  # each step on the items that have both
            gains.append((gains[-1] if gains else 0.0) + _gain(before, cell, weigh))
            before = cell
        first = self.curve[0]
        each = [gains[0] + _gain(first, cell, weigh) for cell in self.arms]
        return np.array(each), np.array(gains)


def _gain(before: Cell, after: Cell, weigh: Weigh) -> float:
    """Return how much smaller the loss is on average, where both are known."""
    known = np.isfinite(before.loss) & np.isfinite(after.loss)
    weight = (weigh(before if before.person.shape[2] > after.person.shape[2] else after))[known]
    total = float(weight.sum())
    gain = float(weight @ (before.loss - after.loss)[known])
    return gain / total if total > 0 else math.nan


def find_worth(gain: Floats, curve: Floats) -> Floats:
    """Return how many answers of the reference gain as much as each; beyond the end of the curve by
    its last slope, so that a large worth is, if anything, larger.

    >>> find_worth(np.array([0.5, 1.1, 1.3]), np.array([1.0, 1.2]))
    array([0.5, 1.5, 2.5])
    """
    curve = np.maximum.accumulate(np.concatenate([[0.0], curve[np.isfinite(curve)]]))
    keep = np.concatenate([[True], np.diff(curve) > 0])
    y, x = curve[keep], np.arange(len(curve))[keep].astype(np.float64)
    if len(y) < 2:
        return np.full(len(gain), math.nan)
    slope = (x[-1] - x[-2]) / (y[-1] - y[-2])
    beyond = np.minimum(x[-1] + (gain - y[-1]) * slope, FARTHEST * x[-1])
    return np.asarray(np.where(gain > y[-1], beyond, np.interp(gain, y, x)))


def compare(
    asked: Asked, *, draws: int = DRAWS, seed: int = 0, rest: Callable[[], None] = lambda: None
) -> Comparison:
    """Compare the arms; intervals add those of a bootstrap over items and of one over people.
    ``rest`` is called between steps of work."""
    if len(asked.arms) < 2:
        raise DataError(f"all answers are of one arm ({', '.join(asked.arms)}): nothing to compare")
    size = len(asked.item) * len(asked.index.labels) * 6
    if size > CELLS:
        raise DataError(
            f"{len(asked.item):,} answers with {len(asked.index.labels):,} classes are too many to "
            "compare at once; compare a part of the items"
        )
    losses = {kind: measure_losses(asked, kind, seed, rest) for kind in asked.kinds}
    everybody = _estimate(
        asked, losses, lambda cell: np.ones(cell.loss.shape), np.ones(len(asked.item))
    )
    rng, resampled = np.random.default_rng([seed, 1]), []
    for size, draw in (
        (len(asked.index.items), _by_item),
        (int(asked.person.max()) + 1, _by_person),
    ):
        times = rng.multinomial(size, np.full(size, 1 / size), draws)
        drawn = []
        for one in times:
            drawn.append(_estimate(asked, losses, *draw(asked, one)))
            rest()
        resampled.append(np.stack(drawn))
    scores = _combine(everybody, resampled, [1.0, widen_for_few(asked)], len(asked.index.items))
    return _describe(asked, losses, scores, everybody)


def measure_losses(asked: Asked, kind: Kind, seed: int, rest: Callable[[], None]) -> Losses:
    """Predict targets of one kind from each arm's answers, and from several of the reference."""
    predict = Predictor(asked, kind, seed)
    arms = [predict.predict(arm, 1) for arm in range(len(asked.arms))]
    curve = [arms[asked.reference]]
    if not np.isfinite(curve[0].loss).any():
        raise DataError(
            f"fewer than {FEWEST} items have an answer by {list(asked.arms)[asked.reference]} and "
            f"one of somebody else to predict ({kind}); ask more people about the same items"
        )
    for n in range(2, MOST_VOTES + 1):
        cell = predict.predict(asked.reference, n)
        if not np.isfinite(cell.loss).any():
            break
        curve.append(cell)
        rest()
    return Losses(predict.predict_alone(), tuple(arms), tuple(curve))


def _by_item(asked: Asked, times: Ints) -> tuple[Weigh, Floats]:
    """Return the weights of a draw of items: of cells, and of answers."""
    weight = times.astype(np.float64)
    return lambda cell: np.broadcast_to(weight, cell.loss.shape), weight[asked.item]


def _by_person(asked: Asked, times: Ints) -> tuple[Weigh, Floats]:
    """Return the weights of a draw of people: a row counts as often as the people in it, to the
    first order, so that chance does not count twice where several people are in a row."""
    more = np.append(times - 1.0, 0.0)  # nobody adds nothing
    return lambda cell: 1.0 + more[cell.person].sum(axis=2), times[asked.person].astype(np.float64)


def _estimate(asked: Asked, losses: Mapping[Kind, Losses], weigh: Weigh, weight: Floats) -> Floats:
    """Return (2 + 5 kinds, a): median and mean seconds, then for each kind the gain, the gain per
    second, the worth, the break-even seconds and the advantage."""
    times = [_seconds(asked, arm, weight) for arm in range(len(asked.arms))]
    median, mean = np.array(times).T
    rows, own = [median, mean], median[asked.reference]
    for each in losses.values():
        gain, curve = each.estimate(weigh)
        worth = find_worth(np.maximum(gain, 0.0), curve)
        worth[asked.reference] = 1.0
        rows += [gain, gain / median, worth, worth * own, worth * own / median]
    return np.stack(rows)


def _seconds(asked: Asked, arm: int, weight: Floats) -> tuple[float, float]:
    """Return the weighted median and mean seconds of an arm; NaN if they are not known."""
    rows = np.flatnonzero((asked.arm == arm) & np.isfinite(asked.seconds) & (weight > 0))
    if not len(rows):
        return math.nan, math.nan
    rows = rows[np.argsort(asked.seconds[rows], kind="stable")]
    seconds, share = asked.seconds[rows], np.cumsum(weight[rows])
    share = (share - weight[rows] / 2) / share[-1]
    return float(np.interp(0.5, share, seconds)), float(np.average(seconds, weights=weight[rows]))


def widen_for_few(asked: Asked) -> float:
    """Return how much wider an interval must be where an arm has few people, whose bootstrap is
    too narrow: the quantile of Student's t over that of the normal distribution, and the factor of
    an unbiased variance."""
    people = min(len(np.unique(asked.person[asked.arm == arm])) for arm in range(len(asked.arms)))
    least = max(people, 2)
    tail = (1 + LEVEL) / 2
    ratio = float(stdtrit(least - 1, tail) / ndtri(tail))
    return ratio * math.sqrt(least / (least - 1))


def _combine(
    value: Floats, resampled: list[Floats], wider: list[float], n: int
) -> list[list[Score]]:
    """Add the distances to the ends of both intervals in quadrature: people and items both vary."""
    tail = 100 * (1 - LEVEL) / 2
    low, high = np.zeros_like(value), np.zeros_like(value)
    for drawn, factor in zip(resampled, wider, strict=True):
        drawn = np.where(np.isnan(drawn).all(axis=0), value, drawn)
        known = np.where(np.isnan(value), 0.0, drawn)  # what is not known stays so below
        ends = np.nanpercentile(known, [tail, 100 - tail], axis=0)
        low += (factor * np.maximum(value - ends[0], 0)) ** 2
        high += (factor * np.maximum(ends[1] - value, 0)) ** 2
    ends = np.stack([value - np.sqrt(low), value + np.sqrt(high)])
    least = np.array([0.0, 0.0, *[-math.inf, -math.inf, 0.0, 0.0, 0.0] * (len(value) // 5)])
    ends = np.maximum(ends, least[:, None])  # only a gain can be below 0
    return [
        [Score(float(one), float(low), float(high), n) for one, low, high in zip(*row, strict=True)]
        for row in zip(value, *ends, strict=True)
    ]


def _describe(
    asked: Asked, losses: Mapping[Kind, Losses], scores: list[list[Score]], value: Floats
) -> Comparison:
    """Put the estimates under their names."""
    arms = []
    for arm, (name, is_vote) in enumerate(asked.arms.items()):
        by_kind: list[dict[Kind, Score]] = [{} for _ in range(5)]
        for place, kind in enumerate(losses):
            for number, found in enumerate(by_kind):
                found[kind] = scores[2 + 5 * place + number][arm]
        own = asked.arm == arm
        people = len(np.unique(asked.person[own]))
        seconds = scores[0][arm], scores[1][arm]
        arms.append(ArmResult(name, is_vote, people, int(own.sum()), *seconds, *by_kind))
    curve: dict[Kind, tuple[float, ...]] = {}
    for kind, each in losses.items():
        gains = each.estimate(lambda cell: np.ones(cell.loss.shape))[1]
        curve[kind] = tuple(map(float, gains))
    reference = list(asked.arms)[asked.reference]
    return Comparison(tuple(arms), reference, len(np.unique(asked.item)), curve)
