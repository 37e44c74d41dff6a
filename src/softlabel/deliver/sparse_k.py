"""Sparse K: what if there were only K votes per item?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Foretold, Teaching
from softlabel.deliver.fewer import going_on, with_answers
from softlabel.deliver.pool import answers, places, rank
from softlabel.registry import check_parameters


@dataclass(frozen=True)
class SparseK:
    """``k`` answers per item, drawn without replacement once per run; all goes on as if there had
    been no others, by the policy called ``then``.

    Mean over epochs: that of ``then``, where the pooled label is the mean of the answers kept.  An
    item with fewer keeps all.  The answers of a smaller ``k`` are among those of a larger one.
    """

    k: int = 5
    then: str = "aggregate"

    name: ClassVar[str] = "sparse-k"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: Teaching, rng: Draws) -> Foretold:
        check_parameters(self, k=(1, float("inf")))
        each = answers(known, self.name)
        draw = rng.uniform(self.name, each.item, places(each))
        kept = rank(each.item, draw) < self.k
        return going_on(self, self.then)(with_answers(known, each, kept), rng)
