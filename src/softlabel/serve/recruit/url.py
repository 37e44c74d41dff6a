"""Any recruiter that sends people with an id in the address and wants them back at one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urlsplit

from softlabel.serve.recruit.base import Arrival, Platform, Recruiter, Refused
from softlabel.study import LONGEST


class Url(Recruiter):
    """The names of the parameters and the return addresses stand in the study file."""

    name: ClassVar[str] = "url"

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        person, session = self.settings.id_param, self.settings.session_param
        assert person is not None, "the study file names the parameter"
        if person not in parameters:
            return None
        if not self._is_id(parameters[person]):
            return Refused("entry_parameter", {"name": person})
        if session is None:
            return Arrival(parameters[person])
        if not 0 < len(parameters.get(session, "")) <= LONGEST:
            return Refused("entry_parameter", {"name": session})
        return Arrival(parameters[person], parameters[session])

    def platform(self) -> Platform | None:
        parts = urlsplit(self.settings.complete_url or "")
        return Platform(parts.netloc, f"{parts.scheme}://{parts.netloc}/") if parts.netloc else None

    def _is_id(self, text: str) -> bool:
        assert self.settings.id_pattern is not None, "the study file has a pattern, if only ours"
        return 0 < len(text) <= LONGEST and bool(re.fullmatch(self.settings.id_pattern, text))
