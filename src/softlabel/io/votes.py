"""Hard votes and soft votes: a table of cells to ``Annotations``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from softlabel.errors import FileError
from softlabel.io.codes import coded, codes_among, natural, no_such_class
from softlabel.io.shapes import ACCEPTED, LABEL, Shape
from softlabel.io.sheet import Sheet
from softlabel.tables import ANONYMOUS, SIMPLEX_TOLERANCE, Annotations, Floats, Index, Ints, names

NAMES = (pl.String, pl.Categorical, pl.Enum, pl.Boolean)  # and whole numbers


def read_votes(sheet: Sheet, shape: Shape, labels: list[str] | None) -> Annotations:
    """The votes of a table; ``labels`` is the full list of classes, if the caller knows it.

    Without it the classes are those of the Parquet type ``Enum``, or else those that occur.
    """
    kind = sheet.frame[LABEL].dtype if shape.kind == "hard" else None
    if labels is None and isinstance(kind, pl.Enum):
        labels = kind.categories.to_list()
    sheet = _named(sheet, shape)
    if shape.kind == "soft":
        labels, probs = _soft(sheet, shape, labels)
        index, item, annotator = _who(sheet, shape, labels)
        return Annotations(index, item, annotator, probs=probs)
    labels, label = _hard(sheet, labels)
    index, item, annotator = _who(sheet, shape, labels)
    return Annotations(index, item, annotator, label=label)


def _named(sheet: Sheet, shape: Shape) -> Sheet:
    """The same table, its names checked and made text."""
    columns = [shape.item, shape.annotator, *(shape.answer if shape.kind == "hard" else ())]
    for column in columns:
        kind = sheet.frame[column].dtype
        if not (kind in NAMES or kind.is_integer()):
            raise FileError(
                sheet.path, f"holds {kind}; names must be text or whole numbers", column=column
            )
        if not (sheet.anonymous and column == shape.annotator):
            sheet.refuse_empty(column)
    text = [pl.col(column).cast(pl.String) for column in columns]
    return replace(sheet, frame=sheet.frame.with_columns(text))


def _who(sheet: Sheet, shape: Shape, labels: list[str]) -> tuple[Index, Ints, Ints]:
    """The index, items in order of first appearance, and the codes of items and annotators."""
    items, item = coded(sheet.frame[shape.item])
    people, annotator = coded(sheet.frame[shape.annotator])
    if sheet.anonymous:
        people, annotator = [], np.full(len(item), ANONYMOUS)
    return Index(names(items), names(people), names(labels)), item, annotator


def _hard(sheet: Sheet, labels: list[str] | None) -> tuple[list[str], Ints]:
    votes = sheet.frame[LABEL]
    if labels is None:
        missing = votes.str.to_lowercase() == "nan"
        reason = "looks like a missing value; if it is a class, name all classes with --labels"
        sheet.refuse(missing, reason, LABEL)
        labels = natural(votes.unique().to_list())
    label = codes_among(votes, labels)
    unknown = np.flatnonzero(label < 0)
    if len(unknown):
        row = int(unknown[0])
        raise sheet.error(no_such_class(votes[row], labels), row, LABEL, votes[row])
    return labels, label


def _soft(sheet: Sheet, shape: Shape, labels: list[str] | None) -> tuple[list[str], Floats]:
    columns = list(shape.answer)
    if labels is not None and sorted(labels) != sorted(columns):
        odd = next(name for name in [*columns, *labels] if (name in columns) != (name in labels))
        raise FileError(
            sheet.path,
            f"the classes are not those asked for: {', '.join(columns)} and {', '.join(labels)}",
            column=odd,
        )
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
