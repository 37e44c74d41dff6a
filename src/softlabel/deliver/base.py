"""What is known about the items, and how a delivery hands it to training, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from softlabel import randomness
from softlabel.errors import DataError
from softlabel.registry import FAMILIES
from softlabel.tables import (
    Annotations,
    Bools,
    Floats,
    Ints,
    SoftLabels,
    broken,
    check_simplex,
    frozen,
    names,
)

NO_CLASS = -1  # an item without a given class


@dataclass(frozen=True, eq=False)
class Teaching:
    """All that training may learn labels from, for m items and k classes.

    ``hard`` (m,) the class that was given with the item, or ``NO_CLASS``; ``pooled`` (m, k) one
    soft label per item, a row of NaN where there is none; ``each`` the annotators' own labels,
    hard or soft, whose item codes are the rows of ``hard`` and ``pooled``.  An item without
    annotations is not *relabelled*.
    """

    hard: Ints
    pooled: Floats
    each: Annotations | None = None

    def __post_init__(self) -> None:
        hard, pooled = np.asarray(self.hard), np.asarray(self.pooled, dtype=np.float64)
        if pooled.ndim != 2 or hard.shape != pooled.shape[:1]:
            raise DataError(f"hard {hard.shape} and pooled {pooled.shape} are not (m,) and (m, k)")
        if hard.size and hard.dtype.kind not in "iu":
            raise DataError(f"hard must hold codes of classes, not {hard.dtype}")
        m, k = pooled.shape
        outside = (hard < NO_CLASS) | (hard >= k)
        broken("hard", outside, f"class outside 0..{k - 1}, and not {NO_CLASS} (none)", hard)
        unknown = np.isnan(pooled).all(axis=1, keepdims=True)
        check_simplex("pooled", np.where(unknown, 1 / k, pooled))
        if self.each is not None and self.each.index.shape[::2] != (m, k):
            items, _, labels = self.each.index.shape
            raise DataError(
                f"annotations speak of {items} items and {labels} classes, labels of {m} and {k}"
            )
        object.__setattr__(self, "hard", frozen(hard.astype(np.int64)))
        object.__setattr__(self, "pooled", frozen(pooled))

    @classmethod
    def of(
        cls, pooled: SoftLabels, each: Annotations | None = None, hard: Ints | None = None
    ) -> Self:
        """From the tables; without given classes, the most probable one of the pooled label."""
        if each is not None:
            for which in ("items", "labels"):
                ours, theirs = (getattr(table.index, which) for table in (pooled, each))
                if len(ours) != len(theirs) or not (ours == theirs).all():
                    raise DataError(f"the annotations' {which} are not those of the pooled labels")
        known = pooled.probs.argmax(axis=1)
        return cls(
            np.where(pooled.answered, known, NO_CLASS) if hard is None else hard,
            pooled.probs,
            each,
        )

    @property
    def labelled(self) -> Bools:
        """(m,) True where there is a pooled label."""
        return np.asarray(~np.isnan(self.pooled).all(axis=1))

    @property
    def relabelled(self) -> Bools:
        """(m,) True where at least one annotator was asked; of pooled labels alone, where one is
        there."""
        if self.each is None:
            return self.labelled
        return np.asarray(self.each.votes_per_item() > 0)

    def only(self, items: Ints) -> Self:
        """The same for these items alone, in this order."""
        each = self.each
        if each is not None:
            place = np.full(len(self), -1)
            place[items] = np.arange(len(items))
            each = each.take(place[each.item] >= 0)
            index = replace(each.index, items=names(each.index.items[items]))
            each = replace(each, index=index, item=place[each.item])
        return type(self)(self.hard[items], self.pooled[items], each)

    def __len__(self) -> int:
        return len(self.hard)


@dataclass(frozen=True)
class Draws:
    """Counter-based randomness of one run: a number belongs to its keys, not to an order.

    The same seed, epoch and item give the same draw in whatever batch, process or resumed run.
    The first key is text and says what the number is for, so that no two uses share their draws.

    >>> rng = Draws(7)
    >>> bool(rng.uniform("a", 0, 5) == rng.uniform("a", 0, [4, 5])[1])
    True
    >>> bool(rng.uniform("a", 0, 5) == rng.uniform("b", 0, 5))
    False
    """

    seed: int

    def uniform(self, *keys: npt.ArrayLike) -> Floats:
        """Numbers in [0, 1), one for each combination of the (broadcast) keys."""
        numbers = (_number(key) if isinstance(key, str) else key for key in keys)
        return randomness.uniform(self.seed, *numbers)


@cache
def _number(text: str) -> np.uint64:
    return np.uint64(randomness.name_keys(names([text]))[0])


class Delivery(Protocol):
    """Labels made ready for training: m items, k classes."""

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """(b, k) the targets of these items in this epoch."""
        ...


class Foretold(Delivery, Protocol):
    """A delivery that says what its labels come to."""

    def expected(self) -> Floats:
        """(m, k) the mean of each item's label over epochs, given what was decided per run."""
        ...


class Deliver(Protocol):
    """A policy: a frozen dataclass of its parameters, called with what is known."""

    name: ClassVar[str]
    paper: ClassVar[str]

    def __call__(self, known: Teaching, rng: Draws) -> Foretold:
        """Everything that is decided once per run (pools, orders, permutations) is decided here."""
        ...


DELIVERIES: dict[str, type[Deliver]] = FAMILIES[
    "deliver"
]  # by name, for the policies that go on with another
