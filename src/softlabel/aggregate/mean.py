"""The plain mean of the annotators' labels."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.aggregate.base import Map, pool
from softlabel.tables import Annotations, Estimand, Floats, SoftLabels


@dataclass(frozen=True)
class Mean:
    """Linear opinion pool: p = (1/M) sum_m p^m.

    Keeps each annotator's doubt.  One annotator gives that annotator's label; one-hot labels give
    vote shares.  A pool of roughly calibrated people is under-confident.
    """

    name: ClassVar[str] = "mean"
    paper: ClassVar[str] = "Stone 1961; Collins, Bhatt & Weller 2022"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> SoftLabels:
        return pool(self, shares, said, map, shards)


def shares(said: Annotations) -> Floats:
    """(m, k) mass per class divided by the mass of the item; 0 / 0 is 0."""
    counts = said.counts()
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(total > 0, total, 1))
