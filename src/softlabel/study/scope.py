"""What the readers of items share: the folder, its labels, the ids taken so far, the findings."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from softlabel.study.findings import Findings


@dataclass(frozen=True)
class Scope:
    """Where items are read, and against what they are checked."""

    folder: Path
    findings: Findings
    labels: tuple[str, ...] | None  # None: they could not be read, and names are not checked
    ids: set[str] = field(default_factory=set)
    certain: dict[str, tuple[float, ...]] = field(default_factory=dict)  # gold that is one label

    @cached_property
    def codes(self) -> Mapping[str, int]:
        """The place of each label."""
        return {label: code for code, label in enumerate(self.labels or ())}


class Row(NamedTuple):
    """One line of a file of items, or one entry of an allocation."""

    file: str
    place: str  # "line 7"
    cells: Mapping[str, Any]
    words: Mapping[str, str] = MappingProxyType({})  # what the file calls a column, if otherwise

    def wrong(self, scope: Scope, column: str, reason: str, known: Iterable[str] = ()) -> None:
        """Note a mistake in a cell of this line."""
        self.wrong_value(scope, column, self.cells.get(column), reason, known)

    def wrong_value(
        self, scope: Scope, column: str, value: object, reason: str, known: Iterable[str] = ()
    ) -> None:
        """The same for a value that is only a part of the cell, or stands for it."""
        word = self.words.get(column, column)
        scope.findings.line(self.file, self.place, word, value, reason, known)


def fault_of_name(name: str) -> str | None:
    """Why a text cannot be the name of a label or an item, or None if it can."""
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a blank"
    if len(name) > 200:
        return "is longer than 200 characters"
    return "holds a control character" if holds_control(name) else None


def holds_control(text: str, allowed: str = "") -> bool:
    """Whether a text holds what no page can show: control characters, halves of characters."""
    return any(unicodedata.category(c) in ("Cc", "Cs") and c not in allowed for c in text)
