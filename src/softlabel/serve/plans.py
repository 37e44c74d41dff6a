"""What the page is told: what to show next, and nothing that would give an answer away."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from softlabel import __version__
from softlabel.serve import media
from softlabel.serve.static import StaticTable
from softlabel.serve.texts import Catalogue
from softlabel.store import AHEAD, Plan, Portion, Session, Showing
from softlabel.study import Item, Study

FORM = "modes/form.js"  # draws any mode from its fields
MOST_SENT = 200_000  # characters of label names; beyond that the page asks as it goes


def lease_plan(study: Study) -> Plan:
    """How the store is to give out items."""
    return Plan(
        per_item=study.per_item,
        per_annotator=study.per_annotator,
        batch_size=min(study.batch_size, study.items_per_person),
        repeats=study.repeats,
        repeat_positions=study.repeat_positions,
        practice=tuple(item.id for item in study.practice),
        checks=tuple(item.id for item in study.checks),
        batches=bool(study.batches),
        lease_seconds=60.0 * study.lease_minutes,
        seed=study.seed,
        ahead=portion_size(study),
    )


def portion_size(study: Study) -> int:
    """How many items a person gets at a time: a whole batch unless that is large.

    Who gets everything at once gets different items than everybody else holds, so that a study
    with just as many people as it needs is filled.
    """
    sizes = [len(items) for items in study.batches.values()]
    batch = max(sizes, default=min(study.batch_size, study.items_per_person))
    return batch if batch <= 2 * AHEAD else AHEAD


class PlanWriter:
    """The plan of a session as JSON.  What is the same for everybody is made once.

    It holds the next few showings, the last answered ones before them, and of all others only
    how many they are: ``answered`` of the ``total``.
    """

    def __init__(self, study: Study, texts: Catalogue, static: StaticTable) -> None:
        self.study, self.most_skips = study, study.most_skips
        module = f"modes/{study.mode.name}.js"
        self.asks = sum(map(len, study.labels)) > MOST_SENT
        self._same: dict[str, Any] = {
            "app": __version__,
            "study": study.name,
            "title": study.title,
            "language": texts.code,
            "dir": texts.dir,
            "frame": study.frame,
            "repeat_rest": study.repeat_rest,
            "mode": {
                "name": study.mode.name,
                "version": study.mode.version,
                "rules": study.mode.rules(),
                "fields": [asdict(field) for field in study.mode.fields],
                "module": f"/static/{module if module in static.files else FORM}",
            },
            "synonyms": {} if self.asks else {key: list(of) for key, of in study.synonyms.items()},
            "labels_from": "/api/labels" if self.asks else None,
            "texts": texts.task,
        }

    def __call__(self, session: Session, portion: Portion) -> dict[str, Any]:
        shown = [_shown(one, item) for one in portion.showings if (item := self._item(one))]
        return self._same | {
            "session": session.id,
            "labels": [] if self.asks else list(session.label_order),
            "total": self._whole(portion) - portion.gone,
            "answered": portion.done - portion.gone,
            "showings": shown,
            "more": self._has_more(portion),
            "skips_left": self.most_skips - session.skipped,
        }

    def _whole(self, portion: Portion) -> int:
        """How many showings there will be in the end."""
        if not self._has_more(portion):
            return portion.shown
        if portion.coming is not None:
            return portion.shown + portion.coming
        return max(portion.shown, self.study.showings_per_person)

    def _has_more(self, portion: Portion) -> bool:
        """Whether to ask again later: not who has been shown all that one person gets."""
        opened = sum(one.state == "open" for one in portion.showings)
        if portion.coming is not None or opened < portion.shown - portion.done:
            return portion.more
        return portion.more and portion.shown < self.study.showings_per_person

    def _item(self, showing: Showing) -> Item | None:
        """None if the item was taken out of the study after it had been answered."""
        try:
            return self.study.find(showing.item)
        except KeyError:
            return None


def _shown(showing: Showing, item: Item) -> dict[str, Any]:
    """Only what is seen or heard: no id, no kind, no gold, no file name."""
    return {
        "position": showing.position,
        "phase": "practice" if showing.kind == "training" else "main",
        "image": media.address(item.image),
        "audio": media.address(item.audio),
        "text": item.text,
        "alt": item.alt,
        "answered": showing.response is not None,
        "skipped": showing.state == "skipped",
    }
