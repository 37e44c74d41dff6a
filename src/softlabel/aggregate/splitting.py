"""How every pool runs that asks how people split."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softlabel.aggregate.base import Map, per_item
from softlabel.aggregate.belief import Belief
from softlabel.aggregate.results import Fitted, LabelDistribution
from softlabel.tables import Annotations, Floats, Index, Ints, given_away


class OfCounts:
    """What pools share whose label depends on the counts of an item alone.

    They have no model of their own; what is believed beside their label is the posterior of a
    single Dirichlet fitted to the same votes, soft annotations as fractions of a vote.
    """

    def sums(self, said: Annotations) -> Floats:
        """(m, k) votes per item and class."""
        return said.counts()

    def belief(self, index: Index, sums: Floats) -> Belief:
        """Of the same votes, which come first in the sums."""
        return Belief(index, sums[:, : len(index.labels)])


def shares(counts: Floats) -> Floats:
    """(m, k) mass per class divided by the mass of the item; 0 / 0 is 0."""
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(counts / np.where(total > 0, total, 1))


def split(
    pooler: Any, fitted: Fitted, said: Annotations, map: Map, shards: int, why: str = ""
) -> LabelDistribution:
    """Labels of one table of annotations by a pool whose parameters are known."""
    sums = per_item(fitted.sums, said, map, shards)
    return finished(pooler, fitted, said.index, sums, said.votes_per_item(), why)


def finished(
    pooler: Any,
    fitted: Fitted,
    index: Index,
    sums: Floats,
    count: Ints,
    why: str = "",
    chosen: str = "",
) -> LabelDistribution:
    """The result, from the sums of the items; an item nobody answered has no label."""
    sums = given_away(sums)
    probs = np.where(count[:, None] > 0, fitted.rows(sums), np.nan)
    return LabelDistribution(
        index,
        given_away(probs),
        count,
        pooler.estimand,
        repr(pooler),
        belief=fitted.belief(index, sums),
        chosen=chosen,
        why=why,
        fitted=fitted,
        sums=sums,
    )


def added(tables: Sequence[Floats]) -> Floats:
    """Sums of several tables of answers; one with fewer columns has zeros in the rest."""
    width = max(table.shape[1] for table in tables)
    total = np.zeros((len(tables[0]), width))
    for table in tables:
        total[:, : table.shape[1]] += table
    return total
