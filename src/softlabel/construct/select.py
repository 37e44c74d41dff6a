"""Select: the two named classes share the mass equally; the numbers are not looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.construct.base import Semantics, first_named, labelled
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Floats, Statements


@dataclass(frozen=True)
class Select:
    """Half each on the first two classes named, all on the first if there is no alternative.

    Of a person who names one class twice, ``strict`` makes one class of mass 1; ``reference``
    leaves mass 0.5 as the published code does, which is no distribution, so the row is refused.
    """

    mode: Semantics = "strict"

    name: ClassVar[str] = "select"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 5 (select top 2 only)"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, said: Statements) -> Annotations:
        return labelled(said, self.vectors(said))

    def vectors(self, said: Statements) -> Floats:
        """(n, k) the labels before the simplex check."""
        check_parameters(self)
        rows = np.arange(len(said))
        first = first_named(said)
        second = said.named[:, 1] if said.named.shape[1] > 1 else np.full(len(said), -1)
        label = np.zeros(said.possible.shape)
        label[rows, first] = np.where(second >= 0, 0.5, 1.0)
        both = np.flatnonzero(second >= 0)
        if self.mode == "strict":
            np.add.at(label, (both, second[both]), 0.5)
        else:
            label[both, second[both]] = 0.5
        return label
