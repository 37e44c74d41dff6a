"""Recruitment: how people arrive and return, and the whole loop with Prolific."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names
from softlabel.serve.recruit.recruiters import (
    OUTCOMES,
    RECRUITERS,
    Arrival,
    Recruiter,
    Refused,
    fill_address,
    find_annotator,
    find_outcome,
    invite,
    make_recruiter,
    revoke,
)

if TYPE_CHECKING:
    from softlabel.serve.recruit import (
        advert,
        bonuses,
        link,
        prolific,
        signed,
        submissions,
        webhooks,
    )  # fmt: skip

__all__ = [
    "OUTCOMES", "RECRUITERS", "Arrival", "Recruiter", "Refused", "advert", "bonuses",
    "fill_address", "find_annotator", "find_outcome", "invite", "link", "make_recruiter",
    "prolific", "revoke", "signed", "submissions", "webhooks",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("advert", "bonuses", "link", "prolific"), ""),
        **dict.fromkeys(("signed", "submissions", "webhooks"), ""),
    },
    ("recruiting on Prolific", "serve"),
)
