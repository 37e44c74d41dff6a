"""Hard: one class per item, in every epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.fixed import Fixed
from softlabel.deliver.given import given_class, one_hot


@dataclass(frozen=True)
class Hard:
    """The given class; where none was given, the most probable one of the soft label.

    Mean over epochs: that one-hot label.  Of equally probable classes, the first.
    """

    name: ClassVar[str] = "hard"
    paper: ClassVar[str] = "the usual practice"

    def __call__(self, known: Teaching, rng: Draws) -> Fixed:
        return Fixed(one_hot(given_class(known), known.pooled.shape[1]))
