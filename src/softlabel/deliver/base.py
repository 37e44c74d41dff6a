"""What is known about the items, and how a delivery hands it to training, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from softlabel import randomness
from softlabel.errors import DataError
from softlabel.tables import Annotations, Bools, Floats, Ints, SoftLabels, check_simplex, frozen

NO_CLASS = -1  # an item without a given class


@dataclass(frozen=True, eq=False)
class Teaching:
    """All that training may learn labels from, for m items and k classes.

    ``hard`` (m,) the class that was given with the item, or ``NO_CLASS``; ``pooled`` (m, k) one
    soft label per item; ``each`` the annotators' own labels, hard or soft, whose item codes are
    the rows of ``hard`` and ``pooled``.  An item without annotations is not *relabelled*.
    """

    hard: Ints
    pooled: Floats
    each: Annotations | None = None

    def __post_init__(self) -> None:
        hard, pooled = np.asarray(self.hard), np.asarray(self.pooled, dtype=np.float64)
        if pooled.ndim != 2 or hard.shape != pooled.shape[:1]:
            raise DataError(f"hard {hard.shape} and pooled {pooled.shape} are not (m,) and (m, k)")
        check_simplex("pooled", pooled)
        if self.each is not None and len(self.each.index.items) != len(hard):
            raise DataError(
                f"annotations speak of {len(self.each.index.items)} items, labels of {len(hard)}"
            )
        object.__setattr__(self, "hard", frozen(hard.astype(np.int64)))
        object.__setattr__(self, "pooled", frozen(pooled))

    @classmethod
    def of(
        cls, pooled: SoftLabels, each: Annotations | None = None, hard: Ints | None = None
    ) -> Self:
        """From the tables; without given classes, the most probable one of the pooled label."""
        return cls(pooled.probs.argmax(axis=1) if hard is None else hard, pooled.probs, each)

    @property
    def relabelled(self) -> Bools:
        """(m,) True where at least one annotator was asked."""
        if self.each is None:
            return np.ones(len(self.hard), dtype=np.bool_)
        return np.bincount(self.each.item, minlength=len(self.hard)) > 0

    def __len__(self) -> int:
        return len(self.hard)


@dataclass(frozen=True)
class Draws:
    """Counter-based randomness of one run: a number belongs to its keys, not to an order.

    The same seed, epoch and item give the same draw in whatever batch, process or resumed run.
    """

    seed: int

    def uniform(self, *keys: npt.ArrayLike) -> Floats:
        """Numbers in [0, 1), one for each combination of the (broadcast) keys."""
        return randomness.uniform(self.seed, *keys)


class Delivery(Protocol):
    """Labels made ready for training: m items, k classes."""

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) the targets of these items in this epoch."""
        ...


class Deliver(Protocol):
    """A policy: a frozen dataclass of its parameters, called with what is known."""

    name: ClassVar[str]

    def __call__(self, known: Teaching, rng: Draws) -> Delivery:
        """Everything that is decided once per run (pools, orders, permutations) is decided here."""
        ...
