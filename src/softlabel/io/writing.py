"""Soft labels and answers to files, each in the shape in which it can be read again.

In CSV, text that a spreadsheet would execute has an apostrophe before it; see ``comma.escaped``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel._util.files import aside, kind_of
from softlabel.errors import DataError
from softlabel.io import answers
from softlabel.io.comma import escaped_table
from softlabel.io.shapes import ANNOTATOR, ITEM, LABEL, RESERVED
from softlabel.tables import ANONYMOUS, Annotations, Floats, SoftLabels, Statements

SOFT_KINDS = ("csv", "parquet", "jsonl", "npz")
SAID_KINDS = ("csv", "parquet", "jsonl", "json")
COUNT = "count"


def write_soft(
    soft: SoftLabels, path: str | Path, more: Mapping[str, Floats] | None = None
) -> None:
    """``item``, one column per class, ``count``; an item nobody answered has empty cells.

    ``more`` stands behind these: of an array (m, k) called low the columns ``low:CLASS``, of an
    array (m,) called gain the column ``gain``.  In ``.npz`` they are arrays under their names.
    """
    path, more = Path(path), more or {}
    kind = kind_of(path, SOFT_KINDS)
    labels = soft.index.labels.tolist()
    beside = _columns(more, labels)
    refuse_classes(labels, (ITEM, COUNT, *more, *beside))
    with aside(path) as part:
        if kind == "npz":
            soft.save(part, more)
        else:
            _write(_soft_frame(soft, beside), part, kind)


def write_said(said: Statements | Annotations, path: str | Path) -> None:
    """What was said, one row per answer: responses, hard votes or soft votes."""
    path = Path(path)
    kind = kind_of(path, SAID_KINDS)
    if isinstance(said, Statements) and kind in ("json", "jsonl"):
        text = answers.as_json(said) if kind == "json" else answers.as_json_lines(said)
        with aside(path, private=True) as part:
            part.write_text(text, "utf-8")
        return
    if kind == "json":
        raise DataError(f"{path}: .json holds statements, and these are votes; write to .jsonl")
    if kind != "jsonl" and said.anonymous:
        raise DataError(
            f"{path}: who answered is not known, and a table needs a name in every row; write to "
            f".jsonl{' or .json' if isinstance(said, Statements) else ''}"
        )
    frame = _votes_frame(said) if isinstance(said, Annotations) else answers.table(said, who(said))
    with aside(path, private=True) as part:
        _write(frame, part, kind)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A table of any kind, as CSV."""
    with aside(path) as part:
        escaped_table(pl.DataFrame(rows)).write_csv(part)


def refuse_classes(labels: Collection[str], taken: Collection[str]) -> None:
    """A class may not have the name of a column that the file itself needs."""
    for label in labels:
        if label in taken:
            raise DataError(f"a class is called {label!r}, a name that the file itself uses")


def who(said: Statements | Annotations) -> dict[str, pl.Series]:
    """The columns ``item`` and ``annotator``; null for an author who is not known."""
    items = pl.Series(said.index.items.tolist(), dtype=pl.String)
    people = pl.Series([*said.index.annotators.tolist(), None], dtype=pl.String)
    assert ANONYMOUS == -1, "the last entry stands for people without a name"
    return {ITEM: items.gather(said.item), ANNOTATOR: people.gather(said.annotator % len(people))}


def _soft_frame(soft: SoftLabels, beside: Mapping[str, Floats]) -> pl.DataFrame:
    labels: Mapping[str, Any] = _columns({"": soft.probs}, soft.index.labels.tolist())
    columns: dict[str, Any] = {ITEM: pl.Series(soft.index.items.tolist(), dtype=pl.String)}
    for name, values in {**labels, COUNT: soft.count, **beside}.items():
        column = pl.Series(np.ascontiguousarray(values))
        columns[name] = column if name == COUNT or soft.answered.all() else column.fill_nan(None)
    return pl.DataFrame(columns)


def _columns(arrays: Mapping[str, Floats], labels: Sequence[str]) -> dict[str, Floats]:
    """Arrays (m, k) as one column per class, ``NAME:CLASS`` (or ``CLASS`` alone for the label
    itself); arrays (m,) as they are."""
    columns: dict[str, Floats] = {}
    for name, array in arrays.items():
        if array.ndim == 1:
            columns[name] = array
        else:
            before = f"{name}:" if name else ""
            columns |= {f"{before}{label}": array[:, j] for j, label in enumerate(labels)}
    return columns


def _votes_frame(said: Annotations) -> pl.DataFrame:
    labels = said.index.labels.tolist()
    if said.label is not None:
        kind = pl.Enum(labels)  # Parquet keeps the classes that nobody chose, and their order
        votes = pl.Series(labels, dtype=kind).gather(said.label)
        return pl.DataFrame(who(said) | {LABEL: votes})
    refuse_classes(labels, RESERVED)
    soft = said.soft()
    columns = {label: np.ascontiguousarray(soft[:, j]) for j, label in enumerate(labels)}
    return pl.DataFrame(who(said) | columns)


def _write(frame: pl.DataFrame, path: Path, kind: str) -> None:
    if kind == "csv":
        escaped_table(frame).write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_ndjson(path)
