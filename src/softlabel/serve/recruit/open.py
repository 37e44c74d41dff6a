"""Anybody who has the address may take part, once per browser."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from softlabel.serve.recruit.base import Arrival, Recruiter, Refused


class Open(Recruiter):
    """No ids: a session is made when somebody agrees to take part."""

    name: ClassVar[str] = "open"
    walk_in: ClassVar[bool] = True

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        return None
