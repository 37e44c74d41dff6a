"""Where people come from and return to, and what they are paid.

Ids are matched with a regular expression that a study brings, against texts that strangers send,
and no match may take long.  Python tries the alternatives of a pattern one after the other:
``(a+)+`` needs 2**30 steps to refuse thirty letters.  So the steps are counted from the pattern,
for the longest id, as if every choice were open at every place.  That count is never too low, and
for usual patterns it is not too high.
"""

import re
import warnings
from collections.abc import Iterable
from re import _parser as parser  # type: ignore[attr-defined]  # the only parser of patterns
from typing import Any
from urllib.parse import urlsplit

from softlabel.study.model import Advert, Pay, Recruit, Study
from softlabel.study.money import digits_of, to_units
from softlabel.study.settings import Reader

PROLIFIC = {
    "id_param": "PROLIFIC_PID",
    "session_param": "SESSION_ID",
    "id_pattern": "^[0-9a-f]{24}$",
}
PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete?cc="
ID_PATTERN = "^[A-Za-z0-9._@-]{1,128}$"
CODES = {  # the code of each return address
    "complete_url": "completion_code",
    "screenout_url": "screenout_code",
    "skip_url": "skip_code",
    "noconsent_url": "noconsent_code",
}
KEYS: dict[str, tuple[str, ...]] = {  # the settings of each kind of recruiter
    "open": (),
    "invitation": (),
    "prolific": (*CODES.values(), "signed"),
    "url": ("id_param", "session_param", "id_pattern", *CODES),
}
REQUIRED = {
    "prolific": ("completion_code", "screenout_code"),
    "url": ("id_param", "complete_url", "screenout_url"),
}
BONUS_KEYS = {"bonus_amount": "fixed", "bonus_max": "score", "bonus_floor": "score"}
SUMS = (*BONUS_KEYS, "screenout", "cap_per_person", "cap_total")  # paid as they are written
SCREENED_OUT = ": for people who do not pass the quiz or skip too many items"
DIFFERENT = (
    *(("completion_code", "screenout_code"), ("complete_url", "screenout_url")),
    *(("completion_code", "skip_code"), ("complete_url", "skip_url")),
)
LOOPBACK = ("127.0.0.1", "localhost", "::1")  # for a rehearsal
COMPLETE = "must be a complete address that begins with https://"
MAX_ID_LENGTH = 200  # longer ids are refused before they are matched
MAX_STEPS = 100_000  # a few milliseconds
NO_IDS = ("", " ", "{{%ID%}}")  # nothing, a space, and a placeholder that was not filled in
EXAMPLE = "for instance [A-Za-z0-9_-]{1,64}"


def read_recruit(reader: Reader) -> Recruit:
    """Return the recruiter, with all its return addresses."""
    section = reader.file.recruit
    given = {key: value for key, value in section.model_dump(exclude={"kind"}).items() if value}
    if reader.is_broken("recruit.kind"):
        return Recruit()
    for key, value in given.items():
        if key not in KEYS[section.kind]:
            homes = " or ".join(kind for kind, keys in KEYS.items() if key in keys)
            reason = f"has no meaning with kind = {section.kind!r}; it belongs to {homes}"
            reader.refuse(f"recruit.{key}", value, reason)
        elif key != "signed" and (
            fault := _find_fault(key, value, section.session_param is not None)
        ):
            reader.refuse(f"recruit.{key}", value, fault)
    missing = [
        key
        for key in REQUIRED.get(section.kind, ())
        if key not in given and not reader.is_broken(f"recruit.{key}")
    ]
    for key in missing:
        why = SCREENED_OUT if key.startswith("screenout_") else ""
        reason = f"is required with kind = {section.kind!r}{why}"
        reader.refuse(f"recruit.{key}", None, reason)
    for done, out in DIFFERENT:
        if given.get(out) is not None and given.get(out) == given.get(done):
            reason = f"must differ from {done}, or people who are screened out count as complete"
            reader.refuse(f"recruit.{out}", given[out], reason)
    full = section.model_dump()
    if section.kind == "prolific":
        returns = {url: full[code] and PROLIFIC_RETURN + full[code] for url, code in CODES.items()}
        full |= PROLIFIC | returns
    elif section.kind == "url":
        full["id_pattern"] = section.id_pattern or ID_PATTERN
    return Recruit(**full)


