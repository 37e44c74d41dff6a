"""Argilla 2: nested records of ``to_json``, and flat records of ``to_datasets``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from softlabel._util.files import write_atomically
from softlabel.io.formats.base import NOTHING, Collector, Format, Head, Row, Table
from softlabel.tables import SoftLabels

USERS, STATUS, RESPONSES = ".responses.users", ".responses.status", ".responses"
GUESS = ".suggestion"
SUBMITTED = "submitted"
NO_STATUS = "the nested form does not say which answers are drafts: all are taken as submitted"


@dataclass(frozen=True)
class Argilla(Format):
    """Records of Argilla 2, nested (``to_json``) or flat (``to_datasets``, Parquet or JSON lines).
    Suggestions are answers of machines."""

    name: ClassVar[str] = "argilla"
    paper: ClassVar[str] = "https://docs.argilla.io"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    shows: ClassVar[bool] = True
    holds: ClassVar = "labels"

    @classmethod
    def claims(cls, head: Head) -> bool:
        if head.kind == "table":
            return any(column.endswith(USERS) for column in head.first)
        record = head.record
        nested = isinstance(record.get("responses"), dict) and "fields" in record
        return nested or any(key.endswith(USERS) for key in record)

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        if head.kind != "table" and "responses" in head.record:
            for number, record in head.lines():
                self._read_nested(found, number, record)
            if found.rows:
                found.notes.append(NO_STATUS)
        else:
            lines = head.rows() if head.kind == "table" else head.lines()
            for number, record in lines:
                self._read_flat(found, number, record)
        return found.table()

    def _read_nested(self, found: Collector, number: int, record: dict[str, Any]) -> None:
        place = f"record {number}"
        fields = found.get(record, "fields", place, dict)
        known = {**record, **fields, **(record.get("metadata") or {})}
        item = found.name(known.get(self.item or "id"), place, self.item or "id")
        found.contents[item] = dict(fields)
        for question, answers in found.get(record, "responses", place, dict).items():
            for answer in answers:
                where = f"{place}, {question}"
                person = found.name(answer.get("user_id"), where, "user_id")
                _add(found, Row(item, person, (), where, question), answer.get("value"))
        for question, guess in (record.get("suggestions") or {}).items():
            _suggest(found, item, question, guess.get("value"), guess.get("agent"), place)

    def _read_flat(self, found: Collector, number: int, record: Mapping[str, Any]) -> None:
        place = f"record {number}"
        item = found.name(record.get(self.item or "id"), place, self.item or "id")
        questions = [key.removesuffix(USERS) for key in record if key.endswith(USERS)]
        found.contents[item] = {
            key: value
            for key, value in record.items()
            if key not in ("id", "status", "_server_id")
            and not any(key.startswith(f"{question}.") for question in questions)
        }
        for question in questions:
            where = f"{place}, {question}"
            lists = [record.get(f"{question}{end}") for end in (RESPONSES, USERS, STATUS)]
            values, users, states = (one if isinstance(one, list) else [] for one in lists)
            states = states or [SUBMITTED] * len(values)
            if not len(values) == len(users) == len(states):
                reason = f"{len(values)} answers, {len(users)} users and {len(states)} states"
                raise found.error(where, reason, f"{question}{RESPONSES}")
            for value, user, state in zip(values, users, states, strict=True):
                if state != SUBMITTED:
                    found.left_out[str(state)] += 1
                    continue
                person = found.name(user, where, f"{question}{USERS}")
                _add(found, Row(item, person, (), where, question), value)
            guess = record.get(f"{question}{GUESS}")
            if guess is not None:
                agent = record.get(f"{question}{GUESS}.agent")
                _suggest(found, item, question, guess, agent, place)

    def write(self, labels: SoftLabels, path: Path, contents: Mapping[str, Any]) -> None:
        """Write records with the top class of each item as a suggestion, and its chance."""
        names, question = labels.index.labels.tolist(), self.task or "label"
        records = []
        for item, probs in zip(labels.index.items.tolist(), labels.probs.tolist(), strict=True):
            fields = {key: str(value) for key, value in contents.get(item, {}).items()}
            record: dict[str, Any] = {"id": item, "fields": fields, "metadata": {}, "vectors": {}}
            if probs[0] == probs[0]:
                top = max(range(len(names)), key=probs.__getitem__)
                guess = {"value": names[top], "score": probs[top], "agent": "softlabel"}
                record["suggestions"] = {question: guess}
            records.append({"status": "pending", "responses": {}, "suggestions": {}, **record})
        with write_atomically(path) as part:
            part.write_text(json.dumps(records, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _add(found: Collector, row: Row, value: Any) -> None:
    """Add an answer: one label, a rating, or several labels."""
    if value is None or value == "":
        found.left_out[NOTHING] += 1
        return
    values = value if isinstance(value, list) else [value]
    chosen = tuple(found.name(one, row.place, row.task) for one in values)
    found.rows.append(row._replace(answer=chosen))


def _suggest(
    found: Collector, item: str, question: str, value: Any, agent: Any, place: str
) -> None:
    name = str(agent or "unnamed model")
    _add(found, Row(item, name, (), f"{place}, suggestion", question, "machine"), value)
