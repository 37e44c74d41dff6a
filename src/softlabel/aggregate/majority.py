"""Majority vote."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from softlabel.aggregate import weighing
from softlabel.aggregate.base import Map, pool
from softlabel.aggregate.em import local
from softlabel.aggregate.votes import MANY, class_counts, ordered
from softlabel.randomness import name_keys, uniform
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Bools, Estimand, Floats, SoftLabels

NEAR = 1e-9  # of a vote: fractional votes carry rounding error, and such counts are level


@dataclass(frozen=True)
class Majority:
    """All mass on the class with most votes.

    Ties go to the class that comes first in the index (``first``, as in the published code), to
    one of the tied classes drawn by seed and item name (``random``), to all of them in equal
    parts (``split``), to the one with fewest votes on all items (``rare``), or to the one whose
    voters agree more often with the vote on all items (``trusted``).  What is level even then is
    shared in equal parts.
    """

    ties: Literal["first", "random", "split", "rare", "trusted"] = "first"
    seed: int = 0

    name: ClassVar[str] = "majority"
    paper: ClassVar[str] = "the usual practice; Uma et al. 2020"
    estimand: ClassVar[Estimand] = "truth"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> SoftLabels:
        check_parameters(self)
        if self.ties == "rare":
            rule = partial(_in_favour, favour=-class_counts(said).sum(axis=0))
            return pool(self, rule, said, map, shards)
        if self.ties == "trusted":
            return pool(self, partial(_by_trust, trust=_trust(said)), said, map, shards)
        return pool(self, self.rows, said, map, shards)

    def rows(self, said: Annotations) -> Floats:
        """(m, k) one-hot labels, or even splits over ties."""
        counts = class_counts(said)
        if len(said) >= MANY and self.ties != "random":
            from softlabel.aggregate import counting  # compiled: only large tables wait for it

            counting.elect(counts, NEAR, self.ties == "split")
            return counts
        tied = _level(counts)
        if self.ties == "split":
            return np.asarray(tied / tied.sum(axis=1, keepdims=True))
        order = np.zeros(counts.shape)
        if self.ties == "random":
            items, labels = name_keys(said.index.items), name_keys(said.index.labels)
            order = uniform(self.seed, items[:, None], labels[None, :])
        winner = np.where(tied, order, -1.0).argmax(axis=1)
        hot = np.zeros(counts.shape)
        hot[np.arange(len(winner)), winner] = 1
        return hot


def _level(counts: Floats) -> Bools:
    return np.asarray(counts >= counts.max(axis=1, keepdims=True) - NEAR)


def _trust(said: Annotations) -> Floats:
    """(a,) the share of everybody's votes that agrees with the vote; ties in even parts."""
    with local(ordered(said, "majority:ties=trusted")) as engine:
        return weighing.agreed(engine, np.ones(len(said.index.annotators)))[0]


def _by_trust(said: Annotations, trust: Floats) -> Floats:
    """(m, k) where ties go to the class whose voters are trusted more, in sum."""
    votes = said.soft() * trust[said.annotator][:, None]
    sums = [np.bincount(said.item, column, len(said.index.items)) for column in votes.T]
    return _in_favour(said, np.stack(sums, axis=1))


def _in_favour(said: Annotations, favour: Floats) -> Floats:
    """(m, k) where ties go to the class with most ``favour``, (k,) or (m, k)."""
    best = _level(np.where(_level(class_counts(said)), favour, -np.inf))
    return np.asarray(best / best.sum(axis=1, keepdims=True))
