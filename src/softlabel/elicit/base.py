"""What a way of asking is: what it asks, how its answers are read, who answers in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from softlabel.errors import ResponseError, nearest
from softlabel.tables import Bools, Floats

Payload = Mapping[str, Any]
Kind = Literal["choice", "percent", "subset"]


@dataclass(frozen=True)
class Field:
    """One thing asked: the key under which it is recorded, and what may stand there."""

    name: str
    kind: Kind
    required: bool
    asks: str


class Answer(NamedTuple):
    """One answer, read: a row of ``Statements``."""

    named: tuple[int, ...]
    percent: tuple[float, ...]
    possible: Bools
    repairs: tuple[str, ...] = ()


class Mode(Protocol):
    """A way of asking.  ``version`` is written into every answer given through it."""

    name: ClassVar[str]
    version: ClassVar[int]
    fields: ClassVar[tuple[Field, ...]]

    def read(self, payload: Payload, labels: Sequence[str]) -> Answer:
        """One recorded answer; a malformed one raises ``ResponseError`` with field and reason."""

    def simulate(
        self, belief: Floats, labels: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """What a person who believes ``belief[k]`` would send."""


def read_class(field: str, value: Any, codes: Mapping[str, int]) -> int:
    """The code of a class, or ``ResponseError`` with the nearest spelling."""
    name = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(name, str) and name in codes:
        return codes[name]
    hint = nearest(str(value), codes) or f"; classes are {', '.join(codes)}"
    raise ResponseError(field, value, f"no such class{hint}")


def codes_of(labels: Sequence[str]) -> dict[str, int]:
    """The code of each class."""
    return {label: code for code, label in enumerate(labels)}


def refuse_unknown_keys(payload: Payload, fields: tuple[Field, ...]) -> None:
    """An answer is a set of known fields; anything else means it was made by another mode."""
    if not isinstance(payload, Mapping):
        raise ResponseError("answer", payload, "an answer is a set of named fields")
    known = {field.name for field in fields}
    for key in payload:
        if key not in known:
            raise ResponseError(str(key), payload[key], f"no such field; there are {sorted(known)}")
    for field in fields:
        if field.required and payload.get(field.name) in (None, ""):
            raise ResponseError(field.name, payload.get(field.name), "this field must be answered")
