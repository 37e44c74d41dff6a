"""Per annotator: in each epoch the whole label of one of the people who were asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.given import item_rows
from softlabel.deliver.pool import Pool, answers, places
from softlabel.tables import Floats, Ints


@dataclass(frozen=True)
class PerAnnotator:
    """Each time one answer of the item, drawn evenly: that person's soft label, or vote.

    Mean over epochs: the mean of the item's answers, whatever pool made the pooled label.  An item
    that nobody was asked about keeps its given class.
    """

    name: ClassVar[str] = "per-annotator"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022 (de-aggregated)"

    def __call__(self, known: Teaching, rng: Draws) -> OneAnswer:
        each = answers(known, self.name)
        return OneAnswer(Pool.of(known, each, places(each)), self.name)


@dataclass(frozen=True, eq=False)
class OneAnswer:
    """One answer from each item's pool, drawn anew in every epoch."""

    pool: Pool
    purpose: str

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) the answers drawn."""
        items = item_rows(indices, len(self.pool.size))
        draw = rng.uniform(self.purpose, epoch, items)
        return self.pool.take(items, (draw * self.pool.size[items]).astype(np.int64))

    def expected(self) -> Floats:
        """(m, k) the mean answer."""
        return self.pool.means()
