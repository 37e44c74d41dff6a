"""The pool for those who do not want to choose."""

from builtins import map as in_turn
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softlabel.aggregate.base import Map
from softlabel.aggregate.split.base import LabelDistribution, separate_rich
from softlabel.aggregate.split.dirichlet import Atoms, Dirichlet, DirichletMixture
from softlabel.aggregate.split.mixtures import Prior
from softlabel.aggregate.split.simple import Extremised
from softlabel.aggregate.split.stack import ENOUGH, Stack
from softlabel.registry import Options
from softlabel.tables import ANONYMOUS, Annotations, Estimand, given_away

FEW_VOTES, MANY_VOTES = 2.0, 10.0  # per item
# From so many items, and so many per class, a Dirichlet for each class beats one for all.  Chosen
# by leaving one data set out at a time (bench/intervals.py, docs/pools/auto.md).
LEAST_ITEMS, LEAST_PER_CLASS = 200, 50


@dataclass(frozen=True)
class Auto(Options):
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
        annotations: Annotations,
        map: Map = in_turn,
        shards: int = 1,
        *,
        rich: Annotations | None = None,
        prior: Prior | None = None,
    ) -> LabelDistribution:
        """Return one label per item of ``annotations``, made by the pool that suits them.  ``rich``
        are soft answers to the same items, ``prior`` is one fitted to other items."""
        has_rich, tables = separate_rich(annotations, rich)
        votes = int((tables[0].votes_per_item() > 0).sum()) if len(tables) == 2 else 0
        if not has_rich:
            answered = int((annotations.votes_per_item() > 0).sum())
            classes = len(annotations.index.labels)
            pool, why = choose_for_votes(answered, len(annotations), classes, prior)
            chosen, labels = pool.name, pool(annotations, map, shards, prior=prior)
        elif votes >= ENOUGH:
            why = f"{votes:,} items have votes beside their rich answers"
            chosen, labels = "stack", Stack()(annotations, map, shards, rich=rich, prior=prior)
        else:
            why = f"rich answers, and {votes:,} items with votes ({ENOUGH} are needed)"
            if len(tables) > 1:  # rich answers and the few votes beside them, without annotators
                item = np.concatenate([table.item for table in tables])
                probs = given_away(np.concatenate([table.soft() for table in tables]))
                nobody = np.full(len(item), ANONYMOUS)
                annotations = Annotations(annotations.index, item, nobody, probs=probs)
            chosen, labels = "extremised", Extremised()(annotations, map, shards)
        why = f"{why}; {labels.why}" if labels.why else why
        return replace(labels, made_by=repr(self), chosen=chosen, why=why)


def choose_for_votes(
    items: int, votes: float, classes: int, prior: Prior | None = None
) -> tuple[Dirichlet | DirichletMixture | Atoms, str]:
    """Return the pool for so many ``votes`` on so many ``items`` that have any, and why."""
    mean = votes / max(items, 1)
    facts = f"{items:,} items with {mean:.3g} votes each"
    if prior is not None:
        if mean > MANY_VOTES:
            return Atoms(), f"{facts}: more than {MANY_VOTES:g}, so these items join the prior"
        return DirichletMixture(), f"{facts}, and a prior from other items"
    if items < LEAST_ITEMS:
        why = f"fewer than {LEAST_ITEMS} items are too few for one prior per class"
        return Dirichlet(), f"{facts}: {why}"
    if items < LEAST_PER_CLASS * classes:
        why = f"fewer than {LEAST_PER_CLASS} items for each of {classes:,} classes are too few"
        return Dirichlet(), f"{facts}: {why} for one prior per class"
    if mean < FEW_VOTES:
        return Dirichlet(), f"{facts}: fewer than {FEW_VOTES:g} cannot tell kinds of items apart"
    return DirichletMixture(), f"{facts}, and no prior from other items"
