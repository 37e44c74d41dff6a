"""The raw file of Collins et al. 2022: one row per screen that a person saw."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from softlabel.datasets._read import lines
from softlabel.datasets.cifar10 import CLASSES
from softlabel.elicit import Answer, Classic, c22
from softlabel.errors import FileError, ResponseError

COLUMNS = [
    *("", "trial_type", "trial_index", "time_elapsed", "subject", "condition", "rt"),
    *("view_history", "response", "filename", "task", "label", "img_id"),
]
TASKS = {"spec_conf": False, "rerun_spec_conf": True}  # was the image shown before?


class Row(NamedTuple):
    """One answer."""

    image: int
    subject: str
    answer: Answer
    gold: int
    batch: int
    trial: int
    is_repeat: bool
    rt_ms: float
    elapsed_ms: float


def columns(path: Path) -> list[str]:
    """What the first line names."""
    with lines(path) as text:
        return next(csv.reader(text), [])


def rows(path: Path, mode: Classic) -> Iterator[Row]:
    """The answers; other screens, such as the debriefing with its free text, are passed over."""
    labels = CLASSES.tolist()
    with lines(path) as text:
        reader = csv.DictReader(text, restval="")
        for line in reader:
            if line["trial_type"] != "survey-html-form" or line["task"] not in TASKS:
                continue
            try:
                form = json.loads(line["response"])
                answer = mode.read(lower(c22.from_form(form)), labels)
            except ResponseError as error:
                number = reader.line_num
                raise FileError(path, str(error), line=number, column="response") from None
            yield Row(
                image=int(float(line["img_id"])),
                subject=line["subject"],
                answer=answer,
                gold=labels.index(line["label"].lower()),
                batch=int(float(line["condition"])),
                trial=int(line["trial_index"]),
                is_repeat=TASKS[line["task"]],
                rt_ms=float(line["rt"]),
                elapsed_ms=float(line["time_elapsed"]),
            )


def sessions(path: Path) -> dict[str, tuple[float, int]]:
    """Of each person, how many minutes they took and how often they sat the quiz; of the screens
    beside the form, only their kind and time are looked at."""
    found: dict[str, tuple[float, int]] = {}
    with lines(path) as text:
        for line in csv.DictReader(text, restval=""):
            minutes, quizzes = found.get(line["subject"], (0.0, 0))
            found[line["subject"]] = (
                max(minutes, float(line["time_elapsed"]) / 60_000),
                quizzes + (line["trial_type"] == "survey-multi-choice"),
            )
    return found


def lower(answer: dict[str, Any]) -> dict[str, Any]:
    """The page wrote class names with a capital."""
    return answer | {
        "top": answer["top"].lower(),
        "second": answer["second"] and answer["second"].lower(),
        "impossible": [name.lower() for name in answer["impossible"]],
    }


def key(answer: Answer) -> tuple[Any, ...]:
    """What two equal answers share; NaN, which equals nothing, is written out."""
    return answer.named, tuple(map(str, answer.percent)), answer.possible.tobytes()
