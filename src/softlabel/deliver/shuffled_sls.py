"""Shuffled SLS: the same soft labels, each on a wrong item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.drawn import Drawn
from softlabel.deliver.given import soft_label


@dataclass(frozen=True)
class ShuffledSLS:
    """The pooled labels are permuted over all items once per run, then one class per item and
    epoch is drawn.

    Mean over epochs: the pooled label of the item that the permutation put in this one's place.
    The mean over items is that of the unshuffled labels.  A model must fall to chance.
    """

    name: ClassVar[str] = "shuffled-sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: Teaching, rng: Draws) -> Drawn:
        order = np.argsort(rng.uniform(self.name, "order", np.arange(len(known))))
        return Drawn(soft_label(known)[order], self.name)
