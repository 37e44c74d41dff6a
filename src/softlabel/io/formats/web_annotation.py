"""W3C Web Annotation: a collection with one annotation per answer, in and out."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote

from softlabel._util.files import write_atomically
from softlabel.io.formats.base import Collector, Format, Head, Kind, Row, Table
from softlabel.tables import Annotations

CONTEXT = ["http://www.w3.org/ns/anno.jsonld", {"softlabel": "urn:softlabel:ns#"}]
CHANCE = "softlabel:probability"
ITEM, PERSON = "urn:softlabel:item:", "urn:softlabel:annotator:"
ABOUT = (None, "classifying", "tagging", "identifying")  # purposes of a body that is a label


@dataclass(frozen=True)
class WebAnnotation(Format):
    """Annotations of the W3C model: a collection, a page, or a list of annotations.  Several bodies
    are several labels, unless each has a ``softlabel:probability``."""

    name: ClassVar[str] = "web-annotation"
    paper: ClassVar[str] = "https://www.w3.org/TR/annotation-model/"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonld")
    soft: ClassVar[bool] = True

    @classmethod
    def claims(cls, head: Head) -> bool:
        kind = head.record.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        wanted = {"Annotation", "AnnotationPage", "AnnotationCollection"}
        return bool(wanted & {str(one) for one in kinds}) and (
            "@context" in head.record or {"body", "target"} <= head.record.keys()
        )

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        for number, annotation in enumerate(_each(head), 1):
            place = f"annotation {number}"
            if not isinstance(annotation, dict):
                raise found.error(place, "must be an object", value=annotation)
            item = _identify(found, annotation.get("target"), place, "target", ITEM)
            creator = annotation.get("creator")
            kind: Kind = "person"
            person = None
            if creator is not None:
                person = _identify(found, creator, place, "creator", PERSON)
                what = creator.get("type") if isinstance(creator, dict) else None
                kind = "machine" if what == "Software" else "person"
            bodies = annotation.get("body", [])
            bodies = bodies if isinstance(bodies, list) else [bodies]
            _add(found, Row(item, person, (), place, kind=kind), bodies)
        return found.table()

    def write(self, answers: Annotations, path: Path, contents: Mapping[str, Any]) -> None:
        """Write a collection of one page; a vote has one body, a soft vote one per class."""
        index = answers.index
        items, labels = index.items.tolist(), index.labels.tolist()
        people: list[str | None] = [*index.annotators.tolist(), None]
        entries = []
        for row in range(len(answers)):
            item, person = items[answers.item[row]], people[answers.annotator[row]]
            entry: dict[str, Any] = {
                "id": f"urn:softlabel:answer:{row + 1}",
                "type": "Annotation",
                "motivation": "classifying",
            }
            if person is not None:
                entry["creator"] = {"id": f"{PERSON}{quote(person, safe='')}", "type": "Person"}
            if answers.label is not None:
                entry["body"] = _body(labels[answers.label[row]])
            else:
                chances = zip(labels, answers.soft()[row].tolist(), strict=True)
                entry["body"] = [{**_body(label), CHANCE: chance} for label, chance in chances]
            entries.append(entry | {"target": f"{ITEM}{quote(item, safe='')}"})
        page = {"id": "urn:softlabel:page:1", "type": "AnnotationPage", "items": entries}
        whole = {
            "@context": CONTEXT,
            "id": "urn:softlabel:answers",
            "type": "AnnotationCollection",
            "total": len(entries),
            "first": page,
        }
        with write_atomically(path, private=True) as part:
            part.write_text(json.dumps(whole, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _body(label: str) -> dict[str, Any]:
    return {"type": "TextualBody", "purpose": "classifying", "value": label}


def _each(head: Head) -> Iterator[Any]:
    """Yield the annotations of collections, pages and lists."""
    for _, value in head.lines():
        page = value.get("first", value) if value.get("type") == "AnnotationCollection" else value
        if isinstance(page, dict) and isinstance(page.get("items"), list):
            yield from page["items"]
        else:
            yield page


def _identify(found: Collector, value: Any, place: str, key: str, prefix: str) -> str:
    """Return the id of a target or creator: text, or an object with an id or a source."""
    if isinstance(value, dict):
        value = value.get("id") or value.get("source") or value.get("name")
    name = found.name(value, place, key)
    return unquote(name.removeprefix(prefix)) if name.startswith(prefix) else name


def _add(found: Collector, row: Row, bodies: list[Any]) -> None:
    labels = [
        body
        for body in bodies
        if isinstance(body, str) or (isinstance(body, dict) and body.get("purpose") in ABOUT)
    ]
    found.left_out["bodies that are no labels"] += len(bodies) - len(labels)
    if not labels:
        found.left_out["without an answer"] += 1
        return
    values = [
        body if isinstance(body, str) else found.name(body.get("value"), row.place, "body.value")
        for body in labels
    ]
    chances = [body.get(CHANCE) if isinstance(body, dict) else None for body in labels]
    if any(chance is not None for chance in chances):
        given = zip(values, chances, strict=True)
        answer = {value: found.number(chance, row.place, CHANCE) for value, chance in given}
        found.rows.append(row._replace(answer=answer))
    else:
        found.rows.append(row._replace(answer=tuple(values)))
