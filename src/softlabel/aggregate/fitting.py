"""Fitting the one or two numbers of a simple pool by leaving answers out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product

import numpy as np

from softlabel.aggregate.climbing import majorities
from softlabel.aggregate.evidence import distinct, drawn
from softlabel.tables import Annotations, Floats, Ints

FIT_ITEMS = 20_000  # two numbers need no more
COARSE, FINE = 32, 2.0**-6  # first steps of the search, in units of FINE; that in logarithms
TELLING = 1e-7  # nats: a smaller difference of losses is none

Transform = Callable[[Floats], Floats]
Place = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Each answer beside the other answers to its item.  A pool of the others is judged by the
    chance it gives to the vote of the one left out: of a soft annotation that is its first choice,
    for to say how people split is to foretell what the next one would choose.

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

    def __len__(self) -> int:
        return len(self.times)

    def others(self, transform: Transform = lambda p: p) -> Floats:
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

    def loss(self, predicted: Floats) -> float:
        """Mean of -log of the chance given to what was left out."""
        logs = np.log(np.maximum(predicted, 1e-300))
        return float(-(self.times @ (self.target * logs).sum(axis=1)) / self.times.sum())


def left_out(said: Annotations) -> LeftOut:
    """All answers to items that have another one; of very many different items a sample, drawn by
    their names."""
    size = said.votes_per_item()
    if said.label is not None:
        rows, _ = distinct(said.counts()[size > 1])
        if len(rows) <= FIT_ITEMS:
            return _of_votes(rows.n, rows.times)
    some = np.zeros(len(size), dtype=np.bool_)
    some[drawn(said.index.items, FIT_ITEMS)] = True
    some &= size > 1
    if said.label is not None:
        rows, _ = distinct(said.counts()[some])
        return _of_votes(rows.n, rows.times)
    kept = np.flatnonzero(some[said.item])
    item = (np.cumsum(some) - 1)[said.item[kept]]
    soft = said.soft()[kept]
    number = (size[said.item[kept]] - 1).astype(np.float64)
    return LeftOut(majorities(soft), number, np.ones(len(kept)), item, answers=soft)


def _of_votes(n: Floats, times: Floats) -> LeftOut:
    row, label = np.nonzero(n)
    target = one_hot(label, n.shape[1])
    number, each = n.sum(axis=1)[row] - 1, times[row] * n[row, label]
    return LeftOut(target, number, each, row, counts=n[row] - target)


def one_hot(label: Ints, k: int) -> Floats:
    """(l, k) votes as rows."""
    rows = np.zeros((len(label), k))
    rows[np.arange(len(label)), label] = 1
    return rows


def search(
    loss: Callable[..., float], start: Sequence[float], limits: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """The point of a lattice with the lowest loss, from ``start`` downhill with ever smaller
    steps (pattern search, Hooke & Jeeves 1961); all numbers are positive, steps are factors, and
    each number stays within its ``limits``.

    On a lattice rounding does not move the answer: the same data in another order give the same
    numbers, to the last digit.  Its finest step is below 2 %, finer than votes can tell.
    """

    def values(place: Place) -> list[float]:
        return [first * math.exp(FINE * steps) for first, steps in zip(start, place, strict=True)]

    @cache
    def at(place: Place) -> float:
        tried = values(place)
        inside = all(low <= x <= high for x, (low, high) in zip(tried, limits, strict=True))
        return loss(*tried) if inside else math.inf

    place: Place = (0,) * len(start)
    ways = [way for way in product((-1, 0, 1), repeat=len(start)) if any(way)]
    size = COARSE
    while size:
        near = [tuple(x + size * step for x, step in zip(place, w, strict=True)) for w in ways]
        best = min(near, key=at)
        if at(best) < at(place) - TELLING:
            place = best
        else:
            size //= 2
    return tuple(values(place))
