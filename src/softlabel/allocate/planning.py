"""Plans: what a budget will buy, forecast from a pilot.

A forecast simulates the study that is still to come.  Each draw takes a prior that the pilot leaves
possible (its items are resampled, and the prior is fitted again), draws a split p for every item
from the belief under that prior, lets people vote by these splits where the policy asks, and
measures KL(p || label), the label being that of a fresh fit to all answers.  Intervals are the
middle of all draws, so they hold three things: which splits the items have, how the votes fall, and
how well the pilot has taught the prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from softlabel._util.progress import Progress, silent
from softlabel.aggregate import Belief
from softlabel.allocate.allocation import Allocation
from softlabel.allocate.policies import Fit, FitJudged, FitVotes, Policy, Price
from softlabel.errors import DataError
from softlabel.metrics import cross_entropy, kl
from softlabel.report import Frame, Html, Line, charts
from softlabel.tables import Annotations, Floats, Index, Ints, Score, names

if TYPE_CHECKING:
    from softlabel.study import Study

DRAWS = 40
LEVEL = 0.9
# Splits of real crowds differ more than a model of them: without this factor intervals held 88 % of
# realised gains, and 79 % on ChaosNLI (bench/plans.py).
STRETCH = 1.15
MOST_ITEMS = 1000  # simulated: more of them tell the mean no better
LONGEST = 10  # medians: a longer time is that of a page left open
ROUNDS = 10  # a question to one item in so many is decided at once
LEAST = 1e-300  # of a share that was drawn: a Dirichlet with small alphas draws exact zeros


@dataclass(frozen=True)
class Step:
    """What is expected after ``answers`` more answers per item on average, which take ``seconds``
    per item.

    ``kl`` is the mean of KL(split || label), ``gain`` how much lower that is than now, both with
    an interval over draws; ``spread`` are the median and the 90 and 99 % of answers per item, with
    those of the pilot.
    """

    seconds: float
    answers: float
    kl: Score
    gain: Score
    spread: tuple[float, float, float]

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON and CSV."""
        flat: dict[str, object] = {"seconds": self.seconds, "answers": self.answers}
        for name, score in (("kl", self.kl), ("gain", self.gain)):
            flat |= {f"{name}_{part}": getattr(score, part) for part in ("value", "low", "high")}
        return flat | dict(zip(("median", "p90", "p99"), self.spread, strict=True))


@dataclass(frozen=True, eq=False)
class Pilot:
    """Evidence (m, k) that a pilot gave on the items of a study; most items may have none.

    ``fit`` makes beliefs of it.  ``held`` is how many held-out votes per item will judge the
    labels: 0 if the splits themselves are meant, as they are in a plan.
    """

    index: Index
    evidence: Floats
    fit: FitVotes | FitJudged = field(default_factory=FitVotes)
    held: int = 0

    def __post_init__(self) -> None:
        m, _, k = self.index.shape
        evidence = np.asarray(self.evidence, dtype=np.float64)
        if evidence.shape != (m, k):
            raise DataError(f"Pilot: evidence has shape {evidence.shape}, expected {(m, k)}")
        if not evidence.any():
            raise DataError("Pilot: there are no answers, so nothing can be forecast from them")
        object.__setattr__(self, "evidence", evidence)

    def belief(self) -> Belief:
        """Return what is believed after the pilot."""
        return self.fit(self.index, self.evidence)

    def sample(self, most: int = MOST_ITEMS, seed: int = 0) -> Pilot:
        """Return the pilot of at most so many items, drawn at random, to simulate fewer."""
        if len(self.evidence) <= most:
            return self
        rng = np.random.default_rng(seed)
        some = np.sort(rng.choice(len(self.evidence), most, replace=False))
        if not self.evidence[some].any():
            some[0] = int(self.evidence.sum(axis=1).argmax())
            some.sort()
        index = replace(self.index, items=self.index.items[some])
        return replace(self, index=index, evidence=self.evidence[some])

    def redraw(self, rng: np.random.Generator) -> Belief:
        """Return what might be believed: the same evidence under the prior of resampled items."""
        answered = np.flatnonzero(self.evidence.sum(axis=1) > 0)
        rows = np.zeros_like(self.evidence)
        if isinstance(self.fit, FitJudged):  # models are calibrated on the votes of these items
            some = np.unique(rng.choice(answered, len(answered)))
            rows[some] = self.evidence[some]
            return replace(self.fit(self.index, rows), evidence=self.evidence)
        if self.fit.prior is not None:
            return self.belief()
        rows[answered] = self.evidence[rng.choice(answered, len(answered))]
        return Belief(self.index, self.evidence, self.fit(self.index, rows).prior)


