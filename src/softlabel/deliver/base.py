"""Training labels, and how a delivery hands them to training, epoch by epoch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from softlabel import randomness, tables
from softlabel.errors import DataError
from softlabel.registry import FAMILIES
from softlabel.tables import Annotations, Bools, Floats, Index, Ints, SoftLabels

NO_CLASS = -1  # an item without a given class


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """Everything training may take labels from, for m items and k classes.

    ``hard`` (m,) holds the class that came with the item, or ``NO_CLASS``; ``pooled`` (m, k) one
    soft label per item, NaN where there is none; ``each`` the annotators' own labels, hard or
    soft, whose item codes are the rows of ``hard`` and ``pooled``.  An item without annotations is
    not *relabelled*.  ``index`` holds the names of items and classes, where they are known.
    """

    hard: Ints
    pooled: Floats
    each: Annotations | None = None
    index: Index | None = None

    def __post_init__(self) -> None:
        hard, pooled = np.asarray(self.hard), np.asarray(self.pooled, dtype=np.float64)
        if pooled.ndim != 2 or hard.shape != pooled.shape[:1]:
            raise DataError(f"hard {hard.shape} and pooled {pooled.shape} are not (m,) and (m, k)")
        if hard.size and hard.dtype.kind not in "iu":
            raise DataError(f"hard must hold codes of classes, not {hard.dtype}")
        m, k = pooled.shape
        outside = (hard < NO_CLASS) | (hard >= k)
        tables.broken("hard", outside, f"class outside 0..{k - 1}, and not {NO_CLASS} (none)", hard)
        unknown = np.isnan(pooled).all(axis=1, keepdims=True)
        tables.check_simplex("pooled", np.where(unknown, 1 / k, pooled))
        if self.each is not None and self.each.index.shape[::2] != (m, k):
            items, _, labels = self.each.index.shape
            raise DataError(
                f"the annotations have {items} items and {labels} classes, the labels {m} and {k}"
            )
        if self.index is None and self.each is not None:
            object.__setattr__(self, "index", self.each.index)
        if self.index is not None and self.index.shape[::2] != (m, k):
            items, _, labels = self.index.shape
            raise DataError(
                f"there are names of {items} items and {labels} classes, and labels of {m} and {k}"
            )
        object.__setattr__(self, "hard", tables.frozen(hard.astype(np.int64)))
        object.__setattr__(self, "pooled", tables.frozen(pooled))

    @classmethod
    def of(
        cls, pooled: SoftLabels, each: Annotations | None = None, hard: Ints | None = None
    ) -> Self:
        """Build from tables; without ``hard``, take the most probable class of the pooled label."""
        if each is not None:
            for which in ("items", "labels"):
                ours, theirs = (getattr(table.index, which) for table in (pooled, each))
                if len(ours) != len(theirs) or not (ours == theirs).all():
                    raise DataError(f"the annotations' {which} are not those of the pooled labels")
        if hard is None:
            hard = np.where(pooled.answered, pooled.probs.argmax(axis=1), NO_CLASS)
        return cls(hard, pooled.probs, each, pooled.index)

    @property
    def labelled(self) -> Bools:
        """(m,) True where there is a pooled label."""
        return np.asarray(~np.isnan(self.pooled).all(axis=1))

    @property
    def relabelled(self) -> Bools:
        """(m,) True where there is an annotation or, without annotations, a pooled label."""
        if self.each is None:
            return self.labelled
        return np.asarray(self.each.votes_per_item() > 0)

    def only(self, items: Ints) -> Self:
        """Return the labels of these items, in this order."""
        each, index = self.each, self.index
        if index is not None:
            index = replace(index, items=tables.names(index.items[items]))
        if each is not None:
            place = np.full(len(self), -1)
            place[items] = np.arange(len(items))
            each = each.take(place[each.item] >= 0)
            own = replace(each.index, items=tables.names(each.index.items[items]))
            each = replace(each, index=own, item=place[each.item])
        return type(self)(self.hard[items], self.pooled[items], each, index)

    def check_items(self, items: Sequence[Any]) -> None:
        """Refuse rows whose ``items`` are not these items in this order; without names, all pass.

        >>> index = Index(["a", "b"], [], ["cat", "dog"])
        >>> known = TrainingLabels(np.array([0, 1]), np.eye(2), index=index)
        >>> known.check_items(["b", "a"])
        Traceback (most recent call last):
        softlabel.errors.DataError: row 0 is item 'b', and its label is that of item 'a'; \
