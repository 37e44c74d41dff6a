"""What the fields of an answer may hold: checks that modes share, each naming field and reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal

from softlabel.elicit.base import Field, Payload
from softlabel.errors import ResponseError, nearest

Rest = Literal["ruled_out", "possible", "unsaid"]
REST: tuple[Rest, ...] = ("ruled_out", "possible", "unsaid")

SHOWN = 20  # classes that an error lists
MANY = 2000  # classes among which a nearest spelling is still found at once
LONGEST = 100  # characters of a name that may be a misspelt class


def refuse_unknown_keys(
    payload: Payload, fields: tuple[Field, ...], also: Collection[str] = ()
) -> None:
    """An answer is a set of known fields (``also``: keys recorded without being asked for);
    anything else means it was made by another mode."""
    if not isinstance(payload, Mapping):
        raise ResponseError("answer", payload, "an answer is a set of named fields")
    known = {*(field.name for field in fields), *also}
    for key in payload:
        if key not in known:
            raise ResponseError(str(key), payload[key], f"no such field; there are {sorted(known)}")
    for field in fields:
        if field.required and payload.get(field.name) in (None, ""):
            raise ResponseError(field.name, payload.get(field.name), "this field must be answered")


def codes_of(labels: Sequence[str]) -> Mapping[str, int]:
    """The code of each class."""
    return _codes(tuple(labels))


@lru_cache(maxsize=8)
def _codes(labels: tuple[str, ...]) -> Mapping[str, int]:
    return MappingProxyType({label: code for code, label in enumerate(labels)})


def read_class(field: str, value: Any, codes: Mapping[str, int], what: str = "class") -> int:
    """The code of a class, or ``ResponseError`` with the nearest spelling."""
    name = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if isinstance(name, str) and name in codes:
        return codes[name]
    raise ResponseError(field, value, f"no such {what}{_hint(name, codes)}")


def _hint(name: Any, codes: Mapping[str, int]) -> str:
    misspelt = isinstance(name, str) and len(name) <= LONGEST and len(codes) <= MANY
    if misspelt and (close := nearest(name, codes)):
        return close
    more = ", …" if len(codes) > SHOWN else ""
    return f"; there are {', '.join(islice(codes, SHOWN))}{more}"


def read_list(field: str, value: Any, of: str = "classes") -> list[Any]:
    """A list; nothing is a list without entries."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise ResponseError(field, value, f"must be a list of {of}")
    return list(value)


def read_classes(
    field: str, value: Any, codes: Mapping[str, int], what: str = "class"
) -> list[int]:
    """The codes of a list of classes, each there once."""
    found = [read_class(field, entry, codes, what) for entry in read_list(field, value)]
    if len(set(found)) != len(found):
        raise ResponseError(field, value, f"holds a {what} twice")
    return found


def read_texts(field: str, value: Any) -> None:
    """Texts that are recorded and not interpreted."""
    if not all(isinstance(entry, str) for entry in read_list(field, value, "texts")):
        raise ResponseError(field, value, "must be a list of texts")


def read_whole(field: str, value: Any, low: int, high: int) -> int:
    """A whole number in a range."""
    if type(value) is not int or not low <= value <= high:
        span = f"from {low} to {high}" if high > low else f"{low}"
        raise ResponseError(field, value, f"must be a whole number, {span}")
    return value


def read_repeated(payload: Payload) -> None:
    """``repeated`` marks a rest that Enter repeated from the item before; it changes no reading."""
    value = payload.get("repeated")
    if value is not None and not isinstance(value, bool):
        raise ResponseError("repeated", value, "must be true or false")


def read_rest(payload: Payload) -> Rest:
    """What was said of everything not named; saying nothing is ``unsaid``."""
    value = payload.get("rest")
    if value is None:
        return "unsaid"
    if not isinstance(value, str) or value not in REST:
        raise ResponseError("rest", value, f"must be one of {', '.join(REST)}")
    return value
