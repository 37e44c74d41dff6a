"""Recorded votes replayed: what would each policy have asked, and how good would its labels be?

The votes of each item are put in random order.  Some are held out and judge the labels; the others
are the pool from which a policy's questions are answered.  The measure is KL* = cross-entropy to
the held-out shares minus Grassberger's entropy of all votes, against seconds per item.  Compare at
equal KL*; ratios of it mean nothing, because a small constant is left in it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import psi

from softlabel._util.progress import Progress, silent
from softlabel.aggregate import Atoms, choose_for_others, shares
from softlabel.allocate.allocation import Allocation
from softlabel.allocate.policies import (
    SECONDS_PER_VOTE,
    Fit,
    FitJudged,
    FitVotes,
    Policy,
    Price,
    Uniform,
)
from softlabel.errors import DataError
from softlabel.metrics import entropy, intervals, kl
from softlabel.report import Frame, Html, Line, charts
from softlabel.sampling import first_presentation
from softlabel.tables import Annotations, Bools, Floats, Index, Ints, Score

CLIP, FLOOR = 1e-12, 1e-3
VOTES = (1, 2, 3, 5, 10, 20, 40)  # per item: where policies are compared
FOLDS = 2  # with priors of other items: each half asks with the prior of the other
ROUNDS = 50  # a question to one item in so many is decided at once
RAW = "raw shares"


# ── scores by held-out votes ─────────────────────────────────────────────────────────────────


def grassberger(counts: Ints) -> Floats:
    """Estimate the entropy (m,) of the distributions behind counts (Grassberger 2003):

    log N - (1/N) sum_k n_k G(n_k), G(n) = psi(n) + (-1)^n/2 [psi((n + 1)/2) - psi(n/2)].
    The remaining bias is at most 1/(2N), the same for all labels of an item.
    """
    n = np.arange(1, int(counts.max()) + 1)
    g = np.r_[0, psi(n) + 0.5 * (-1.0) ** n * (psi((n + 1) / 2) - psi(n / 2))]
    total = counts.sum(axis=1)
    return np.asarray(np.log(total) - (counts * g[counts]).sum(axis=1) / total)


def kl_star(share: Floats, label: Floats, entropies: Floats) -> Floats:
    """Return the cross-entropy (m,) to the held-out shares minus the entropy of all votes: KL
    without the constant that few held-out votes add to it."""
    return kl(share, label) + entropy(share) - entropies


def apply_floor(label: Floats, floor: float) -> Floats:
    """Raise all probabilities (m, k) to the floor, and scale them to sum to 1."""
    return shares(np.maximum(label, floor))


def split_folds(items: int, number: int, seed: int) -> Iterator[tuple[Bools, Bools]]:
    """Yield (rest, test) for each fold: what is fitted on the rest is judged on the test."""
    fold = np.random.default_rng([seed, 1]).permutation(items) % number
    for one in range(number):
        yield fold != one, fold == one


def part_of(index: Index, these: Bools) -> Index:
    """Return the index of some of the items."""
    return replace(index, items=index.items[these])


# ── votes in random order ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Recorded:
    """Votes that people gave, one per person and item.  ``seconds`` (n,) is how long each took,
    if that is known; ``note`` says what was left out."""

    name: str
    votes: Annotations
    seconds: Floats | None = None
    note: str = ""

    def __post_init__(self) -> None:
        if self.votes.label is None:
            raise DataError(
                f"{self.name}: holds soft answers; a replay needs votes, one class per answer"
            )
        first = first_presentation(self.votes)
        if not first.all():
            object.__setattr__(self, "votes", self.votes.take(first))
            if self.seconds is not None:
                object.__setattr__(self, "seconds", self.seconds[first])
        if self.seconds is not None and not np.isfinite(self.seconds).all():
            object.__setattr__(self, "seconds", None)

    def hold_out(self, hold: int, seed: int) -> "Replay":
        """Put the votes of each item in random order and hold out ``hold`` of them, at most a third
        of what the median item has; items without a vote beyond these are left out."""
        if hold < 1:
            raise DataError(f"hold = {hold}: at least one vote must be held out")
        size = self.votes.votes_per_item()
        if not (size > 1).any():
            raise DataError(f"{self.name}: no item has two votes, so none can be held out")
        hold = min(hold, max(1, int(np.median(size[size > 0])) // 3))
        keep = size > hold
        code = np.cumsum(keep) - 1
        kept = np.flatnonzero(keep[self.votes.item])
        item = code[self.votes.item[kept]]
        key = np.random.default_rng(seed).random(len(kept))
        order = np.lexsort((key, item))
        assert self.votes.label is not None, "checked when it was made"
        label = self.votes.label[kept][order].astype(np.int64)
        seconds = None if self.seconds is None else self.seconds[kept][order]
        index = part_of(self.votes.index, keep)
        left = int((~keep).sum())
        notes = [f"{hold} {'vote' if hold == 1 else 'votes'} of each item held out"]
        if left:
            items = "item" if left == 1 else "items"
            notes.append(f"{left:,} {items} with fewer than {hold + 1} votes left out")
        return Replay(index, item[order], label, hold, seconds, "; ".join(notes))


@dataclass(frozen=True, eq=False)
class Replay:
    """Votes sorted by item, in random order within each: the first ``hold`` are held out."""

    index: Index
    item: Ints
    label: Ints
    hold: int
    seconds: Floats | None = None
    note: str = ""

    @cached_property
    def start(self) -> Ints:
        """(m,) where the pool of each item begins."""
        return np.searchsorted(self.item, np.arange(len(self.index.items))) + self.hold

    @cached_property
    def size(self) -> Ints:
        """(m,) how many votes the pool of each item has."""
        return np.bincount(self.item, minlength=len(self.index.items)) - self.hold

    @cached_property
    def counts(self) -> Ints:
        """(m, k) all votes."""
        return self._count(np.arange(len(self.item)))

    @cached_property
    def share(self) -> Floats:
        """(m, k) shares of the classes among the votes held out: what a label must predict."""
        rank = np.arange(len(self.item)) - (self.start - self.hold)[self.item]
        return self._count(np.flatnonzero(rank < self.hold)) / self.hold

    def build(self, number: int) -> Floats:
        """(m, k) counts of the first ``number`` votes of each pool; an item with fewer has all."""
        rank = np.arange(len(self.item)) - self.start[self.item]
        return self._count(np.flatnonzero((rank >= 0) & (rank < number))).astype(np.float64)

    def fit_others(self, number: int) -> FitVotes:
        """Return the fit that the first ``number`` votes of each pool give for other items."""
        evidence = self.build(number)
        pool = choose_for_others(evidence.sum(axis=1))
        return FitVotes(pool.fit(self.index, evidence), trusted=isinstance(pool, Atoms))

    def answer(self, items: Ints, used: Ints) -> tuple[Ints, Floats | None]:
        """Return the next vote of each item, of whose pool ``used`` are gone, and its seconds."""
        rows = self.start[items] + used
        return self.label[rows], None if self.seconds is None else self.seconds[rows]

    def part(self, these: Bools) -> "Replay":
        """Return the replay of some of the items."""
        rows = these[self.item]
        code = np.cumsum(these) - 1
        seconds = None if self.seconds is None else self.seconds[rows]
        index = part_of(self.index, these)
        return Replay(index, code[self.item[rows]], self.label[rows], self.hold, seconds)

    def _count(self, rows: Ints) -> Ints:
        m, _, k = self.index.shape
        flat = self.item[rows] * k + self.label[rows]
        return np.asarray(np.bincount(flat, minlength=m * k).reshape(m, k))


# ── one policy asks ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Point:
    """The labels (m, k) after ``seconds`` per item, the answers (m,) they are made of, and votes
    (m, k)."""

    seconds: float
    labels: Floats
    answers: Ints
    votes: Floats


def run_policy(
    votes: Replay,
    policy: Policy,
    fit: Fit,
    goals: Sequence[float],
    price: float,
    rng: np.random.Generator,
) -> list[Point]:
    """Ask until each goal (seconds per item); stop at the first that the pool cannot reach."""
    m = len(votes.index.items)
    state = Allocation(votes.index, policy, fit=fit, prices=[Price(seconds=price)])
    used = np.zeros(m, dtype=np.int64)
    points = []
    for goal in goals:
        while (left := goal * m - state.spent) > price / 2:
            n = max(1, min(m // ROUNDS, math.floor(left / price + 0.5)))
            chosen = state.choose(n, used < votes.size, rng=rng)
            if not len(chosen):
                break
            labels, seconds = votes.answer(chosen.items, used[chosen.items])
            state.record(chosen.items, labels, seconds=seconds)
            used[chosen.items] += 1
            if state.due:
                state.refit()
        reached = state.spent / m
        if reached < goal - price and state.done.sum() == 0:
            break  # the pool is empty
        belief = fit(votes.index, state.evidence)
        points.append(Point(reached, belief.mean(), state.answers.copy(), state.snapshot()))
    return points


def _run_halves(
    votes: Replay,
    policy: Policy,
    calibrate: int,
    goals: Sequence[float],
    price: float,
    seed: int,
) -> list[Point]:
    """Ask in each half of the items with a prior fitted to ``calibrate`` votes of the other."""
    halves = []
    for rest, test in split_folds(len(votes.index.items), FOLDS, seed):
        fit = votes.part(rest).fit_others(calibrate)
        rng = np.random.default_rng([seed, 5])
        one = run_policy(votes.part(test), policy, fit, goals, price, rng)
        halves.append((test, one))
    points = []
    m, _, k = votes.index.shape
    for both in zip(*(one for _, one in halves), strict=False):
        labels, counts, answers = np.zeros((m, k)), np.zeros((m, k)), np.zeros(m, dtype=np.int64)
        for (test, _), point in zip(halves, both, strict=True):
            labels[test], answers[test], counts[test] = point.labels, point.answers, point.votes
        seconds = float(np.mean([point.seconds for point in both]))
        points.append(Point(seconds, labels, answers, counts))
    return points


# ── all policies compared ────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Row:
    """One policy at one goal: KL* with its 95 % interval over items, how much lower it is than that
    of ``uniform`` with the same pool and of raw shares, and the answers per item."""

    policy: str
    goal: float
    seconds: float
    kl: Score
    below_uniform: Score | None
    below_raw: Score | None
    answers: tuple[float, float, float]  # median, 90 and 99 %

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON and CSV."""
        flat: dict[str, object] = {"policy": self.policy, "goal": self.goal}
        flat["seconds"] = round(self.seconds, 4)
        for name in ("kl", "below_uniform", "below_raw"):
            score = getattr(self, name)
            for part in ("value", "low", "high"):
                flat[f"{name}_{part}"] = None if score is None else getattr(score, part)
        return flat | dict(zip(("median", "p90", "p99"), self.answers, strict=True))