@dataclass(frozen=True, eq=False)
class FitKnown:
    """The same prior, whatever the evidence: that of each item, of people and models."""

    belief: Belief
    least, blend, even = FitJudged.least, FitJudged.blend, FitJudged.even

    def __call__(self, index: Index, evidence: Floats) -> Belief:
        return replace(self.belief, evidence=evidence)


def forecast(
    pilot: Pilot,
    policy: Policy,
    goals: Sequence[float],
    price: Price | None = None,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    tell: Progress = silent,
) -> list[Step]:
    """Return what is expected at each of ``goals``, in further seconds per item, rising."""
    if list(goals) != sorted(goals) or not goals or goals[0] < 0:
        raise DataError(f"goals = {list(goals)}: give seconds per item of 0 or more, rising")
    if draws < 2:
        raise DataError(f"draws = {draws}: at least 2 are needed for an interval")
    price = price or Price()
    now = pilot.belief()
    found = []
    for draw in range(draws):
        tell("simulating the study", draw, draws)
        found.append(
            _simulate(pilot, policy, goals, price, now, np.random.default_rng([seed, draw]))
        )
    values = np.array([[[step[0], step[1], step[2]] for step in one] for one in found])
    spreads = np.array([[step[3] for step in one] for one in found]).mean(axis=0)
    steps = []
    for place, goal in enumerate(goals):
        after, gain, answers = values[:, place].T
        spread = spreads[place].tolist()
        scores = (_middle(after, 0.0), _middle(gain))
        steps.append(Step(goal, float(answers.mean()), *scores, (spread[0], spread[1], spread[2])))
    return steps


def _middle(values: Floats, least: float = -math.inf) -> Score:
    """Return the mean of the draws, and between what one more would lie with chance ``LEVEL``."""
    n, mean = len(values), float(values.mean())
    t = float(stdtrit(n - 1, (1 + LEVEL) / 2))
    half = STRETCH * t * float(values.std(ddof=1)) * math.sqrt(1 + 1 / n)
    return Score(mean, max(mean - half, min(least, mean)), mean + half, n)


