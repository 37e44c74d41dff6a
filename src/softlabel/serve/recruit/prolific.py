"""Prolific: three parameters in the address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from softlabel.serve.recruit.base import Arrival, Platform, Recruiter, Refused

PERSON, STUDY, SESSION = "PROLIFIC_PID", "STUDY_ID", "SESSION_ID"
HOME = "https://app.prolific.com/"
ID = re.compile(r"[0-9a-f]{24}")


class Prolific(Recruiter):
    """Ids are 24 hexadecimal digits; SESSION_ID is Prolific's submission."""

    name: ClassVar[str] = "prolific"

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        if not {PERSON, STUDY, SESSION} & parameters.keys():
            return None
        for name in (PERSON, STUDY, SESSION):
            if not ID.fullmatch(parameters.get(name, "")):
                return Refused("entry_parameter", {"name": name})
        return Arrival(parameters[PERSON], parameters[SESSION])

    def platform(self) -> Platform | None:
        return Platform("Prolific", HOME)

    def absent(self) -> Refused:
        return Refused("entry_prolific", {})
