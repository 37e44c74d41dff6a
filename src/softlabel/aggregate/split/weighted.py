"""The linear pool with weights: who is usually near the others counts more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.aggregate.base import sum_by_item
from softlabel.aggregate.split.base import CountPool, CountSums, shares
from softlabel.errors import DataError
from softlabel.registry import SMALLEST, check_parameters
from softlabel.tables import Annotations, Floats, Names


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

    def explain(self, fitted: Weights) -> str:
        low, high = fitted.weight.min(initial=1), fitted.weight.max(initial=1)
        return f"weights from {low:.3g} to {high:.3g}, by the distance to the other answers"

    def fit(self, annotations: Annotations) -> Weights:
        """Return the pool with the weight of every annotator."""
        check_parameters(self, shrinkage=(SMALLEST, 1e12))
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
        heavy: Floats
        if annotations.label is not None:
            flat = annotations.item.astype(np.int64) * k + annotations.label
            total = np.bincount(flat, each, minlength=m * k)
            heavy = np.asarray(total, dtype=np.float64).reshape(m, k)
        else:
            heavy = sum_by_item(annotations, each[:, None] * annotations.soft())
        return np.concatenate([annotations.counts(), heavy], axis=1)

    def rows(self, sums: Floats) -> Floats:
        return shares(sums[:, sums.shape[1] // 2 :])


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
