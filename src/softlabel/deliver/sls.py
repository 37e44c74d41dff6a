"""Stochastic label sampling: one class per item, drawn from its soft label."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import Draws, TrainingLabels, check_rows, fill_soft_labels, one_hot
from softlabel.registry import check_parameters
from softlabel.tables import Floats, Ints


@dataclass(frozen=True, eq=False)
class Drawn:
    """One-hot draws from ``labels`` (m, k), each kept for ``every`` epochs.

    ``purpose`` keys the draws: deliveries of the same purpose draw the same numbers.
    """

    labels: Floats
    purpose: str
    every: int = 1
    upto: Floats = field(init=False, repr=False)  # (m, k) chance of a class or one before it

    def __post_init__(self) -> None:
        upto = self.labels.cumsum(axis=1)
        # published labels are rounded: the last entry must be exactly 1, or no class may be drawn
        object.__setattr__(self, "upto", upto / upto[:, -1:])

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) one-hot."""
        rows = check_rows(indices, len(self.labels))
        draw = rng.uniform(self.purpose, epoch // self.every, rows)
        # the first class whose upper end lies above the draw; one without a chance never is
        return one_hot((self.upto[rows] <= draw[:, None]).sum(axis=1), self.labels.shape[1])

    def expected(self) -> Floats:
        """(m, k) the distribution that is drawn from."""
        return np.diff(self.upto, axis=1, prepend=0.0)


@dataclass(frozen=True)
class SLS:
    """One class y per item and epoch, drawn from the pooled label p.

    Mean over epochs: p.  The mean gradient is that of the soft label, E[q - e_y] = q - p, with
    covariance diag(p) - p p' on top, of total variance 1 - |p|^2.
    """

    name: ClassVar[str] = "sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Drawn:
        return Drawn(fill_soft_labels(known), self.name)


@dataclass(frozen=True)
class P19:
    """One class per fetch, drawn from the item's pooled label p.

    Mean over epochs: p.  A loop that fetches each item once per epoch gets what ``sls`` gives, by
    other draws.
    """

    name: ClassVar[str] = "p19"
    paper: ClassVar[str] = "Peterson et al. 2019 (the released training code)"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Drawn:
        return Drawn(fill_soft_labels(known), self.name)


@dataclass(frozen=True)
class StaleSLS:
    """One class per item from its pooled label p, drawn again only every ``every`` epochs.

    Mean over epochs: p.  The draws are those of ``sls``: with ``every=1`` the two are equal.
    """

    every: int = 5

    name: ClassVar[str] = "stale-sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Drawn:
        check_parameters(self, every=(1, float("inf")))
        return Drawn(fill_soft_labels(known), SLS.name, self.every)


@dataclass(frozen=True)
class ShuffledSLS:
    """``sls`` after a random permutation of the pooled labels over all items, once per run.

    Mean over epochs: the pooled label of the item that the permutation put in this one's place.
    The mean over items is that of the unshuffled labels.  A model should fall to chance.
    """

    name: ClassVar[str] = "shuffled-sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: TrainingLabels, rng: Draws) -> Drawn:
        order = np.argsort(rng.uniform(self.name, "order", np.arange(len(known))))
        return Drawn(fill_soft_labels(known)[order], self.name)
