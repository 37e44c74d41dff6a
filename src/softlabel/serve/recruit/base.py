"""What a recruiter is: how people arrive, and where they go afterwards."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal
from urllib.parse import quote

from softlabel.study import Recruit

Outcome = Literal["complete", "screenout", "noconsent"]
OUTCOMES: dict[str, Outcome] = {  # by the stage at which a session ended
    "done": "complete",
    "screened-out": "screenout",
    "full": "screenout",
    "no-consent": "noconsent",
    "withdrawn": "noconsent",
}


@dataclass(frozen=True)
class Arrival:
    """Who came, in the recruiter's own words; these are never stored as they are."""

    id: str
    session: str | None = None


@dataclass(frozen=True)
class Refused:
    """Parameters that are no arrival: ``text`` is the key of what the page says about it."""

    text: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Platform:
    """A recruiter's own site: what it is called, and its address."""

    name: str
    address: str


class Recruiter(ABC):
    """How people arrive, and where they return to.  ``walk_in``: anybody may begin."""

    name: ClassVar[str]
    walk_in: ClassVar[bool] = False

    def __init__(self, settings: Recruit) -> None:
        self.settings = settings

    @abstractmethod
    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        """Who the parameters of the address name; None if they are not about it at all."""

    def absent(self) -> Refused:
        """What to say to somebody who came without an invitation of any kind."""
        return Refused("entry_missing", {})

    def platform(self) -> Platform | None:
        """Where people came from, for those whose way ends on an error page; no code goes along,
        since nothing has been completed."""
        return None

    def code(self, outcome: Outcome) -> str | None:
        """The code to show, as a way back that works by hand."""
        codes = {
            "complete": self.settings.completion_code,
            "screenout": self.settings.screenout_code,
            "noconsent": self.settings.noconsent_code,
        }
        return codes[outcome]

    def address(self, outcome: Outcome) -> str | None:
        """Where people return to; may hold the blanks ``{id}`` and ``{session}``."""
        addresses = {
            "complete": self.settings.complete_url,
            "screenout": self.settings.screenout_url,
            "noconsent": self.settings.noconsent_url,
        }
        return addresses[outcome]

    def needs_arrival(self) -> bool:
        """Whether some return address carries what the recruiter sent."""
        addresses = [self.address(outcome) or "" for outcome in set(OUTCOMES.values())]
        return any("{id}" in one or "{session}" in one for one in addresses)


def fill(address: str, arrival: Arrival | None) -> str | None:
    """The return address with its blanks filled; None if we no longer know with what."""
    blanks = {"{id}": arrival and arrival.id, "{session}": arrival and arrival.session}
    for blank, value in blanks.items():
        if blank in address:
            if not value:
                return None
            address = address.replace(blank, quote(value, safe=""))
    return address
