"""Learning with Disagreements: the data of the shared tasks of 2023 and 2025, in and out."""

import json
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from softlabel._util.files import write_atomically
from softlabel.errors import DataError
from softlabel.io.formats.base import (
    NOTHING,
    Choice,
    Collector,
    Format,
    Head,
    Row,
    Table,
    each_vote,
)
from softlabel.tables import Annotations

OTHERS = ("other annotations", "other_annotations")  # further questions about the same items
ROUNDED = 0.02  # shares are printed with two digits


@dataclass(frozen=True)
class LeWiDi(Format):
    """The data of LeWiDi 2023 and 2025: all annotations of an item, and their shares.

    ``raw`` keeps the annotations of ConvAbuse, from -3 to 1; otherwise what is below 0 is 1, and
    the rest is 0, as in the soft labels of the file.  ``edition`` is the one to write.
    """

    raw: bool = False
    edition: Literal["2025", "2023"] = "2025"

    name: ClassVar[str] = "lewidi"
    paper: ClassVar[str] = "https://le-wi-di.github.io"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    shows: ClassVar[bool] = True

    @classmethod
    def claims(cls, head: Head) -> bool:
        if head.kind != "json" or not isinstance(head.first, dict):
            return False
        first = next(iter(head.first.values()), None)
        return isinstance(first, dict) and {"soft_label", "annotators"} <= first.keys()

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        labels: dict[str, list[str]] = {}
        main = ""
        for item, about in head.first.items():
            place = f"item {item!r}"
            main = str(about.get("annotation task", "")) if isinstance(about, dict) else ""
            soft = found.get(about, "soft_label", place, dict)
            several = any(isinstance(shares, dict) for shares in soft.values())
            if not several:
                labels.setdefault(main, list(soft))
            found.contents[item] = _content(about)
            self._read_item(found, item, about, main)
            other_info = about.get("other_info")
            for key in OTHERS if isinstance(other_info, dict) else ():
                for question, answers in (other_info.get(key) or {}).items():
                    people = _split(found.get(about, "annotators", place, str))
                    _add(found, item, people, _split(str(answers)), question)
        return self._settle(found, labels, main, head.first)

    def _read_item(self, found: Collector, item: str, about: dict[str, Any], task: str) -> None:
        place = f"item {item!r}"
        answers = found.get(about, "annotations", place, (str, dict))
        if isinstance(answers, str):  # 2023: lists, parallel to the annotators
            people = _split(found.get(about, "annotators", place, str))
            _add(found, item, people, _split(answers), task)
            return
        for person, answer in answers.items():
            chosen = tuple(_split(str(answer)))
            if chosen:
                found.rows.append(Row(item, person, chosen, f"{place}, {person}", task))
            else:
                found.left_out[NOTHING] += 1

    def _settle(
        self, found: Collector, labels: dict[str, list[str]], main: str, items: Mapping[str, Any]
    ) -> Table:
        """Bring the annotations to the classes of the soft labels."""
        classes = labels.get(main, [])
        numbers = {_number(label): label for label in classes}
        mine = [row for row in found.rows if row.task == main]
        below = [row for row in mine if any(label.startswith("-") for label in row.answer)]
        binary = set(numbers) == {0.0, 1.0} and bool(below)
        if binary and self.raw:
            labels = {}
        elif binary:
            found.notes.append(
                f"annotations below 0 ({len(below):,}) are read as 1 and all others as 0, as in "
                "the soft labels of the file (raw=true keeps them)"
            )
        rows = []
        for row in found.rows:
            answer: Choice = tuple(row.answer)
            if row.task == main and binary and not self.raw:
                answer = (numbers[float(answer[0].startswith("-"))],)
            elif row.task == main:
                answer = tuple(numbers.get(_number(label), label) for label in answer)
            rows.append(row._replace(answer=answer))
        found.rows = rows
        if labels.get(main):
            _compare(found, main, items)
        return found.table(labels=labels, main=main)

    def write(self, answers: Annotations, path: Path, contents: Mapping[str, Any]) -> None:
        """Write all votes, and the shares of each item."""
        if answers.anonymous:
            raise DataError(
                f"{path}: lewidi needs to know who answered, and some answers do not say"
            )
        by_item: dict[str, dict[str, str]] = {}
        for item, person, label in each_vote(answers):
            by_item.setdefault(item, {})[str(person)] = label
        labels = answers.index.labels.tolist()
        document = {
            item: self._describe(votes, labels, contents.get(item, {}))
            for item, votes in by_item.items()
        }
        with write_atomically(path, private=True) as part:
            part.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")

    def _describe(
        self, votes: Mapping[str, str], labels: list[str], content: Mapping[str, Any]
    ) -> dict[str, Any]:
        counts = Counter(votes.values())
        people, flat = ",".join(votes), self.edition == "2023"
        about: dict[str, Any] = {
            "annotation task": self.task or "labelling",
            "text": content.get("text", ""),
            "number of annotators": len(votes),
            "annotators": people,
            "number of annotations": len(votes),
            "annotations": ",".join(votes.values()) if flat else dict(votes),
            "soft_label": {label: counts[label] / len(votes) for label in labels},
            "split": str(content.get("split", "")),
            "lang": str(content.get("lang", "")),
            "other_info": {},
        }
        if flat:
            del about["number of annotators"]
            about["hard_label"] = counts.most_common(1)[0][0]
        return about


def _add(found: Collector, item: str, people: list[str], answers: list[str], task: str) -> None:
    place = f"item {item!r}"
    if len(answers) != len(people):
        if not answers:
            found.left_out[NOTHING] += len(people)
            return
        reason = f"has {len(answers)} annotations ({task}) and {len(people)} annotators"
        raise found.error(place, reason, "annotations", ",".join(answers))
    for person, answer in zip(people, answers, strict=True):
        if answer:
            found.rows.append(Row(item, person, (answer,), f"{place}, {person}", task))
        else:
            found.left_out[NOTHING] += 1


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _number(label: str) -> float | str:
    """Return a number as such: 1 and 1.0 are one class.

    >>> _number("1.0"), _number("neutral")
    (1.0, 'neutral')
    """
    try:
        return float(label)
    except ValueError:
        return label


def _content(about: Mapping[str, Any]) -> dict[str, Any]:
    """Return what people saw; the text of a dialogue is a JSON text of its turns."""
    text = about.get("text", "")
    if isinstance(text, str) and text.startswith("{"):
        with suppress(ValueError):
            text = json.loads(text)
    kept = {key: about[key] for key in ("split", "lang") if about.get(key)}
    return {"text": text, **kept}


def _compare(found: Collector, main: str, items: Mapping[str, Any]) -> None:
    """Note how many printed soft labels are not the shares of their annotations."""
    votes: dict[str, Counter[str]] = {}
    for row in found.rows:
        if row.task == main:
            votes.setdefault(row.item, Counter())[row.answer[0]] += 1  # type: ignore[index]
    off = 0
    for item, counts in votes.items():
        shares = items[item]["soft_label"].items()
        off += any(abs(counts[key] / counts.total() - float(p)) > ROUNDED for key, p in shares)
    if off:
        found.notes.append(f"the soft labels of {off:,} items are not the shares of their votes")
