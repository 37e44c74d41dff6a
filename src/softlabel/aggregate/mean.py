"""The plain mean of the annotators' labels."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar

from softlabel.aggregate.base import Map
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.splitting import OfCounts, shares, split
from softlabel.tables import Annotations, Estimand, Floats


@dataclass(frozen=True)
class Mean(OfCounts):
    """Linear opinion pool: p = (1/M) sum_m p^m.

    Keeps each annotator's doubt.  One annotator gives that annotator's label; one-hot labels give
    vote shares.  A pool of roughly calibrated people is under-confident.
    """

    name: ClassVar[str] = "mean"
    paper: ClassVar[str] = "Stone 1961; Collins, Bhatt & Weller 2022"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> LabelDistribution:
        return split(self, self, said, map, shards)

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels."""
        return shares(sums)
