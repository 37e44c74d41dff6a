"""What the Bayesian pools share: votes and rich answers as evidence, and the posterior's mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.aggregate.base import Map, per_item
from softlabel.aggregate.belief import Belief, posterior_mean
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.splitting import added, finished, shares
from softlabel.errors import DataError
from softlabel.tables import Annotations, Bools, Floats, Index, given_away

# Pseudo-votes that a rich answer is worth inside the formula: by the votes that the item has
# besides, for its first answer and for each of six; fitted to held-out votes of CIFAR-10H.
# It is not its value in votes: see docs/pools/stack.md.
VOTES = (0.0, 1.0, 2.0, 3.0, 5.0, 10.0)
FIRST = (2.5, 1.9, 1.6, 1.5, 1.3, 0.6)
OF_SIX = (4.8, 4.0, 2.8, 2.2, 1.3, 0.75)
ENOUGH_VOTES = 2.0  # per item, for a prior to be learned from votes


def rich_weight(votes: Floats, answers: Floats) -> Floats:
    """Pseudo-votes per rich answer, given how many votes and rich answers an item has."""
    first, six = np.interp(votes, VOTES, FIRST), np.interp(votes, VOTES, OF_SIX)
    return np.asarray(first + (six - first) * np.clip((answers - 1) / 5, 0, 1))


@dataclass(frozen=True)
class Counting:
    """Votes and rich answers added up per item: columns ``votes`` (k), and where there are rich
    answers the sum of their labels (k) and their number (1).

    ``rich`` says that soft tables hold rich answers; then a one-hot row is a sure answer and no
    vote.  ``weight`` is what a rich answer is worth in votes; None: ``rich_weight``.
    """

    rich: bool
    weight: float | None = None

    def sums(self, said: Annotations) -> Floats:
        """(m, k) of votes, (m, 2k + 1) of rich answers."""
        counts = said.counts()
        if said.hard or not (self.rich or is_rich(said)):
            return counts
        number = said.votes_per_item()[:, None]
        return np.concatenate([np.zeros_like(counts), counts, number], axis=1)

    def evidence(self, sums: Floats, k: int) -> Floats:
        """(m, k) n = votes + w * sum of the rich answers."""
        votes = sums[:, :k]
        if sums.shape[1] == k:
            return votes
        answers = sums[:, 2 * k]
        each: Any = self.weight
        if each is None:
            each = rich_weight(votes.sum(axis=1), answers)[:, None]
        return given_away(votes + each * sums[:, k : 2 * k])

    def teaching(self, sums: Floats, k: int) -> Floats:
        """(m, k) the evidence from which a prior is learned.

        A prior is about votes.  Where items have two or more on average, all rich answers to an
        item together teach as much as one; without votes they are all there is.
        """
        votes, answered = sums[:, :k], (sums[:, :k].sum(axis=1) > 0)
        if sums.shape[1] == k:
            return votes
        answered |= sums[:, 2 * k] > 0
        if votes.sum() < ENOUGH_VOTES * answered.sum():
            return self.evidence(sums, k)
        return given_away(votes + shares(sums[:, k : 2 * k]))


def is_rich(said: Annotations) -> bool:
    """True of soft annotations, unless each of them is one-hot: those are votes."""
    return not said.hard and bool((~one_hot(said.soft())).any())


def one_hot(probs: Floats) -> Bools:
    """(n,) rows with all their mass on one class."""
    return np.asarray(probs.max(axis=1, initial=0) == probs.sum(axis=1))


def tables(said: Annotations, rich: Annotations | None) -> tuple[bool, list[Annotations]]:
    """Whether there are rich answers, and the tables to add up: votes as codes beside them."""
    if rich is None:
        return is_rich(said), [said]
    if rich.hard:
        raise DataError("rich= takes soft annotations (probs), not votes: votes come first")
    if is_rich(said):
        raise DataError("with rich= the first table holds votes, but some of its rows are soft")
    for name in ("items", "labels"):
        if getattr(said.index, name).tolist() != getattr(rich.index, name).tolist():
            raise DataError(f"votes and rich answers must have the same {name}, in the same order")
    label = said.label if said.label is not None else said.soft().argmax(axis=1)
    return True, [Annotations(said.index, said.item, said.annotator, label=label), rich]


@dataclass(frozen=True, eq=False)
class Posterior:
    """A Bayesian pool whose prior is known: the label is E[p | n]."""

    counting: Counting
    prior: Prior

    def sums(self, said: Annotations) -> Floats:
        return self.counting.sums(said)

    def rows(self, sums: Floats) -> Floats:
        return posterior_mean(self.prior, self.counting.evidence(sums, len(self.prior.labels)))

    def belief(self, index: Index, sums: Floats) -> Belief:
        return Belief(index, self.counting.evidence(sums, len(index.labels)), self.prior)


def totals(
    counting: Counting, parts: list[Annotations], map: Map, shards: int
) -> tuple[Floats, Any]:
    """(m, t) sums over all tables, and (m,) how many answers each item has."""
    sums = added([per_item(counting.sums, part, map, shards) for part in parts])
    return given_away(sums), np.sum([part.votes_per_item() for part in parts], axis=0)


def posterior(
    pooler: Any,
    find: Callable[[Index, Floats], Prior],
    said: Annotations,
    map: Map,
    shards: int,
    rich: Annotations | None,
) -> LabelDistribution:
    """Labels under the prior that ``find(index, evidence)`` gives."""
    some, parts = tables(said, rich)
    counting = Counting(some, pooler.weight)
    sums, count = totals(counting, parts, map, shards)
    prior = find(said.index, counting.teaching(sums, len(said.index.labels)))
    return finished(pooler, Posterior(counting, prior), said.index, sums, count, prior.made_by)
