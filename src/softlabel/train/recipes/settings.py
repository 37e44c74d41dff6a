"""``key=value`` to a configuration: the field must exist, and the value be of its type."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from softlabel.errors import SoftlabelError, UnknownName

Config = TypeVar("Config")


def changed(config: Config, settings: Mapping[str, Any], where: str = "--set") -> Config:
    """The same configuration with these values, each checked against its field."""
    hints = get_type_hints(type(config))
    known = [field.name for field in fields(config)]  # type: ignore[arg-type]
    checked = {}
    for key, value in settings.items():
        if key not in known:
            raise UnknownName("setting", key, known)
        checked[key] = _fitting(hints[key], value, f"{where} {key}")
    return replace(config, **checked)  # type: ignore[type-var]


def parsed(pairs: Iterable[str]) -> dict[str, Any]:
    """``["lr=0.1", "augment=frozen"]`` as a table; values are written as in TOML, text as it is.

    >>> parsed(["lr=0.1", "net=small", "ema=none", "nesterov=true"])
    {'lr': 0.1, 'net': 'small', 'ema': 'none', 'nesterov': True}
    """
    table: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals:
            raise SoftlabelError(f"--set {pair!r} is not of the form key=value")
        if key in table:
            raise SoftlabelError(f"--set {key} stands there twice")
        try:
            table[key] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            table[key] = text
    return table


def _fitting(kind: Any, value: Any, where: str) -> Any:
    """The value as the field's type has it: whole numbers are floats too, ``none`` is None."""
    for one in (kind,) if get_origin(kind) in (Literal, tuple) else get_args(kind) or (kind,):
        if get_origin(one) is Literal and value in get_args(one):
            return value
        if one is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        if one is NoneType and value in (None, "none"):
            return None
        if get_origin(one) is tuple and isinstance(value, list | tuple):
            return tuple(value)
        if isinstance(one, type) and type(value) is one:
            return value
    if get_origin(kind) is Literal:
        raise UnknownName(f"choice for {where}", str(value), map(str, get_args(kind)))
    right = getattr(kind, "__name__", str(kind)).replace("NoneType", "none")
    raise SoftlabelError(f"{where} = {value!r} is of the wrong type; it is of type {right}")
