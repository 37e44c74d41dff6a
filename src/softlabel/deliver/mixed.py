"""Mixed: soft labels where people were asked, the given class everywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.deliver.base import NO_CLASS, Draws, Foretold, Teaching
from softlabel.deliver.fewer import going_on
from softlabel.deliver.given import item_rows, one_hot, refuse_items
from softlabel.tables import Floats, Ints


@dataclass(frozen=True)
class Mixed:
    """The policy called ``then`` on the relabelled items, as if there were no others; the rest is
    one-hot on its given class.

    Mean over epochs: that of ``then``, or the given class.
    """

    then: str = "aggregate"

    name: ClassVar[str] = "mixed"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022 (900 of 6,900 images)"

    def __call__(self, known: Teaching, rng: Draws) -> Mixture:
        relabelled = known.relabelled
        nothing = ~relabelled & (known.hard == NO_CLASS)
        refuse_items(known, nothing, "neither an answer nor a given class")
        items = np.flatnonzero(relabelled)
        place = np.full(len(known), -1)
        place[items] = np.arange(len(items))
        rest = one_hot(np.maximum(known.hard, 0), known.pooled.shape[1])
        return Mixture(place, going_on(self, self.then)(known.only(items), rng), rest)


@dataclass(frozen=True, eq=False)
class Mixture:
    """Items with a ``place`` (m,) of 0 or more are delivered by ``soft``, others by ``rest``."""

    place: Ints
    soft: Foretold
    rest: Floats

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) soft and one-hot rows."""
        items = item_rows(indices, len(self.place))
        labels, place = self.rest[items], self.place[items]
        labels[place >= 0] = self.soft.labels_for(epoch, place[place >= 0], rng)
        return labels

    def expected(self) -> Floats:
        """(m, k) that of the policy, or the given class."""
        labels = self.rest.copy()
        labels[self.place >= 0] = self.soft.expected()
        return labels
