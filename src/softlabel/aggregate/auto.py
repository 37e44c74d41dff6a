"""The pool for those who do not want to choose."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softlabel.aggregate.atoms import Atoms
from softlabel.aggregate.base import Map
from softlabel.aggregate.bayes import tables
from softlabel.aggregate.dirichlet import Dirichlet
from softlabel.aggregate.dirichlet_mixture import DirichletMixture
from softlabel.aggregate.extremised import Extremised
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.stack import ENOUGH, Stack
from softlabel.tables import ANONYMOUS, Annotations, Estimand, given_away

FEW_VOTES, MANY_VOTES = 2.0, 10.0  # per item
# From so many items, and so many per class, a Dirichlet for each class beats one for all.  Chosen
# by leaving one data set out at a time (bench/intervals.py, docs/pools/auto.md).
LEAST_ITEMS, LEAST_PER_CLASS = 200, 50


@dataclass(frozen=True)
class Auto:
    """Votes: one Dirichlet for fewer than 200 items, 50 items per class or 2 votes each; else the
    Dirichlet mixture.  With a ``prior`` of other items: that prior, and ``atoms`` upon it above 10
    votes each.
    Rich answers: the ``stack`` if at least 200 items have votes too, else the ``extremised`` pool.

    The result says what was chosen, and why.
    """

    name: ClassVar[str] = "auto"
    paper: ClassVar[str] = "this package, by leaving out one data set at a time"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(
        self,
        said: Annotations,
        map: Map = in_turn,
        shards: int = 1,
        *,
        rich: Annotations | None = None,
        prior: Prior | None = None,
    ) -> LabelDistribution:
        some, parts = tables(said, rich)
        if some:
            votes = int((parts[0].votes_per_item() > 0).sum()) if len(parts) == 2 else 0
            if votes >= ENOUGH:
                why = f"{votes:,} items have votes beside their rich answers"
                return self._told(Stack()(said, map, shards, rich=rich, prior=prior), "stack", why)
            why = f"rich answers, and {votes:,} items with votes ({ENOUGH} are needed)"
            return self._told(Extremised()(_together(parts), map, shards), "extremised", why)
        pool, why = _of_votes(said, prior)
        return self._told(pool(said, map, shards, prior=prior), pool.name, why)

    def _told(self, made: LabelDistribution, chosen: str, why: str) -> LabelDistribution:
        """The labels, with what was chosen and why."""
        more = f"{why}; {made.why}" if made.why else why
        return replace(made, made_by=repr(self), chosen=chosen, why=more)


def _together(parts: list[Annotations]) -> Annotations:
    """Rich answers and the few votes beside them in one table, which no pool of people needs."""
    if len(parts) == 1:
        return parts[0]
    item = np.concatenate([part.item for part in parts])
    probs = np.concatenate([part.soft() for part in parts])
    nobody = np.full(len(item), ANONYMOUS)
    return Annotations(parts[0].index, item, nobody, probs=given_away(probs))


def _of_votes(
    said: Annotations, prior: Prior | None
) -> tuple[Dirichlet | DirichletMixture | Atoms, str]:
    """Which pool for votes."""
    size = said.votes_per_item()
    items = int((size > 0).sum())
    mean = len(said) / max(items, 1)
    facts = f"{items:,} items with {mean:.3g} votes each"
    if prior is not None:
        if mean > MANY_VOTES:
            return Atoms(), f"{facts}: more than {MANY_VOTES:g}, so these items join the prior"
        return DirichletMixture(), f"{facts}, and a prior from other items"
    classes = len(said.index.labels)
    if items < LEAST_ITEMS:
        why = f"fewer than {LEAST_ITEMS} items are too few for one prior per class"
        return Dirichlet(), f"{facts}: {why}"
    if items < LEAST_PER_CLASS * classes:
        why = f"fewer than {LEAST_PER_CLASS} items for each of {classes:,} classes are too few"
        return Dirichlet(), f"{facts}: {why} for one prior per class"
    if mean < FEW_VOTES:
        return Dirichlet(), f"{facts}: fewer than {FEW_VOTES:g} cannot tell kinds of items apart"
    return DirichletMixture(), f"{facts}, and no prior from other items"
