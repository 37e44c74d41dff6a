"""What an item is taught when some of what could be known about it is not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from softlabel.deliver.base import NO_CLASS, Teaching
from softlabel.errors import DataError
from softlabel.tables import Bools, Floats, Ints


def one_hot(classes: Ints, k: int) -> Floats:
    """(b, k) all mass on one class each."""
    labels = np.zeros((len(classes), k))
    labels[np.arange(len(classes)), classes] = 1
    return labels


def given_class(known: Teaching) -> Ints:
    """(m,) the class given with the item; without one, the most probable one of its soft label."""
    nothing = ~known.labelled & (known.hard == NO_CLASS)
    refuse_items(known, nothing, "neither a given class nor a soft label")
    return np.where(known.hard == NO_CLASS, known.pooled.argmax(axis=1), known.hard)


def soft_label(known: Teaching) -> Floats:
    """(m, k) the pooled label; without one, all mass on the given class."""
    labels = known.pooled.copy()
    bare = np.flatnonzero(~known.labelled)
    labels[bare] = one_hot(given_class(known)[bare], labels.shape[1])
    return labels


def refuse_items(known: Teaching, bad: Bools, lack: str) -> None:
    """Raise ``DataError`` naming the first bad item, and how many of how many."""
    if bad.any():
        row = int(bad.argmax())
        name = "" if known.each is None else f" {known.each.index.items[row]!r}"
        raise DataError(
            f"item{name} (row {row}) has {lack}; so have {int(bad.sum())} of {len(bad)} items"
        )


def item_rows(indices: npt.ArrayLike, m: int) -> Ints:
    """(b,) the rows of these items.  A negative one would be found, and drawn for, as another."""
    rows = np.asarray(indices)
    if rows.size and rows.dtype.kind not in "iu":
        raise DataError(f"items are asked for by their rows, whole numbers, not by {rows.dtype}")
    rows = rows.astype(np.int64)
    wrong = (rows < 0) | (rows >= m)
    if wrong.any():
        raise DataError(f"item {rows[wrong][0]} is outside 0..{m - 1}")
    return rows
