"""Answers one at a time: each epoch delivers one annotator's own label."""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from softlabel import randomness
from softlabel.deliver import base
from softlabel.errors import DataError
from softlabel.registry import Options
from softlabel.tables import Annotations, Floats, Ints


def rank_within_item(item: Ints, *keys: npt.NDArray[np.generic]) -> Ints:
    """Return the rank (n,) of each answer among those to its item, sorted by the last key first.

    >>> rank_within_item(np.array([1, 0, 1]), np.array([5, 5, 3])).tolist()
    [1, 0, 0]
    """
    order = np.lexsort((*keys, item))
    start = np.cumsum(np.bincount(item, minlength=1)) - np.bincount(item, minlength=1)
    place = np.empty(len(item), dtype=np.int64)
    place[order] = np.arange(len(item)) - start[item[order]]
    return place


def number_answers(each: Annotations) -> Ints:
    """Return a number (n,) for each answer to an item that does not depend on the order of rows.

    Votes are sorted by class, then by annotator.  Two equal answers of one person may change
    places, which makes no difference.
    """
    if each.label is not None:
        return rank_within_item(each.item, each.annotator, each.label)
    said = np.ascontiguousarray(each.soft().T) + 0.0  # there are two zeros, which say the same
    return rank_within_item(each.item, each.annotator, randomness.uniform(0, *said.view(np.uint64)))


def require_answers(known: base.TrainingLabels, policy: str) -> Annotations:
    """Return the annotators' own labels, or refuse to go on without them."""
    if known.each is None:
        raise DataError(
            f"{policy} needs the annotators' own labels, but there are only pooled ones; "
            "aggregate, sls and p19 work with those"
        )
    return known.each


@dataclass(frozen=True, eq=False)
class Pool:
    """The labels that annotators gave, by item: those of item i begin at row start[i].

    Either ``label`` (n,) holds classes or ``probs`` (n, k) soft labels.  An item without answers
    has one, its given class; so ``size`` (m,) is at least 1.
    """

    start: Ints
    size: Ints
    classes: int
    label: Ints | None
    probs: Floats | None

    @classmethod
    def of(cls, known: base.TrainingLabels, each: Annotations, place: Ints) -> Self:
        """Build the pool; ``place`` (n,) is the rank of an answer among those to its item."""
        unasked = each.votes_per_item() == 0
        lost = unasked & (known.hard == base.NO_CLASS)
        base.refuse_items(known, lost, "neither an answer nor a given class")
        size = np.maximum(each.votes_per_item(), 1)
        start = size.cumsum() - size
        row, k = start[each.item] + place, len(each.index.labels)
        lonely = np.flatnonzero(unasked)
        if each.label is not None:
            label = np.empty(size.sum(), dtype=np.int64)
            label[row], label[start[lonely]] = each.label, known.hard[lonely]
            return cls(start, size, k, label, None)
        probs = np.empty((size.sum(), k))
        probs[row], probs[start[lonely]] = each.soft(), base.one_hot(known.hard[lonely], k)
        return cls(start, size, k, None, probs)

    def take(self, items: Ints, number: Ints) -> Floats:
        """(b, k) answer ``number`` of each of these items."""
        rows = self.start[items] + number
        if self.label is not None:
            return base.one_hot(self.label[rows], self.classes)
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


@dataclass(frozen=True, eq=False)
class OneAnswer:
    """One answer from each item's pool in every epoch: drawn anew for a ``purpose``, or without
    one in turn, from the first to the last and then again."""

    pool: Pool
    purpose: str = ""

    def labels_for(self, epoch: int, indices: Ints, rng: base.Draws) -> Floats:
        """(b, k) the answers drawn, or whose turn it is."""
        items = base.check_rows(indices, len(self.pool.size))
        size = self.pool.size[items]
        if not self.purpose:
            return self.pool.take(items, epoch % size)
        draw = rng.uniform(self.purpose, epoch, items)
        return self.pool.take(items, (draw * size).astype(np.int64))

    def expected(self) -> Floats:
        """(m, k) the mean answer."""
        return self.pool.means()


@dataclass(frozen=True)
class PerAnnotator(Options):
    """One answer of the item per epoch, drawn uniformly: that person's soft label, or vote.

    Mean over epochs: the mean of the item's answers, whatever pool made the pooled label.  An item
    without answers keeps its given class.
    """

    name: ClassVar[str] = "per-annotator"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022 (de-aggregated)"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> OneAnswer:
        """Return what each epoch delivers of these answers."""
        each = require_answers(known, self.name)
        return OneAnswer(Pool.of(known, each, number_answers(each)), self.name)


def make_shuffled_rounds(known: base.TrainingLabels, policy: str, seed: int) -> OneAnswer:
    """Deliver the answers of each item in turn, in a random order."""
    each = require_answers(known, policy)
    draw = base.Draws(seed).uniform("multipass", each.item, number_answers(each))
    return OneAnswer(Pool.of(known, each, rank_within_item(each.item, draw)))


@dataclass(frozen=True)
class Multipass(Options):
    """Answer number (epoch mod m_i) of the m_i answers to item i, shuffled once by ``seed``.

    Mean over any m_i consecutive epochs, exactly: the mean of the item's answers.  Votes are
    one-hot labels, soft answers are delivered as they are.  ``seed`` is fixed, so runs with other
    seeds see the same order.  An item without answers keeps its given class.
    """

    seed: int = 0

    name: ClassVar[str] = "multipass"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> OneAnswer:
        """Return what each epoch delivers of these answers."""
        return make_shuffled_rounds(known, self.name, self.seed)


@dataclass(frozen=True)
class Control(Options):
    """``multipass`` under another fixed ``seed``, or with the answers ``sorted`` by class.

    Mean over any m_i consecutive epochs, exactly: the mean of the item's answers.  Sorted, all
    answers for the first class come first; a soft answer counts for its most probable class.
    """

    order: Literal["shuffled", "sorted"] = "shuffled"
    seed: int = 1

    name: ClassVar[str] = "control"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642 (deterministic control)"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> OneAnswer:
        """Return what each epoch delivers of these answers."""
        if self.order == "shuffled":
            return make_shuffled_rounds(known, self.name, self.seed)
        each = require_answers(known, self.name)
        place = number_answers(each)
        top = each.label if each.label is not None else each.soft().argmax(axis=1)
        return OneAnswer(Pool.of(known, each, rank_within_item(each.item, place, top)))
