"""Simulated people who take part in a study over HTTP, as browsers would."""

from softlabel.simulate.crowd.fill import fill
from softlabel.simulate.crowd.log import Outcome, Report
from softlabel.simulate.crowd.people import Habits, Somebody, crowd
from softlabel.simulate.crowd.truth import known

__all__ = ["Habits", "Outcome", "Report", "Somebody", "crowd", "fill", "known"]
