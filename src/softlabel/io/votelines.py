"""Votes as JSON lines: one object per vote, its keys are the columns."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from softlabel.errors import FileError
from softlabel.io import jsontext
from softlabel.io.shapes import Shape, shape_of
from softlabel.io.sheet import Sheet, short


def read_vote_lines(path: Path, data: bytes) -> tuple[Sheet, Shape]:
    """The table; its first line says which columns there are.

    An annotator that is null on every line was never released; null on some lines is a mistake.
    """
    number, first = next(jsontext.lines(path, data))
    shape = shape_of(path, list(first))
    for column in shape.answer:
        try:
            jsontext.name(column)
        except ValueError as error:
            raise FileError(path, f"a key {error}", line=number, value=column) from None
    if shape.kind == "classic":
        raise FileError(path, "responses in JSON lines need the key 'schema'", line=number)
    readers = _readers(shape)
    columns: dict[str, list[Any]] = {name: [] for name in readers}
    numbers: list[int] = []
    for line, row in jsontext.lines(path, data):
        for column, read in readers.items():
            try:
                columns[column].append(read(row[column]))
            except KeyError:
                raise FileError(path, "this key is missing", line=line, column=column) from None
            except ValueError as error:
                value = short(row[column])
                raise FileError(path, str(error), line=line, column=column, value=value) from None
        if shape.kind == "soft" and len(row) > len(columns):
            odd = next(key for key in row if key not in columns)
            raise FileError(path, "the first line has no such class", line=line, column=odd)
        numbers.append(line)
    anonymous = _nobody_is_known(path, columns[shape.annotator], numbers)
    kinds: dict[str, pl.DataType] = dict.fromkeys(columns, pl.String())
    if shape.kind == "soft":
        kinds |= dict.fromkeys(shape.answer, pl.Float64())
    frame = pl.DataFrame(columns, schema=kinds)
    return Sheet(path, frame, numbers.__getitem__, anonymous), shape


def _nobody_is_known(path: Path, people: list[str | None], numbers: list[int]) -> bool:
    known = [person is not None for person in people]
    if any(known) and not all(known):
        reason = "is null here but named elsewhere; name all of them or none"
        raise FileError(path, reason, line=numbers[known.index(False)], column="annotator")
    return not any(known)


def _readers(shape: Shape) -> dict[str, Callable[[Any], Any]]:
    """What a cell of each column must be: a name, perhaps none, or a number."""
    readers = {shape.item: jsontext.name, shape.annotator: _person}
    answer = _number if shape.kind == "soft" else jsontext.name
    return readers | dict.fromkeys(shape.answer, answer)


def _person(value: Any) -> str | None:
    return None if value is None else jsontext.name(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("not a number, so no probability")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a probability must be a finite number") from None
