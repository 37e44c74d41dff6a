"""Soft labels and answers to files, each in the shape in which it can be read again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel.errors import DataError
from softlabel.files import answers
from softlabel.files.aside import aside
from softlabel.files.opening import kind_of
from softlabel.files.shapes import ANNOTATOR, ITEM, LABEL, RESERVED
from softlabel.tables import ANONYMOUS, Annotations, SoftLabels, Statements

SOFT_KINDS = ("csv", "parquet", "jsonl", "npz")
SAID_KINDS = ("csv", "parquet", "jsonl", "json")
COUNT = "count"


def write_soft(soft: SoftLabels, path: str | Path) -> None:
    """``item``, one column per class, ``count``; an item nobody answered has empty cells."""
    path = Path(path)
    kind = kind_of(path, SOFT_KINDS)
    refuse_classes(soft.index.labels.tolist(), (ITEM, COUNT))
    with aside(path) as part:
        if kind == "npz":
            soft.save(part)
        else:
            _write(_soft_frame(soft), part, kind)


def write_said(said: Statements | Annotations, path: str | Path) -> None:
    """What was said, one row per answer: responses, hard votes or soft votes."""
    path = Path(path)
    kind = kind_of(path, SAID_KINDS)
    if isinstance(said, Statements) and kind in ("json", "jsonl"):
        text = answers.as_json(said) if kind == "json" else answers.as_json_lines(said)
        with aside(path) as part:
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
    with aside(path) as part:
        _write(frame, part, kind)


def write_rows(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """A table of any kind, as CSV."""
    with aside(path) as part:
        pl.DataFrame(rows).write_csv(part)


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


def _soft_frame(soft: SoftLabels) -> pl.DataFrame:
    columns: dict[str, Any] = {ITEM: pl.Series(soft.index.items.tolist(), dtype=pl.String)}
    for j, label in enumerate(soft.index.labels.tolist()):
        column = pl.Series(np.ascontiguousarray(soft.probs[:, j]))
        columns[label] = column if soft.answered.all() else column.fill_nan(None)
    return pl.DataFrame(columns | {COUNT: np.asarray(soft.count)})


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
        frame.write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_ndjson(path)
