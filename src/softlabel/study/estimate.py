"""How long a study takes a person, and what it costs, before anybody has answered."""

from __future__ import annotations

from dataclasses import dataclass

from softlabel.elicit import expected_seconds
from softlabel.metrics import Cost
from softlabel.study.model import Study

AROUND = 120.0  # seconds for consent, instructions, quiz and debrief


@dataclass(frozen=True)
class Estimate:
    """Of one session: seconds per answer, whether people were timed for it, minutes in all."""

    seconds: float
    measured: bool
    minutes: float
    session: float | None  # pay of one session
    total: float | None  # pay of everybody who is needed
    per_hour: float | None  # what an hour pays if sessions are as long as estimated here


def estimate(study: Study) -> Estimate:
    """Take the seconds of an answer from the mode; if it does not know, every field takes as long
    as one field of ``classic``."""
    expected = expected_seconds(study.mode)
    per_field = Cost().seconds_per_input * len(study.mode.fields)
    seconds = per_field if expected is None else expected.answer
    measured = expected is not None and expected.measured
    minutes = (AROUND + study.showings_per_person * seconds) / 60
    if study.pay is None:
        return Estimate(seconds, measured, minutes, None, None, None)
    session = study.pay.session
    total, hourly = session * study.people_needed, session / minutes * 60
    return Estimate(seconds, measured, minutes, session, total, hourly)
