"""Potato: the state of each user, its exports as JSON lines and CSV, and old releases."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from softlabel._util.files import write_atomically
from softlabel.io.formats.base import NOTHING, Collector, Format, Head, Kind, Row, Table
from softlabel.io.json_files import parse_lines, parse_object
from softlabel.records import dump_json
from softlabel.tables import Index

STATE, HISTORY = "user_state.json", "annotation_history.jsonl"
LABELS = "instance_id_to_label_to_value"
TICKED = ("true", "on", "1")  # values of a box that is ticked
FREE_TEXT, OTHER_PAGES = "free text", "on pages before and after the items"
SPANS, ORIGIN = "spans", "annotator_origin"

Answers = dict[str, dict[str, Any]]  # schema -> name -> value


@dataclass(frozen=True)
class Potato(Format):
    """Answers of Potato: a ``user_state.json``, a folder of them, or an export.

    ``single`` names a schema of which one label counts: if several are stored, the last change in
    ``annotation_history.jsonl`` beside the state decides.
    """

    single: str = ""

    name: ClassVar[str] = "potato"
    paper: ClassVar[str] = "https://github.com/davidjurgens/potato"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)
    shows: ClassVar[bool] = True
    holds: ClassVar = "items"

    @classmethod
    def claims(cls, head: Head) -> bool:
        if head.kind in ("folder", "zip"):
            return any(Path(name).name == STATE for name in head.first)
        if head.kind == "table":
            dotted = any("." in column for column in head.first)
            return {"instance_id", "user_id"} <= set(head.first) and dotted
        keys = head.record.keys()
        old = {"user", "instance_id", "label_annotations"} <= keys
        return LABELS in keys or {"instance_id", "user_id", "labels"} <= keys or old

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        stored: list[tuple[Row, Answers]] = []  # a row without its answer, and all its answers
        if head.kind in ("folder", "zip"):
            history = {
                path.parent: data for path, data in head.members(".jsonl") if path.name == HISTORY
            }
            for path, data in head.members(".json"):
                if path.name == STATE:
                    state = parse_object(path, data)
                    changes = _last_changes(path, history.get(path.parent, b""))
                    stored += self._read_state(found, state, changes)
        elif LABELS in head.record:
            beside = head.path.with_name(HISTORY)
            changes = _last_changes(beside, beside.read_bytes() if beside.is_file() else b"")
            stored += self._read_state(found, head.record, changes)
        elif head.kind == "table":
            stored += [_read_cells(found, *line) for line in head.rows()]
        else:
            stored += [_read_line(found, *line) for line in head.lines()]
        return _settle(found, stored)

    def _read_state(
        self, found: Collector, state: dict[str, Any], changes: Mapping[tuple[str, str], str]
    ) -> list[tuple[Row, Answers]]:
        person = found.name(state.get("user_id"), "the state", "user_id")
        held = found.get(state, LABELS, f"user {person!r}", dict)
        timed = state.get("instance_id_to_behavioral_data") or {}
        pages = state.get("phase_to_page_to_label_to_value") or {}
        found.left_out[OTHER_PAGES] += sum(
            len(answers) for phase in pages.values() for answers in phase.values()
        )
        spans = (state.get("instance_id_to_span_to_value") or {}).values()
        found.left_out[SPANS] += sum(len(marked) for marked in spans)
        kind = _kind(state.get("origin"))
        stored = []
        for item, labels in held.items():
            place = f"user {person!r}, instance {item!r}"
            answers = _pairs(found, labels, place)
            for schema, values in answers.items():
                last = changes.get((item, schema))
                if schema == self.single and len(values) > 1 and last in values:
                    answers[schema] = {last: values[last]}
                    found.left_out["replaced by a later change"] += 1
            spent = (timed.get(item) or {}).get("total_time_ms")
            seconds = None if spent is None else found.number(spent, place, "total_time_ms") / 1000
            row = Row(item, person, (), place, kind=kind, seconds=seconds)
            stored.append((row, answers))
        return stored

    def write(self, index: Index, path: Path, contents: Mapping[str, Any]) -> None:
        """Write a data file: an id and a text per item."""
        lines = (
            dump_json({"id": item, "text": "", **contents.get(item, {})})
            for item in index.items.tolist()
        )
        with write_atomically(path) as part:
            part.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _pairs(found: Collector, labels: Any, place: str) -> Answers:
    """Return answers that are stored as a list of pairs, or, as documented, in nested objects."""
    if isinstance(labels, dict):
        return {
            schema: dict(values) if isinstance(values, dict) else {str(values): values}
            for schema, values in labels.items()
        }
    answers: Answers = {}
    for pair in labels:
        if not (isinstance(pair, list) and len(pair) == 2):
            raise found.error(place, "must be pairs of a label and its value", LABELS, pair)
        schema = found.get(pair[0], "schema", place, str)
        answers.setdefault(schema, {})[str(found.get(pair[0], "name", place, (str, int)))] = pair[1]
    return answers


def _last_changes(path: Path, data: bytes) -> dict[tuple[str, str], str]:
    """Return the label that was set last in each schema of each instance."""
    last: dict[tuple[str, str], str] = {}
    for _, change in parse_lines(path, data):
        if change.get("action_type") in ("add_label", "update_label"):
            key = str(change.get("instance_id")), str(change.get("schema_name"))
            last[key] = str(change.get("label_name"))
    return last


def _read_line(found: Collector, number: int, line: dict[str, Any]) -> tuple[Row, Answers]:
    place = f"line {number}"
    item = found.name(line.get("instance_id"), place, "instance_id")
    person = found.name(line.get("user_id", line.get("user")), place, "user_id")
    if "displayed_text" in line:
        found.contents[item] = {"text": line["displayed_text"]}
    found.left_out[SPANS] += len(line.get("spans") or ())
    key = "labels" if "labels" in line else "label_annotations"
    row = Row(item, person, (), place, kind=_kind(line.get(ORIGIN)))
    return row, _pairs(found, found.get(line, key, place, dict), place)


def _read_cells(found: Collector, number: int, cells: dict[str, str]) -> tuple[Row, Answers]:
    place = f"row {number}"
    item = found.name(cells["instance_id"], place, "instance_id")
    person = found.name(cells["user_id"], place, "user_id")
    answers: Answers = {}
    for column, value in cells.items():
        schema, dot, name = column.partition(".")
        if dot and value != "":
            answers.setdefault(schema, {})[name] = value
    return Row(item, person, (), place, kind=_kind(cells.get(ORIGIN))), answers


def _kind(origin: Any) -> Kind:
    """Return who rated: without an origin it was a person, and with one that does not say so it
    was a machine."""
    said = origin.get("kind") if isinstance(origin, dict) else origin
    return "person" if origin in (None, "", {}) or said == "human" else "machine"


# ── what a schema holds: it is not said, so it is told from all its values ──────────────────────


def _settle(found: Collector, stored: list[tuple[Row, Answers]]) -> Table:
    soft: set[str] = set()
    for _, answers in stored:
        for schema, values in answers.items():
            numbers = [_as_number(value) for value in values.values()]
            if len(values) > 1 and None not in numbers and not _names_are_values(values):
                soft.add(schema)
    equal: Counter[str] = Counter()
    for row, answers in stored:
        if not answers:
            found.left_out[NOTHING] += 1
        for schema, values in answers.items():
            where = row._replace(place=f"{row.place}, {schema}", task=schema)
            if schema in soft:
                chances = {
                    name: found.number(value, where.place, name)
                    for name, value in values.items()
                    if value not in (None, "")
                }
                equal[schema] += len(chances) > 1 and len(set(chances.values())) == 1
                found.rows.append(where._replace(answer=chances))
            else:
                _add_choice(found, where, values)
    for schema, count in equal.items():
        if count:
            found.notes.append(
                f"{count:,} answers to {schema!r} give every label the same number: Potato stores "
                "that also if nobody touched the question"
            )
    tasks = {row.task for row in found.rows}
    return found.table(main=next(iter(soft)) if len(soft) == 1 and len(tasks) > 1 else None)


def _add_choice(found: Collector, row: Row, values: Mapping[str, Any]) -> None:
    chosen: list[str] = []
    for name, value in values.items():
        text = str(value)
        belief = _as_belief(found, row, text)
        if belief is not None:
            found.rows.append(row._replace(answer=belief))
            return
        if value in (None, "", False) or text == "false":
            continue
        if text == name or text.lower() in TICKED:
            chosen.append(name)
        elif _as_number(value) is not None:  # a slider, a number
            chosen.append(text)
        else:
            found.left_out[FREE_TEXT] += 1
            return
    found.rows.append(row._replace(answer=tuple(chosen)))


def _as_belief(found: Collector, row: Row, text: str) -> dict[str, float] | None:
    """Return a belief that is stored as JSON text: a report in per cent, or numbers by bin."""
    if not text.startswith("{"):
        return None
    try:
        belief = json.loads(text)
    except ValueError:
        return None
    if "report" in belief:
        report = found.number(belief["report"], row.place, "report")
        if report > 100:
            raise found.error(row.place, "must be from 0 to 100", "report", report)
        return {"yes": report, "no": 100 - report}
    bins = belief.get("bins")
    if not isinstance(bins, list):
        return None
    return {f"bin {n}": found.number(x, row.place, "bins") for n, x in enumerate(bins, 1)}


def _names_are_values(values: Mapping[str, Any]) -> bool:
    return all(str(value) == name for name, value in values.items())


def _as_number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
