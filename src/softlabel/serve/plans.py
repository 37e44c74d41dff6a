"""What the page is told: what to show next, and nothing that would give an answer away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from softlabel import __version__
from softlabel.serve import media
from softlabel.serve.static import StaticTable
from softlabel.serve.texts import Catalogue
from softlabel.store import Plan, Session, Showing
from softlabel.study import Item, Study

FORM = "modes/form.js"  # draws any mode from its fields
MOST_SENT = 200_000  # characters of label names; beyond that the page asks as it goes


def lease_plan(study: Study) -> Plan:
    """How the store is to give out items."""
    return Plan(
        per_item=study.per_item,
        per_annotator=study.per_annotator,
        batch_size=study.batch_size,
        repeats=study.repeats,
        repeat_positions=study.repeat_positions,
        practice=tuple(item.id for item in study.practice),
        checks=tuple(item.id for item in study.checks),
        batches=bool(study.batches),
        lease_seconds=60.0 * study.lease_minutes,
        seed=study.seed,
    )


class PlanWriter:
    """The plan of a session as JSON.  What is the same for everybody is made once."""

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

    def __call__(self, session: Session, showings: Sequence[Showing]) -> dict[str, Any]:
        held = [one for one in showings if one.state != "released" or one.response is not None]
        shown = [_shown(one, item) for one in held if (item := self._item(one))]
        more = is_unfinished(self.study, held)
        whole = max(len(held), self.study.showings_per_person) if more else len(held)
        return self._same | {
            "session": session.id,
            "labels": [] if self.asks else list(session.label_order),
            "total": whole - (len(held) - len(shown)),
            "answered": sum(one["answered"] for one in shown),
            "showings": shown,
            "more": more,
            "skips_left": self.most_skips - session.skipped,
        }

    def _item(self, showing: Showing) -> Item | None:
        """None if the item was taken out of the study after it had been answered."""
        try:
            return self.study.find(showing.item)
        except KeyError:
            return None


def is_unfinished(study: Study, held: Sequence[Showing]) -> bool:
    """Whether more may come once the open showings are answered.

    Nothing open means that the store, asked just now, had nothing more to give.
    """
    if not any(one.state == "open" for one in held):
        return False
    kinds = [one.kind for one in held]
    repeats_given = kinds.count("repeat") >= study.repeats > 0
    all_given = study.repeats == 0 and kinds.count("target") >= study.items_per_person
    return not (repeats_given or all_given)


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
