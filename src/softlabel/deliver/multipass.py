"""Multipass: the item's answers one after the other, each once per round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.given import item_rows
from softlabel.deliver.pool import Pool, answers, places, rank
from softlabel.tables import Floats, Ints


@dataclass(frozen=True)
class Multipass:
    """Answer number (epoch mod m_i) of the m_i answers to item i, shuffled once by ``seed``.

    Mean over any m_i consecutive epochs, exactly: the mean of the item's answers.  Votes are
    one-hot labels, soft answers are delivered as they are.  ``seed`` is fixed, so runs with other
    seeds see the same order.  An item that nobody was asked about keeps its given class.
    """

    seed: int = 0

    name: ClassVar[str] = "multipass"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642"

    def __call__(self, known: Teaching, rng: Draws) -> Rounds:
        return shuffled_rounds(known, self.name, self.seed)


def shuffled_rounds(known: Teaching, policy: str, seed: int) -> Rounds:
    """The answers in an order drawn per item."""
    each = answers(known, policy)
    draw = Draws(seed).uniform(Multipass.name, each.item, places(each))
    return Rounds(Pool.of(known, each, rank(each.item, draw)))


@dataclass(frozen=True, eq=False)
class Rounds:
    """The pool of each item from its first answer to its last, and again."""

    pool: Pool

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) the answers whose turn it is."""
        items = item_rows(indices, len(self.pool.size))
        return self.pool.take(items, epoch % self.pool.size[items])

    def expected(self) -> Floats:
        """(m, k) the mean answer."""
        return self.pool.means()
