"""What there is, by name: one dict per family, and the way from ``"softmax:tau=2"`` to a value.

A strategy is a frozen dataclass whose fields are its parameters and whose call takes the data
and returns a new table.  Registering one is a dict entry; there are no entry points or hooks.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from importlib import import_module
from inspect import signature
from numbers import Integral, Real
from types import NoneType
from typing import Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from softlabel.errors import SoftlabelError, UnknownName

HOMES = {  # the room whose door fills the family
    "mode": "softlabel.elicit",
    "construct": "softlabel.construct",
    "aggregate": "softlabel.aggregate",
    "deliver": "softlabel.deliver",
    "metric": "softlabel.metrics",
    "format": "softlabel.io",
    "policy": "softlabel.allocate",
}
FAMILIES: dict[str, dict[str, Any]] = {family: {} for family in HOMES}
TYPES = {  # of options, in words
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "text",
    NoneType: "None",
}
SMALLEST = 1e-12  # for parameters that must be above zero


def register(family: str, thing: Any, name: str | None = None) -> Any:
    """Add a strategy of your own under its ``name``; returns it."""
    name = name or getattr(thing, "name", None) or thing.__name__.replace("_", "-")
    if name in members(family):
        raise SoftlabelError(f"{family} {name!r} is registered already; choose another name")
    FAMILIES[family][name] = thing
    return thing


def members(family: str) -> Mapping[str, Any]:
    """Everything registered in a family, by name."""
    if family not in FAMILIES:
        raise UnknownName("family", family, FAMILIES)
    import_module(HOMES[family])
    return FAMILIES[family]


def families() -> dict[str, dict[str, Any]]:
    """Every family with all its members."""
    for family in FAMILIES:
        members(family)
    return FAMILIES


def get(family: str, name: str) -> Any:
    """The class or function registered under this name."""
    known = members(family)
    if name not in known:
        raise UnknownName(family, name, known)
    return known[name]


def make(family: str, name: str, **options: Any) -> Any:
    """The strategy with these parameters: ``make("aggregate", "softmax", tau=2.0)``."""
    kind = get(family, name)
    for key in options:
        _type_of(family, name, key)
    if isinstance(kind, type):
        return kind(**options)
    return partial(kind, **options) if options else kind  # a metric is a plain function


def parse(family: str, text: str) -> Any:
    """The strategy that ``name[:key=value,...]`` describes, values read to the field's type.

    >>> parse("aggregate", "softmax:tau=2")
    Softmax(tau=2.0)
    """
    name, _, rest = text.partition(":")
    get(family, name)
    options: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals:
            raise SoftlabelError(f"{text!r}: {pair!r} is not of the form key=value")
        if key in options:
            raise SoftlabelError(f"{text!r}: {key} stands there twice")
        options[key] = _read(_type_of(family, name, key), value, f"{text!r}: {key}")
    return make(family, name, **options)


def resolve(family: str, strategy: Any) -> Any:
    """The strategy itself, or the one that a text describes; anything else is refused."""
    if isinstance(strategy, str):
        return parse(family, strategy)
    if isinstance(strategy, type) or not callable(strategy):
        raise SoftlabelError(
            f"{family} = {strategy!r} is no strategy; give its name, such as "
            f"{next(iter(members(family)))!r}, or an instance"
        )
    return strategy


def parameters(kind: Any) -> Mapping[str, tuple[Any, Any]]:
    """Each parameter's type and default; of a metric, what comes after the two labels."""
    return _parameters(kind)


@cache  # strategies are made again and again while their numbers are fitted
def _parameters(kind: Any) -> Mapping[str, tuple[Any, Any]]:
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return {f.name: (hints[f.name], f.default) for f in fields(kind) if f.init}
    options = list(signature(kind).parameters.values())[2:]
    return {option.name: (hints.get(option.name, str), option.default) for option in options}


def _type_of(family: str, name: str, key: str) -> Any:
    known = parameters(get(family, name))
    if key not in known:
        raise UnknownName(f"option of {family} {name!r}", key, known or ["(none)"])
    return known[key][0]


def describe(strategy: Any) -> str:
    """The text that ``parse`` turns back into this strategy: ``clamp:top=all,spread=0.1``."""
    shown = [f"{field.name}={getattr(strategy, field.name)}" for field in fields(strategy)]
    return f"{strategy.name}:{','.join(shown)}" if shown else str(strategy.name)


def settings(strategy: Any) -> dict[str, Any]:
    """The parameters that differ from their defaults: what ``make`` needs besides the name."""
    return {
        field.name: getattr(strategy, field.name)
        for field in fields(strategy)
        if getattr(strategy, field.name) != field.default
    }


def _read(kind: Any, text: str, where: str) -> Any:
    """Text to the type of a field: a choice, a truth value, a number or text."""
    if get_origin(kind) is Literal:
        by_text = {str(choice): choice for choice in get_args(kind)}
        if text not in by_text:
            raise UnknownName(f"choice for {where}", text, by_text)
        return by_text[text]
    readers: dict[Any, Callable[[str], Any]] = {
        bool: lambda text: {"true": True, "false": False}[text.lower()],  # as describe writes them
        NoneType: lambda text: {"none": None}[text.lower()],
        int: int,
        float: float,
        str: str,
    }
    for one in get_args(kind) or (kind,):  # of ``float | None`` whatever fits first
        try:
            return readers[one](text)
        except (ValueError, KeyError):
            continue
    right = "true or false" if kind is bool else f"of type {getattr(kind, '__name__', kind)}"
    raise SoftlabelError(f"{where} = {text!r} is not {right}")


class Options:
    """A strategy whose options are checked when they are given: their names, their types, and
    that numbers are within ``limits``."""

    limits: ClassVar[Mapping[str, tuple[float, float]]] = {}

    def __new__(cls, *_: Any, **options: Any) -> Self:
        for key in options:
            if key not in parameters(cls):
                known = parameters(cls) or ["(none)"]
                raise UnknownName(f"option of {cls.__name__}", key, known)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        check_parameters(self, **self.limits)


def check_parameters(strategy: Any, **ranges: tuple[float, float]) -> None:
    """Refuse a choice that does not exist, a value of another type and a number outside its range,
    by name and value."""
    kind = type(strategy)
    for name, (hint, _) in parameters(kind).items():
        value = getattr(strategy, name)
        if get_origin(hint) is Literal:
            check_choice(f"{name} of {kind.__name__}", value, get_args(hint))
        elif not _fits(value, hint):
            wanted = " or ".join(TYPES[one] for one in get_args(hint) or (hint,))
            raise SoftlabelError(f"{kind.__name__}: {name} = {value!r} must be {wanted}")
    for name, (low, high) in ranges.items():
        value = getattr(strategy, name)
        if value is None:
            continue  # to be learned, or to be told from the data
        if not low <= value <= high:  # written so that NaN is refused too
            raise SoftlabelError(f"{kind.__name__}: {name} = {value} is not in {low}..{high}")


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of the type of an option; other types than ``TYPES`` are not
    looked at."""
    kinds = get_args(hint) or (hint,)
    if not all(kind in TYPES for kind in kinds):
        return True
    if isinstance(value, bool):
        return bool in kinds
    if isinstance(value, Integral):
        return int in kinds or float in kinds
    return isinstance(value, tuple(Real if kind is float else kind for kind in kinds))


def check_choice(what: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Refuse a value that is none of the choices, naming them."""
    if value not in choices:
        raise UnknownName(what, str(value), [str(choice) for choice in choices])
