"""What is known about an item: a label, or a distribution over labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from softlabel.study.scope import Row, Scope

TOLERANCE = 1e-6


def read_gold(row: Row, scope: Scope) -> tuple[float, ...] | None:
    """The distribution that the cell ``gold`` describes; None without one, or with a mistake."""
    value = row.cells.get("gold")
    if value is None or scope.labels is None:
        return None
    if isinstance(value, str | int) and not isinstance(value, bool):
        value = str(value)
        if value not in scope.codes:
            row.wrong(scope, "gold", "no such label", known=scope.codes)
            return None
        if value not in scope.certain:  # the same for all items of a label
            scope.certain[value] = _row({value: 1.0}, scope)
        return scope.certain[value]
    if isinstance(value, dict):
        return _distribution(value, row, scope)
    row.wrong(scope, "gold", "must be a label, or a table from label to probability")
    return None


def _distribution(given: dict[str, Any], row: Row, scope: Scope) -> tuple[float, ...] | None:
    right = True
    for label, p in given.items():
        if label not in scope.codes:
            row.wrong_value(scope, "gold", label, "no such label", scope.codes)
        elif not isinstance(p, int | float) or isinstance(p, bool) or not 0 <= p <= 1:
            row.wrong_value(scope, f"gold.{label}", p, "must be a probability from 0 to 1")
        else:
            continue
        right = False
    if right and abs(sum(given.values()) - 1) > TOLERANCE:
        row.wrong(scope, "gold", "the probabilities must sum to 1")
        right = False
    return _row(given, scope) if right else None


def _row(given: Mapping[str, float], scope: Scope) -> tuple[float, ...]:
    row = [0.0] * len(scope.codes)
    for label, p in given.items():
        row[scope.codes[label]] = float(p)
    return tuple(row)
