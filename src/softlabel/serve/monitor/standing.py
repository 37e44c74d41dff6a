"""How far a study is, counted by the database: cheap, exact, and as of now."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from softlabel.serve.monitor.money import PAID
from softlabel.store import LEFT, Session, Store
from softlabel.study import Study


@dataclass(frozen=True)
class Standing:
    """``answers`` count towards the ``wanted`` ones: targets, each up to its quota.

    ``histogram[n]`` is how many items have n answers; ``stored`` counts everything, practice,
    checks, repeats and skips too; ``late`` ones were given when their items had all they wanted,
    and count towards nothing here.  ``skips`` are no answers: how often people skipped an item, by
    their reason, and ``skipped`` by person; practice is not among them.  ``paid`` sessions have
    finished all they were given, those under way have answered ``shares`` whole sessions together.
    ``simulated`` sessions are those of a rehearsal.
    """

    items: int
    done: int
    answers: int
    wanted: int
    stored: int
    late: int
    skips: Mapping[str, int]
    skipped: Mapping[str, int]
    histogram: tuple[int, ...]
    per_item: Mapping[str, int]
    stages: Mapping[str, int]
    stage_of: Mapping[str, str]
    paid: int
    shares: float
    last_at: float | None
    simulated: int = 0

    @property
    def missing(self) -> int:
        return self.wanted - self.answers

    @property
    def people(self) -> int:
        return len(self.stage_of)


def standing(study: Study, store: Store) -> Standing:
    """Of the study as it is in the store now."""
    progress = store.progress(study.name)
    per_item = store.answers_per_item(study.name)
    sessions = store.sessions(study.name)
    counted = Counter(per_item.values())
    quota = study.per_item
    return Standing(
        items=progress.items,
        done=sum(items for answers, items in counted.items() if answers >= quota),
        answers=sum(min(answers, quota) * items for answers, items in counted.items()),
        wanted=progress.items * quota,
        stored=progress.responses,
        late=progress.late,
        skips=progress.skips,
        skipped={one.annotator: one.skipped for one in sessions if one.skipped},
        histogram=tuple(counted[n] for n in range(max([quota, *counted]) + 1)),
        per_item=per_item,
        stages=progress.sessions,
        stage_of={one.annotator: one.stage for one in sessions},
        paid=sum(one.stage in PAID for one in sessions),
        shares=math.fsum(_share(study, one) for one in sessions),
        last_at=progress.last_at,
        simulated=sum(one.simulated for one in sessions),
    )


def _share(study: Study, session: Session) -> float:
    """How much of a whole session somebody who is still at it has answered."""
    if session.stage in PAID or session.stage in LEFT:
        return 0.0
    return min(session.answered / study.showings_per_person, 1.0)
