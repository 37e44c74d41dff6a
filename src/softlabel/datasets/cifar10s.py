"""CIFAR-10S: what each of 248 people believed about 25 of 1,000 CIFAR-10 test images.

Collins, Bhatt & Weller 2022, "Eliciting and Learning with Soft Labels from Every Annotator",
arXiv 2207.00810.  No licence is stated.  6,723 answers: 6,200 first presentations (6 or 7 per
image), 496 repeats (two images per person, shown again at the end) and 27 rows that stand in the
release twice.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from softlabel.datasets import _c22raw
from softlabel.datasets._fetch import locate
from softlabel.datasets._read import array, coded, content, reading
from softlabel.datasets.base import Dataset, File, Info
from softlabel.datasets.cifar10 import CLASSES
from softlabel.elicit import Answer, Classic, c22
from softlabel.errors import FileError, UnknownName
from softlabel.records import stack
from softlabel.tables import Floats, Index, names

RAW, ANSWERS = "raw_human_data.csv", "human_soft_labels_data.json"
LABELS = "cifar10s_t2clamp_redist10.json"
REPOSITORY = "https://raw.githubusercontent.com/cambridge-mlg/cifar-10s"


def _check_raw(path: Path) -> str:
    """The checksum of the raw file is not known to us, but its answers were also released on their
    own, in a file whose checksum is.  A version with other columns holds platform ids: not kept."""
    if _c22raw.columns(path) != _c22raw.COLUMNS:
        return f"{path}: has other columns than the release without platform ids"
    found: dict[str, list[Answer]] = {}
    for row in _c22raw.rows(path, Classic()):
        found.setdefault(str(row.image), []).append(row.answer)
    labels = CLASSES.tolist()
    for image, released in released_answers().items():
        answers = (Classic().read(answer, labels) for answer in released)
        if Counter(map(_c22raw.key, answers)) != Counter(map(_c22raw.key, found.pop(image, []))):
            return f"{path}: the answers for image {image} are not those of {ANSWERS}"
    return f"{path}: {len(found)} images more than in {ANSWERS}" if found else ""


INFO = Info(
    name="cifar10s",
    title="CIFAR-10S",
    home="https://github.com/cambridge-mlg/cifar-10s",
    licence="none stated",
    files=(
        File(
            ANSWERS,
            "95149462b12839e192a1389d1f91189496b621b9391831eef5461dff9cae5ca6",
            f"{REPOSITORY}/99e571606d4ddb4f1e818d1b7432f047daa72b1e/cifar10s_data/{ANSWERS}",
        ),
        File(
            LABELS,
            "ec27ee6f4cce01fcfdb511095821d0f00e2238b1f5b7074aa054c89b83b5cfb7",
            f"{REPOSITORY}/99e571606d4ddb4f1e818d1b7432f047daa72b1e/cifar10s_data/{LABELS}",
        ),
        File(RAW, None, f"{REPOSITORY}/master/cifar10s_data/{RAW}", check=_check_raw),
        File(
            "train_indices.npy",
            "af80134e896dda7f42c7acc9386243d53b4bf54c996b219452fa6ac600c8883a",
            f"{REPOSITORY}/71ebccfed1fc4fb2109da977aabc7b3362a76230/other_data/train_indices.npy",
        ),
        File(
            "test_indices.npy",
            "2cda098d4cc19137cde538b37f26759e8c0fbc20c470aa89a9574f4edba2bcbb",
            f"{REPOSITORY}/71ebccfed1fc4fb2109da977aabc7b3362a76230/other_data/test_indices.npy",
        ),
    ),
    cite="Collins, Bhatt & Weller 2022, Eliciting and Learning with Soft Labels from Every "
    "Annotator, HCOMP, arXiv 2207.00810",
)


def load(presentations: Literal["first", "all"] = "first", mode: Classic | None = None) -> Dataset:
    """What people said, in the order of the file.

    ``first`` are the 6,200 answers to images seen for the first time; ``all`` the 6,723 rows of
    the release, with ``arrays["is_repeat"]`` and ``arrays["duplicate"]`` to tell them apart.
    ``mode`` reads the answers: ``Classic(repairs=...)`` says which slips are mended.
    Further columns with one entry per row: ``trial_index``, ``batch``, ``rt_ms``, ``elapsed_ms``.
    ``arrays["batches"]`` (40, 25) are the images of each batch; ``minutes`` and ``quizzes`` (248,)
    how long each person took and how often they sat the quiz; ``train_indices`` and
    ``test_indices`` the authors' split of the 10,000 test images.
    """
    if presentations not in ("first", "all"):
        raise UnknownName("choice of presentations", presentations, ("first", "all"))
    path = locate(INFO, RAW)
    rows = list(_c22raw.rows(path, mode or Classic()))
    batches = sorted({(row.batch, row.image) for row in rows})
    if len(batches) != 1000:
        raise FileError(path, f"holds answers for {len(batches)} images, not 1,000; is it whole?")
    seen: set[tuple[str, int]] = set()
    duplicate = []
    for row in rows:  # one person's session was saved twice
        duplicate.append((row.subject, row.trial) in seen)
        seen.add((row.subject, row.trial))
    sessions = _c22raw.sessions(path)
    images, item = coded([row.image for row in rows])
    people = {subject: i for i, subject in enumerate(dict.fromkeys(row.subject for row in rows))}
    gold = np.full(len(images), -1)
    gold[item] = [row.gold for row in rows]
    columns: dict[str, npt.NDArray[Any]] = {
        "trial_index": np.array([row.trial for row in rows]),
        "batch": np.array([row.batch for row in rows]),
        "is_repeat": np.array([row.is_repeat for row in rows]),
        "duplicate": np.array(duplicate),
        "rt_ms": np.array([row.rt_ms for row in rows]),
        "elapsed_ms": np.array([row.elapsed_ms for row in rows]),
    }
    index = Index(images, names(list(people)), CLASSES)
    annotator = np.array([people[row.subject] for row in rows])
    said = stack(index, item, annotator, [row.answer for row in rows])
    keep = ~columns["is_repeat"] & ~columns["duplicate"]
    if presentations == "first":
        said, columns = said.take(keep), {name: value[keep] for name, value in columns.items()}
    return Dataset(
        "cifar10s",
        INFO,
        index,
        statements=said,
        gold=gold,
        arrays=columns
        | {
            "batches": np.array([image for _, image in batches]).reshape(-1, 25),
            "minutes": np.array([sessions[subject][0] for subject in people]),
            "quizzes": np.array([sessions[subject][1] for subject in people]),
            "train_indices": array(locate(INFO, "train_indices.npy")),
            "test_indices": array(locate(INFO, "test_indices.npy")),
        },
        notes=(
            "People were asked how 100 others would answer, not what they think themselves.",
            "The labels the authors released count the repeats and the duplicated rows too.",
        ),
    )


def released_answers() -> dict[str, list[dict[str, Any]]]:
    """The answers as the authors cleaned them, by image, in the form that ``Classic`` reads.

    They are all 6,723 answers, without annotators.
    """
    path = locate(INFO, ANSWERS)
    with reading(path):
        released = json.loads(content(path))
        return {
            image: [_c22raw.lower(c22.from_record(record)) for record in answers]
            for image, answers in released.items()
        }


def released_labels() -> dict[str, Floats]:
    """The authors' labels (n, 10) by image: two classes, clamped, 10 % given to the possible rest.

    Their order within an image is not that of ``released_answers``.
    """
    path = locate(INFO, LABELS)
    with reading(path):
        return {
            image: np.array(labels, dtype=np.float64)
            for image, labels in json.loads(content(path)).items()
        }
