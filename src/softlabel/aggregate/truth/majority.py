"""Majority vote."""

from builtins import map as in_turn
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from softlabel.aggregate._kernels import has_compiler
from softlabel.aggregate.base import Map, pool, sum_by_item
from softlabel.errors import DataError
from softlabel.randomness import name_keys, uniform
from softlabel.registry import Options
from softlabel.tables import Annotations, Bools, Estimand, Floats, SoftLabels

NEAR = 1e-9  # of a vote: fractional votes carry rounding error, and such counts are level
MANY = 2**19  # votes; fewer are counted before compiling


@dataclass(frozen=True)
class Majority(Options):
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

    def __call__(self, annotations: Annotations, map: Map = in_turn, shards: int = 1) -> SoftLabels:
        """Return the winner of each item of ``annotations``."""
        if self.ties == "rare":
            favour = partial(_break_ties, favour=-class_counts(annotations).sum(axis=0))
            return pool(self, favour, annotations, map, shards)
        if self.ties == "trusted":
            favour = partial(_break_by_trust, trust=_trust(annotations))
            return pool(self, favour, annotations, map, shards)
        return pool(self, self.rows, annotations, map, shards)

    def rows(self, annotations: Annotations) -> Floats:
        """(m, k) one-hot labels, or even splits over ties."""
        counts = class_counts(annotations)
        if len(annotations) >= MANY and self.ties != "random" and has_compiler():
            from softlabel.aggregate._kernels import votes as kernels  # loads numba

            kernels.elect(counts, NEAR, self.ties == "split")
            return counts
        tied = _winners(counts)
        if self.ties == "split":
            return np.asarray(tied / tied.sum(axis=1, keepdims=True))
        order = np.zeros(counts.shape)
        if self.ties == "random":
            items, labels = name_keys(annotations.index.items), name_keys(annotations.index.labels)
            order = uniform(self.seed, items[:, None], labels[None, :])
        winner = np.where(tied, order, -1.0).argmax(axis=1)
        hot = np.zeros(counts.shape)
        hot[np.arange(len(winner)), winner] = 1
        return hot


def class_counts(annotations: Annotations) -> Floats:
    """Return ``annotations.counts()``, compiled where there are many votes and numba is there."""
    if len(annotations) < MANY or not has_compiler():
        return annotations.counts()
    from softlabel.aggregate._kernels import votes as kernels

    label = np.zeros(0, np.int16) if annotations.label is None else annotations.label
    probs = np.zeros((0, 0)) if annotations.probs is None else annotations.probs
    counts = np.zeros((len(annotations.index.items), len(annotations.index.labels)))
    kernels.count(annotations.item, label, probs, counts)
    return counts


def _winners(counts: Floats) -> Bools:
    """(m, k) the classes with most votes."""
    return np.asarray(counts >= counts.max(axis=1, keepdims=True) - NEAR)


def _trust(annotations: Annotations) -> Floats:
    """(a,) the share of everybody's votes that agrees with the vote; ties in even parts."""
    if annotations.anonymous:
        raise DataError(
            "majority:ties=trusted weighs people, but some votes have no annotator; pools that do "
            "not: mean, share, majority, dirichlet, dirichlet-mixture"
        )
    winners = _winners(class_counts(annotations))
    share = winners / winners.sum(axis=1, keepdims=True)
    if annotations.label is not None:
        right, votes = share[annotations.item, annotations.label], np.ones(len(annotations))
    else:
        soft = annotations.soft()
        right, votes = (share[annotations.item] * soft).sum(axis=1), soft.sum(axis=1)
    people = len(annotations.index.annotators)
    total = np.bincount(annotations.annotator, votes, minlength=people)
    agreed = np.bincount(annotations.annotator, right, minlength=people)
    return agreed / np.where(total > 0, total, 1)


def _break_by_trust(annotations: Annotations, trust: Floats) -> Floats:
    """(m, k) where ties go to the class whose voters are trusted more, in sum."""
    votes = annotations.soft() * trust[annotations.annotator][:, None]
    return _break_ties(annotations, sum_by_item(annotations, votes))


def _break_ties(annotations: Annotations, favour: Floats) -> Floats:
    """(m, k) where ties go to the class with most ``favour``, (k,) or (m, k)."""
    best = _winners(np.where(_winners(class_counts(annotations)), favour, -np.inf))
    return np.asarray(best / best.sum(axis=1, keepdims=True))