def _simulate(
    pilot: Pilot,
    policy: Policy,
    goals: Sequence[float],
    price: Price,
    now: Belief,
    rng: np.random.Generator,
) -> list[tuple[float, float, float, Floats]]:
    """Return KL, gain, answers per item and their spread at each goal, in one possible study."""
    belief = pilot.redraw(rng)
    split = np.maximum(belief.draw(rng), LEAST)
    split /= split.sum(axis=1, keepdims=True)
    target = split if not pilot.held else rng.multinomial(pilot.held, split) / pilot.held
    m, before = len(split), now.mean()
    # what the policy will learn as answers arrive, and how labels are made of them
    fit: Fit = FitVotes(belief.prior)
    last: Fit = pilot.fit
    if isinstance(pilot.fit, FitJudged):  # to calibrate models in every draw would take minutes
        fit, last = FitKnown(belief), FitKnown(now)
    state = Allocation(pilot.index, policy, fit=fit, prices=[price], evidence=pilot.evidence)
    first = state.answers.copy()
    steps = []
    for goal in goals:
        while (left := goal * m - state.spent) > price.seconds / 2:
            n = max(1, min(m // ROUNDS, math.floor(left / price.seconds + 0.5)))
            chosen = state.choose(n, rng=rng)
            if not len(chosen):
                break
            state.record(chosen.items, _vote(split[chosen.items], rng))
        label = last(pilot.index, state.evidence).mean()
        lost = kl(split, label).mean()
        gain = (cross_entropy(target, before) - cross_entropy(target, label)).mean()
        spread = np.percentile(state.answers, [50, 90, 99])
        steps.append((float(lost), float(gain), float((state.answers - first).mean()), spread))
    return steps


def _vote(split: Floats, rng: np.random.Generator) -> Ints:
    """(j,) one vote by each split."""
    below = split.cumsum(axis=1)[:, :-1] < rng.random((len(split), 1))
    return np.asarray(below.sum(axis=1))


# ── from a study folder to a pilot, and from money to answers ────────────────────────────────


def read_pilot(study: Study, each: Annotations, name: str) -> Pilot:
    """Return the evidence of a pilot's answers on the items of the study they belong to."""
    index = Index(names([item.id for item in study.items]), names([]), names(study.labels))
    code = {item: place for place, item in enumerate(index.items.tolist())}
    theirs = each.index.items.tolist()
    strange = [item for item in theirs if item not in code]
    if strange:
        raise DataError(
            f"{name}: item {strange[0]!r} is not in the study {study.name!r} ({len(strange):,} of "
            f"{len(theirs):,} items are not); plan with the folder whose items the pilot asked for"
        )
    if each.index.labels.tolist() != list(study.labels):
        shown = ", ".join(each.index.labels.tolist()[:20])
        raise DataError(f"{name}: the labels are {shown}, not those of the study {study.name!r}")
    evidence = np.zeros((len(code), len(study.labels)))
    evidence[[code[item] for item in theirs]] = each.counts()
    return Pilot(index, evidence)


def measure_seconds(seconds: Floats | None) -> float | None:
    """Return the mean of what answers took, for the pay; None if no times are known.

    The mean, not the median, is what is paid for.  Times of more than ten medians count as ten:
    somebody left the page open.

    >>> measure_seconds(np.array([2.0, 3.0, 4.0, 4000.0]))
    11.0
    """
    known = np.zeros(0) if seconds is None else seconds[np.isfinite(seconds) & (seconds > 0)]
    if not len(known):
        return None
    return float(np.minimum(known, LONGEST * np.median(known)).mean())


def cost_of_answer(study: Study, seconds: float, per_hour: float | None = None) -> float:
    """Return the money for one answer: the pay of a session whose answers take so long each,
    shared by the answers that count.  ``per_hour`` stands in for the study's pay."""
    from softlabel.study import SECONDS_AROUND  # study folders take long to import

    session = SECONDS_AROUND + study.showings_per_person * seconds
    if per_hour is None:
        if study.pay is None:
            raise DataError(
                f"{study.name}: study.toml has no [pay], so money cannot be turned into answers; "
                "add it, or say --per-hour"
            )
        if study.pay.per_hour is None:
            return study.pay.session / study.items_per_person
        per_hour = study.pay.per_hour
    return per_hour * session / 3600 / study.items_per_person


def draw_plan(curves: dict[str, list[Step]], width: float = 660) -> Html:
    """Draw the expected KL against further seconds per item, a curve per policy."""
    lines = [
        Line(
            name,
            [step.seconds for step in steps],
            [step.kl.value for step in steps],
            [step.kl.low for step in steps],
            [step.kl.high for step in steps],
        )
        for name, steps in curves.items()
    ]
    said = "; ".join(f"{line.name}: {line.y[0]:.3f} to {line.y[-1]:.3f}" for line in lines)
    axes = "further seconds per item", "expected KL (nats)"
    return charts.lines(lines, Frame("What more answers will buy", said, *axes, width, 340))
