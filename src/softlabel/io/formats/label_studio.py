"""Label Studio: its three exports (JSON, JSON_MIN, CSV) in, tasks with predictions out."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from softlabel._util.files import write_atomically
from softlabel.io.formats.base import Collector, Format, Head, Kind, Row, Table
from softlabel.tables import SoftLabels

SKIPPED, GOLD, DRAFTS = "skipped", "gold", "drafts"
UNANNOTATED = "tasks without annotations"
UNREADABLE = "results that are no labels"
NUMBERS = "predictions that the export does not hold"
VALUES = ("choices", "rating", "number", "taxonomy")  # what a result may hold
FLAT = {"annotation_id", "annotator", "lead_time"}  # keys of the exports with a row per annotation
OWN = {*FLAT, "id", "created_at", "updated_at", "agreement"}


@dataclass(frozen=True)
class LabelStudio(Format):
    """Exports of Label Studio (JSON, JSON_MIN, CSV, TSV).

    ``task`` is the name of a control tag; without it the only tag of choices.  ``confidence`` is
    the tag, a rating or a number up to ``confidence_max``, that says how sure a person is of the
    label.  To be written, labels need the names of the control tag and of the object tag.
    """

    confidence: str = ""
    confidence_max: float = 100.0
    object_tag: str = "text"

    name: ClassVar[str] = "label-studio"
    paper: ClassVar[str] = "https://labelstud.io/guide/export"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    shows: ClassVar[bool] = True
    holds: ClassVar = "labels"

    @classmethod
    def claims(cls, head: Head) -> bool:
        if head.kind == "table":
            return {*FLAT, "id"} <= set(head.first)
        record = head.record
        nested = isinstance(record.get("data"), dict)
        return isinstance(head.first, list) and (nested or {*FLAT, "id"} <= record.keys())

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        kinds: dict[str, str] = {}
        if head.kind == "table":
            self._read_flat(found, head.rows(), kinds, "row")
        elif "annotation_id" in head.record:
            self._read_flat(found, head.lines(), kinds, "entry")
        else:
            for number, task in head.lines():
                self._read_task(found, number, task, kinds)
        if self.confidence:
            self._join(found, kinds)
        choices = [name for name, kind in kinds.items() if kind in ("choices", "taxonomy")]
        main = choices[0] if len(choices) == 1 else None
        return found.table(main=main)

    # ── one object per task ──────────────────────────────────────────────────────────────────

    def _read_task(
        self, found: Collector, number: int, task: dict[str, Any], kinds: dict[str, str]
    ) -> None:
        place = f"entry {number}"
        data = found.get(task, "data", place, dict)
        if self.item:
            item = found.name(data.get(self.item), place, f"data.{self.item}")
        else:
            # tasks that were written to be imported have no id yet
            item = found.name(task.get("id", data.get("item")), place, "id")
        found.contents[item] = dict(data)
        found.left_out[DRAFTS] += len(task.get("drafts") or ())
        key = next((key for key in ("annotations", "completions") if key in task), None)
        if key is None:
            found.left_out[UNANNOTATED] += 1
        for answer in () if key is None else found.get(task, key, place, list):
            where = f"{place}, annotation {answer.get('id')}"
            if answer.get("was_cancelled"):
                found.left_out[SKIPPED] += 1
                continue
            if answer.get("ground_truth"):
                found.left_out[GOLD] += len(answer.get("result") or ())
                continue
            who = answer.get("completed_by")
            who = who.get("id") if isinstance(who, dict) else who
            person = None if who is None else found.name(who, where, "completed_by")
            seconds = answer.get("lead_time")
            seconds = None if seconds is None else found.number(seconds, where, "lead_time")
            results = found.get(answer, "result", where, list)
            self._read_results(found, (item, person, where), results, kinds, seconds)
        self._read_guesses(found, task, (item, place), kinds)

    def _read_guesses(
        self, found: Collector, task: dict[str, Any], of: tuple[str, str], kinds: dict[str, str]
    ) -> None:
        """Read predictions.  An export may hold their numbers only; what they said is then in the
        annotations that were made with one on the screen."""
        item, place = of
        answers = task.get("annotations") or task.get("completions") or ()
        seen = [answer.get("prediction") or {} for answer in answers]
        known = {guess.get("id"): guess for guess in seen if isinstance(guess, dict)}
        for entry in task.get("predictions") or ():
            guess = known.get(entry) if isinstance(entry, int) else entry
            if guess is None:
                found.left_out[NUMBERS] += 1
                continue
            where = f"{place}, prediction {guess.get('id', '')}".rstrip()
            model = str(guess.get("model_version") or "unnamed model")
            results = guess.get("result") or []
            self._read_results(found, (item, model, where), results, kinds, None, "machine")

    def _read_results(
        self,
        found: Collector,
        whose: tuple[str, str | None, str],
        results: list[Any],
        kinds: dict[str, str],
        seconds: float | None,
        kind: Kind = "person",
    ) -> None:
        item, person, place = whose
        if not results:
            found.left_out["without an answer"] += 1
        for result in results:
            name = found.get(result, "from_name", place, str)
            value = found.get(result, "value", place, dict)
            held = next((key for key in VALUES if key in value), None)
            if held is None:
                found.left_out[UNREADABLE] += 1
                continue
            kinds.setdefault(name, held)
            answer = _labels(value[held])
            row = Row(item, person, answer, f"{place}, {name}", name, kind, seconds)
            found.rows.append(row)

    # ── one row per annotation ───────────────────────────────────────────────────────────────

    def _read_flat(
        self,
        found: Collector,
        lines: Iterator[tuple[int, dict[str, Any]]],
        kinds: dict[str, str],
        unit: str,
    ) -> None:
        """Read task data and answers in one object.  Which key is a tag and which is data is not
        said: tags other than choices hold lists; the tag of choices is asked for by ``task``, or
        is the one key that is not the same wherever an item appears."""
        records = list(lines)
        for _, record in records:
            for key, value in record.items():
                held = None if key in OWN or key.startswith("_data_") else _held(value)
                if held is not None:
                    kinds.setdefault(key, held)
        for tag in self._find_choices(records, kinds):
            kinds[tag] = "choices"
        if not self.task and "choices" not in kinds.values():
            columns = [key for key in records[0][1] if key not in OWN | kinds.keys()]
            reason = f"which of {', '.join(columns)} holds the choices cannot be told from the file"
            raise found.error("the columns", f"{reason}; say --from {self.name}:task=COLUMN")
        for number, record in records:
            self._read_record(found, f"{unit} {number}", record, kinds)

    def _read_record(
        self, found: Collector, place: str, record: dict[str, Any], kinds: Mapping[str, str]
    ) -> None:
        item = found.name(record.get(self.item or "id"), place, self.item or "id")
        who = record.get("annotator")
        who = who.get("id") if isinstance(who, dict) else who
        person = None if who in (None, "") else found.name(who, place, "annotator")
        seconds = record.get("lead_time")
        seconds = None if seconds in (None, "") else found.number(seconds, place, "lead_time")
        data = {key: value for key, value in record.items() if key not in OWN | kinds.keys()}
        found.contents[item] = {key.removeprefix("_data_"): data[key] for key in data}
        given = [tag for tag in kinds if record.get(tag) not in (None, "")]
        if not given:
            found.left_out["without an answer"] += 1
        for tag in given:
            answer = _flat_labels(record[tag], kinds[tag])
            found.rows.append(Row(item, person, answer, f"{place}, {tag}", tag, seconds=seconds))

    def _find_choices(
        self, records: list[tuple[int, dict[str, Any]]], kinds: Mapping[str, str]
    ) -> list[str]:
        asked = [self.task] if self.task and self.task not in kinds else []
        if asked or "choices" in kinds.values():
            return asked
        seen: dict[tuple[Any, str], set[str]] = {}
        values: dict[str, set[str]] = {}
        for _, record in records:
            for key, value in record.items():
                if key not in OWN | kinds.keys() and isinstance(value, str):
                    seen.setdefault((record.get("id"), key), set()).add(value)
                    values.setdefault(key, set()).add(value)
        varies = {key for (_, key), found in seen.items() if len(found) > 1}
        keys = [key for key in values if key in varies]
        return keys if len(keys) == 1 else []

    def _join(self, found: Collector, kinds: Mapping[str, str]) -> None:
        """Put the confidence of an answer beside its label: how sure, as a part of one."""
        sure = {}
        for row in found.rows:
            if row.task == self.confidence:
                number = found.number(next(iter(row.answer)), row.place, self.confidence)
                if number > self.confidence_max:
                    reason = f"is more than confidence_max={self.confidence_max:g}"
                    raise found.error(row.place, reason, self.confidence, number)
                sure[row.place.rpartition(", ")[0]] = number / self.confidence_max
        if not sure:
            tags = ", ".join(kinds)
            raise found.error(
                "confidence", f"there is no such tag; there are {tags}", self.confidence
            )
        rows = []
        for row in found.rows:
            place = row.place.rpartition(", ")[0]
            if row.task == self.confidence:
                continue
            if kinds.get(row.task) == "choices" and len(row.answer) == 1 and place in sure:
                chosen = next(iter(row.answer))
                row = row._replace(answer={chosen: sure[place]}, partial=True)
            rows.append(row)
        found.rows = rows

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def write(self, labels: SoftLabels, path: Path, contents: Mapping[str, Any]) -> None:
        """Write tasks with the label of each item as a prediction: the top class, and the whole
        distribution in ``data.softlabel``."""
        names = labels.index.labels.tolist()
        tasks = []
        for item, probs in zip(labels.index.items.tolist(), labels.probs.tolist(), strict=True):
            data = {**contents.get(item, {}), "item": item}
            task: dict[str, Any] = {"data": data}
            if probs[0] == probs[0]:  # an item that nobody answered has no label
                top = max(range(len(names)), key=probs.__getitem__)
                data["softlabel"] = dict(zip(names, probs, strict=True))
                value = {"choices": [names[top]]}
                tag = {"from_name": self.task or "label", "to_name": self.object_tag}
                result = [{**tag, "type": "choices", "value": value}]
                version = f"softlabel {labels.made_by}".strip()
                guess = {"model_version": version, "score": probs[top], "result": result}
                task["predictions"] = [guess]
            tasks.append(task)
        with write_atomically(path) as part:
            part.write_text(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _labels(value: Any) -> tuple[str, ...]:
    """Return the labels of a result; of a taxonomy, the last name of each path.

    >>> _labels(["cat"]), _labels(4), _labels([["animal", "cat"]])
    (('cat',), ('4',), ('cat',))
    """
    if not isinstance(value, list):
        return (str(value),)
    return tuple(str(one[-1] if isinstance(one, list) and one else one) for one in value)


def _held(value: Any) -> str | None:
    """Return what a cell of the flat exports holds, if it is not plain text: lists of objects."""
    value = _parse(value)
    if isinstance(value, dict) and "choices" in value:
        return "choices"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return next((key for key in VALUES if key in value[0]), None)
    return None


def _flat_labels(value: Any, kind: str) -> tuple[str, ...]:
    value = _parse(value)
    if isinstance(value, dict):
        return _labels(value["choices"])
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return _labels(value[0][kind])
    return _labels(value)


def _parse(value: Any) -> Any:
    """Return what a cell of CSV holds: objects and lists are JSON text there."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
