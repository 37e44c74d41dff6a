"""Answers to the form of Collins et al. 2022 in their two plain shapes: a table and their JSON."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel import records
from softlabel._util.files import shorten
from softlabel.elicit import Classic, Mode, c22
from softlabel.errors import DataError, FileError, ResponseError
from softlabel.io.json_files import parse_json
from softlabel.io.sheet import CLASSIC, Shape, Sheet
from softlabel.io.votes import encode, sort_naturally
from softlabel.records import REPAIRS, classic_answers, stack_answers
from softlabel.tables import ANONYMOUS, Index, Statements, names

SEPARATOR = "|"  # between the classes ruled out, in a table
SECOND, RULED_OUT = "Second Most Probable Class", "Impossible Class(es)"

Payload = dict[str, Any]


def read_classic(
    sheet: Sheet, shape: Shape, labels: list[str] | None, mode: Mode | None = None
) -> Statements:
    """Read top, p1, second, p2 and impossible (classes joined by ``|``); a column repairs, where
    there is one, names the repairs made before the table was written."""
    assert shape.annotator is not None, "responses have authors"
    sheet.refuse_empty(*shape.ids)
    for column in (*shape.ids, *CLASSIC):
        if sheet.frame[column].dtype.is_nested():
            reason = f"holds {sheet.frame[column].dtype}; cells must be text or numbers"
            raise FileError(sheet.path, reason, column=column)
    items, item = encode(sheet.frame[shape.item].cast(pl.String))
    people, annotator = encode(sheet.frame[shape.annotator].cast(pl.String))
    payloads = sheet.frame.select(pl.col(CLASSIC).cast(pl.String)).rows(named=True)
    for payload in payloads:
        ruled_out = payload["impossible"]
        payload["impossible"] = ruled_out.split(SEPARATOR) if ruled_out else []
    labels = labels or _occurring_classes(payloads)
    made = sheet.frame.get_column(REPAIRS, default=pl.Series([""] * len(payloads)))
    repairs = made.cast(pl.String).fill_null("").to_list()
    answers = []
    for row, payload in enumerate(payloads):
        try:
            answer = (mode or Classic()).read(payload, labels)
        except ResponseError as error:
            raise sheet.error(error.reason, row, error.field, error.value) from None
        answers.append(records.add_repairs(answer, filter(None, repairs[row].split(SEPARATOR))))
    index = Index(names(items), names(people), names(labels))
    return stack_answers(index, item, annotator, answers)


def read_collins(
    path: Path, data: bytes, labels: list[str] | None, mode: Mode | None = None
) -> Statements:
    """Read ``{item: [records]}``, the shape in which CIFAR-10S was released: without annotators."""
    items: list[str] = []
    payloads: dict[str, Payload] = {}  # by their place
    for name, given in _parse_items(path, data).items():
        if not isinstance(given, list):
            raise FileError(path, "must be a list of answers", column=name, value=shorten(given))
        for number, record in enumerate(given, 1):
            place = f"{name!r}, answer {number}"
            try:
                items.append(records.parse_name(name))
            except ValueError as error:
                raise FileError(path, f"an item {error}", value=shorten(name)) from None
            payloads[place] = _parse_collins(path, place, record)
    if not payloads:
        raise FileError(path, "holds no answers")
    labels = labels or _occurring_classes(payloads.values())
    answers = []
    for place, payload in payloads.items():
        try:
            answers.append((mode or Classic()).read(payload, labels))
        except ResponseError as error:
            reason, value = f"item {place}: {error.reason}", shorten(error.value)
            raise FileError(path, reason, column=error.field, value=value) from None
    images, item = encode(pl.Series(items))
    index = Index(names(images), names([]), names(labels))
    return stack_answers(index, item, np.full(len(item), ANONYMOUS), answers)


def _parse_items(path: Path, data: bytes) -> dict[str, Any]:
    """Return the one object of a file, in which something is a record or nothing is anything."""
    found = parse_json(path, data)
    entries = list(found.values()) if isinstance(found, dict) else [found]
    records = (one for entry in entries for one in (entry if isinstance(entry, list) else [entry]))
    ours = any(isinstance(one, dict) and one.keys() & set(c22.KEYS.values()) for one in records)
    if isinstance(found, dict) and (ours or not any(entry != [] for entry in entries)):
        return found
    raise FileError(
        path,
        "is none of the JSON files that softlabel knows: exports of other programs (see 'softlabel "
        "list format') and the JSON of CIFAR-10S; write answers as JSON lines, one object per line "
        'such as {"item": "a", "annotator": "ann", "label": "cat"}, to a file that ends in .jsonl',
    )


def _parse_collins(path: Path, place: str, record: Any) -> Payload:
    """Return one released record as a classic answer, after checking what ``c22`` relies on."""
    if not isinstance(record, dict):
        raise FileError(path, f"item {place}: must be an object", value=shorten(record))
    for key, kind, rule in ((SECOND, str, "a class or null"), (RULED_OUT, list, "a list")):
        value = record.get(key)
        if value is not None and not isinstance(value, kind):
            raise FileError(path, f"item {place}: must be {rule}", column=key, value=shorten(value))
    return c22.from_record(record)


def _occurring_classes(payloads: Iterable[Payload]) -> list[str]:
    """Return the classes that were named or ruled out by anybody, in natural order; what can be no
    class is left out, and refused when its answer is read."""
    classes: set[str] = set()
    for payload in payloads:
        for value in (payload["top"], payload["second"], *payload["impossible"]):
            if not isinstance(value, str) or not value.strip() or "\0" in value:
                continue
            if records.is_utf8(value):
                classes.add(value)
    return sort_naturally(classes)


def classic_table(statements: Statements, who: Mapping[str, pl.Series]) -> pl.DataFrame:
    """Make one row per answer; classes ruled out, and repairs if any, are joined by ``|``."""
    for label in statements.index.labels.tolist():
        if SEPARATOR in label:
            reason = f"holds {SEPARATOR!r}, which separates classes in a table"
            raise DataError(f"the class {label!r} {reason}")
    rows = [
        row | {"impossible": SEPARATOR.join(row["impossible"]) or None}
        for row in classic_answers(statements)
    ]
    numbers = {"p1": pl.Float64(), "p2": pl.Float64()}
    schema = {name: numbers.get(name, pl.String()) for name in CLASSIC}
    frame = pl.DataFrame(who).hstack(pl.DataFrame(rows, schema=schema))
    repairs = [SEPARATOR.join(names) or None for names in records.repairs_by_row(statements)]
    if any(repairs):
        frame = frame.with_columns(pl.Series(REPAIRS, repairs, dtype=pl.String))
    return frame


def collins_json(statements: Statements) -> str:
    """Write the shape in which CIFAR-10S was released: records by item, without annotators."""
    for label in statements.index.labels.tolist():
        if label.lower() in c22.NO_ALTERNATIVE:
            raise DataError(f"a class is called {label!r}, which in .json means no alternative")
    items = statements.index.items.tolist()
    by_item: dict[str, list[dict[str, Any]]] = {}
    for row, answer in enumerate(classic_answers(statements)):
        by_item.setdefault(items[statements.item[row]], []).append(c22.to_record(answer))
    return records.dump_json(by_item)
