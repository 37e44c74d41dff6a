"""How long a study takes a person, and what it costs, before anybody has answered."""

from __future__ import annotations

from dataclasses import dataclass

from softlabel.metrics import Cost
from softlabel.study.model import Study

AROUND = 120.0  # seconds for consent, instructions, quiz and debrief
PREDICTED = {  # seconds per answer by a keystroke-level model; nobody has measured them yet
    "quick": 5.7,
    "chips": 7.0,
    "search": 9.0,
}


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
    """Seconds of ``classic`` and ``hard`` are medians of CIFAR-10S and CIFAR-10H; other modes go
    by a prediction, and a mode of your own by what one field of ``classic`` takes."""
    cost, mode = Cost(), study.mode.name
    measured = {"classic": cost.answer("t2-clamp"), "hard": cost.answer("hard")}
    per_field = cost.seconds_per_input * len(study.mode.fields)
    seconds = (measured | PREDICTED).get(mode, per_field)
    minutes = (AROUND + study.showings_per_person * seconds) / 60
    if study.pay is None:
        return Estimate(seconds, mode in measured, minutes, None, None, None)
    session = study.pay.session
    total, hourly = session * study.people_needed, session / minutes * 60
    return Estimate(seconds, mode in measured, minutes, session, total, hourly)
