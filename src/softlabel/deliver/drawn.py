"""The delivery that draws one class per item from a distribution, and again in a later epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from softlabel.deliver.base import Draws
from softlabel.deliver.given import item_rows, one_hot
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
        rows = item_rows(indices, len(self.labels))
        draw = rng.uniform(self.purpose, epoch // self.every, rows)
        # the first class whose upper end lies above the draw; one without a chance never is
        return one_hot((self.upto[rows] <= draw[:, None]).sum(axis=1), self.labels.shape[1])

    def expected(self) -> Floats:
        """(m, k) the distribution that is drawn from."""
        return np.diff(self.upto, axis=1, prepend=0.0)
