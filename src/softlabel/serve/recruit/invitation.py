"""People who were sent a link of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from softlabel.serve.recruit.base import Arrival, Recruiter, Refused


class Invitation(Recruiter):
    """Entry is by ``/i/TOKEN`` alone; the links are made by ``softlabel invite``."""

    name: ClassVar[str] = "invitation"

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        return None

    def absent(self) -> Refused:
        return Refused("entry_invitation", {})
