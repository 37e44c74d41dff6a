"""Uniform: a control that is as soft as can be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.fixed import Fixed


@dataclass(frozen=True)
class Uniform:
    """1 / k on every class of every item.

    Mean over epochs: the same.
    """

    name: ClassVar[str] = "uniform"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (uniform)"

    def __call__(self, known: Teaching, rng: Draws) -> Fixed:
        return Fixed(np.full(known.pooled.shape, 1 / known.pooled.shape[1]))
