"""Votes replayed: some of an item's votes build its label, the others judge it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softlabel.sampling import votes_from_counts
from softlabel.tables import Bools, Floats, Index, Ints


@dataclass(frozen=True, eq=False)
class Replay:
    """The votes of each item in an order drawn by ``seed``: the first ``build`` may be used, the
    rest are held out.  ``order[m, build]`` are the classes of the first ones."""

    index: Index
    counts: Ints
    order: Ints

    @cached_property
    def held(self) -> Floats:
        """(m, k) votes held out."""
        return np.asarray(self.counts - self.votes(self.order.shape[1]))

    @cached_property
    def share(self) -> Floats:
        """(m, k) the share of each class among the votes held out: what a label must foretell."""
        return np.asarray(self.held / self.held.sum(axis=1, keepdims=True))

    def votes(self, number: int) -> Floats:
        """(m, k) counts of the first ``number`` votes of each item."""
        m, k = self.counts.shape
        flat = np.arange(m)[:, None] * k + self.order[:, :number]
        return np.bincount(flat.ravel(), minlength=m * k).reshape(m, k).astype(np.float64)


def replay(index: Index, counts: Ints, build: int, seed: int) -> Replay:
    """Put the votes in order; every item needs more than ``build``."""
    each = votes_from_counts(index, counts)
    assert each.label is not None, "counts are votes"
    key = np.random.default_rng(seed).random(len(each))
    label = each.label[np.lexsort((key, each.item))]
    size = counts.sum(axis=1)
    assert size.min() > build, "there must be votes to hold out"
    start = np.cumsum(size) - size
    return Replay(index, counts, label[start[:, None] + np.arange(build)])


def folds(items: int, number: int, seed: int) -> Iterator[tuple[Bools, Bools]]:
    """(rest, test) for each fold: what is fitted on the rest is judged on the test."""
    fold = np.random.default_rng([seed, 1]).permutation(items) % number
    for one in range(number):
        yield fold != one, fold == one


def crossed(items: int, number: int, seed: int, label: Callable[[Bools, Bools], Floats]) -> Floats:
    """(m, k) labels, those of each fold made by ``label(rest, test)``."""
    parts = [(test, label(rest, test)) for rest, test in folds(items, number, seed)]
    made = np.zeros((items, parts[0][1].shape[1]))
    for test, probs in parts:
        made[test] = probs
    return made


def part_of(index: Index, these: Bools) -> Index:
    """The index of some of the items."""
    return Index(index.items[these], index.annotators, index.labels)
