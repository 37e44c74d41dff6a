"""The protocol of a construction, and helpers that constructions share."""

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

    def __call__(self, statements: Statements) -> Annotations: ...


def stated_percents(statements: Statements, top: Top, mode: Semantics) -> Floats:
    """Return percent (n, k) for the first ``top`` classes named, or all; 0 without a number.

    If a class is named twice, ``strict`` keeps the first number and ``reference`` the last, as
    the published code does.
    """
    values = np.zeros(statements.possible.shape)
    width = statements.named.shape[1]
    columns = range(width if top == "all" else min(top, width))
    for r in columns if mode == "reference" else reversed(columns):
        rows = np.flatnonzero((statements.named[:, r] >= 0) & ~np.isnan(statements.percent[:, r]))
        values[rows, statements.named[rows, r]] = statements.percent[rows, r]
    return values


def first_named(statements: Statements) -> Ints:
    """Return the class (n,) that each person named first; refuse answers that name none."""
    first = statements.named[:, 0] if statements.named.shape[1] else np.full(len(statements), -1)
    broken("Statements", first < 0, "no class is named, so there is no top class")
    return first


def make_annotations(statements: Statements, probs: Floats) -> Annotations:
    """Return the table of these labels; refuse rows that are not on the simplex."""
    return Annotations(
        statements.index, statements.item, statements.annotator, probs=given_away(probs)
    )
