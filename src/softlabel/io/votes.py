"""Hard votes, soft votes and gold classes: from cells to codes."""

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from softlabel.errors import FileError, nearest
from softlabel.io.columns import ITEM, LABEL
from softlabel.io.csv_files import read_csv
from softlabel.io.sheet import ACCEPTED, Shape, Sheet
from softlabel.tables import ANONYMOUS, SIMPLEX_TOLERANCE, Annotations, Floats, Index, Ints, names

NAME_TYPES = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)  # and whole numbers


def read_votes(sheet: Sheet, shape: Shape, labels: list[str] | None) -> Annotations:
    """Read the votes of a table; ``labels`` is the full list of classes.  Without it the classes
    are those of the Parquet type ``Enum``, or else those that occur."""
    hard = shape.kind == "hard"
    if labels is None and hard and isinstance(declared := sheet.frame[LABEL].dtype, pl.Enum):
        labels = declared.categories.to_list()
    columns = [shape.item, shape.annotator, *(shape.answer if hard else ())]
    for column in columns:
        kind = sheet.frame[column].dtype
        if not (kind in NAME_TYPES or kind.is_integer()):
            reason = f"holds {kind}; names must be text or whole numbers"
            raise FileError(sheet.path, reason, column=column)
        if not (sheet.anonymous and column == shape.annotator):
            sheet.refuse_empty(column)
    text = [pl.col(column).cast(pl.String) for column in columns]
    sheet = replace(sheet, frame=sheet.frame.with_columns(text))
    label = probs = None
    if hard:
        votes = sheet.frame[LABEL]
        if labels is None:
            missing = votes.str.to_lowercase() == "nan"
            reason = "looks like a missing value; if it is a class, name all classes with --labels"
            sheet.refuse(missing, reason, LABEL)
            labels = sort_naturally(votes.unique().to_list())
        label = find_codes(votes, labels)
        if (label < 0).any():
            row = int((label < 0).argmax())
            shown = ", ".join(labels[:20]) + (", …" if len(labels) > 20 else "")
            reason = f"no such class{nearest(votes[row], labels)}; the classes are {shown}"
            raise sheet.error(reason, row, LABEL, votes[row])
    else:
        labels, probs = _read_soft(sheet, shape, labels)
    items, item = encode(sheet.frame[shape.item])  # in order of first appearance
    people, annotator = encode(sheet.frame[shape.annotator])
    if sheet.anonymous:
        people, annotator = [], np.full(len(item), ANONYMOUS)
    index = Index(names(items), names(people), names(labels))
    return Annotations(index, item, annotator, label=label, probs=probs)


def _read_soft(sheet: Sheet, shape: Shape, labels: list[str] | None) -> tuple[list[str], Floats]:
    columns = list(shape.answer)
    if labels is not None and sorted(labels) != sorted(columns):
        odd = next(name for name in [*columns, *labels] if (name in columns) != (name in labels))
        both = f"{', '.join(columns)} and {', '.join(labels)}"
        reason = f"the classes are not those asked for: {both}"
        raise FileError(sheet.path, reason, column=odd)
    labels = labels or columns
    sheet.refuse_empty(*labels)
    probs = np.empty((len(sheet.frame), len(labels)))
    for j, column in enumerate(labels):
        cells = sheet.frame[column]
        if cells.dtype.is_nested() or cells.dtype.is_temporal() or cells.dtype == pl.Boolean:
            raise FileError(sheet.path, f"holds {cells.dtype}, no probabilities", column=column)
        numbers = cells.cast(pl.Float64, strict=False)
        sheet.refuse(numbers.is_null(), f"not a number, so no probability; {ACCEPTED}", column)
        sheet.refuse(~numbers.is_finite(), "a probability must be a finite number", column)
        sheet.refuse(numbers < 0, "a probability must not be negative", column)
        probs[:, j] = numbers.to_numpy()
    total = probs.sum(axis=1)
    off = np.flatnonzero(abs(total - 1) > SIMPLEX_TOLERANCE)
    if len(off):
        raise sheet.error(f"the probabilities sum to {total[off[0]]:.9g}, not to 1", int(off[0]))
    return labels, probs


def read_gold(path: Path, index: Index) -> Ints:
    """Return (m,) the class code of each item of the index, -1 where the file, a CSV of item and
    label, does not name it; other items are skipped: gold often covers more than was asked."""
    sheet = read_csv(path)
    for column in (ITEM, LABEL):
        if column not in sheet.frame.columns:
            known = ", ".join(sheet.frame.columns)
            raise FileError(path, f"must have this column; it has {known}", column=column)
    sheet.refuse_empty(ITEM, LABEL)
    items, classes = (
        {name: code for code, name in enumerate(entries)}
        for entries in (index.items.tolist(), index.labels.tolist())
    )
    gold = np.full(len(index.items), -1)
    for row, (item, label) in enumerate(sheet.frame.select(ITEM, LABEL).iter_rows()):
        if label not in classes:
            hint = nearest(label, classes) or f"; classes are {', '.join(classes)}"
            raise sheet.error(f"no such class{hint}", row, LABEL, label)
        if item not in items:
            continue
        if gold[items[item]] not in (-1, classes[label]):
            raise sheet.error("this item has another label further up", row, ITEM, item)
        gold[items[item]] = classes[label]
    if (gold < 0).all():
        raise FileError(path, "names none of the items that were answered")
    return gold


def encode(column: pl.Series) -> tuple[list[str], Ints]:
    """Return the distinct values in order of first appearance, and the code of each row."""
    distinct = column.unique(maintain_order=True)
    return distinct.to_list(), find_codes(column, distinct)


def find_codes(column: pl.Series, known: pl.Series | list[str]) -> Ints:
    """Return the place of each value in ``known``, -1 where it is not there."""
    # a join is several times faster than ranks, a cast to Enum or np.unique, and keeps no cache
    table = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    rows = column.alias("name").to_frame()
    joined = rows.join(table, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(-1).to_numpy()


def sort_naturally(names: Iterable[str]) -> list[str]:
    """Sort numbers by size if all are numbers, else in alphabetical order.

    >>> sort_naturally(["10", "9", "-1"]), sort_naturally(["b10", "b9"])
    (['-1', '9', '10'], ['b10', 'b9'])
    """
    names = sorted(names)
    with suppress(ValueError):
        if all(math.isfinite(float(name)) for name in names):
            return sorted(names, key=float)
    return names
