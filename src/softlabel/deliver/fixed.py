"""The delivery that says the same in every epoch."""

from __future__ import annotations

from dataclasses import dataclass

from softlabel.deliver.base import Draws
from softlabel.deliver.given import item_rows
from softlabel.tables import Floats, Ints


@dataclass(frozen=True, eq=False)
class Fixed:
    """``labels`` (m, k) in every epoch."""

    labels: Floats

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) the rows of these items."""
        return self.labels[item_rows(indices, len(self.labels))]

    def expected(self) -> Floats:
        """(m, k) the labels themselves."""
        return self.labels
