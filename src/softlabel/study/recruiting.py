"""Where people come from and return to, and what they are paid."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from softlabel.study.findings import Findings
from softlabel.study.model import Pay, Recruit
from softlabel.study.schema import RecruitSection
from softlabel.study.settings import FILE, Settings

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
    "noconsent_url": "noconsent_code",
}
KEYS: dict[str, tuple[str, ...]] = {  # what each kind of recruiter can be told
    "open": (),
    "invitation": (),
    "prolific": tuple(CODES.values()),
    "url": ("id_param", "session_param", "id_pattern", *CODES),
}
NEEDED = {
    "prolific": ("completion_code", "screenout_code"),
    "url": ("id_param", "complete_url", "screenout_url"),
}
SCREENED = "people return by it who do not pass the quiz or skip too many items"
WHY = {"screenout_code": f": {SCREENED}", "screenout_url": f": {SCREENED}"}
APART = (("completion_code", "screenout_code"), ("complete_url", "screenout_url"))
BLANKS = re.compile(r"\{(\w*)\}")


def read_recruit(settings: Settings, findings: Findings) -> Recruit:
    """The recruiter, with all its return addresses."""
    section = settings.file.recruit
    given = {key: value for key, value in section.model_dump(exclude={"kind"}).items() if value}
    if "recruit.kind" in settings.broken:
        return Recruit()
    for key, value in given.items():
        if key not in KEYS[section.kind]:
            homes = " or ".join(kind for kind, keys in KEYS.items() if key in keys)
            reason = f"means nothing where kind = {section.kind!r}; it belongs to {homes}"
            findings.wrong(FILE, f"recruit.{key}", value, reason)
        elif fault := _fault(key, value, section.session_param is not None):
            findings.wrong(FILE, f"recruit.{key}", value, fault)
    for key in NEEDED.get(section.kind, ()):
        if key not in given and f"recruit.{key}" not in settings.broken:
            reason = f"must be given where kind = {section.kind!r}{WHY.get(key, '')}"
            findings.wrong(FILE, f"recruit.{key}", None, reason)
    for done, out in APART:
        if given.get(out) is not None and given.get(out) == given.get(done):
            reason = f"must differ from {done}, or people who are screened out count as complete"
            findings.wrong(FILE, f"recruit.{out}", given[out], reason)
    return _recruit(section)


def _fault(key: str, value: str, has_session: bool) -> str | None:
    """What is wrong with one value, or None."""
    if key.endswith("_param"):
        fits = re.fullmatch(r"[A-Za-z_][\w.-]*", value) and value != "page"
        return None if fits else "is not a name that an address can carry (page is taken)"
    if key.endswith("_code"):
        return None if re.fullmatch(r"[\w-]{1,64}", value) else "is not a code of the recruiter"
    if key == "id_pattern":
        try:
            re.compile(value)
        except (re.error, OverflowError, RecursionError) as error:
            return f"is not a regular expression: {error}"
        return None
    return _fault_of_address(value, {"id", "session"} if has_session else {"id"})


def _fault_of_address(value: str, blanks: set[str]) -> str | None:
    try:
        parts = urlsplit(value)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        whole = False
    if not whole or re.search(r"\s", value):
        return "must be a whole address, beginning with https:// or http://"
    if set(BLANKS.findall(value)) <= blanks:
        return None
    return "may hold the blanks {id} and, with a session_param, {session}, and no others"


def _recruit(section: RecruitSection) -> Recruit:
    given = section.model_dump()
    if section.kind == "prolific":
        given |= PROLIFIC
        for url, code in CODES.items():
            given[url] = f"{PROLIFIC_RETURN}{given[code]}" if given[code] else None
    elif section.kind == "url":
        given["id_pattern"] = section.id_pattern or ID_PATTERN
    return Recruit(**given)


def read_pay(settings: Settings, findings: Findings) -> Pay | None:
    """What people get; None where they are not paid."""
    section = settings.file.pay
    if section is None:
        return None
    if (section.per_hour is None) == (section.per_session is None):
        if not settings.broken & {"pay.per_hour", "pay.per_session"}:
            reason = "give per_hour or per_session, one of the two"
            findings.wrong(FILE, "pay.per_hour", section.per_hour, reason)
        return None
    return Pay(**section.model_dump())
