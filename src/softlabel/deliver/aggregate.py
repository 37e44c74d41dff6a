"""Aggregate: the pooled soft label, in every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.fixed import Fixed
from softlabel.deliver.given import soft_label


@dataclass(frozen=True)
class Aggregate:
    """The pooled label; an item without one keeps its given class.

    Mean over epochs: that label.
    """

    name: ClassVar[str] = "aggregate"
    paper: ClassVar[str] = "Peterson et al. 2019; Uma et al. 2020"

    def __call__(self, known: Teaching, rng: Draws) -> Fixed:
        return Fixed(soft_label(known))
