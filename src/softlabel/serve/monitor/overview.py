"""Everything a researcher wants to know about a running study, in one value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from softlabel.annotators import Repeats, measure_repeats
from softlabel.serve.monitor.accord import Agreement, agreement, disagreement
from softlabel.serve.monitor.money import Bill, bill
from softlabel.serve.monitor.pace import Pace
from softlabel.serve.monitor.people import Person, Reference, people
from softlabel.serve.monitor.sample import Sample
from softlabel.serve.monitor.seconds import Seconds, by_mode
from softlabel.serve.monitor.speed import Speed, speed
from softlabel.serve.monitor.standing import Standing, standing
from softlabel.serve.monitor.window import MOST, Window
from softlabel.store import Store
from softlabel.study import Study

LEAVING = {"withdrawn": "withdrew", "screened-out": "skipped too many items"}


@dataclass(frozen=True, eq=False)
class Insight:
    """What takes time to compute: made of the latest ``read`` of ``stored`` answers, of which
    ``unreadable`` ones were given before labels or mode changed.

    ``seconds`` are those of targets and repeats; ``disagreement`` is the mean total variation
    between two people, by item.
    """

    at: float
    read: int
    stored: int
    unreadable: int
    seconds: tuple[Seconds, ...]
    speed: Speed
    agreement: Agreement | None
    repeats: Repeats
    people: tuple[Person, ...]
    disagreement: Mapping[str, float]

    @property
    def whole(self) -> bool:
        """True if no answer was left out."""
        return self.read >= self.stored

    @property
    def median(self) -> float:
        """Seconds of the middle answer, in the mode most answers were given in."""
        return self.seconds[0].answer.median if self.seconds else math.nan


@dataclass(frozen=True, eq=False)
class Overview:
    """``insight`` is None as long as it has not been computed yet."""

    standing: Standing
    insight: Insight | None
    bill: Bill | None

    @property
    def hours_left(self) -> float:
        """Until every item has its answers, at the speed of the latest hour; NaN if unknown."""
        if self.insight is None:
            return math.nan
        return self.insight.speed.hours_left(self.standing.missing)

    def people(self) -> tuple[Person, ...]:
        """Everybody in the sample, those with most flags first; who left is flagged as well."""
        known = self.insight.people if self.insight is not None else ()
        stages = self.standing.stage_of
        flagged = [one.with_flag(LEAVING.get(stages.get(one.annotator, ""))) for one in known]
        return tuple(sorted(flagged, key=lambda one: (-len(one.flags), one.annotator)))


def overview(study: Study, store: Store, now: float, most: int = MOST) -> Overview:
    """All of it, computed here and now."""
    stand, pace = standing(study, store), Pace()
    sample = Window(study, store, most).refresh(pace)
    return combined(study, stand, insight(study, sample, now, pace))


def combined(study: Study, stand: Standing, found: Insight | None) -> Overview:
    """What was counted, what was computed, and what follows from both."""
    median = math.nan if found is None else found.median
    return Overview(stand, found, bill(study, stand.paid, stand.shares, stand.missing, median))


def insight(study: Study, sample: Sample, now: float, pace: Pace) -> Insight:
    """What can be learned from a sample; rests between the steps as ``pace`` says."""
    asked = sample.asked
    timed = by_mode((one.mode, one.active, one.first, one.steps) for one in asked)
    pace()
    agreed = agreement(sample)
    pace()
    known = {
        item.id: Reference(item.kind, item.gold) for item in study.checks if item.gold is not None
    }
    return Insight(
        at=now,
        read=sample.read,
        stored=sample.stored,
        unreadable=sample.unreadable,
        seconds=timed,
        speed=speed([one.at for one in asked if one.kind == "target"], now, sample.whole),
        agreement=agreed,
        repeats=measure_repeats(sample.each, sample.said, sample.is_repeat)[0],
        people=people(sample, known, pace),
        disagreement=disagreement(sample.once),
    )
