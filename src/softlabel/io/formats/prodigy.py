"""Prodigy: JSON lines, one answer on each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from softlabel._util.files import write_atomically
from softlabel.io.formats.base import Collector, Format, Head, Row, Table
from softlabel.records import dump_json
from softlabel.tables import Index

ANSWERS = ("accept", "reject", "ignore")
SESSION = re.compile(r"(.*[-_])?\d{4}-\d\d-\d\d[_T ]\d\d[-:]\d\d[-:]\d\d")  # nobody was named
SHOWN = ("text", "image", "html")
UNREADABLE = "without options, label or categories"


@dataclass(frozen=True)
class Prodigy(Format):
    """Exports of Prodigy (``prodigy db-out``): choices, and single labels that are accepted or
    rejected, which are one question each."""

    name: ClassVar[str] = "prodigy"
    paper: ClassVar[str] = "https://prodi.gy/docs/api-interfaces"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)
    shows: ClassVar[bool] = True
    holds: ClassVar = "items"

    @classmethod
    def claims(cls, head: Head) -> bool:
        return head.record.get("answer") in ANSWERS and "_task_hash" in head.record

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        classes: dict[str, None] = {}
        sessions: set[str] = set()
        for line, record in head.lines():
            place = f"line {line}"
            item = self._name_item(found, record, place)
            shown = {key: value for key, value in record.items() if key in SHOWN}
            found.contents.setdefault(item, shown)
            who = record.get("_annotator_id") or record.get("_session_id")
            person = None if who is None else found.name(who, place, "_annotator_id")
            if person is not None and SESSION.fullmatch(person):
                sessions.add(person)
            answer = record.get("answer")
            if answer not in ANSWERS:
                reason = f"must be one of {', '.join(ANSWERS)}"
                raise found.error(place, reason, "answer", answer)
            for option in record.get("options") or ():
                classes.setdefault(str(option.get("id")))
            _add(found, Row(item, person, (), place), record, str(answer))
        if sessions:
            found.notes.append(f"{len(sessions):,} sessions name nobody; each is one annotator")
        return found.table(labels={"": list(classes)} if classes else {})

    def _name_item(self, found: Collector, record: Mapping[str, Any], place: str) -> str:
        meta = record.get("meta")
        meta = meta if isinstance(meta, dict) else {}
        if self.item:
            return found.name(record.get(self.item, meta.get(self.item)), place, self.item)
        key = "meta.id" if "id" in meta else "_input_hash"
        return found.name(meta.get("id", record.get("_input_hash")), place, key)

    def write(self, index: Index, path: Path, contents: Mapping[str, Any]) -> None:
        """Write tasks of a choice between all labels."""
        options = [{"id": label, "text": label} for label in index.labels.tolist()]
        lines = (
            dump_json(
                {"text": "", **contents.get(item, {}), "options": options, "meta": {"id": item}}
            )
            for item in index.items.tolist()
        )
        with write_atomically(path) as part:
            part.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _add(found: Collector, row: Row, record: Mapping[str, Any], answer: str) -> None:
    if answer == "ignore":
        found.left_out["skipped"] += 1
    elif "options" in record or "accept" in record:
        if answer == "reject":
            found.left_out["rejected: none of the options"] += 1
            return
        chosen = record.get("accept", [])
        if not isinstance(chosen, list):
            raise found.error(row.place, "must be a list of options", "accept", chosen)
        labels = tuple(found.name(label, row.place, "accept") for label in chosen)
        found.rows.append(row._replace(answer=labels))
    elif "label" in record:
        task = found.name(record["label"], row.place, "label")
        found.rows.append(row._replace(answer=(answer,), task=task))
    elif isinstance(record.get("cats"), dict):
        given = {name: found.number(p, row.place, name) for name, p in record["cats"].items()}
        chosen = tuple(name for name, p in given.items() if p >= 0.5)
        found.rows.append(row._replace(answer=chosen))
    else:
        found.left_out[UNREADABLE] += 1
