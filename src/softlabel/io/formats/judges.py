"""People and models beside each other: dictionaries of alt-test, JUDGE-BENCH and ChaosNLI."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from softlabel._util.files import write_atomically
from softlabel.errors import DataError
from softlabel.io.formats.base import NOTHING, Collector, Format, Head, Row, Table, each_vote
from softlabel.records import dump_json
from softlabel.tables import Annotations

LONG = {"e": "entailment", "n": "neutral", "c": "contradiction"}


@dataclass(frozen=True)
class AltTest(Format):
    """The dictionaries of alt-test: the label of every item, by annotator or by model."""

    name: ClassVar[str] = "alt-test"
    paper: ClassVar[str] = "https://github.com/nitaytech/AltTest"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    @classmethod
    def claims(cls, head: Head) -> bool:
        if head.kind != "json" or not isinstance(head.first, dict):
            return False
        inner = list(head.first.values())
        return bool(inner) and all(
            isinstance(said, dict)
            and said
            and all(isinstance(label, str | int | float) for label in said.values())
            for said in inner
        )

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        for person, said in head.first.items():
            for item, label in said.items():
                place = f"annotator {person!r}, item {item!r}"
                if isinstance(label, float) and label.is_integer():
                    label = int(label)
                if label == "":
                    found.left_out[NOTHING] += 1
                    continue
                name = str(label) if isinstance(label, bool) else found.name(label, place, item)
                found.rows.append(Row(item, person, (name,), place))
        return found.table()

    def write(self, answers: Annotations, path: Path, contents: Mapping[str, Any]) -> None:
        """Write the label of every item by annotator."""
        if answers.anonymous:
            raise DataError(f"{path}: alt-test needs to know who answered; some answers do not say")
        said: dict[str, dict[str, str]] = {}
        for item, person, label in each_vote(answers):
            said.setdefault(str(person), {})[item] = label
        with write_atomically(path, private=True) as part:
            part.write_text(dump_json(said) + "\n", "utf-8")


@dataclass(frozen=True)
class JudgeBench(Format):
    """The files of JUDGE-BENCH: the answers of people to each instance, without names.

    ``positions_are_annotators`` takes the place in the list for the person: for files in which
    everybody judged everything, such as DICES.
    """

    positions_are_annotators: bool = False

    name: ClassVar[str] = "judge-bench"
    paper: ClassVar[str] = "https://github.com/dmg-illc/JUDGE-BENCH"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    shows: ClassVar[bool] = True

    @classmethod
    def claims(cls, head: Head) -> bool:
        first = head.first
        return (
            isinstance(first, dict)
            and isinstance(first.get("instances"), list)
            and isinstance(first.get("annotations"), list)
        )

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        labels = {
            str(about.get("metric")): [str(label) for label in about["labels_list"]]
            for about in head.first["annotations"]
            if isinstance(about, dict) and about.get("labels_list")
        }
        lengths: dict[str, int] = {}
        for number, instance in enumerate(head.first["instances"], 1):
            place = f"instance {number}"
            item = found.name(instance.get("id"), place, "id")
            shown = instance.get("instance")
            found.contents[item] = shown if isinstance(shown, dict) else {"text": shown}
            for metric, about in found.get(instance, "annotations", place, dict).items():
                scores = about.get("individual_human_scores")
                if not isinstance(scores, list):
                    found.left_out["without answers of single people"] += 1
                    continue
                first = lengths.setdefault(metric, len(scores))
                if self.positions_are_annotators and len(scores) != first:
                    reason = f"has {len(scores)} answers and the first instance has {first}, so a"
                    raise found.error(place, f"{reason} position is not a person", metric)
                self._add(found, item, metric, scores, place)
        return found.table(labels=labels)

    def _add(self, found: Collector, item: str, metric: str, scores: list[Any], place: str) -> None:
        for position, score in enumerate(scores, 1):
            if score in (None, ""):
                found.left_out[NOTHING] += 1
                continue
            if isinstance(score, float) and score.is_integer():
                score = int(score)
            person = f"r{position}" if self.positions_are_annotators else None
            name = found.name(score, place, metric)
            found.rows.append(Row(item, person, (name,), f"{place}, answer {position}", metric))

    def write(self, answers: Annotations, path: Path, contents: Mapping[str, Any]) -> None:
        """Write the answers to each item in a list; with the option, one place per person, which
        is null where a person did not answer."""
        metric, labels = self.task or "label", answers.index.labels.tolist()
        people = answers.index.annotators.tolist()
        scores: dict[str, list[str | None]] = {item: [] for item in answers.index.items.tolist()}
        if self.positions_are_annotators:
            if answers.anonymous:
                raise DataError(f"{path}: a position is a person, and some answers name nobody")
            scores = {item: [None] * len(people) for item in scores}
        place = {person: number for number, person in enumerate(people)}
        for item, person, label in each_vote(answers):
            if self.positions_are_annotators:
                scores[item][place[str(person)]] = label
            else:
                scores[item].append(label)
        about = {"metric": metric, "category": "categorical", "labels_list": labels}
        instances = [
            {
                "id": item,
                "instance": contents.get(item, {}),
                "annotations": {metric: {"individual_human_scores": given}},
            }
            for item, given in scores.items()
        ]
        document = {"dataset": path.stem, "annotations": [about], "instances": instances}
        with write_atomically(path, private=True) as part:
            part.write_text(json.dumps(document, ensure_ascii=False) + "\n", "utf-8")


@dataclass(frozen=True)
class ChaosNli(Format):
    """ChaosNLI: how many of 100 people gave each label."""

    name: ClassVar[str] = "chaosnli"
    paper: ClassVar[str] = "https://github.com/easonnie/ChaosNLI"

    @classmethod
    def claims(cls, head: Head) -> bool:
        return {"uid", "label_counter"} <= head.record.keys()

    def read(self, head: Head) -> Table:
        found = Collector(head.path)
        for line, record in head.lines():
            place = f"line {line}"
            item = found.name(record.get("uid"), place, "uid")
            example = record.get("example")
            found.contents[item] = example if isinstance(example, dict) else {}
            for label, count in found.get(record, "label_counter", place, dict).items():
                number = found.number(count, place, f"label_counter.{label}")
                if number != int(number):
                    raise found.error(place, "must be a whole number", label, count)
                row = Row(item, None, (LONG.get(label, label),), place)
                found.rows += [row] * int(number)
        order = list(LONG.values())
        used = {label for row in found.rows for label in row.answer}
        return found.table(labels={"": order} if used <= set(order) else {})