def read_pay(reader: Reader) -> Pay | None:
    """Return what people are paid; None if they are not."""
    section = reader.file.pay
    if section is None:
        return None
    if (section.per_hour is None) == (section.per_session is None):
        if not reader.is_broken("pay.per_hour", "pay.per_session"):
            reader.refuse("pay.per_hour", section.per_hour, "give either per_hour or per_session")
        return None
    pay = Pay(**section.model_dump())
    _check_sums(reader, pay)
    _check_bonus(reader, pay)
    return pay


def _check_sums(reader: Reader, pay: Pay) -> None:
    """Refuse amounts that cannot be paid, and caps below what everybody is promised."""
    for key in SUMS:
        value = getattr(pay, key)
        if value is not None and to_units(value, pay.currency).denominator > 1:
            digits = digits_of(pay.currency)
            reason = f"{pay.currency} has {digits or 'no'} digits after the point"
            reader.refuse(f"pay.{key}", value, reason)
    most = min(
        (cap for cap in (pay.cap_per_person, pay.cap_total) if cap is not None), default=None
    )
    if most is not None and most < max(pay.session, pay.screenout):
        key = "cap_total" if most == pay.cap_total else "cap_per_person"
        promised = f"{max(pay.session, pay.screenout):.2f}"
        reader.refuse(
            f"pay.{key}", most, f"is less than the {promised} that one person is promised"
        )


def _check_bonus(reader: Reader, pay: Pay) -> None:
    """Refuse a bonus that cannot be computed; note one that people do not or wrongly expect."""
    for key, rule in BONUS_KEYS.items():
        value = getattr(pay, key)
        if value and rule != pay.bonus_rule and not reader.is_broken("pay.bonus_rule"):
            reason = f"has no meaning with bonus_rule = {pay.bonus_rule!r}; it belongs to {rule}"
            reader.refuse(f"pay.{key}", value, reason)
    for key, rule in (("bonus_amount", "fixed"), ("bonus_max", "score")):
        if rule == pay.bonus_rule and not getattr(pay, key) and not reader.is_broken(f"pay.{key}"):
            reason = f"is required with bonus_rule = {rule!r}, and more than 0"
            reader.refuse(f"pay.{key}", getattr(pay, key), reason)
    if pay.bonus_max and pay.bonus_floor > pay.bonus_max:
        reader.refuse("pay.bonus_floor", pay.bonus_floor, "is more than bonus_max")
    if pay.bonus and pay.bonus_rule == "none" and not reader.is_broken("pay.bonus_rule"):
        reason = "people are promised a bonus, but softlabel pay computes none"
        reader.note("pay.bonus_rule", "none", f"{reason}; choose fixed, score or column")
    if pay.bonus_rule != "none" and not pay.bonus:
        reader.note("pay.bonus", None, "people are not told that there is a bonus, nor its rule")
    if pay.bonus_rule == "score" and reader.file.study.frame == "self":
        reason = "pays for guessing what others say, not for saying what one believes"
        reader.note("pay.bonus_rule", "score", f'{reason}; ask with frame = "third_person"')


DEVICES = ("desktop", "tablet", "mobile")


def check_advert(reader: Reader) -> None:
    """Refuse settings for Prolific in a study that recruits elsewhere."""
    given = reader.file.prolific.model_dump(exclude_unset=True)
    if reader.file.recruit.kind != "prolific" and not reader.is_broken("recruit.kind"):
        for key, value in given.items():
            shown = None if isinstance(value, list) else value
            kind = reader.file.recruit.kind
            reader.refuse(
                f"prolific.{key}", shown, f'needs [recruit] kind = "prolific", not {kind!r}'
            )


