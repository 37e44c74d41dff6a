"""Simulated people who take part in a study over HTTP, as browsers would."""

from softlabel.crowd.fill import fill
from softlabel.crowd.log import Outcome, Report
from softlabel.crowd.people import Habits, Somebody, crowd
from softlabel.crowd.truth import known

__all__ = ["Habits", "Outcome", "Report", "Somebody", "crowd", "fill", "known"]
