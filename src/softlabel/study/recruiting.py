"""Where people come from and return to, and what they are paid."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from softlabel.study.findings import Findings
from softlabel.study.model import Pay, Recruit
from softlabel.study.patterns import fault_of_pattern
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
LOOPBACK = ("127.0.0.1", "localhost", "::1")  # for a rehearsal
WHOLE = "must be a whole address that begins with https://"


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
        return fault_of_pattern(value)
    return _fault_of_address(value, ("{id}", "{session}") if has_session else ("{id}",))


def _fault_of_address(value: str, blanks: tuple[str, ...]) -> str | None:
    """What is wrong with an address to which people's browsers are sent."""
    if re.search(r"[\s\\]", value):
        return "holds a blank, a line break or a backslash; an address has none"
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return WHOLE
    if parts.scheme != "https" and not (parts.scheme == "http" and host in LOOPBACK):
        return WHOLE
    if "@" in parts.netloc:
        return "holds a user name or a password, which everybody would see"
    if "{" in parts.netloc:
        return "may hold blanks only after the name of the host"
    if not re.fullmatch(r"([\w-]+\.)+[\w-]+", host) and host not in LOOPBACK:
        return f"names no host that people can reach: {WHOLE}"
    for blank in blanks:
        value = value.replace(blank, "")
    if "{" in value or "}" in value:
        return "may hold the blanks {id} and, with a session_param, {session}, and no others"
    return None


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
