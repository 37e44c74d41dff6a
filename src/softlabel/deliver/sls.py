"""SLS: stochastic label sampling, one class per item and epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.drawn import Drawn
from softlabel.deliver.given import soft_label


@dataclass(frozen=True)
class SLS:
    """At the start of each epoch one class y of each item, drawn from its pooled label p.

    Mean over epochs: p.  The mean gradient is that of the soft label, E[q - e_y] = q - p, with
    covariance diag(p) - p p' on top, of total variance 1 - |p|^2.
    """

    name: ClassVar[str] = "sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: Teaching, rng: Draws) -> Drawn:
        return Drawn(soft_label(known), self.name)
