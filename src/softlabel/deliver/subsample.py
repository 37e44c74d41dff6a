"""Subsample: what if fewer people had been asked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softlabel.deliver.base import Draws, Foretold, Teaching
from softlabel.deliver.fewer import going_on, smallest, with_answers
from softlabel.deliver.pool import answers, places
from softlabel.registry import check_parameters
from softlabel.tables import ANONYMOUS


@dataclass(frozen=True)
class Subsample:
    """``m`` annotators per item, drawn without replacement once per run; then their mean label
    (``aggregate``) or one of them per epoch (``per-annotator``).

    Mean over epochs: the mean of the answers of those annotators.  An item with fewer keeps all.
    A person who answered an item twice brings both answers; each anonymous answer is a person.
    The people drawn for a smaller ``m`` are among those drawn for a larger one.
    """

    m: int = 2
    then: Literal["aggregate", "per-annotator"] = "aggregate"

    name: ClassVar[str] = "subsample"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, figure 6"

    def __call__(self, known: Teaching, rng: Draws) -> Foretold:
        check_parameters(self, m=(1, float("inf")))
        each = answers(known, self.name)
        # answers without an author are told apart by what they say, and never count as one person
        person = np.where(each.annotator == ANONYMOUS, -1 - places(each), each.annotator)
        kept = smallest(each.item, rng.uniform(self.name, each.item, person), self.m)
        return going_on(self, self.then)(with_answers(known, each, kept), rng)
