"""Where people come from and where they return to: one file per kind of recruiter."""

from softlabel.errors import UnknownName
from softlabel.serve.recruit.base import Arrival, Platform, Recruiter, Refused
from softlabel.serve.recruit.invitation import Invitation
from softlabel.serve.recruit.open import Open
from softlabel.serve.recruit.prolific import Prolific
from softlabel.serve.recruit.url import Url
from softlabel.study import Recruit

RECRUITERS: dict[str, type[Recruiter]] = {
    kind.name: kind for kind in (Open, Prolific, Url, Invitation)
}

__all__ = ["RECRUITERS", "Arrival", "Platform", "Recruiter", "Refused", "make"]


def make(settings: Recruit) -> Recruiter:
    """The recruiter that a study names."""
    if settings.kind not in RECRUITERS:
        raise UnknownName("recruiter", settings.kind, RECRUITERS)
    return RECRUITERS[settings.kind](settings)