@dataclass(frozen=True)
class Comparison:
    """A replay of some policies on one data set."""

    name: str
    items: int
    price: float
    prior: str
    seeds: tuple[int, ...]
    note: str
    rows: tuple[Row, ...]

    def row(self, policy: str, goal: float) -> Row | None:
        """Return the row of a policy at a goal, if the pool reached it."""
        found = (row for row in self.rows if row.policy == policy and abs(row.goal - goal) < 1e-9)
        return next(found, None)

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON."""
        about = {name: getattr(self, name) for name in ("name", "items", "price", "prior", "note")}
        return about | {"seeds": list(self.seeds), "rows": [row.to_dict() for row in self.rows]}


@dataclass(frozen=True)
class Setting:
    """How to replay: ``hold`` votes held out, priors fitted to ``calibrate`` votes of other items
    (0: to the votes asked for so far), ``seeds`` of the orders, ``goals`` in seconds per item
    (empty: as many as make sense), and the ``price`` of a vote where no times are recorded.
    ``judges`` is what models said of the items: they speak before the first vote."""

    hold: int = 10
    calibrate: int = 0
    seeds: tuple[int, ...] = (500,)
    goals: tuple[float, ...] = ()
    price: float = SECONDS_PER_VOTE
    judges: Annotations | None = None

    def __post_init__(self) -> None:
        if self.judges is not None and self.calibrate:
            raise DataError("calibrate and judges: give one of the two; both are priors")


def compare(
    recorded: Recorded,
    policies: Sequence[Policy],
    setting: Setting | None = None,
    tell: Progress = silent,
) -> Comparison:
    """Replay each policy, beside ``uniform`` and raw shares, on the same orders of votes."""
    setting = setting or Setting()
    price = setting.price if recorded.seconds is None else float(recorded.seconds.mean())
    named = {_name(policy): policy for policy in (*policies, Uniform())}
    scores: dict[tuple[str, float], list[Floats]] = {}
    spent: dict[tuple[str, float], list[float]] = {}
    asked: dict[tuple[str, float], list[Ints]] = {}
    for seed in setting.seeds:
        votes = recorded.hold_out(setting.hold, seed)
        goals = setting.goals or default_goals(votes, price)
        entropies = grassberger(votes.counts)

        def keep(
            name: str, goal: float, point: Point, labels: Floats, votes: Replay = votes,
            entropies: Floats = entropies,
        ) -> None:  # fmt: skip
            scores.setdefault((name, goal), []).append(kl_star(votes.share, labels, entropies))
            spent.setdefault((name, goal), []).append(point.seconds)
            asked.setdefault((name, goal), []).append(point.answers)

        for name, policy in named.items():
            tell(f"{recorded.name}: {name}, order {seed}")
            points = _ask(votes, policy, setting, goals, price, seed)
            for goal, point in zip(goals, points, strict=False):
                keep(name, goal, point, point.labels)
                if name == Uniform.name:
                    keep(RAW, goal, point, apply_floor(shares(point.votes), FLOOR))
    complete = {place for place, found in scores.items() if len(found) == len(setting.seeds)}
    by_item = {place: np.asarray(np.mean(scores[place], axis=0)) for place in complete}
    rows = [
        _row(place, by_item, float(np.mean(spent[place])), np.concatenate(asked[place]))
        for place in scores
        if place in complete
    ]
    order = [*named, RAW]
    rows.sort(key=lambda row: (order.index(row.policy), row.goal))
    prior = f"{setting.calibrate} votes of other items" if setting.calibrate else "same votes"
    if setting.judges is not None:
        prior = f"same votes and {len(setting.judges.index.annotators)} models"
    notes = "; ".join(filter(None, (recorded.note, votes.note)))
    items = len(votes.index.items)
    return Comparison(recorded.name, items, price, prior, setting.seeds, notes, tuple(rows))


def default_goals(votes: Replay, price: float) -> tuple[float, ...]:
    """Return seconds per item at which there is still something left to choose from."""
    most = float(votes.size.mean())
    return tuple(number * price for number in VOTES if number < max(most, 2))


def _ask(
    votes: Replay, policy: Policy, setting: Setting, goals: Sequence[float], price: float, seed: int
) -> list[Point]:
    if setting.calibrate:
        return _run_halves(votes, policy, setting.calibrate, goals, price, seed)
    fit: Fit = FitVotes() if setting.judges is None else FitJudged(setting.judges)
    return run_policy(votes, policy, fit, goals, price, np.random.default_rng([seed, 5]))


def _name(policy: Policy) -> str:
    """Return the name of a policy, with what differs from its defaults."""
    changed = [
        f"{key}={value:g}"
        for key, value in vars(policy).items()
        if value != getattr(type(policy), key)
    ]
    return policy.name + (f" ({', '.join(changed)})" if changed else "")


def _row(
    place: tuple[str, float],
    by_item: dict[tuple[str, float], Floats],
    seconds: float,
    answers: Ints,
) -> Row:
    policy, goal = place

    def below(other: str) -> Score | None:
        if other == policy or (other, goal) not in by_item:
            return None
        return intervals.paired(by_item[other, goal], by_item[place])

    median, high, highest = np.percentile(answers, [50, 90, 99])
    score = intervals.mean(by_item[place])
    asked = float(median), float(high), float(highest)
    return Row(policy, goal, seconds, score, below(Uniform.name), below(RAW), asked)


def draw_curves(comparison: Comparison, policies: Sequence[str] = (), width: float = 660) -> Html:
    """Draw KL* against seconds per item (on a scale of doublings), a curve per policy with its
    interval; of all policies, or of these."""
    lines = []
    for name in policies or dict.fromkeys(row.policy for row in comparison.rows):
        rows = [row for row in comparison.rows if row.policy == name]
        x, y = [math.log2(row.seconds) for row in rows], [row.kl.value for row in rows]
        low, high = [row.kl.low for row in rows], [row.kl.high for row in rows]
        words = [f"{row.seconds:.3g} s" for row in rows]
        lines.append(Line(name, x, y, low, high, words))
    said = "; ".join(
        f"{line.name}: {line.y[0]:.3f} to {line.y[-1]:.3f}" for line in lines if line.y
    )
    title = f"{comparison.name}, prior of {comparison.prior}"
    frame = Frame(title, said, "seconds per item", "KL* (nats)", width, 340)
    goals = sorted({row.goal for row in comparison.rows})
    return charts.lines(lines, frame, named={math.log2(goal): f"{goal:.3g}" for goal in goals})
