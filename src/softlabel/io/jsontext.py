"""JSON, strictly: one object per line, or one object per file."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softlabel.errors import FileError


def lines(path: Path, data: bytes) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each object with the number of its line; blank lines are passed over."""
    for number, line in enumerate(io.BytesIO(data), 1):
        if not line.isspace():
            yield number, an_object(path, line, number)


def an_object(path: Path, data: bytes, line: int | None = None) -> dict[str, Any]:
    """The one object in these bytes."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_no_key_twice)
    except json.JSONDecodeError as error:
        place = error.lineno if line is None else line
        raise FileError(
            path, f"is not JSON: {error.msg} at character {error.colno}", line=place
        ) from None
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is not JSON that can be read: {error}", line=line) from None
    if not isinstance(value, dict):
        raise FileError(path, f"must be a JSON object {{…}}, not {_kind(value)}", line=line)
    return value


def name(value: object) -> str:
    """Text, or a whole number as text; ``ValueError`` says why something else is no name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"must be text or a whole number, not {_kind(value)}")
    if not value or value.isspace():
        raise ValueError("is empty")
    if "\0" in value:
        raise ValueError("holds a NUL character")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half a character (a lone surrogate)") from None
    return value


def is_name(value: object) -> bool:
    """True for what ``name`` takes."""
    try:
        name(value)
    except ValueError:
        return False
    return True


def _kind(value: object) -> str:
    kinds = {type(None): "null", bool: "true or false", list: "a list", dict: "an object"}
    return kinds.get(type(value), "text" if isinstance(value, str) else "a number")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found
