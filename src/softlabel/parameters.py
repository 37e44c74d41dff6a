"""A strategy's parameters are looked at when it is called: construction does nothing but store."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from softlabel.errors import SoftlabelError, UnknownName

SMALLEST = 1e-12  # for parameters that must be above zero


def check(strategy: Any, **ranges: tuple[float, float]) -> None:
    """Refuse a choice that does not exist and a number outside its range, by name and value."""
    kind = type(strategy)
    for name, choices in _choices(kind).items():  # type: ignore[arg-type]  # classes are hashable
        check_choice(f"{name} of {kind.__name__}", getattr(strategy, name), choices)
    for name, (low, high) in ranges.items():
        value = getattr(strategy, name)
        if value is None and getattr(kind, name) is None:
            continue  # the default: to be learned, or to be told from the data
        if not low <= value <= high:  # written so that NaN is refused too
            raise SoftlabelError(f"{kind.__name__}: {name} = {value} is not in {low}..{high}")


def check_choice(what: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is none of the choices, naming them."""
    if value not in choices:
        raise UnknownName(what, str(value), [str(choice) for choice in choices])


@cache
def _choices(kind: type) -> dict[str, tuple[Any, ...]]:
    hints = get_type_hints(kind)
    return {
        field.name: get_args(hints[field.name])
        for field in fields(kind)
        if get_origin(hints[field.name]) is Literal
    }
