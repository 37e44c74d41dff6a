"""What is in the database after a run, held against what the annotators were told."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from softlabel import store
from softlabel.study import Study


class Stored(NamedTuple):
    """Ids on the disk, the fullest item, and the most and the fewest people in a batch."""

    ids: list[str]
    most_per_item: int
    batches: tuple[int, int] | None

    def is_exactly(self, acknowledged: list[str]) -> bool:
        return sorted(self.ids) == sorted(acknowledged)


def look(study: Study, database: str | Path) -> Stored:
    """Read everything back."""
    with store.open(database, create=False) as answers:
        ids = [row.id for row in answers.responses(study.name)]
        most = max(answers.answers_per_item(study.name).values())
        taken = answers.taken_per_batch(study.name).values()
    return Stored(ids, most, (min(taken), max(taken)) if taken else None)
