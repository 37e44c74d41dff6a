"""Hard: the class named first, as a vote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.construct.base import first_named
from softlabel.tables import Annotations, Statements


@dataclass(frozen=True)
class Hard:
    """One vote for the class named first, whatever chance was given to it."""

    name: ClassVar[str] = "hard"
    paper: ClassVar[str] = "the usual practice"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, said: Statements) -> Annotations:
        return Annotations(said.index, said.item, said.annotator, label=first_named(said))
