"""Stale SLS: stochastic label sampling whose draws are kept for some epochs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.drawn import Drawn
from softlabel.deliver.given import soft_label
from softlabel.deliver.sls import SLS
from softlabel.registry import check_parameters


@dataclass(frozen=True)
class StaleSLS:
    """One class per item from its pooled label p, drawn again only every ``every`` epochs.

    Mean over epochs: p.  The draws are those of ``sls``, used up more slowly: with ``every=1`` the
    two are the same.
    """

    every: int = 5

    name: ClassVar[str] = "stale-sls"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: Teaching, rng: Draws) -> Drawn:
        check_parameters(self, every=(1, float("inf")))
        return Drawn(soft_label(known), SLS.name, self.every)
