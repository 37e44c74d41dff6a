"""``study.toml``, read: the settings that are right, and every one that is not."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from softlabel.errors import nearest
from softlabel.study.findings import Findings
from softlabel.study.schema import GIVEN, NAMED, SECTIONS, StudyFile

FILE = "study.toml"
REASONS = {  # pydantic's kinds of error, in our words
    "missing": "must be given",
    "string_type": "must be a text in quotation marks",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list in brackets",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "finite_number": "must be a finite number",
    "string_too_short": "is empty; leave the key out instead",
    "string_too_long": "is longer than {max_length} characters",
    "control": "holds control characters",
    "greater_than_equal": "must be {ge} or more",
    "greater_than": "must be more than {gt}",
    "less_than_equal": "must be {le} or less",
    "less_than": "must be less than {lt}",
}
PATTERNS = {
    "study.name": "may hold small letters, digits and hyphens only",
    "pay.currency": "must be three capital letters, such as GBP",
}
WAYS = {
    "study.labels": "must be a list of labels, or the name of a file that holds it",
    "study.synonyms": "must be a table from label to words, or the name of a file that holds it",
}


@dataclass(frozen=True)
class Settings:
    """What the file says; ``broken`` are the keys whose value could not be used."""

    file: StudyFile
    text: str
    broken: frozenset[str] = field(default_factory=frozenset)


def read_settings(text: str, findings: Findings) -> Settings:
    """Every setting that is right; a wrong one is noted and then left at its default, so that
    the rest of the study can be looked at too."""
    raw = _parse(text, findings)
    broken: set[str] = set()
    while True:
        try:
            return Settings(StudyFile.model_validate(raw), text, frozenset(broken))
        except ValidationError as invalid:
            raw = deepcopy(raw)
            for error in invalid.errors(include_url=False):
                _note(error, findings)
                broken.add(_remove(raw, error))


def _parse(text: str, findings: Findings) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        findings.wrong(FILE, "", None, "is nested too deeply to be a study")
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        message, _, place = str(error).partition(" (at ")
        findings.wrong(FILE, place.rstrip(")"), None, f"is not TOML: {message}")
    raise Unreadable


class Unreadable(Exception):
    """There is nothing to go on with; why is in the findings."""


def _note(error: ErrorDetails, findings: Findings) -> None:
    place = [part for part in error["loc"] if part not in (GIVEN, NAMED)]
    value = None if isinstance(error["input"], dict | list) else error["input"]
    findings.wrong(FILE, _key(place), value, _reason(error, place))


def _key(place: list[str | int]) -> str:
    """``quiz.question[0].right``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    return "".join(parts).removeprefix(".")


def _reason(error: ErrorDetails, place: list[str | int]) -> str:
    kind, key = error["type"], _key(place)
    if kind == "extra_forbidden":
        return _unknown(place)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        return f"must be {' or '.join(choices)}{nearest(str(error['input']), choices)}"
    if kind == "string_pattern_mismatch":
        return PATTERNS[key]
    if kind in ("list_type", "dict_type") and key in WAYS:
        return WAYS[key]
    return REASONS[kind].format(**error.get("ctx", {}))


def _unknown(place: list[str | int]) -> str:
    """Why a key is not known: misspelt, in the wrong table, or something we do not have."""
    name = str(place[-1])
    table = ".".join(part for part in place[:-1] if isinstance(part, str))
    known = list(SECTIONS[table].model_fields if table else StudyFile.model_fields)
    homes = [section for section, model in SECTIONS.items() if name in model.model_fields]
    hint = nearest(name, known)
    if not hint and homes:
        return f"no such key here; it belongs in [{homes[0]}]"
    what = "key" if table else "table"
    return f"no such {what}{hint}" + ("" if hint else f"; there are: {', '.join(known)}")


def _remove(raw: dict[str, Any], error: ErrorDetails) -> str:
    """Take the setting out of the raw file; returns its key.  Without a setting that must be
    given, its whole table goes."""
    table, *rest = map(str, error["loc"])
    known = SECTIONS[table].model_fields if table in SECTIONS else {}
    if not rest or (rest[0] in known and known[rest[0]].is_required()):
        raw.pop(table, None)
    elif table in raw:  # an error before this one may have removed it
        raw[table].pop(rest[0], None)
    return ".".join([table, *rest[:1]])
