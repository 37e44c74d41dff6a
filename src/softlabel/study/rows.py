"""Lines of a ``.csv`` or ``.jsonl`` file, as they stand there."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softlabel.errors import nearest
from softlabel.study.findings import Findings
from softlabel.study.places import Refused
from softlabel.study.scope import Row

KINDS = (".csv", ".jsonl")


def read_rows(name: str, text: str, findings: Findings) -> list[Row]:
    """Every line that can be read; of the others the findings tell."""
    suffix = Path(name).suffix.lower()
    if suffix not in KINDS:
        raise Refused(f"must end in {' or '.join(KINDS)}{nearest(suffix, KINDS)}")
    return list((_csv if suffix == ".csv" else _jsonl)(name, text, findings))


def _csv(name: str, text: str, findings: Findings) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            place, line = f"line {line}", reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if header is None:
                header = [cell.strip() for cell in cells]
                _check_header(name, header, findings)
            elif len(cells) != len(header):
                wrong = f"has {len(cells)} cells; the first line names {len(header)} columns"
                findings.wrong(name, place, None, wrong)
            else:
                yield Row(name, place, {k: v for k, v in zip(header, cells, strict=True) if v})
    except csv.Error as error:
        findings.wrong(name, f"line {reader.line_num}", None, f"is not CSV: {error}")


def _check_header(name: str, header: list[str], findings: Findings) -> None:
    for column in dict.fromkeys(header):
        if not column:
            findings.wrong(name, "line 1", None, "a column has no name")
        elif header.count(column) > 1:
            findings.wrong(name, "line 1", column, "two columns have this name")


def _jsonl(name: str, text: str, findings: Findings) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            cells = load_json(line)
        except Refused as error:
            findings.wrong(name, f"line {number}", None, str(error))
            continue
        if isinstance(cells, dict):
            yield Row(
                name, f"line {number}", {k: v for k, v in cells.items() if v not in (None, "")}
            )
        else:
            findings.wrong(name, f"line {number}", None, 'must be an object: {"text": "…"}')


def load_json(text: str) -> Any:
    """What a JSON text says; the same key twice, NaN, endless nesting and halves of characters
    are refused."""
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        json.dumps(found, ensure_ascii=False).encode()
        return found
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Refused(f"is not JSON: {error.msg} ({place})") from error
    except RecursionError as error:
        raise Refused("is not JSON of ours: it is nested too deeply") from error
    except UnicodeEncodeError as error:
        raise Refused("is not JSON of ours: it holds half a character") from error
    except ValueError as error:  # a number of thousands of digits
        raise Refused(f"is not JSON of ours: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise Refused(f"has the key {twice!r} twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise Refused(f"is not JSON: {name} is no number")