bring rows and labels into the same order
        """
        if self.index is None:
            return
        ours = self.index.items.tolist()
        for row, (theirs, own) in enumerate(zip(map(str, items), ours, strict=False)):
            if theirs != own:
                raise DataError(
                    f"row {row} is item {theirs!r}, and its label is that of item {own!r}; bring "
                    "rows and labels into the same order"
                )

    def __len__(self) -> int:
        return len(self.hard)


@dataclass(frozen=True)
class Draws:
    """Counter-based randomness of one run: a number belongs to its keys, not to an order.

    The same seed, epoch and item give the same draw in any batch, process or resumed run.  The
    first key is text that names the purpose, so that no two uses share their draws.

    >>> rng = Draws(7)
    >>> bool(rng.uniform("a", 0, 5) == rng.uniform("a", 0, [4, 5])[1])
    True
    >>> bool(rng.uniform("a", 0, 5) == rng.uniform("b", 0, 5))
    False
    """

    seed: int

    def uniform(self, *keys: npt.ArrayLike) -> Floats:
        """Return numbers in [0, 1), one for each combination of the (broadcast) keys."""
        numbers = (_number(key) if isinstance(key, str) else key for key in keys)
        return randomness.uniform(self.seed, *numbers)


@cache
def _number(text: str) -> np.uint64:
    return np.uint64(randomness.name_keys(tables.names([text]))[0])


class Delivery(Protocol):
    """Labels ready for training: m items, k classes."""

    def labels_for(self, epoch: int, indices: Ints, rng: Draws) -> Floats:
        """Return the targets (b, k) of these items in this epoch."""


class ExpectedDelivery(Delivery, Protocol):
    """A delivery that knows the mean of its labels."""

    def expected(self) -> Floats:
        """Return the mean (m, k) of each item's label over epochs, for this run."""


class Deliver(Protocol):
    """A policy: a frozen dataclass of its parameters, called with the training labels."""

    name: ClassVar[str]
    paper: ClassVar[str]

    def __call__(self, known: TrainingLabels, rng: Draws) -> ExpectedDelivery:
        """Decide everything that is decided once per run (orders, permutations, subsets)."""


# by name, for the policies that continue with another one
DELIVERIES: dict[str, type[Deliver]] = FAMILIES["deliver"]


def one_hot(classes: Ints, k: int) -> Floats:
    """Return rows (b, k) with all mass on one class each."""
    labels = np.zeros((len(classes), k))
    labels[np.arange(len(classes)), classes] = 1
    return labels


def choose_class(known: TrainingLabels) -> Ints:
    """Return the given class (m,); without one, the most probable class of the soft label."""
    nothing = ~known.labelled & (known.hard == NO_CLASS)
    refuse_items(known, nothing, "neither a given class nor a soft label")
    return np.where(known.hard == NO_CLASS, known.pooled.argmax(axis=1), known.hard)


def fill_soft_labels(known: TrainingLabels) -> Floats:
    """Return the pooled label (m, k); without one, all mass on the given class."""
    labels = known.pooled.copy()
    bare = np.flatnonzero(~known.labelled)
    labels[bare] = one_hot(choose_class(known)[bare], labels.shape[1])
    return labels


def refuse_items(known: TrainingLabels, bad: Bools, lack: str) -> None:
    """Raise ``DataError`` naming the first bad item, and how many of how many."""
    if bad.any():
        row = int(bad.argmax())
        name = "" if known.each is None else f" {known.each.index.items[row]!r}"
        raise DataError(
            f"item{name} (row {row}) has {lack}, like {int(bad.sum())} of {len(bad)} items in all"
        )


def check_rows(indices: npt.ArrayLike, m: int) -> Ints:
    """Return the rows (b,) of these items; a negative row would silently mean another item."""
    rows = np.asarray(indices)
    if rows.size and rows.dtype.kind not in "iu":
        raise DataError(f"items are requested by row, a whole number, not by {rows.dtype}")
    rows = rows.astype(np.int64)
    wrong = (rows < 0) | (rows >= m)
    if wrong.any():
        raise DataError(f"item {rows[wrong][0]} is outside 0..{m - 1}")
    return rows
