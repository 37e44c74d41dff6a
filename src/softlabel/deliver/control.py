"""Control: multipass in another order, to see whether the order matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.multipass import Rounds, shuffled_rounds
from softlabel.deliver.pool import Pool, answers, places, rank
from softlabel.registry import check_parameters


@dataclass(frozen=True)
class Control:
    """``multipass`` under another fixed ``seed``, or with the answers ``sorted`` by class.

    Mean over any m_i consecutive epochs, exactly: the mean of the item's answers.  Sorted, all
    answers for the first class come first; a soft answer counts for its most probable class.
    """

    order: Literal["shuffled", "sorted"] = "shuffled"
    seed: int = 1

    name: ClassVar[str] = "control"
    paper: ClassVar[str] = "Gheibi & Ghazizadeh 2026, arXiv 2605.20642 (deterministic control)"

    def __call__(self, known: Teaching, rng: Draws) -> Rounds:
        check_parameters(self)
        if self.order == "shuffled":
            return shuffled_rounds(known, self.name, self.seed)
        each, place = answers(known, self.name), places(answers(known, self.name))
        top = each.label if each.label is not None else each.soft().argmax(axis=1)
        return Rounds(Pool.of(known, each, rank(each.item, place, top)))
