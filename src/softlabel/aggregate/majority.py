"""Majority vote."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softlabel.aggregate.base import Map, pool
from softlabel.aggregate.votes import MANY, class_counts
from softlabel.parameters import check
from softlabel.randomness import name_keys, uniform
from softlabel.tables import Annotations, Estimand, Floats, SoftLabels

NEAR = 1e-9  # of a vote: fractional votes carry rounding error, and such counts are level


@dataclass(frozen=True)
class Majority:
    """All mass on the class with most votes.

    Ties go to the class that comes first in the index (``first``, as in the published code), to
    one of the tied classes drawn by seed and item name (``random``), or to all of them in equal
    parts (``split``).
    """

    ties: Literal["first", "random", "split"] = "first"
    seed: int = 0

    name: ClassVar[str] = "majority"
    paper: ClassVar[str] = "the usual practice; Uma et al. 2020"
    estimand: ClassVar[Estimand] = "truth"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> SoftLabels:
        check(self)
        return pool(self, self.rows, said, map, shards)

    def rows(self, said: Annotations) -> Floats:
        """(m, k) one-hot labels, or even splits over ties."""
        counts = class_counts(said)
        if len(said) >= MANY and self.ties != "random":
            from softlabel.aggregate import counting  # compiled: only large tables wait for it

            counting.elect(counts, NEAR, self.ties == "split")
            return counts
        tied = counts >= counts.max(axis=1, keepdims=True) - NEAR
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
