"""CIFAR-10S: what each of 248 people believed about 25 of 1,000 CIFAR-10 test images.

Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator",
arXiv 2207.00810.  No licence is stated.  6,723 answers: 6,200 first presentations (6 or 7 per
image), 496 repeats (two images per person, shown again at the end) and 27 rows released twice.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from softlabel.datasets.base import Dataset, Info, locate
from softlabel.datasets.cifar10 import CLASSES
from softlabel.datasets.reading import encode, explain_damage, open_text, read_bytes, read_npy
from softlabel.elicit import Answer, Classic, c22
from softlabel.errors import FileError, ResponseError, UnknownName
from softlabel.records import stack_answers
from softlabel.tables import Floats, Index, names

RAW, ANSWERS = "raw_human_data.csv", "human_soft_labels_data.json"
LABELS = "cifar10s_t2clamp_redist10.json"
COLUMNS = [  # of the raw file
    *("", "trial_type", "trial_index", "time_elapsed", "subject", "condition", "rt"),
    *("view_history", "response", "filename", "task", "label", "img_id"),
]
TASKS = {"spec_conf": False, "rerun_spec_conf": True}  # was the image shown before?


def _check_raw(path: Path) -> str:
    """Return what is wrong with the raw file, whose checksum is not known.

    Its answers were also released on their own, in a file whose checksum is known.  A version with
    other columns holds platform ids: it is not kept.
    """
    with open_text(path) as text:
        if next(csv.reader(text), []) != COLUMNS:
            return f"{path}: has other columns than the release without platform ids"
    raw: dict[str, list[Answer]] = {}
    for row in raw_rows(path, Classic()):
        raw.setdefault(str(row.image), []).append(row.answer)
    labels = CLASSES.tolist()
    for image, released in released_answers().items():
        answers = [Classic().read(answer, labels) for answer in released]
        if _count_answers(answers) != _count_answers(raw.pop(image, [])):
            return f"{path}: the answers for image {image} are not those of {ANSWERS}"
    return f"{path}: {len(raw)} images more than in {ANSWERS}" if raw else ""


def _count_answers(answers: list[Answer]) -> Counter[tuple[Any, ...]]:
    """Count equal answers; NaN, which equals nothing, is written out."""
    return Counter((a.named, tuple(map(str, a.percent)), a.possible.tobytes()) for a in answers)


INFO = Info.of("cifar10s", raw_human_data=_check_raw)


def load(presentations: Literal["first", "all"] = "first", mode: Classic | None = None) -> Dataset:
    """Load what people answered, in the order of the file.

    ``first`` are the 6,200 answers to images seen for the first time; ``all`` the 6,723 rows of
    the release, with ``arrays["is_repeat"]`` and ``arrays["duplicate"]`` to tell them apart.
    ``mode`` reads the answers: ``Classic(repairs=...)`` sets which slips are repaired.
    Further columns with one entry per row: ``trial_index``, ``batch``, ``rt_ms``, ``elapsed_ms``.
    ``arrays["batches"]`` (40, 25) are the images of each batch; ``minutes`` and ``quizzes`` (248,)
    how long each person took and how often they sat the quiz; ``train_indices`` and
    ``test_indices`` the authors' split of the 10,000 test images.
    """
    if presentations not in ("first", "all"):
        raise UnknownName("choice of presentations", presentations, ("first", "all"))
    path = locate(INFO, RAW)
    rows = list(raw_rows(path, mode or Classic()))
    batches = sorted({(row.batch, row.image) for row in rows})
    if len(batches) != 1000:
        raise FileError(path, f"holds answers for {len(batches)} images, not 1,000; is it whole?")
    first: dict[tuple[str, int], int] = {}  # one person's session was saved twice
    again = [first.setdefault((row.subject, row.trial_index), i) < i for i, row in enumerate(rows)]
    sessions = _read_sessions(path)
    images, item = encode([row.image for row in rows])
    people = {subject: i for i, subject in enumerate(dict.fromkeys(row.subject for row in rows))}
    gold = np.full(len(images), -1)
    gold[item] = [row.gold for row in rows]
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.array([getattr(row, name) for row in rows])
        for name in ("trial_index", "batch", "is_repeat", "rt_ms", "elapsed_ms")
    }
    columns["duplicate"] = np.array(again)
    index = Index(images, names(list(people)), CLASSES)
    annotator = np.array([people[row.subject] for row in rows])
    answers = stack_answers(index, item, annotator, [row.answer for row in rows])
    if presentations == "first":
        keep = ~columns["is_repeat"] & ~columns["duplicate"]
        answers = answers.take(keep)
        columns = {name: values[keep] for name, values in columns.items()}
    columns["batches"] = np.array([image for _, image in batches]).reshape(-1, 25)
    for number, name in enumerate(("minutes", "quizzes")):
        columns[name] = np.array([sessions[subject][number] for subject in people])
    for name in ("train_indices", "test_indices"):
        columns[name] = read_npy(locate(INFO, f"{name}.npy"))
    notes = (
        "People were asked how 100 others would answer, not what they think themselves.",
        "The labels the authors released count the repeats and the duplicated rows too.",
    )
    return Dataset("cifar10s", INFO, index, answers, gold=gold, arrays=columns, notes=notes)


def released_answers() -> dict[str, list[dict[str, Any]]]:
    """Return the answers as the authors cleaned them, by image, in the form that ``Classic`` reads.

    They are all 6,723 answers, without annotators.
    """
    path = locate(INFO, ANSWERS)
    with explain_damage(path):
        released = json.loads(read_bytes(path))
        return {
            image: [_lower_case(c22.from_record(record)) for record in answers]
            for image, answers in released.items()
        }


def released_labels() -> dict[str, Floats]:
    """Return the authors' labels (n, 10) by image: two classes, clamped, 10 % given to the possible
    rest.  Their order within an image is not that of ``released_answers``."""
    path = locate(INFO, LABELS)
    with explain_damage(path):
        released = json.loads(read_bytes(path)).items()
        return {image: np.array(labels, dtype=np.float64) for image, labels in released}


# ── the raw file: one row per screen that a person saw ───────────────────────────────────────


class Row(NamedTuple):
    """One answer of the raw file."""

    image: int
    subject: str
    answer: Answer
    gold: int
    batch: int
    trial_index: int
    is_repeat: bool
    rt_ms: float
    elapsed_ms: float


def raw_rows(path: Path, mode: Classic) -> Iterator[Row]:
    """Yield the answers; other screens, such as the debriefing with its free text, are skipped."""
    labels = CLASSES.tolist()
    with open_text(path) as text:
        reader = csv.DictReader(text, restval="")
        for line in reader:
            if line["trial_type"] != "survey-html-form" or line["task"] not in TASKS:
                continue
            try:
                form = json.loads(line["response"])
                answer = mode.read(_lower_case(c22.from_form(form)), labels)
            except ResponseError as error:
                number = reader.line_num
                raise FileError(path, str(error), line=number, column="response") from None
            yield Row(
                image=int(float(line["img_id"])),
                subject=line["subject"],
                answer=answer,
                gold=labels.index(line["label"].lower()),
                batch=int(float(line["condition"])),
                trial_index=int(line["trial_index"]),
                is_repeat=TASKS[line["task"]],
                rt_ms=float(line["rt"]),
                elapsed_ms=float(line["time_elapsed"]),
            )


def _read_sessions(path: Path) -> dict[str, tuple[float, int]]:
    """Return how many minutes each person took and how often they sat the quiz; of other screens
    than the form, only the kind and the time are read."""
    sessions: dict[str, tuple[float, int]] = {}
    with open_text(path) as text:
        for line in csv.DictReader(text, restval=""):
            minutes, quizzes = sessions.get(line["subject"], (0.0, 0))
            sessions[line["subject"]] = (
                max(minutes, float(line["time_elapsed"]) / 60_000),
                quizzes + (line["trial_type"] == "survey-multi-choice"),
            )
    return sessions


def _lower_case(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with class names in lower case; the page wrote them with a capital."""
    return answer | {
        "top": answer["top"].lower(),
        "second": answer["second"] and answer["second"].lower(),
        "impossible": [name.lower() for name in answer["impossible"]],
    }
