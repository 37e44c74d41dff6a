"""The answers item by item, in an order that depends on what was said and not on the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from softlabel import randomness
from softlabel.deliver.base import NO_CLASS, Teaching
from softlabel.deliver.given import one_hot, refuse_items
from softlabel.errors import DataError
from softlabel.tables import Annotations, Floats, Ints


def rank(item: Ints, *keys: npt.NDArray[np.generic]) -> Ints:
    """(n,) the place of each answer among those to its item, sorted by the keys, last key first.

    >>> rank(np.array([1, 0, 1]), np.array([5, 5, 3])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((*keys, item))
    start = np.cumsum(np.bincount(item, minlength=1)) - np.bincount(item, minlength=1)
    place = np.empty(len(item), dtype=np.int64)
    place[order] = np.arange(len(item)) - start[item[order]]
    return place


def places(each: Annotations) -> Ints:
    """(n,) a number for each answer to an item, the same in whatever order the rows stand.

    Votes are sorted by class, then by annotator.  Where one person says the same twice, the two
    may change places, which nobody can see.
    """
    if each.label is not None:
        return rank(each.item, each.annotator, each.label)
    said = np.ascontiguousarray(each.soft().T) + 0.0  # there are two zeros, which say the same
    return rank(each.item, each.annotator, randomness.uniform(0, *said.view(np.uint64)))


def answers(known: Teaching, policy: str) -> Annotations:
    """The annotators' own labels, which some policies cannot do without."""
    if known.each is None:
        raise DataError(
            f"{policy} needs the annotators' own labels, and there are pooled ones alone; "
            "aggregate, sls or p19 can do with those"
        )
    return known.each


@dataclass(frozen=True, eq=False)
class Pool:
    """The labels that annotators gave, item by item: those of item i are rows start[i] onwards.

    Either ``label`` (n,) classes or ``probs`` (n, k) soft labels.  An item that nobody was asked
    about has one answer, its given class; so ``size`` (m,) is at least 1.
    """

    start: Ints
    size: Ints
    classes: int
    label: Ints | None
    probs: Floats | None

    @classmethod
    def of(cls, known: Teaching, each: Annotations, place: Ints) -> Self:
        """``place`` (n,) says where an answer stands among those to its item."""
        unasked = each.votes_per_item() == 0
        refuse_items(
            known, unasked & (known.hard == NO_CLASS), "neither an answer nor a given class"
        )
        size = np.maximum(each.votes_per_item(), 1)
        start = size.cumsum() - size
        row, k = start[each.item] + place, len(each.index.labels)
        lonely = np.flatnonzero(unasked)
        if each.label is not None:
            label = np.empty(size.sum(), dtype=np.int64)
            label[row], label[start[lonely]] = each.label, known.hard[lonely]
            return cls(start, size, k, label, None)
        probs = np.empty((size.sum(), k))
        probs[row], probs[start[lonely]] = each.soft(), one_hot(known.hard[lonely], k)
        return cls(start, size, k, None, probs)

    def take(self, items: Ints, number: Ints) -> Floats:
        """(b, k) answer ``number`` of each of these items."""
        rows = self.start[items] + number
        if self.label is not None:
            return one_hot(self.label[rows], self.classes)
        assert self.probs is not None, "a pool holds votes or soft labels"
        return np.asarray(self.probs[rows])

    def means(self) -> Floats:
        """(m, k) the mean answer to each item."""
        if self.label is not None:
            item = np.repeat(np.arange(len(self.size)), self.size)
            flat = item * self.classes + self.label
            sums = np.bincount(flat, minlength=len(self.size) * self.classes)
            return np.asarray(sums.reshape(-1, self.classes) / self.size[:, None])
        assert self.probs is not None, "a pool holds votes or soft labels"
        return np.asarray(np.add.reduceat(self.probs, self.start) / self.size[:, None])
