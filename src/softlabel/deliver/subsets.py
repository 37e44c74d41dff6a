"""Subsets: fewer answers per item, or soft labels for some items only; another policy delivers."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from softlabel.deliver import base
from softlabel.deliver.answers import number_answers, rank_within_item, require_answers
from softlabel.errors import SoftlabelError, UnknownName
from softlabel.registry import Options
from softlabel.tables import ANONYMOUS, Annotations, Bools, Floats, Ints


def mark_smallest(item: Ints, draw: Floats, limit: int) -> Bools:
    """Mark draws (n,) among the ``limit`` smallest of their item; equal ones count once.

    >>> mark_smallest(np.array([0, 0, 0, 1]), np.array([0.2, 0.9, 0.2, 0.5]), 1).tolist()
    [True, False, True, True]
    """
    order = np.lexsort((draw, item))
    items, draws = item[order], draw[order]
    fresh = np.ones(len(item), dtype=np.bool_)
    fresh[1:] = (items[1:] != items[:-1]) | (draws[1:] != draws[:-1])
    number = np.cumsum(fresh)
    kept = np.empty(len(item), dtype=np.bool_)
    kept[order] = number - number[np.searchsorted(items, items)] < limit
    return kept


def keep_answers(known: base.TrainingLabels, each: Annotations, kept: Bools) -> base.TrainingLabels:
    """Keep some answers only; pooled labels become the means of those that are left."""
    left = each.take(kept)
    size = left.votes_per_item()
    means = left.counts() / np.maximum(size, 1)[:, None]
    return replace(known, each=left, pooled=np.where(size[:, None] > 0, means, known.pooled))


def find_next_policy(policy: base.Deliver, then: str) -> base.Deliver:
    """Return the policy that ``then`` names, with its defaults."""
    if then not in base.DELIVERIES:
        raise UnknownName("deliver", then, base.DELIVERIES)
    if then == policy.name:
        raise SoftlabelError(f"{policy.name}: then = {then!r} must be another policy")
    return base.DELIVERIES[then]()


@dataclass(frozen=True)
class Subsample(Options):
    """``m`` annotators per item, drawn without replacement once per run; then their mean label
    (``aggregate``) or one of them per epoch (``per-annotator``).

    Mean over epochs: the mean of the answers of those annotators.  An item with fewer keeps all.
    A person who answered an item twice brings both answers; each anonymous answer is a person.
    The people drawn for a smaller ``m`` are among those drawn for a larger one.
    """

    m: int = 2
    then: Literal["aggregate", "per-annotator"] = "aggregate"

    name: ClassVar[str] = "subsample"
    limits: ClassVar = {"m": (1, math.inf)}
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, figure 6"

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> base.ExpectedDelivery:
        """Return what each epoch delivers of the answers that are kept."""
        each = require_answers(known, self.name)
        # answers without an author are told apart by what they say, and never count as one person
        person = np.where(each.annotator == ANONYMOUS, -1 - number_answers(each), each.annotator)
        kept = mark_smallest(each.item, rng.uniform(self.name, each.item, person), self.m)
        return find_next_policy(self, self.then)(keep_answers(known, each, kept), rng)


@dataclass(frozen=True)
class SparseK(Options):
    """``k`` answers per item, drawn without replacement once per run; the policy ``then`` delivers
    as if there were no others.

    Mean over epochs: that of ``then``, where the pooled label is the mean of the answers kept.  An
    item with fewer keeps all.  The answers of a smaller ``k`` are among those of a larger one.
    """

    k: int = 5
    then: str = "aggregate"

    name: ClassVar[str] = "sparse-k"
    limits: ClassVar = {"k": (1, math.inf)}
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __post_init__(self) -> None:
        super().__post_init__()
        find_next_policy(self, self.then)

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> base.ExpectedDelivery:
        """Return what each epoch delivers of the answers that are kept."""
        each = require_answers(known, self.name)
        draw = rng.uniform(self.name, each.item, number_answers(each))
        kept = rank_within_item(each.item, draw) < self.k
        return find_next_policy(self, self.then)(keep_answers(known, each, kept), rng)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Items with a ``place`` (m,) of 0 or more are delivered by ``soft``, others by ``rest``."""

    place: Ints
    soft: base.ExpectedDelivery
    rest: Floats

    def labels_for(self, epoch: int, indices: Ints, rng: base.Draws) -> Floats:
        """(b, k) soft and one-hot rows."""
        items = base.check_rows(indices, len(self.place))
        labels, place = self.rest[items], self.place[items]
        labels[place >= 0] = self.soft.labels_for(epoch, place[place >= 0], rng)
        return labels

    def expected(self) -> Floats:
        """(m, k) that of the policy, or the given class."""
        labels = self.rest.copy()
        labels[self.place >= 0] = self.soft.expected()
        return labels


@dataclass(frozen=True)
class Mixed(Options):
    """The policy called ``then`` on the relabelled items, as if there were no others; the rest is
    one-hot on its given class.

    Mean over epochs: that of ``then``, or the given class.
    """

    then: str = "aggregate"

    name: ClassVar[str] = "mixed"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022 (900 of 6,900 images)"

    def __post_init__(self) -> None:
        super().__post_init__()
        find_next_policy(self, self.then)

    def __call__(self, known: base.TrainingLabels, rng: base.Draws) -> Mixture:
        """Return what each epoch delivers of the answers that are kept."""
        relabelled = known.relabelled
        nothing = ~relabelled & (known.hard == base.NO_CLASS)
        base.refuse_items(known, nothing, "neither an answer nor a given class")
        items = np.flatnonzero(relabelled)
        place = np.full(len(known), -1)
        place[items] = np.arange(len(items))
        rest = base.one_hot(np.maximum(known.hard, 0), known.pooled.shape[1])
        return Mixture(place, find_next_policy(self, self.then)(known.only(items), rng), rest)
