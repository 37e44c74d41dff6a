"""Pools of a formula: mean, share, softmax, log pool, extremised and weighted.

Their numbers, at most two, are given or fitted: each answer is left out, and predicted from the
other answers to its item.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from typing import Any, ClassVar, Literal, Self

import numpy as np

from softlabel.aggregate.base import sum_by_item
from softlabel.aggregate.split.base import CountPool, CountSums, shares
from softlabel.aggregate.split.mixtures import CELLS, distinct, majorities, sample_items
from softlabel.errors import DataError
from softlabel.registry import SMALLEST
from softlabel.tables import Annotations, Floats, Ints, Names

FIT_ITEMS = 20_000  # two numbers need no more
COARSE, FINE = 32, 2.0**-6  # first steps of the search, in units of FINE; that in logarithms
NO_BETTER = 1e-7  # nats: a smaller difference of losses is none


# ── fitting by leaving answers out ───────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Each answer beside the other answers to its item.  A pool of the others is judged by the
    chance it gives to the vote of the one left out: of a soft annotation that is its first choice,
    because a label that says how people split predicts what the next one would choose.

    ``target`` (l, k) is that vote, ``number`` (l,) how many others there are; a row counts
    ``times`` (l,), as votes that leave the same counts behind are one row.  ``counts`` (l, k) are
    the votes of the others, or ``answers`` (l, k) the soft annotations, of ``item`` (l,).
    """

    target: Floats
    number: Floats
    times: Floats
    item: Ints
    counts: Floats | None = None
    answers: Floats | None = None

    @classmethod
    def of(cls, annotations: Annotations) -> Self:
        """Return all answers to items that have another; of very many a sample, drawn by name."""
        size = annotations.votes_per_item()

        def sample() -> Ints:
            few = sample_items(annotations.index.items, FIT_ITEMS)
            return few[size[few] > 1]

        if annotations.hard:
            counts = annotations.counts()
            rows, _ = distinct(counts[size > 1])
            if len(rows) > FIT_ITEMS:
                rows, _ = distinct(counts[sample()])
            row, label = np.nonzero(rows.n)
            target = np.zeros((len(label), rows.n.shape[1]))
            target[np.arange(len(label)), label] = 1
            times, others = rows.times[row] * rows.n[row, label], rows.n.sum(axis=1)[row] - 1
            return cls(target, others, times, row, counts=rows.n[row] - target)
        some = sample()
        kept = np.flatnonzero(np.isin(annotations.item, some))
        item, soft = annotations.item[kept], annotations.soft()[kept]
        others = (size[item] - 1).astype(np.float64)
        place = np.searchsorted(some, item)
        return cls(majorities(soft), others, np.ones(len(kept)), place, answers=soft)

    def __len__(self) -> int:
        return len(self.times)

    def others(self, transform: Callable[[Floats], Floats] = lambda p: p) -> Floats:
        """(l, k) the sum over the other answers of ``transform`` of their chances."""
        if self.counts is not None:
            zero, one = transform(np.array([0.0, 1.0])).tolist()
            return np.asarray(self.counts * one + (self.number[:, None] - self.counts) * zero)
        assert self.answers is not None, "where there are no votes there are soft annotations"
        each = transform(self.answers)
        columns = [np.bincount(self.item, column)[self.item] for column in each.T]
        return np.stack(columns, axis=1) - each

    @cached_property
    def votes(self) -> Floats:
        """(l, k) the mass of the others on each class."""
        return np.maximum(self.others(), 0)  # taking an answer away again leaves rounding

    @cached_property
    def means(self) -> Floats:
        """(l, k) the mean of the others."""
        return shares(self.votes)

    def loss(self, predicted: Floats) -> float:
        """Return the mean of -log of the chance given to what was left out."""
        logs = np.log(np.maximum(predicted, 1e-300))
        return float(-(self.times @ (self.target * logs).sum(axis=1)) / self.times.sum())


