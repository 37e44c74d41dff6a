"""What a study has cost so far, and what it will have cost when it is done."""

from __future__ import annotations

from dataclasses import dataclass

from softlabel.study import Study

PAID = ("debrief", "done")  # stages of people who have answered everything


@dataclass(frozen=True)
class Bill:
    """In ``currency``, without a platform's fee.

    ``earned`` counts a finished session whole and one under way by the share it has answered;
    ``projected`` adds the answers that are still wanted, at the price of an answer in a whole
    session.  ``hourly`` is what people earn in an hour of answering at the median speed.
    """

    currency: str
    session: float
    earned: float
    projected: float
    hourly: float


def bill(study: Study, whole: int, shares: float, missing: int, seconds: float) -> Bill | None:
    """None for a study without pay.

    ``whole`` sessions are finished, those under way have answered ``shares`` sessions in all,
    ``missing`` answers are wanted, and ``seconds`` is the median time of an answer.
    """
    if study.pay is None:
        return None
    session = study.pay.session
    earned = (whole + shares) * session
    left = missing / study.items_per_person * session
    hours = seconds * study.showings_per_person / 3600
    return Bill(study.pay.currency, session, earned, earned + left, session / hours)
