"""Which of the accepted shapes a table has, told by its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from softlabel.errors import FileError, nearest

ITEM, ANNOTATOR, LABEL = "item", "annotator", "label"
ALIASES = {ITEM: (ITEM, "task"), ANNOTATOR: (ANNOTATOR, "worker")}
CLASSIC = ("top", "p1", "second", "p2", "impossible")
RESERVED = ("task", "worker", ITEM, ANNOTATOR, LABEL, "top")  # no class of soft votes may be
ACCEPTED = (
    "accepted are hard votes (item, annotator, label), soft votes (item, annotator, one column per "
    "class) and classic responses (item, annotator, top, p1, second, p2, impossible)"
)

Kind = Literal["hard", "soft", "classic"]


@dataclass(frozen=True)
class Shape:
    """The kind of table, the names of its id columns, and the columns that hold the answer."""

    kind: Kind
    item: str
    annotator: str
    answer: tuple[str, ...]


def shape_of(path: Path, columns: Sequence[str]) -> Shape:
    """Hard votes if there is a ``label``, responses if there is a ``top``, else soft votes."""
    item, annotator = (_find(path, columns, name) for name in (ITEM, ANNOTATOR))
    rest = tuple(column for column in columns if column not in (item, annotator))
    if LABEL in rest:
        return Shape("hard", item, annotator, (LABEL,))
    if "top" in rest:
        for column in CLASSIC:
            if column not in rest:
                raise _missing(path, columns, column)
        return Shape("classic", item, annotator, CLASSIC)
    if not rest:
        raise _missing(path, columns, LABEL)
    for column in rest:
        if not column.strip():
            raise FileError(path, f"a column of soft votes has no name; {ACCEPTED}")
    return Shape("soft", item, annotator, rest)


def _find(path: Path, columns: Sequence[str], name: str) -> str:
    found = [column for column in ALIASES[name] if column in columns]
    if not found:
        raise _missing(path, columns, name)
    if len(found) > 1:
        raise FileError(path, f"both {found[0]!r} and {found[1]!r} are there; one must go")
    return found[0]


def _missing(path: Path, columns: Sequence[str], name: str) -> FileError:
    hint = nearest(name, columns).replace("did you mean", "is it")
    if len(columns) == 1:
        mark = next((mark for mark in (";", "\t", "|") if mark in columns[0]), None)
        hint += f" (cells must be separated by commas, not by {mark!r})" if mark else ""
    there = ", ".join(map(repr, columns[:20])) + (", …" if len(columns) > 20 else "")
    return FileError(path, f"no such column{hint}; there are {there}; {ACCEPTED}", column=name)
