"""What a metric takes: arrays, tables and data frames, brought to the same items and classes.

``SoftLabels``, ``Predictions`` and data frames of pandas, polars, Arrow and Hugging Face name their
classes, and mostly their items.  Two of them are matched by these names, so the order of rows and
columns does not matter; an item or class that only one of them has is refused.  A plain array has
no names: its places are taken as they are.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import (
    Annotations,
    Floats,
    Ints,
    Predictions,
    SoftLabels,
    Statements,
    find_classes,
)

ITEM = "item"
SOFT = "soft_label"  # a column of lists
Order = slice | Ints


class Given(NamedTuple):
    """One side of a comparison: numbers (m, k), and the names of rows and columns where known.

    ``counted`` are, of a data frame without names of items, the numbers 0, 1, 2 … that the index of
    pandas gives them; other data frames give none.
    """

    values: Floats
    items: list[str] | None = None
    labels: list[str] | None = None
    counted: list[str] | None = None

    def name_items(self, others: list[str] | None) -> list[str] | None:
        """Return the names of the items beside those of the other side: an index 0, 1, 2 … names
        them only if the others are called so."""
        if self.items is None and self.counted and set(self.counted) == set(others or ()):
            return self.counted
        return self.items


def read_given(name: str, source: Any) -> Given:
    """Read an array, a table of labels or a data frame; ``name`` is what errors call it."""
    if isinstance(source, Annotations | Statements):
        raise DataError(
            f"{name} holds single answers, not one label per item; pool them first "
            "(softlabel.aggregate.Mean()(answers)), or call softlabel.score, which does"
        )
    if isinstance(source, SoftLabels) and not source.answered.all():
        silent = source.index.items[~source.answered]
        raise DataError(
            f"{name} has no label of item {silent[0]!r}, which nobody answered ({len(silent)} of "
            f"{len(source)} items); leave such items out, or call softlabel.score, which does"
        )
    if isinstance(source, SoftLabels | Predictions):
        return Given(source.probs, source.index.items.tolist(), source.index.labels.tolist())
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        return _read_frame(name, source, list(source.columns))
    if hasattr(source, "features") and hasattr(source, "with_format"):  # Hugging Face
        return _read_arrow(name, source.with_format("arrow")[:], source.features)
    if hasattr(source, "column_names") and hasattr(source, "to_pydict"):
        return _read_arrow(name, source, {})
    return Given(as_numbers(name, source))


def _read_arrow(name: str, table: Any, kinds: Mapping[str, Any]) -> Given:
    """Read a table of Arrow: a column per class, or a column ``soft_label`` of lists, whose classes
    are those of the feature ``label`` if it declares some."""
    if SOFT not in table.column_names:
        cells = {column: np.array(table[column].to_pylist()) for column in table.column_names}
        return _read_frame(name, cells, list(cells))
    rows = table[SOFT].to_pylist()
    sizes = {0 if row is None else len(row) for row in rows}
    if len(sizes) != 1:
        found = ", ".join(map(str, sorted(sizes)))
        raise DataError(f"{name} has lists of different lengths in {SOFT!r}: {found}")
    classes = getattr(kinds.get("label"), "names", None) or range(*sizes)
    probs = np.array(rows, dtype=np.float64)
    cells = {str(label): probs[:, place] for place, label in enumerate(classes)}
    if ITEM in table.column_names:
        cells = {ITEM: np.array(table[ITEM].to_pylist()), **cells}
    return _read_frame(name, cells, list(cells))


def _read_frame(name: str, frame: Any, columns: Sequence[Any]) -> Given:
    """Read a data frame of pandas or polars, or a dict of arrays: a column per class; the items are
    in the column ``item``, or else in the index.  ``count`` and what follows it are not read."""
    classes = find_classes(columns, ITEM)
    labels = [str(column) for column in classes]
    for label in labels:
        if labels.count(label) > 1:
            raise DataError(f"{name} has two columns called {label!r}")
    if not classes:
        raise DataError(f"{name} has no column of a class; it has {', '.join(map(str, columns))}")
    read = {str(label): _read_column(name, label, frame[label]) for label in classes}
    items = counted = None
    if ITEM in columns:
        items = [str(item) for item in np.asarray(frame[ITEM]).tolist()]
    else:
        index = getattr(frame, "index", ())  # of pandas
        names = [str(item) for item in index]
        unnamed = getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
        items, counted = (None, names) if unnamed or not names else (names, None)
    if items is not None and len(set(items)) < len(items):
        twice = Counter(items).most_common(1)[0]
        raise DataError(f"{name} has item {twice[0]!r} in {twice[1]} rows; one row per item")
    return Given(np.stack(list(read.values()), axis=1), items, labels, counted)


def _read_column(name: str, label: object, column: Any) -> Floats:
    try:
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"{name} has the column {label!r}, which holds {column.dtype} and no numbers; besides "
            f"{ITEM!r} all columns before 'count' are classes"
        ) from None


def as_numbers(name: str, values: Any) -> Floats:
    """Anything that numpy takes for numbers, as float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of numbers (items, classes): {error}") from None


def find_orders(true: Given, predicted: Given) -> tuple[Order, Order]:
    """The rows and the columns of ``predicted`` in the order of ``true``."""
    columns = _find_order("class", "classes", true.labels, predicted.labels)
    items = true.name_items(predicted.items), predicted.name_items(true.items)
    rows = _find_order("item", "items", *items)
    sizes = [given.values.shape for given in (true, predicted)]
    if sizes[0] != sizes[1] or len(sizes[0]) != 2:
        raise DataError(
            f"true and predicted must have one shape (items, classes), with the same items and "
            f"classes in the same order; got {sizes[0]} and {sizes[1]}"
        )
    return rows, columns


def _find_order(kind: str, kinds: str, true: list[str] | None, other: list[str] | None) -> Order:
    if true is None or other is None or true == other:
        return slice(None)
    for side, ours, theirs in (("true", true, other), ("predicted", other, true)):
        known = set(theirs)
        odd = [name for name in ours if name not in known]
        if odd:
            more = f" (and {len(odd) - 1} more)" if len(odd) > 1 else ""
            raise DataError(
                f"{kind} {odd[0]!r} is only in {side}{more}; true and predicted must have the "
                f"same {kinds}, in any order"
            )
    place = {name: at for at, name in enumerate(other)}
    return np.array([place[name] for name in true], dtype=np.int64)
