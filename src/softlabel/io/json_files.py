"""JSON read strictly: one object per file, one object per line, and votes as lines."""

import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from softlabel._util.files import shorten
from softlabel.errors import FileError
from softlabel.io.columns import APART, MACHINES, SECONDS, find
from softlabel.io.sheet import Reading, Shape, Sheet, detect_shape
from softlabel.records import Line, json_type, parse_name


def parse_lines(path: Path, data: bytes) -> Iterator[Line]:
    """Yield each object with the number of its line; skip blank lines."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.isspace():
            # where a line breaks off is its end, not the beginning of the next
            yield number, parse_object(path, line.rstrip(), number)


def parse_object(path: Path, data: bytes, line: int | None = None) -> dict[str, Any]:
    """Return the one object in these bytes."""
    value = parse_json(path, data, line)
    if not isinstance(value, dict):
        raise FileError(path, f"must be a JSON object {{…}}, not {json_type(value)}", line=line)
    return value


def parse_json(path: Path, data: bytes, line: int | None = None) -> Any:
    """Return the one value in these bytes."""
    try:
        return json.loads(data.decode(), object_pairs_hook=_refuse_repeated_keys)
    except json.JSONDecodeError as error:
        reason = f"is not JSON: {error.msg} at character {error.colno}"
        if line is None and error.msg == "Extra data":
            reason += "; the name of a file of JSON lines must end in .jsonl"
        raise FileError(path, reason, line=error.lineno if line is None else line) from None
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not JSON that can be read: {error}", line=line) from None


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    parsed = dict(pairs)
    if len(parsed) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return parsed


def read_vote_lines(path: Path, data: bytes, reading: Reading) -> tuple[Sheet, Shape]:
    """Read one object per vote; the keys of the first line are the columns.

    An annotator that is null on every line was not released; null on some lines is a mistake, or
    missing.
    """
    number, first = next(parse_lines(path, data))
    shape = detect_shape(path, list(first), reading.columns)
    _check_keys(path, number, shape)
    soft, drop = shape.kind == "soft", reading.missing == "drop"
    parsers: dict[str, Callable[[Any], Any]] = {
        shape.item: parse_name,
        **dict.fromkeys(shape.answer, _parse_probability if soft else parse_name),
    }
    if shape.annotator is not None:
        parsers[shape.annotator] = lambda value: None if value is None else parse_name(value)
    if drop:
        parsers = {name: _or_null(parse) for name, parse in parsers.items()}
    columns: dict[str, list[Any]] = {name: [] for name in parsers}
    numbers: list[int] = []
    kind = find("kind", list(first))
    for line, row in parse_lines(path, data):
        _refuse_model(path, line, row, kind)
        for column, parse in parsers.items():
            try:
                columns[column].append(parse(row[column]))
            except KeyError:
                raise FileError(path, "this key is missing", line=line, column=column) from None
            except ValueError as error:
                value = shorten(row[column])
                raise FileError(path, str(error), line=line, column=column, value=value) from None
        if soft and len(row) > len(columns):
            odd = next(key for key in row if key not in columns)
            raise FileError(path, "the first line has no such class", line=line, column=odd)
        numbers.append(line)
    people = columns[shape.annotator] if shape.annotator is not None else []
    named = [person is not None for person in people]
    if any(named) and not all(named) and not drop:
        reason = "is null here but named elsewhere; name all of them or none"
        raise FileError(path, reason, line=numbers[named.index(False)], column="annotator")
    kinds: dict[str, pl.DataType] = dict.fromkeys(columns, pl.String())
    if soft:
        kinds |= dict.fromkeys(shape.answer, pl.Float64())
    frame = _add_texts(pl.DataFrame(columns, schema=kinds), path, data, (SECONDS, shape.count))
    return Sheet(path, frame, numbers.__getitem__, anonymous=not any(named)), shape


def _add_texts(
    frame: pl.DataFrame, path: Path, data: bytes, wanted: Iterable[str | None]
) -> pl.DataFrame:
    """Return the table with these keys as texts, where the first line has them."""
    first = next(parse_lines(path, data))[1]
    for name in wanted:
        if name is not None and name in first and name not in frame.columns:
            cells = (row.get(name) for _, row in parse_lines(path, data))
            texts = [None if cell is None else str(cell) for cell in cells]
            frame = frame.with_columns(pl.Series(name, texts, dtype=pl.String))
    return frame


def _or_null(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a parser that lets null and empty text pass: what to do with them comes later."""
    return lambda value: None if value is None or value == "" else parse(value)


def _refuse_model(path: Path, line: int, row: dict[str, Any], kind: str | None) -> None:
    if kind is not None and str(row.get(kind)).lower() in MACHINES:
        raise FileError(path, APART, line=line, column=kind, value=row[kind])


def _check_keys(path: Path, line: int, shape: Shape) -> None:
    for column in shape.answer:
        try:
            parse_name(column)
        except ValueError as error:
            raise FileError(path, f"a key {error}", line=line, value=column) from None
    if shape.kind == "classic":
        raise FileError(path, "responses in JSON lines need the key 'schema'", line=line)


def _parse_probability(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("not a number, so no probability")
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a probability must be a finite number") from None
