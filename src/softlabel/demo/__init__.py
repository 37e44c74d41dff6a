"""The demo: pictures with a known truth, people with known faults, and one page about both.

``run`` collects answers through a server of its own on a free loopback port, and writes the page
and the data behind it into a folder; it prints nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import files
from softlabel.construct import Hard
from softlabel.demo.asking import collect
from softlabel.demo.findings import RICH, find
from softlabel.demo.page import render
from softlabel.demo.study import Study
from softlabel.errors import SoftlabelError
from softlabel.tables import SoftLabels

Progress = Callable[[str, int, int], None]
TRUTH, FOLDER = "truth.npz", "study"
STEPS = ("asking people", "making labels", "writing the page", "writing the data")


@dataclass(frozen=True)
class DemoResult:
    """``path`` is the page; ``rows`` has one dict per recipe: its name as ``label``, and ``tv``,
    ``kl`` and ``entropy_r``, each a ``Score``."""

    path: Path
    rows: list[dict[str, Any]]


def run(out: Path, seed: int = 0, progress: Progress | None = None) -> DemoResult:
    """Make the study of this seed, measure it, and write everything into the folder ``out``.

    ``progress`` is told, before each step, what is done now, how many steps are done, and how
    many there are; and once more at the end.
    """

    def step(number: int) -> None:
        if progress is not None:
            progress(STEPS[min(number, len(STEPS) - 1)], number, len(STEPS))

    out = Path(out)
    if out.exists() and not (out / TRUTH).is_file() and any(out.iterdir()):
        raise SoftlabelError(f"{out}: holds other files; name a new folder, or one of an old demo")
    step(0)
    study = collect(out / FOLDER, seed)
    step(1)
    found = find(seed, study)
    step(2)
    page = out / "index.html"
    page.write_text(render(found), encoding="utf-8", newline="\n")
    step(3)
    _write_data(out, study, found.pooled[RICH].labels)
    step(4)
    rows = [
        {"label": one.recipe.name, "tv": one.tv, "kl": one.kl, "entropy_r": one.entropy_r}
        for one in found.pooled
    ]
    return DemoResult(page, rows)


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
