"""Ways of asking compared on the dashboard: people, answers, seconds and information by arm."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from softlabel.allocate import modes
from softlabel.elicit import Hard
from softlabel.errors import DataError
from softlabel.metrics import spread
from softlabel.serve.researcher.sample import ReadAnswer, Sample, statements
from softlabel.study import Study
from softlabel.tables import Floats, names

MOST = 3_000  # answers: enough to decide, and computed while people wait for the server
DRAWS = 100  # of the bootstrap; ``softlabel compare-modes`` draws four times more
COLUMNS = ("Arm", "People", "Answers", "Seconds", "Nats per second", "Worth in {unit}")
DASH = "–"


@dataclass(frozen=True)
class ArmsCompared:
    """A row of texts for each arm, the ``unit`` of worths, and what follows from them; before there
    are enough answers, why nothing follows yet."""

    rows: tuple[tuple[str, ...], ...]
    unit: str
    verdicts: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        return [column.format(unit=self.unit) for column in COLUMNS]


def compare_arms(study: Study, sample: Sample, rest: Callable[[], None]) -> ArmsCompared | None:
    """Compare the arms of a study by the latest answers; None if it compares nothing.  ``rest`` is
    called between steps of work."""
    if study.compare is None:
        return None
    arms = [arm.name for arm in study.compare.arms]
    asked = [one for one in sample.asked if one.answer is not None and one.arm in arms]
    found, reason = _measure(sample.labels, asked[-MOST:], rest)
    rows = tuple(_row(arm, [one for one in asked if one.arm == arm], found) for arm in arms)
    if found is None:
        return ArmsCompared(rows, "votes", (f"Undecided: {reason}.",))
    return ArmsCompared(rows, found.unit, tuple(found.verdicts()))


def _measure(
    labels: Sequence[str], asked: Sequence[ReadAnswer], rest: Callable[[], None]
) -> tuple[modes.Comparison | None, str]:
    """Return the comparison, or why there is none yet."""
    if not asked:
        return None, "nobody has answered yet"
    said = statements(labels, asked)
    votes = np.array([one.mode == Hard.name for one in asked], dtype=np.bool_)
    seconds: Floats = np.array([one.active for one in asked], dtype=np.float64)
    table = modes.make_asked(said, names([str(one.arm) for one in asked]), votes, seconds)
    try:
        return modes.compare(table, draws=DRAWS, rest=rest), ""
    except DataError as error:
        return None, str(error)


def _row(
    arm: str, answers: Sequence[ReadAnswer], found: modes.Comparison | None
) -> tuple[str, ...]:
    """Return the texts of one arm; information and worth about the first kind of target."""
    people = len({one.annotator for one in answers})
    taken = spread([one.active for one in answers])
    seconds = f"{taken.median:.1f}" if taken.n else DASH
    counted = (arm, f"{people:,}", f"{len(answers):,}", seconds)
    measured = {one.name: one for one in found.arms} if found else {}
    if found is None or arm not in measured:
        return (*counted, DASH, DASH)
    kind, own = found.kinds[0], measured[arm]
    worth = "1" if arm == found.reference else modes.describe(own.worth[kind])
    return (*counted, modes.describe(own.per_second[kind], 3), worth)