def make_advert(study: Study, reader: Reader) -> Advert | None:
    """Return how the study is announced on Prolific: its own words and sums, unless set."""
    section = reader.file.prolific
    reward = section.reward or (study.pay.session if study.pay else None)
    minutes = section.minutes or (round(study.pay.minutes) if study.pay else None)
    if study.recruit.kind != "prolific" or not reward or not minutes:
        return None
    return Advert(
        name=section.name or study.title,
        description=section.description or study.description or study.title,
        places=section.places or study.people_needed,
        reward=reward,
        minutes=max(1, minutes),
        devices=tuple(section.devices or DEVICES),
        filters=tuple(section.filters),
        project=section.project,
    )


def _find_fault(key: str, value: str, has_session: bool) -> str | None:
    """Return what is wrong with one value, or None."""
    if key.endswith("_param"):
        fits = re.fullmatch(r"[A-Za-z_][\w.-]*", value) and value != "page"
        return None if fits else "cannot be the name of a parameter in an address (page is taken)"
    if key.endswith("_code"):
        return None if re.fullmatch(r"[\w-]{1,64}", value) else "is not a code of the recruiter"
    if key == "id_pattern":
        return _find_pattern_fault(value)
    return _find_address_fault(value, ("{id}", "{session}") if has_session else ("{id}",))


def _find_address_fault(value: str, placeholders: tuple[str, ...]) -> str | None:
    """Return what is wrong with an address to which people's browsers are sent, or None."""
    if re.search(r"[\s\\]", value):
        return "contains a space, a line break or a backslash; an address has none"
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return COMPLETE
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        return COMPLETE
    if "@" in parts.netloc:
        return "contains a user name or a password, which everybody would see"
    if "{" in parts.netloc:
        return "may contain placeholders only after the name of the host"
    if not re.fullmatch(r"([\w-]+\.)+[\w-]+", host) and host not in LOOPBACK:
        return f"names no host that people can reach: {COMPLETE}"
    for placeholder in placeholders:
        value = value.replace(placeholder, "")
    if "{" in value or "}" in value:
        return "may contain only the placeholders {id} and, with a session_param, {session}"
    return None


class _TooManySteps(Exception):
    pass


def _find_pattern_fault(pattern: str) -> str | None:
    """Return why a pattern cannot be used to recognise ids, or None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # patterns that Python will read differently one day
            matches = re.compile(pattern).fullmatch
        _count(parser.parse(pattern))
    except _TooManySteps:
        return (
            "could take very long to refuse an id: write no repeat inside a repeat, as in (a+)+, "
            f"and limit how often, {EXAMPLE}"
        )
    except (re.error, OverflowError, RecursionError, Warning) as wrong:
        return f"is not a regular expression: {wrong}"
    for text in NO_IDS:
        if matches(text):
            return f"also matches {text!r}, which is no id; name the characters of an id, {EXAMPLE}"
    return None


def _count(sequence: Iterable[tuple[Any, Any]]) -> tuple[int, int]:
    """Count the ways in which this can match the longest id, and the steps to try them all."""
    ways, steps = 1, 1
    for code, value in sequence:
        kind = str(code)
        more_ways, more_steps = 1, 1  # a character, a position, or what a group has matched
        if kind.endswith("_REPEAT"):
            least, most, inner = value
            inner_ways, inner_steps = _count(inner)
            more_ways, more_steps, so_far = 0, 0, 1
            for number in range(min(int(most), max(int(least), MAX_ID_LENGTH)) + 1):
                more_ways += so_far if number >= least else 0
                more_steps += so_far * inner_steps
                so_far *= inner_ways
                if max(more_steps, so_far) > MAX_STEPS:
                    raise _TooManySteps
        elif kind in ("BRANCH", "GROUPREF_EXISTS"):
            alternatives = value[1] if kind == "BRANCH" else [value[1], value[2] or []]
            more_ways, more_steps = map(sum, zip(*map(_count, alternatives), strict=True))
        elif kind in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
            more_ways, more_steps = _count(value[-1])
        elif kind == "ATOMIC_GROUP":
            more_ways, more_steps = _count(value)
        steps += ways * more_steps
        ways *= more_ways
        if max(steps, ways) > MAX_STEPS:
            raise _TooManySteps
    return ways, steps
