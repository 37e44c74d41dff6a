"""Random: a control whose softness is noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.fixed import Fixed


@dataclass(frozen=True)
class Random:
    """k uniform(0, 1) numbers divided by their sum, drawn once per run and item.

    Mean over epochs: that label.  It knows nothing of the item, and stays nearer to even than a
    flat Dirichlet distribution.
    """

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (random)"

    def __call__(self, known: Teaching, rng: Draws) -> Fixed:
        m, k = known.pooled.shape
        draw = rng.uniform(self.name, np.arange(m)[:, None], np.arange(k))
        draw = np.maximum(draw, np.finfo(np.float64).tiny)  # one class: 0 / 0 would be no label
        return Fixed(draw / draw.sum(axis=1, keepdims=True))
