"""What a construction is, and what the constructions share."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

import numpy as np

from softlabel.tables import Annotations, Floats, Ints, Statements, broken, given_away

Semantics = Literal["strict", "reference"]
Top = Literal[1, 2, "all"]


class Construct(Protocol):
    """Builds one annotator's label from one answer, for all answers at once.

    ``ruled_out_stays_zero`` is a promise that ``testing.check_construct`` holds it to: a class
    that the person ruled out, and did not name, gets no mass.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    ruled_out_stays_zero: ClassVar[bool]

    def __call__(self, said: Statements) -> Annotations: ...


def percents(said: Statements, top: Top, mode: Semantics) -> Floats:
    """(n, k) percent on the first ``top`` classes named, or on all; 0 where there is no number.

    Of a class named twice, ``strict`` keeps the first number; ``reference`` the last, as the
    published code overwrites it.
    """
    values = np.zeros(said.possible.shape)
    width = said.named.shape[1]
    columns = range(width if top == "all" else min(top, width))
    for r in columns if mode == "reference" else reversed(columns):
        rows = np.flatnonzero((said.named[:, r] >= 0) & ~np.isnan(said.percent[:, r]))
        values[rows, said.named[rows, r]] = said.percent[rows, r]
    return values


def first_named(said: Statements) -> Ints:
    """(n,) the class each person named first; an answer that names none has no top class."""
    first = said.named[:, 0] if said.named.shape[1] else np.full(len(said), -1)
    broken("Statements", first < 0, "no class is named, so there is no top class")
    return first


def labelled(said: Statements, probs: Floats) -> Annotations:
    """The table of these labels; refuses rows that are not on the simplex."""
    return Annotations(said.index, said.item, said.annotator, probs=given_away(probs))
