"""Vote shares."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar

from softlabel.aggregate.base import Map
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.splitting import OfCounts, shares, split
from softlabel.tables import Annotations, Estimand, Floats


@dataclass(frozen=True)
class Share(OfCounts):
    """Votes for a class divided by all votes for the item: d_j / sum_a d_a.

    (33, 13, 4) gives (.66, .26, .08).  Soft annotations count as fractions of a vote, so that
    this then equals the mean; put the construction ``hard`` before it to count first choices.
    """

    name: ClassVar[str] = "share"
    paper: ClassVar[str] = "Uma et al. 2020, equation 3"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> LabelDistribution:
        return split(self, self, said, map, shards)

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels."""
        return shares(sums)
