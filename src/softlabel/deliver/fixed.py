"""Fixed labels: the same target in every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import (
    Draws,
    TrainingLabels,
    check_rows,
    choose_class,
    fill_soft_labels,
    one_hot,
)
from softlabel.registry import check_parameters
from softlabel.tables import Floats, Ints


@dataclass(frozen=True, eq=False)
class Fixed:
    """``labels`` (m, k) in every epoch."""

    labels: Floats

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) the rows of these items."""
        return self.labels[check_rows(indices, len(self.labels))]

    def expected(self) -> Floats:
        """(m, k) the labels themselves."""
        return self.labels


@dataclass(frozen=True)
class Hard:
    """The given class; where none was given, the most probable one of the soft label.

    Mean over epochs: that one-hot label.  Of equally probable classes, the first.
    """

    name: ClassVar[str] = "hard"
    paper: ClassVar[str] = "the usual practice"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Fixed:
        return Fixed(one_hot(choose_class(known), known.pooled.shape[1]))


@dataclass(frozen=True)
class Aggregate:
    """The pooled label; an item without one keeps its given class.

    Mean over epochs: that label.
    """

    name: ClassVar[str] = "aggregate"
    paper: ClassVar[str] = "Peterson et al. 2019; Uma et al. 2020"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Fixed:
        return Fixed(fill_soft_labels(known))


@dataclass(frozen=True)
class Smoothing:
    """(1 - beta) on the class that ``hard`` would deliver, plus beta / k on every class.

    Mean over epochs: that label.
    """

    beta: float = 0.05

    name: ClassVar[str] = "smoothing"
    paper: ClassVar[str] = "Szegedy et al. 2016; beta = 0.05 in Collins, Bhatt & Weller 2022"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Fixed:
        check_parameters(self, beta=(0, 1))
        k = known.pooled.shape[1]
        return Fixed((1 - self.beta) * one_hot(choose_class(known), k) + self.beta / k)


@dataclass(frozen=True)
class Uniform:
    """1 / k on every class of every item.

    Mean over epochs: the same.
    """

    name: ClassVar[str] = "uniform"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (uniform)"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Fixed:
        return Fixed(np.full(known.pooled.shape, 1 / known.pooled.shape[1]))


@dataclass(frozen=True)
class Random:
    """k uniform(0, 1) numbers divided by their sum, drawn once per run and item.

    Mean over epochs: that label.  It knows nothing of the item, and stays nearer to even than a
    flat Dirichlet distribution.
    """

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (random)"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Fixed:
        m, k = known.pooled.shape
        draw = rng.uniform(self.name, np.arange(m)[:, None], np.arange(k))
        draw = np.maximum(draw, np.finfo(np.float64).tiny)  # one class: 0 / 0 would be no label
        return Fixed(draw / draw.sum(axis=1, keepdims=True))
