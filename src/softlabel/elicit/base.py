"""What a way of asking is: what it asks, how its answers are read, who answers in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np

from softlabel.tables import Bools, Floats

Payload = Mapping[str, Any]

# a class; a chance in percent; a set of classes; classes in order; whole numbers on classes;
# a step on a scale, from 1; what is said of everything not named
Kind = Literal["choice", "percent", "subset", "choices", "chips", "scale", "rest"]


@dataclass(frozen=True)
class Field:
    """One thing asked: the key under which it is recorded, and what may stand there.

    ``asks`` is the question as put to a person about their own belief; other wordings (what would
    others say?) belong to the page.
    """

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
    """A way of asking.  ``version`` is written into every answer given through it.

    A mode may also have ``earlier``, a tuple of the older versions whose answers ``read`` takes.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    fields: ClassVar[tuple[Field, ...]]

    def rules(self) -> dict[str, Any]:
        """The options that a page needs to know in order to ask, as JSON."""

    def read(self, payload: Payload, labels: Sequence[str]) -> Answer:
        """One recorded answer; one that cannot be read raises ``ResponseError`` with field and
        reason."""

    def simulate(
        self, belief: Floats, labels: Sequence[str], rng: np.random.Generator
    ) -> dict[str, Any]:
        """What a person who believes ``belief[k]`` would send."""


def versions_read(mode: Mode) -> tuple[int, ...]:
    """The versions of a mode whose answers it reads: older ones if it names them, and its own."""
    return (*getattr(mode, "earlier", ()), mode.version)
