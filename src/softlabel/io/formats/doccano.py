"""doccano: a file per member, whose name is the only place where the annotator stands."""

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar

from softlabel._util.files import STREAM, write_atomically
from softlabel.errors import DataError
from softlabel.io.formats.base import Collector, Format, Head, Row, Table
from softlabel.io.json_files import parse_json, parse_lines
from softlabel.records import Line, dump_json
from softlabel.tables import SoftLabels

NOBODY = ("all", "admin", "unknown", STREAM.name)  # names of files that are not names of people
SEVERAL = "#"  # between the labels of a cell
EMPTY = "without a label (not annotated, or nothing applies)"
OWN = ("id", "label", "Comments")
COLUMNS = ({"id", "text", "label"}, {"id", "filename", "label"})  # of a table
ENDINGS = (".jsonl", ".csv", ".json")


@dataclass(frozen=True)
class Doccano(Format):
    """Exports of doccano: JSON lines, CSV, or a folder or zip archive of them, one per member.
    ``anonymous`` takes the answers of a file such as all.jsonl, which does not say who gave them.
    """

    anonymous: bool = False

    name: ClassVar[str] = "doccano"
    paper: ClassVar[str] = "https://github.com/doccano/doccano"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)
    shows: ClassVar[bool] = True
    holds: ClassVar = "labels"

    @classmethod
    def claims(cls, head: Head) -> bool:
        if head.kind in ("folder", "zip"):
            known = any(Path(name).suffix.lower() in ENDINGS for name in head.first)
            return known and all(_is_export(*file) for file in head.members(*ENDINGS))
        return _is_record(head.record) or _is_table(head)

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        if head.kind in ("folder", "zip"):
            for path, data in head.members(*ENDINGS):
                self._read_file(found, path, _parse(path, data))
            extra = [name for name in head.first if Path(name).suffix.lower() not in ENDINGS]
            found.left_out["other files"] += len(extra)
        else:
            lines = self._read_rows(found, head) if head.kind == "table" else head.lines()
            self._read_file(found, head.path, lines)
        return found.table()

    def _read_rows(self, found: Collector, head: Head) -> Iterator[Line]:
        """Yield the rows of a table, which may be one of votes: there, a cell is one label."""
        for number, row in enumerate(map(itemgetter(1), head.rows()), 2):
            if SEVERAL in str(row.get("label")) and not self.multilabel:
                reason = (
                    f"could be several labels (say --from {self.name}:multilabel=true,task=LABEL) "
                    "or a class in a table of votes (say --columns item=id,label=label)"
                )
                raise found.error(f"line {number}", reason, "label", row["label"])
            yield number, row

    def _read_file(self, found: Collector, path: Path, lines: Iterator[Line]) -> None:
        person: str | None = _person(path)
        if self.anonymous:
            person = None
        elif person in NOBODY:
            reason = f"{path.name!r} does not say who annotated; to read such answers without"
            raise found.error("the name", f"{reason} names, say --from {self.name}:anonymous=true")
        for number, record in lines:
            place = f"{path.name}, line {number}"
            item = found.name(record.get(self.item or "id"), place, self.item or "id")
            found.contents[item] = {key: record[key] for key in record if key not in OWN}
            value = record.get("label")
            if isinstance(value, str):
                value = value.split(SEVERAL) if value else []
            if not isinstance(value, list):
                raise found.error(place, "must be a list of labels", "label", value)
            if not value:
                found.left_out[EMPTY] += 1
                continue
            chosen = tuple(found.name(label, place, "label") for label in value)
            found.rows.append(Row(item, person, chosen, place))

    def write(self, labels: SoftLabels, path: Path, contents: Mapping[str, Any]) -> None:
        """Write an object per item with its top class, to be imported."""
        names, lines = labels.index.labels.tolist(), []
        for item, probs in zip(labels.index.items.tolist(), labels.probs.tolist(), strict=True):
            answered = probs[0] == probs[0]
            top = [names[max(range(len(names)), key=probs.__getitem__)]] if answered else []
            lines.append(
                dump_json({"text": "", **contents.get(item, {}), "item": item, "label": top})
            )
        with write_atomically(path) as part:
            part.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def _is_record(record: Mapping[str, Any]) -> bool:
    labels = record.get("label")
    texts = isinstance(labels, list) and all(isinstance(label, str) for label in labels)
    return texts and "id" in record and ("text" in record or "filename" in record)


def _person(path: Path) -> str:
    return path.name.removesuffix(".gz").rpartition(".")[0] or path.name


def _is_table(head: Head) -> bool:
    """Return whether a table has the columns of an export and, unlike votes of several people, a
    row for each id, and a name that says who annotated."""
    columns = set(head.first) - {"Comments"} if head.kind == "table" else set()
    if columns not in COLUMNS or _person(head.path) in NOBODY:
        return False
    ids = [row["id"] for _, row in head.rows()]
    return len(set(ids)) == len(ids)


def _is_export(path: Path, data: bytes) -> bool:
    try:
        _, first = next(_parse(path, data))
    except (DataError, ValueError, TypeError, csv.Error, StopIteration):  # another kind of file
        return False
    if not isinstance(first, dict):
        return False
    flat = isinstance(first.get("label"), str) and {"id", "text"} <= first.keys()
    return _is_record(first) or (path.suffix.lower() == ".csv" and flat)


def _parse(path: Path, data: bytes) -> Iterator[Line]:
    if path.suffix.lower() == ".csv":
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        yield from enumerate(reader, 2)
    elif path.suffix.lower() == ".json":
        yield from enumerate(parse_json(path, data), 1)
    else:
        yield from parse_lines(path, data)
