"""Statements as answers to the classic form: the way back from ``softlabel.io.responses``."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from softlabel.elicit import Classic, c22
from softlabel.errors import DataError
from softlabel.io.classic import JOIN, REPAIRS
from softlabel.io.envelope import SCHEMA
from softlabel.io.shapes import CLASSIC
from softlabel.sampling import first_presentation
from softlabel.tables import ANONYMOUS, Statements, broken


def payloads(said: Statements) -> Iterator[dict[str, Any]]:
    """Each row as the classic form would have recorded it."""
    named, percent = said.named, said.percent
    third = "a third class is named, and the classic form asks for two; export soft votes instead"
    broken("Statements", (named[:, 2:] >= 0).any(axis=1), f"{third} (--construct clamp)")
    first = percent[:, 0] if named.shape[1] else np.full(len(said), math.nan)
    broken("Statements", np.isnan(first), "no first class with a chance; the form asks for one")
    labels = said.index.labels
    for row in range(len(said)):
        two = named.shape[1] > 1 and named[row, 1] >= 0
        yield {
            "top": labels[named[row, 0]],
            "p1": float(percent[row, 0]),
            "second": labels[named[row, 1]] if two else None,
            "p2": float(percent[row, 1]) if two and not math.isnan(percent[row, 1]) else None,
            "impossible": labels[~said.possible[row]].tolist(),
        }


def as_json_lines(said: Statements) -> str:
    """One response per line."""
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _responses(said))


def _responses(said: Statements) -> Iterator[dict[str, Any]]:
    items, people = said.index.items.tolist(), said.index.annotators.tolist()
    labels = said.index.labels.tolist()
    first, mended = first_presentation(said), _mended(said)
    for row, answer in enumerate(payloads(said)):
        person = said.annotator[row]
        yield {
            "schema": SCHEMA,
            "item": items[said.item[row]],
            "annotator": None if person == ANONYMOUS else people[person],
            "labels": labels,
            "presentation": {
                "kind": "target" if first[row] else "repeat",
                "mode": Classic.name,
                "mode_version": Classic.version,
            },
            "answer": answer,
        } | ({REPAIRS: mended[row]} if mended[row] else {})


def _mended(said: Statements) -> list[list[str]]:
    """The names of the repairs made in each row."""
    repairs = said.repairs.items()
    return [[name for name, rows in repairs if rows[row]] for row in range(len(said))]


def table(said: Statements, who: dict[str, pl.Series]) -> pl.DataFrame:
    """One row per answer; the classes ruled out are joined by ``|``, repairs (if any) likewise."""
    odd = [name for name in said.index.labels.tolist() if JOIN in name]
    if odd:
        raise DataError(f"the class {odd[0]!r} holds {JOIN!r}, which separates classes in a table")
    rows = [row | {"impossible": JOIN.join(row["impossible"]) or None} for row in payloads(said)]
    numbers = {"p1": pl.Float64(), "p2": pl.Float64()}
    schema = {name: numbers.get(name, pl.String()) for name in CLASSIC}
    frame = pl.DataFrame(who).hstack(pl.DataFrame(rows, schema=schema))
    mended = [JOIN.join(names) or None for names in _mended(said)]
    if any(mended):
        frame = frame.with_columns(pl.Series(REPAIRS, mended, dtype=pl.String))
    return frame


def as_json(said: Statements) -> str:
    """The shape in which CIFAR-10S was released: records by item, without annotators."""
    for label in said.index.labels.tolist():
        if label.lower() in c22.NO_ALTERNATIVE:
            raise DataError(f"a class is called {label!r}, which in .json means no alternative")
    items = said.index.items.tolist()
    records: dict[str, list[dict[str, Any]]] = {}
    for row, answer in enumerate(payloads(said)):
        records.setdefault(items[said.item[row]], []).append(c22.to_record(answer))
    return json.dumps(records, ensure_ascii=False)
