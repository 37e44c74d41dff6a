"""Worker agreement with aggregate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.aggregate import weighing
from softlabel.aggregate.base import Map
from softlabel.aggregate.em import local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.votes import ordered
from softlabel.aggregate.warm import check_same_method
from softlabel.tables import Annotations, Estimand


@dataclass(frozen=True)
class Wawa:
    """A vote weighted by how often each person agrees with the plain vote:

        w_a = share of a's votes that equal the majority,   p_j proportional to sum of w_a over
        those who said j.

    A tie is agreed with in equal parts.  The result is the share of the weighted vote: high where
    trusted people agree, but no chance of being right.  It is made in one go: a ``start`` changes
    nothing.
    """

    name: ClassVar[str] = "wawa"
    paper: ClassVar[str] = "Appen's practice; Ustalov, Pavlichenko & Tseitlin 2024"
    estimand: ClassVar[Estimand] = "truth"

    def __call__(
        self,
        said: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> TruthPosterior:
        if start is not None:
            check_same_method(self, start)
        with local(ordered(said, self.name, gold), map, shards) as engine:
            skill, votes = weighing.agreed(engine, np.ones(len(said.index.annotators)))
            probs = weighing.rows_of(engine, said, weighing.shares, skill)
        return weighing.put_together(self, said, probs, skill=weighing.asked_only(skill, votes > 0))
