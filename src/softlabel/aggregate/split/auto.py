"""The pool for those who do not want to choose."""

from builtins import map as in_turn
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from softlabel.aggregate.base import Map
from softlabel.aggregate.split.base import LabelDistribution, separate_rich
from softlabel.aggregate.split.choice import choose_for_votes
from softlabel.aggregate.split.judged import Judged
from softlabel.aggregate.split.mixtures import Prior
from softlabel.aggregate.split.simple import Extremised
from softlabel.aggregate.split.stack import ENOUGH, Stack
from softlabel.errors import DataError
from softlabel.registry import Options
from softlabel.tables import ANONYMOUS, Annotations, Estimand, given_away


@dataclass(frozen=True)
class Auto(Options):
    """Votes for steps of a scale: the ``ordinal`` pool from 100 items on, or with one vote each.
    Other votes: one Dirichlet for fewer than 200 items, 50 items per class or 2 votes each; else
    the Dirichlet mixture.  With a ``prior`` of other items: that prior, and ``atoms`` upon it above
    10 votes each.
    With ``judges``, answers of models: ``judged``.
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
        judges: Annotations | None = None,
    ) -> LabelDistribution:
        """Return one label per item of ``annotations``, made by the pool that suits them.  ``rich``
        are soft answers to the same items, ``prior`` is one fitted to other items, ``judges`` are
        answers of models."""
        if judges is not None:
            if rich is not None:
                raise DataError(
                    "auto takes rich= or judges=, not both: pool the rich answers first"
                )
            labels = Judged()(annotations, map, shards, judges=judges, prior=prior)
            return replace(labels, made_by=repr(self), chosen=f"judged, {labels.chosen}")
        has_rich, tables = separate_rich(annotations, rich)
        votes = int((tables[0].votes_per_item() > 0).sum()) if len(tables) == 2 else 0
        if not has_rich:
            pool, why = choose_for_votes(annotations.index, annotations.votes_per_item(), prior)
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
