"""Tables of crowdsourcing: crowd-kit, Toloka, cleanlab and batches of Mechanical Turk."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from softlabel._util.files import write_atomically
from softlabel.errors import DataError
from softlabel.io.columns import find
from softlabel.io.csv_files import escape_formulas
from softlabel.io.formats.base import NOTHING, Collector, Format, Head, Row, Table, each_vote
from softlabel.tables import Annotations

NUMBERED = re.compile(r"(.+?)[_.-]?(\d+)")
CODES = ".classes.json"  # of the file beside a wide table that says what its numbers mean


def _write_csv(path: Path, columns: Mapping[str, list[Any]], mark: str = ",") -> None:
    with write_atomically(path, private=True) as part:
        escape_formulas(pl.DataFrame(columns)).write_csv(part, separator=mark)


def _need_people(path: Path, how: Format, answers: Annotations) -> None:
    if answers.anonymous:
        raise DataError(f"{path}: {how.name} needs to know who answered; some answers do not say")


def _choose(found: Collector, fields: list[str], asked: str, what: str, name: str) -> str:
    """Return the field that was asked for, or the only one."""
    if asked in fields or (len(fields) == 1 and not asked):
        return asked or fields[0]
    shown = ", ".join(fields) or "none"
    reason = f"which field is the {what} is not clear; there are {shown}"
    option = "item" if what == "item" else "task"
    raise found.error("the columns", f"{reason}; say --from {name}:{option}=FIELD", value=asked)


@dataclass(frozen=True)
class CrowdKit(Format):
    """The frame of crowd-kit: columns task, worker and label, which are read as any votes."""

    name: ClassVar[str] = "crowd-kit"
    paper: ClassVar[str] = "https://github.com/Toloka/crowd-kit"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv")

    @classmethod
    def claims(cls, head: Head) -> bool:
        return False  # the reader of votes knows these columns

    def write(self, answers: Annotations, path: Path, contents: Mapping[str, Any]) -> None:
        """Write one row per vote."""
        _need_people(path, self, answers)
        items, people, labels = zip(*each_vote(answers), strict=True)
        columns = {"task": list(items), "worker": list(people), "label": list(labels)}
        _write_csv(path, columns, "\t" if path.suffix.lower() == ".tsv" else ",")


@dataclass(frozen=True)
class Toloka(Format):
    """Assignments of Toloka (TSV); accepted ones count, and tasks with a known answer are checks.
    ``item`` and ``task`` are an input and an output field."""

    name: ClassVar[str] = "toloka"
    paper: ClassVar[str] = "https://toloka.ai/docs"
    personal: ClassVar[bool] = True

    @classmethod
    def claims(cls, head: Head) -> bool:
        return head.kind == "table" and "ASSIGNMENT:worker_id" in head.first

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        fields = {
            kind: [name.partition(":")[2] for name in head.first if name.startswith(f"{kind}:")]
            for kind in ("INPUT", "OUTPUT", "GOLDEN")
        }
        item = _choose(found, fields["INPUT"], self.item, "item", self.name)
        if self.task:
            _choose(found, fields["OUTPUT"], self.task, "answer", self.name)
        rows = list(head.rows())
        sizes = Counter(cells.get("ASSIGNMENT:assignment_id") for _, cells in rows)
        for number, cells in rows:
            place = f"row {number}"
            status = cells.get("ASSIGNMENT:status") or "ACCEPTED"
            if status not in ("ACCEPTED", "APPROVED"):
                found.left_out[status.lower()] += 1
                continue
            if any(cells[f"GOLDEN:{field}"] for field in fields["GOLDEN"]):
                found.left_out["checks"] += 1
                continue
            name = found.name(cells[f"INPUT:{item}"], place, f"INPUT:{item}")
            found.contents[name] = {field: cells[f"INPUT:{field}"] for field in fields["INPUT"]}
            person = found.name(cells["ASSIGNMENT:worker_id"], place, "ASSIGNMENT:worker_id")
            seconds = _seconds(cells, sizes[cells.get("ASSIGNMENT:assignment_id")])
            for field in fields["OUTPUT"]:
                answer = cells[f"OUTPUT:{field}"]
                if not answer:
                    found.left_out[NOTHING] += 1
                    continue
                row = Row(name, person, (answer,), f"{place}, {field}", field, seconds=seconds)
                found.rows.append(row)
        return found.table()


def _seconds(cells: Mapping[str, str], tasks: int) -> float | None:
    """Return the time of an assignment, shared by its tasks."""
    try:
        ends = (cells[f"ASSIGNMENT:{name}"] for name in ("started", "submitted"))
        start, end = (datetime.fromisoformat(text) for text in ends)
        return (end - start).total_seconds() / tasks
    except (KeyError, ValueError, TypeError):
        return None


@dataclass(frozen=True)
class Cleanlab(Format):
    """The wide table of cleanlab: a row per item, a column per annotator, classes as numbers; a
    file beside it says what they mean.  Its content looks like soft votes: name the format."""

    name: ClassVar[str] = "cleanlab"
    paper: ClassVar[str] = "https://docs.cleanlab.ai"
    suffixes: ClassVar[tuple[str, ...]] = (".csv",)

    @classmethod
    def claims(cls, head: Head) -> bool:
        return False

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        item = self.item or find("item", head.first) or ("" if "" in head.first else None)
        codes = head.path.with_suffix(CODES)
        classes = json.loads(codes.read_text("utf-8")) if codes.is_file() else None
        for number, cells in head.rows():
            place = f"row {number}"
            name = str(number - 1) if item is None else found.name(cells[item], place, item)
            for person, cell in cells.items():
                if person == item:
                    continue
                if cell == "" or str(cell).lower() == "nan":
                    found.left_out["cells without a label"] += 1
                    continue
                code = found.number(cell, place, person)
                if code != int(code) or (classes and code >= len(classes)):
                    raise found.error(place, "must be the number of a class", person, cell)
                label = classes[int(code)] if classes else str(int(code))
                found.rows.append(Row(name, person, (label,), f"{place}, {person}"))
        return found.table(labels={"": classes} if classes else {})

    def write(self, answers: Annotations, path: Path, contents: Mapping[str, Any]) -> None:
        """Write a row per item, and the names of the classes to a file beside the table."""
        _need_people(path, self, answers)
        index, given = answers.index, sorted(set(answers.annotator.tolist()))
        place = {label: code for code, label in enumerate(index.labels.tolist())}
        cells: dict[str, dict[str, int]] = {item: {} for item in index.items.tolist()}
        for item, person, label in each_vote(answers):
            cells[item][str(person)] = place[label]
        people = [index.annotators.tolist()[code] for code in given]  # nobody without any label
        columns: dict[str, list[Any]] = {"item": list(cells)}
        columns |= {person: [row.get(person) for row in cells.values()] for person in people}
        _write_csv(path, columns)
        with write_atomically(path.with_suffix(CODES)) as part:
            part.write_text(json.dumps(list(place), ensure_ascii=False) + "\n", "utf-8")


@dataclass(frozen=True)
class MTurk(Format):
    """Results of a batch on Mechanical Turk (CSV).  ``item`` and ``task`` are an input and an
    answer field; fields with numbers (text_0, text_1) are several items of one assignment.
    Worker ids are replaced by pseudonyms; rejected assignments are left out."""

    name: ClassVar[str] = "mturk"
    paper: ClassVar[str] = "https://docs.aws.amazon.com/AWSMechTurk"
    personal: ClassVar[bool] = True

    @classmethod
    def claims(cls, head: Head) -> bool:
        return head.kind == "table" and {"HITId", "WorkerId", "AssignmentStatus"} <= set(head.first)

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        inputs, answers = _group(head.first, "Input."), _group(head.first, "Answer.")
        item = _choose(found, list(inputs), self.item, "item", self.name)
        for number, cells in head.rows():
            status = cells["AssignmentStatus"]
            if status not in ("Approved", "Submitted"):
                found.left_out[status.lower() or "without a status"] += 1
                continue
            self._read_assignment(found, f"row {number}", cells, inputs[item], answers)
        return found.table()

    def _read_assignment(
        self,
        found: Collector,
        place: str,
        cells: Mapping[str, str],
        inputs: Mapping[str, str],
        answers: Mapping[str, Mapping[str, str]],
    ) -> None:
        person = found.name(cells["WorkerId"], place, "WorkerId")
        spent = cells.get("WorkTimeInSeconds")
        seconds = found.number(spent, place, "WorkTimeInSeconds") if spent else None
        asked = {number: column for number, column in inputs.items() if cells[column]}
        for number, column in asked.items():
            name = cells[column]
            found.contents.setdefault(name, {column.removeprefix("Input."): name})
            each = None if seconds is None else seconds / len(asked)
            row = Row(name, person, (), place, seconds=each)
            for field, columns in answers.items():
                _add_answer(found, row, field, columns.get(number), cells)


def _group(columns: list[str], prefix: str) -> dict[str, dict[str, str]]:
    """Return the columns of each field by the number at the end of their names, "" for none.

    >>> _group(["Input.x_0", "Input.x_1", "Input.y"], "Input.")
    {'x': {'0': 'Input.x_0', '1': 'Input.x_1'}, 'y': {'': 'Input.y'}}
    """
    names = [column.removeprefix(prefix) for column in columns if column.startswith(prefix)]
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        match = NUMBERED.fullmatch(name)
        base, number = match.groups() if match else (name, "")
        groups.setdefault(base, {})[number] = f"{prefix}{name}"
    return groups


def _add_answer(
    found: Collector, row: Row, field: str, column: str | None, cells: Mapping[str, str]
) -> None:
    if column is None:
        return
    value, (base, dot, option) = cells[column], field.rpartition(".")
    if dot and value.lower() in ("true", "false"):  # a column per option, ticked or not
        if value.lower() == "true":
            found.rows.append(row._replace(answer=(option,), task=base))
        return
    if not value:
        found.left_out[NOTHING] += 1
        return
    found.rows.append(row._replace(answer=(value,), task=field, place=f"{row.place}, {field}"))
