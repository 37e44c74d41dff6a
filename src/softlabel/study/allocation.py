"""Which item is in which batch: the file published with CIFAR-10S, and our own form of it.

Published is a list that holds one object, from the batch to a list of ``{"filename",
"data_split", "example_idx", "label"}``, as JSON or as the JavaScript file it was.  Our own form
is ``{"classes", "batches", "repeats"}``, whose entries are ``{"id", "file", "gold"}``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from softlabel.errors import nearest
from softlabel.study.findings import Findings
from softlabel.study.places import Refused, find_text
from softlabel.study.rows import load_json
from softlabel.study.scope import Row, fault_of_name
from softlabel.study.settings import FILE

KEY = "items.allocation"
SCRIPT = re.compile(r"\s*(?:var|let|const)\s+\w+\s*=(.*?);?\s*", re.DOTALL)
PUBLISHED = {"image": "filename", "id": "example_idx", "gold": "label"}  # our word: theirs
OURS = {"image": "file"}
SHAPE = "must be a list that holds one object of batches, or an object with the key batches"


@dataclass(frozen=True)
class Allocation:
    """Entries by batch, and what else the file settles."""

    file: str
    batches: dict[str, list[Row]]
    classes: tuple[str, ...] | None = None
    repeats: int | None = None
    positions: tuple[int, ...] | None = None


def read_allocation(folder: Path, name: str | None, findings: Findings) -> Allocation | None:
    """The allocation that ``study.toml`` names, or None."""
    if name is None:
        return None
    try:
        text = find_text(folder, name)
    except Refused as error:
        findings.wrong(FILE, KEY, name, str(error))
        return None
    script = SCRIPT.fullmatch(text)
    try:
        return _read(name, load_json(script[1] if script else text), findings)
    except Refused as error:
        findings.wrong(name, "", None, str(error))
        return None


def _read(name: str, found: Any, findings: Findings) -> Allocation:
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], dict):
        return Allocation(name, _batches(name, found[0], PUBLISHED, findings))
    if not isinstance(found, dict) or not isinstance(found.get("batches"), dict):
        raise Refused(SHAPE)
    known = ("classes", "batches", "repeats")
    for key in found:
        if key not in known:
            findings.wrong(name, key, None, f"no such key{nearest(key, known)}")
    batches = _batches(name, found["batches"], OURS, findings)
    classes = _classes(name, found.get("classes"), findings)
    repeats, positions = _repeats(name, found.get("repeats"), findings)
    return Allocation(name, batches, classes, repeats, positions)


def _batches(
    name: str, found: dict[str, Any], words: dict[str, str], findings: Findings
) -> dict[str, list[Row]]:
    """Rows by batch, their cells called as in a table of items."""
    batches = {}
    for batch, entries in found.items():
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            findings.wrong(name, f"batch {batch}", None, "must be a list of objects")
            continue
        if not entries:
            findings.wrong(name, f"batch {batch}", None, "holds no item")
            continue
        if fault := fault_of_name(batch):
            findings.wrong(name, "batch", batch, fault)
        batches[batch] = [
            Row(name, f"batch {batch}[{number}]", _renamed(entry, words), words)
            for number, entry in enumerate(entries)
        ]
    if not found:
        findings.wrong(name, "", None, "holds no batch")
    return batches


def _renamed(entry: dict[str, Any], words: dict[str, str]) -> dict[str, Any]:
    columns = {word: column for column, word in words.items()}
    given = {key: value for key, value in entry.items() if value not in (None, "")}
    return {columns.get(key, key): value for key, value in given.items()}


def _classes(name: str, found: Any, findings: Findings) -> tuple[str, ...] | None:
    if found is None:
        return None
    if isinstance(found, list) and all(isinstance(label, str) for label in found):
        return tuple(found)
    findings.wrong(name, "classes", None, 'must be a list of labels: ["cat", "dog"]')
    return None


def _repeats(
    name: str, found: Any, findings: Findings
) -> tuple[int | None, tuple[int, ...] | None]:
    if found is None:
        return None, None
    if isinstance(found, dict) and set(found) <= {"count", "positions"}:
        count, positions = found.get("count"), found.get("positions")
        listed = [] if positions is None else positions
        numbers = [0 if count is None else count, *(listed if isinstance(listed, list) else [""])]
        if all(type(number) is int and number >= 0 for number in numbers):
            return count, None if positions is None else tuple(positions)
    findings.wrong(name, "repeats", None, 'must be {"count": 2, "positions": [5, 10]}')
    return None, None
