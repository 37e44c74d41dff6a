"""P19: a class drawn from the vote shares whenever an item is fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.drawn import Drawn
from softlabel.deliver.given import soft_label


@dataclass(frozen=True)
class P19:
    """One class per fetch, drawn from the item's pooled label p.

    Mean over epochs: p.  A loop that fetches each item once per epoch gets what ``sls`` gives, by
    other draws.
    """

    name: ClassVar[str] = "p19"
    paper: ClassVar[str] = "Peterson et al. 2019 (the released training code)"

    def __call__(self, known: Teaching, rng: Draws) -> Drawn:
        return Drawn(soft_label(known), self.name)
