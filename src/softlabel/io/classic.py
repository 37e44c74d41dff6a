"""Answers to the form of Collins et al. 2022 in their two plain shapes: a table, and their JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel.elicit import Answer, Classic, Mode, c22
from softlabel.errors import FileError, ResponseError
from softlabel.io import jsontext
from softlabel.io.codes import coded, natural
from softlabel.io.shapes import CLASSIC, Shape
from softlabel.io.sheet import Sheet, short
from softlabel.records import stack
from softlabel.tables import ANONYMOUS, Index, Statements, names

JOIN = "|"  # between the classes ruled out, in a table
REPAIRS = "repairs"
SECOND, RULED_OUT = "Second Most Probable Class", "Impossible Class(es)"

Payload = dict[str, Any]


def read_classic(
    sheet: Sheet, shape: Shape, labels: list[str] | None, mode: Mode | None = None
) -> Statements:
    """Columns top, p1, second, p2 and impossible; classes ruled out are joined by ``|``.

    A column repairs says, where there is one, which answers were mended before they were written.
    """
    sheet.refuse_empty(shape.item, shape.annotator)
    for column in (shape.item, shape.annotator, *CLASSIC):
        if sheet.frame[column].dtype.is_nested():
            reason = f"holds {sheet.frame[column].dtype}; cells must be text or numbers"
            raise FileError(sheet.path, reason, column=column)
    items, item = coded(sheet.frame[shape.item].cast(pl.String))
    people, annotator = coded(sheet.frame[shape.annotator].cast(pl.String))
    cells = sheet.frame.select(pl.col(CLASSIC).cast(pl.String)).rows(named=True)
    payloads = [_payload(row) for row in cells]
    labels = labels or seen(payloads)
    mended = [""] * len(payloads)
    if REPAIRS in sheet.frame.columns:
        mended = sheet.frame[REPAIRS].cast(pl.String).fill_null("").to_list()
    answers = []
    for row, payload in enumerate(payloads):
        try:
            answer = (mode or Classic()).read(payload, labels)
            answers.append(with_repairs(answer, filter(None, mended[row].split(JOIN))))
        except ResponseError as error:
            raise sheet.error(error.reason, row, error.field, error.value) from None
    return stack(Index(names(items), names(people), names(labels)), item, annotator, answers)


def with_repairs(answer: Answer, mended: Iterable[str]) -> Answer:
    """The answer, remembering also the repairs that were made before it was written."""
    return answer._replace(repairs=tuple(dict.fromkeys((*answer.repairs, *map(str, mended)))))


def _payload(row: Payload) -> Payload:
    ruled_out = row["impossible"]
    return row | {"impossible": ruled_out.split(JOIN) if ruled_out else []}


def read_collins(
    path: Path, data: bytes, labels: list[str] | None, mode: Mode | None = None
) -> Statements:
    """``{item: [records]}``, the shape in which CIFAR-10S was released: without annotators."""
    places: list[str] = []
    items: list[str] = []
    payloads: list[Payload] = []
    for name, records in jsontext.an_object(path, data).items():
        if not isinstance(records, list):
            raise FileError(path, "must be a list of answers", column=name, value=short(records))
        for number, record in enumerate(records, 1):
            places.append(f"{name!r}, answer {number}")
            items.append(_item(path, name))
            payloads.append(_record(path, places[-1], record))
    if not payloads:
        raise FileError(path, "holds no answers")
    labels = labels or seen(payloads)
    answers = [
        _read(path, place, payload, labels, mode or Classic())
        for place, payload in zip(places, payloads, strict=True)
    ]
    images, item = coded(pl.Series(items))
    index = Index(names(images), names([]), names(labels))
    return stack(index, item, np.full(len(item), ANONYMOUS), answers)


def _item(path: Path, name: str) -> str:
    try:
        return jsontext.name(name)
    except ValueError as error:
        raise FileError(path, f"an item {error}", value=short(name)) from None


def _record(path: Path, place: str, record: Any) -> Payload:
    """One released record as a classic answer; what ``c22`` takes for granted is checked first."""
    if not isinstance(record, dict):
        raise FileError(path, f"item {place}: must be an object", value=short(record))
    second, ruled_out = record.get(SECOND), record.get(RULED_OUT)
    if not (second is None or isinstance(second, str)):
        raise FileError(
            path, f"item {place}: must be a class or null", column=SECOND, value=short(second)
        )
    if not (ruled_out is None or isinstance(ruled_out, list)):
        raise FileError(
            path, f"item {place}: must be a list", column=RULED_OUT, value=short(ruled_out)
        )
    return c22.from_record(record)


def _read(path: Path, place: str, payload: Payload, labels: Sequence[str], mode: Mode) -> Answer:
    try:
        return mode.read(payload, labels)
    except ResponseError as error:
        raise FileError(
            path, f"item {place}: {error.reason}", column=error.field, value=short(error.value)
        ) from None


def seen(payloads: Iterable[Payload]) -> list[str]:
    """The classes that were named or ruled out by anybody, in natural order; what can be no class
    is left out, and refused when its answer is read."""
    found: set[str] = set()
    for payload in payloads:
        for value in (payload["top"], payload["second"], *payload["impossible"]):
            if isinstance(value, str) and jsontext.is_name(value):
                found.add(value)
    return natural(found)
