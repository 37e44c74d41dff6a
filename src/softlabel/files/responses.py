"""What people said, as collected: one JSON object per answer, read by the mode that asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from softlabel import registry
from softlabel.elicit import Answer, Hard, Mode
from softlabel.errors import FileError, ResponseError, UnknownName
from softlabel.files import jsontext
from softlabel.files.classic import with_repairs
from softlabel.files.codes import coded
from softlabel.files.sheet import short
from softlabel.reading import stack
from softlabel.tables import ANONYMOUS, Annotations, Index, Ints, Statements, names

SCHEMA = "softlabel.response/1"
KINDS = ("target", "repeat")
KEYS = ("schema", "item", "annotator", "labels", "presentation", "answer")

Line = tuple[int, dict[str, Any]]


def read_responses(
    path: Path, data: bytes, labels: list[str] | None, mode: Mode | None = None
) -> tuple[Statements | Annotations, Callable[[int], int]]:
    """The statements, and the line of each; votes, if all that was asked for were votes.

    ``mode`` reads the answers given through the mode of its name, instead of that mode's defaults.
    """
    rows = list(jsontext.lines(path, data))
    for row in rows:
        _check_envelope(path, row)
    # a file may hold answers in any order, but what was shown first counts as first
    rows.sort(key=lambda row: KINDS.index(row[1]["presentation"]["kind"]))
    labels = _labels(path, rows, labels)
    answers = [_answer(path, row, labels, mode) for row in rows]
    items, item = coded(pl.Series([_name(path, row, "item") for row in rows]))
    people, annotator = _people(path, rows)
    index = Index(names(items), names(people), names(labels))
    numbers = [line for line, _ in rows]
    if {row[1]["presentation"]["mode"] for row in rows} == {Hard.name}:
        votes = np.array([answer.named[0] for answer in answers])
        return Annotations(index, item, annotator, label=votes), numbers.__getitem__
    return stack(index, item, annotator, answers), numbers.__getitem__


def _wrong(path: Path, row: Line, column: str, value: object, reason: str) -> FileError:
    return FileError(path, reason, line=row[0], column=column, value=short(value))


def _check_envelope(path: Path, row: Line) -> None:
    """The keys that every response has; more are allowed and not looked at."""
    line, response = row
    for key in KEYS:
        if key not in response:
            raise FileError(path, "a response must have this key", line=line, column=key)
    if response["schema"] != SCHEMA:
        raise _wrong(path, row, "schema", response["schema"], f"must be {SCHEMA!r}")
    shown = response["presentation"]
    if not isinstance(shown, dict):
        raise _wrong(path, row, "presentation", shown, "must be an object")
    if shown.get("kind") not in KINDS:
        reason = f"must be {' or '.join(KINDS)}"
        raise _wrong(path, row, "presentation.kind", shown.get("kind"), reason)


def _labels(path: Path, rows: list[Line], wanted: list[str] | None) -> list[str]:
    """The classes of the file, in the order wanted; every line must hold the same list."""
    found = rows[0][1]["labels"]
    try:
        if not isinstance(found, list) or not found:
            raise ValueError("must be a list of all classes")
        labels = [jsontext.name(label) for label in found]
        if len(set(labels)) != len(labels):
            raise ValueError("holds a class twice")
    except ValueError as error:
        raise _wrong(path, rows[0], "labels", found, str(error)) from None
    for row in rows:
        if row[1]["labels"] != found:
            reason = f"must be the list of line {rows[0][0]}: {', '.join(labels)}"
            raise _wrong(path, row, "labels", row[1]["labels"], reason)
    if wanted is not None and sorted(wanted) != sorted(labels):
        reason = f"these are not the classes asked for: {', '.join(wanted)}"
        raise _wrong(path, rows[0], "labels", found, reason)
    return wanted or labels


def _name(path: Path, row: Line, key: str) -> str:
    try:
        return jsontext.name(row[1][key])
    except ValueError as error:
        raise _wrong(path, row, key, row[1][key], str(error)) from None


def _people(path: Path, rows: list[Line]) -> tuple[list[str], Ints]:
    """Null on every line: they were never released; null on some lines: a mistake."""
    nobody = [row for row in rows if row[1]["annotator"] is None]
    if len(nobody) == len(rows):
        return [], np.full(len(rows), ANONYMOUS)
    if nobody:
        reason = "is null here but named elsewhere; name all of them or none"
        raise _wrong(path, nobody[0], "annotator", None, reason)
    return coded(pl.Series([_name(path, row, "annotator") for row in rows]))


def _answer(path: Path, row: Line, labels: Sequence[str], given: Mode | None) -> Answer:
    line, response = row
    shown = response["presentation"]
    name = str(shown.get("mode"))
    try:
        mode = given if given is not None and given.name == name else registry.get("mode", name)()
    except UnknownName as error:
        raise FileError(path, str(error), line=line, column="presentation.mode") from None
    version = shown.get("mode_version")
    if type(version) is not int or version != mode.version:
        reason = f"answers of the mode {mode.name!r} are read in version {mode.version} only"
        raise _wrong(path, row, "presentation.mode_version", version, reason)
    try:
        answer: Answer = mode.read(response["answer"], labels)
    except ResponseError as error:
        column = "answer" if error.field == "answer" else f"answer.{error.field}"
        raise _wrong(path, row, column, error.value, error.reason) from None
    return with_repairs(answer, response.get("repairs", ()))