def fit_numbers(
    pool: Any,
    annotations: Annotations,
    start: Mapping[str, float],
    limits: Mapping[str, tuple[float, float]],
    loss: Callable[..., float],
    alone: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the numbers of a pool: those given, and the best of the others.

    The search goes from ``start`` within ``limits`` for the lowest ``loss(out, **numbers)``; where
    no item has two answers there is nothing to search by, and the numbers are ``alone``.
    """
    numbers = {name: getattr(pool, name) for name in start}
    free = [name for name, value in numbers.items() if value is None]
    if not free:
        return numbers
    out = LeaveOneOut.of(annotations)
    if not len(out):
        return numbers | {name: (alone or start)[name] for name in free}

    def at(*values: float) -> float:
        return loss(out, **numbers | dict(zip(free, values, strict=True)))

    best = search(at, [start[name] for name in free], [limits[name] for name in free])
    return numbers | dict(zip(free, best, strict=True))


def search(
    loss: Callable[..., float], start: Sequence[float], limits: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """Return the point of a lattice with the lowest loss, from ``start`` downhill with ever smaller
    steps (pattern search, Hooke & Jeeves 1961); all numbers are positive, steps are factors, and
    each number stays within its ``limits``.

    On a lattice rounding does not move the answer: the same data in another order give the same
    numbers, to the last digit.  Its finest step is below 2 %, finer than votes can tell.
    """

    def values(place: tuple[int, ...]) -> list[float]:
        return [first * math.exp(FINE * steps) for first, steps in zip(start, place, strict=True)]

    @cache
    def at(place: tuple[int, ...]) -> float:
        tried = values(place)
        inside = all(low <= x <= high for x, (low, high) in zip(tried, limits, strict=True))
        return loss(*tried) if inside else math.inf

    place = (0,) * len(start)
    ways = [way for way in product((-1, 0, 1), repeat=len(start)) if any(way)]
    size = COARSE
    while size:
        near = [tuple(x + size * step for x, step in zip(place, w, strict=True)) for w in ways]
        best = min(near, key=at)
        if at(best) < at(place) - NO_BETTER:
            place = best
        else:
            size //= 2
    return tuple(values(place))


@dataclass(frozen=True)
class Mean(CountPool, CountSums):
    """Linear opinion pool: p = (1/M) sum_m p^m.

    Keeps each annotator's doubt.  One annotator gives that annotator's label; one-hot labels give
    vote shares.  A pool of roughly calibrated people is under-confident.
    """

    name: ClassVar[str] = "mean"
    paper: ClassVar[str] = "Stone 1961; Collins, Bhatt & Weller 2022"

    def rows(self, sums: Floats) -> Floats:
        return shares(sums)


@dataclass(frozen=True)
class Share(Mean):
    """Votes for a class divided by all votes for the item: d_j / sum_a d_a.

    (33, 13, 4) gives (.66, .26, .08).  Soft annotations count as fractions of a vote, so that
    this then equals the mean; put the construction ``hard`` before it to count first choices.
    """

    name: ClassVar[str] = "share"
    paper: ClassVar[str] = "Uma et al. 2020, equation 3"


# ── pools with numbers that are given or fitted ──────────────────────────────────────────────


@dataclass(frozen=True)
class Softmax(CountPool, CountSums):
    """exp(d_j / tau) / sum_a exp(d_a / tau) of the counts d.

    (2, 1, 0, 0) gives (.610, .225, .083, .083).  It depends on the scale of the counts: with 50
    votes it is all but hard, with 2 it leaves mass on classes nobody chose.  ``tau`` None is
    fitted: each vote, or first choice, is predicted from the others on its item.
    """

    tau: float | None = 1.0

    name: ClassVar[str] = "softmax"
    paper: ClassVar[str] = "Uma et al. 2020, equation 4"
    limits: ClassVar = {"tau": (SMALLEST, math.inf)}

    def fit(self, annotations: Annotations) -> Self:
        """Return this pool with a number for ``tau``; 1 where no item has two answers."""

        def loss(out: LeaveOneOut, tau: float) -> float:
            return out.loss(replace(self, tau=tau).rows(out.votes))

        limits = {"tau": (1e-3, 1e3)}
        return replace(self, **fit_numbers(self, annotations, {"tau": 1.0}, limits, loss))

    def explain(self, fitted: Self) -> str:
        return "" if fitted == self else f"tau = {fitted.tau:.4g}"

    def rows(self, sums: Floats) -> Floats:
        assert self.tau is not None, "fitted before it is used"
        scaled = sums / self.tau
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))  # the largest becomes 1
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class LogPool(CountPool, CountSums):
    """Logarithmic opinion pool: p proportional to exp((power/M) sum_m log(p^m + floor)).

    Sharper than the mean where people agree.  Without a floor one person's zero is a veto; the
    default of 1 % keeps it a strong objection.  ``floor`` or ``power`` None are fitted: the first
    choice of each answer is predicted from the others to its item.
    """

    floor: float | None = 0.01
    power: float | None = 1.0

    name: ClassVar[str] = "log-pool"
    paper: ClassVar[str] = "Genest & Zidek 1986"
    limits: ClassVar = dict.fromkeys(("floor", "power"), (SMALLEST, math.inf))

    def fit(self, annotations: Annotations) -> Self:
        """Return this pool with numbers for both; .01 and 1 where no item has two answers."""

        def loss(out: LeaveOneOut, **numbers: float) -> float:
            pool = replace(self, **numbers)
            return out.loss(pool._labels(out.others(pool._log), out.number))

        start, limits = {"floor": 0.01, "power": 1.0}, {"floor": (1e-6, 1.0), "power": (0.5, 2.0)}
        return replace(self, **fit_numbers(self, annotations, start, limits, loss))

    def explain(self, fitted: Self) -> str:
        return "" if fitted == self else f"floor {fitted.floor:.3g} and power {fitted.power:.3g}"

    def sums(self, annotations: Annotations) -> Floats:
        """(m, 2k) the counts, then the sums of log(p + floor)."""
        counts = annotations.counts()
        if annotations.hard:  # a vote is log(1 + floor) on one class and log(floor) on the others
            zero, one = self._log(np.array([0.0, 1.0])).tolist()
            logs = counts * one + (annotations.votes_per_item()[:, None] - counts) * zero
        else:
            logs = sum_by_item(annotations, self._log(annotations.soft()))
        return np.concatenate([counts, logs], axis=1)

    def rows(self, sums: Floats) -> Floats:
        k = sums.shape[1] // 2
        return self._labels(sums[:, k:], sums[:, :k].sum(axis=1))

    def _log(self, chance: Floats) -> Floats:
        assert self.floor is not None, "fitted before it is used"
        return np.log(chance + self.floor)

    def _labels(self, logs: Floats, number: Floats) -> Floats:
        assert self.power is not None, "fitted before it is used"
        mean = self.power * logs / np.maximum(number, 1)[:, None]
        weights = np.exp(mean - mean.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Sharpened(CountSums):
    """The extremised pool with its numbers; ``table`` (k, k) shapes the floor, None: even."""

    floor: float
    power: float
    table: Floats | None

    def rows(self, sums: Floats) -> Floats:
        return self.labels(shares(sums))

    def labels(self, lin: Floats) -> Floats:
        """(m, k) labels from means of answers."""
        ground = 1 / lin.shape[1] if self.table is None else lin @ self.table
        with np.errstate(divide="ignore"):  # log 0 is the answer of a pool without a floor
            logs = self.power * np.log((1 - self.floor) * lin + self.floor * ground)
        top = np.maximum(logs.max(axis=1, keepdims=True), -1e300)  # rows without answers have none
        weights = np.exp(logs - top)
        return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


@dataclass(frozen=True)
class Extremised(CountPool):
    """q proportional to ((1 - floor) lin + floor f)^power, lin being the mean of the answers.

    The mean of calibrated people is under-confident: a power above 1 mends that.  The floor f is
    even (1/k), or spreads like the answers to items of the same leading class (``confusion``:
    sum_j lin_j T_jk).  ``floor`` or ``power`` None are fitted, the power within .5 to 2: the first
    choice of each answer is predicted from the others to its item.
    """

    floor: float | None = None
    power: float | None = None
    shape: Literal["confusion", "even"] = "confusion"

    name: ClassVar[str] = "extremised"
    paper: ClassVar[str] = "Ranjan & Gneiting 2010; Satopää et al. 2014"
    limits: ClassVar = {"floor": (0, 1), "power": (SMALLEST, 1e6)}

    def fit(self, annotations: Annotations) -> Sharpened:
        """Return the pool with numbers for floor and power, and its table of confusions."""
        table = confusion_table(annotations.counts()) if self.shape == "confusion" else None

        def loss(out: LeaveOneOut, floor: float, power: float) -> float:
            return out.loss(Sharpened(floor, power, table).labels(out.means))

        start, limits = {"floor": 0.1, "power": 1.0}, {"floor": (1e-4, 1.0), "power": (0.5, 2.0)}
        # without two answers on any item: the floor that was best on such data
        alone = {"floor": 0.8 if self.shape == "confusion" else 0.12, "power": 1.0}
        numbers = fit_numbers(self, annotations, start, limits, loss, alone)
        return Sharpened(numbers["floor"], numbers["power"], table)

    def explain(self, fitted: Sharpened) -> str:
        return f"floor {fitted.floor:.3g} and power {fitted.power:.3g}"


def confusion_table(counts: Floats) -> Floats:
    """(k, k) how the answers to items whose leading class is j spread over all classes; ties in
    equal parts, and one item's worth of even answers so that nothing is impossible."""
    k = counts.shape[1]
    if k * k > CELLS:
        raise DataError(
            f"a table of the confusions of {k} classes needs {k} x {k} numbers, more than {CELLS}; "
            "use extremised:shape=even"
        )
    rows, _ = distinct(counts[counts.sum(axis=1) > 0])
    top = majorities(rows.n) * rows.times[:, None]
    table = top.T @ shares(rows.n) + 1 / k
    return np.asarray(table / table.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Weights(CountSums):
    """The pool with the weight of each annotator, known by name; a new person has weight 1."""

    annotators: Names
    weight: Floats

    def sums(self, annotations: Annotations) -> Floats:
        """(m, 2k) the counts, then the weighted counts."""
        m, _, k = annotations.index.shape
        weight, people = self.weight, annotations.index.annotators
        if not np.array_equal(people, self.annotators):  # they are numbered in another way
            by_name = dict(zip(self.annotators.tolist(), weight.tolist(), strict=True))
            weight = np.array([by_name.get(name, 1.0) for name in people.tolist()])
        each = np.append(weight, 1.0)[annotations.annotator]  # the last is for anonymous votes, -1
        if annotations.label is not None:
            flat = annotations.item.astype(np.int64) * k + annotations.label
            total = np.bincount(flat, each, minlength=m * k)
            heavy: Floats = np.asarray(total, dtype=np.float64).reshape(m, k)
        else:
            heavy = sum_by_item(annotations, each[:, None] * annotations.soft())
        return np.concatenate([annotations.counts(), heavy], axis=1)

    def rows(self, sums: Floats) -> Floats:
        return shares(sums[:, sums.shape[1] // 2 :])


@dataclass(frozen=True)
class Weighted(CountPool):
    """p = sum_a w_a p^a / sum_a w_a, with weights in inverse proportion to a person's variance.

    The variance v_a is the mean over the person's items of (M - 1)/M |p^a - mean of the others|^2,
    pulled towards the crowd's by ``shrinkage`` answers: v_a = (s v + sum_i d_ai) / (s + n_a), and
    w_a = v / v_a.  Somebody who never answered beside others has weight 1.
    """

    shrinkage: float = 10.0

    name: ClassVar[str] = "weighted"
    paper: ClassVar[str] = "Bates & Granger 1969"
    limits: ClassVar = {"shrinkage": (SMALLEST, 1e12)}

    def explain(self, fitted: Weights) -> str:
        low, high = fitted.weight.min(initial=1), fitted.weight.max(initial=1)
        return f"weights from {low:.3g} to {high:.3g}, by the distance to the other answers"

    def fit(self, annotations: Annotations) -> Weights:
        """Return the pool with the weight of every annotator."""
        if annotations.anonymous:
            raise DataError(
                "weighted weighs people, but some votes have no annotator; pools that do not: "
                "mean, share, dirichlet, dirichlet-mixture"
            )
        people = len(annotations.index.annotators)
        size = annotations.votes_per_item()
        beside = size[annotations.item] > 1
        apart = distances(annotations)
        total = np.bincount(annotations.annotator[beside], apart[beside], minlength=people)
        number = np.bincount(annotations.annotator[beside], minlength=people)
        crowd = total.sum() / max(number.sum(), 1)
        if crowd == 0:  # nobody ever differed
            return Weights(annotations.index.annotators, np.ones(people))
        own = (self.shrinkage * crowd + total) / (self.shrinkage + number)
        return Weights(annotations.index.annotators, crowd / own)


def distances(annotations: Annotations) -> Floats:
    """(n,) (M - 1)/M |p - mean of the others on the item|^2 of each answer, whose mean is the
    variance where all people have the same; 0 for an answer that has no others."""
    size = annotations.votes_per_item()[annotations.item]
    others = np.maximum(size - 1, 1).astype(np.float64)
    counts = annotations.counts()
    if annotations.label is not None:  # without an n x k table: |e - q|^2 = 1 - 2 q_y + |q|^2
        own = counts[annotations.item, annotations.label]
        square = (counts**2).sum(axis=1)[annotations.item]
        apart = 1 - 2 * (own - 1) / others + (square - 2 * own + 1) / others**2
    else:
        soft = annotations.soft()
        apart = ((soft - (counts[annotations.item] - soft) / others[:, None]) ** 2).sum(axis=1)
    return np.asarray(np.where(size > 1, apart * others / np.maximum(size, 1), 0))
