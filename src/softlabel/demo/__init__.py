"""The demo: pictures with a known truth, people with known faults, and one page about both.

``run`` collects answers through a server of its own on a free loopback port, trains networks on
them where torch is installed, and writes the page and the data behind it into a folder; it prints
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import io as files
from softlabel.construct import Clamp, Hard
from softlabel.demo.asking import collect
from softlabel.demo.findings import RICH, Findings, find
from softlabel.demo.learning import Learning, measure
from softlabel.demo.lessons import INSTALL
from softlabel.demo.page import render
from softlabel.demo.study import Study
from softlabel.demo.teaching import ARMS, EPOCHS, Lessons, possible, teach
from softlabel.errors import SoftlabelError
from softlabel.tables import SoftLabels

__all__ = ["INSTALL", "STEPS", "DemoResult", "run"]

Progress = Callable[[str, int, int], None]
TRUTH, FOLDER, BELIEFS = "truth.npz", "study", "beliefs.npz"
TRAINING = "training networks"
STEPS = ("asking people", "making labels", TRAINING, "writing the page", "writing the data")


@dataclass(frozen=True)
class DemoResult:
    """``path`` is the page; ``rows`` has one dict per recipe: its name as ``label``, and ``tv``,
    ``kl`` and ``entropy_r``, each a ``Score``; ``learned`` likewise one per way to deliver labels,
    closest to the truth first, or nothing where no network was trained."""

    path: Path
    rows: list[dict[str, Any]]
    learned: list[dict[str, Any]]


def run(
    out: Path, seed: int = 0, progress: Progress | None = None, epochs: int = EPOCHS
) -> DemoResult:
    """Make the study of this seed, measure it, and write everything into the folder ``out``.

    ``progress`` is told, before each step, what is done now, how many steps are done, and how
    many there are; and once more at the end.  Training, which is the longest, is told network by
    network.  ``epochs`` is how long each is trained; 0: not at all.
    """

    def step(number: int, more: str = "") -> None:
        if progress is not None:
            progress(STEPS[min(number, len(STEPS) - 1)] + more, number, len(STEPS))

    out = Path(out)
    if out.exists() and not (out / TRUTH).is_file() and any(out.iterdir()):
        raise SoftlabelError(f"{out}: holds other files; name a new folder, or one of an old demo")
    step(0)
    study = collect(out / FOLDER, seed)
    step(1)
    found = find(seed, study)
    step(2)
    learning = None
    if epochs and possible():
        learning = _train(found, epochs, lambda done, of: step(2, f": {done} of {of} done"))
    step(3)
    page = out / "index.html"
    page.write_text(render(found, learning), encoding="utf-8", newline="\n")
    step(4)
    _write_data(out, study, found.pooled[RICH].labels)
    (out / BELIEFS).unlink(missing_ok=True)
    if learning is not None:
        _write_beliefs(out / BELIEFS, learning.lessons)
    step(5)
    rows = [
        {"label": one.recipe.name, "tv": one.tv, "kl": one.kl, "entropy_r": one.entropy_r}
        for one in found.pooled
    ]
    arms = learning.arms if learning else []
    return DemoResult(page, rows, [{"delivered": one.arm.name} | one.scores for one in arms])


def _train(found: Findings, epochs: int, told: Callable[[int, int], None]) -> Learning:
    each, pooled = Clamp()(found.study.first("rich")), found.pooled[RICH].labels
    lessons = teach(found.study, each, pooled, found.seed, epochs, told)
    return measure(lessons, epochs)


def _write_beliefs(path: Path, lessons: Lessons) -> None:
    """What every network believes of the new pictures: ``probs`` (arms, runs, m, k), with names."""
    probs = [[run.predictions.probs for run in runs] for runs in lessons.runs]
    np.savez_compressed(
        path,
        item=np.array(lessons.people.index.items.tolist()),
        labels=np.array(lessons.people.index.labels.tolist()),
        delivered=np.array([arm.name for arm in ARMS]),
        truth=lessons.people.probs,
        probs=np.array(probs),
    )


def _write_data(out: Path, study: Study, labels: SoftLabels) -> None:
    """What a real study would leave behind, and beside it what only a simulation knows."""
    index = study.index
    files.write_said(study.rich, out / "answers.jsonl")
    files.write_said(Hard()(study.votes), out / "votes.csv")
    labels.save(out / "labels.npz")
    one = np.ones(len(study.truth), dtype=np.int64)  # "how many people" has no meaning for a truth
    SoftLabels(index, study.truth, one, made_by="known by construction").save(out / TRUTH)
    people = zip(index.annotators.tolist(), study.persons, strict=True)
    rows = [{"annotator": name, **asdict(person)} for name, person in people]
    files.write_rows(rows, out / "people.csv")
