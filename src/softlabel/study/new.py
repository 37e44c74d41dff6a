"""A new study that runs as it is: shapes, some of them between two or three shapes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import registry
from softlabel.errors import Problem, StudyError
from softlabel.study import defaults
from softlabel.study.drawn import write, write_items
from softlabel.study.folder import read
from softlabel.study.model import Study
from softlabel.study.pictures import shapes
from softlabel.study.settings import FILE
from softlabel.study.template import Values, render

PER_PERSON = 12
CURVED = ("circle", "heart")
SYNONYMS = {"circle": ["disc", "ring"], "cross": ["plus"], "square": ["box"]}


def write_new(folder: str | Path, *, mode: str = "quick", seed: int = 0) -> tuple[Path, ...]:
    """Write a study into an empty or new folder; returns its files, pictures left out.

    ``classic`` asks in the third person as its paper did, every other mode for one's own view.
    """
    folder = Path(folder)
    kind = registry.parse("mode", mode)
    kind.rules()  # its options are looked at before anything is written
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        reason = "is there already and is not empty; name a new folder"
        raise StudyError([Problem(str(folder), "", None, reason)])
    labels = _labels(kind.name)
    write_items(folder, labels, np.random.default_rng(seed))
    values = _values(mode, kind.name, labels)
    write(folder / FILE, render(values, (), ()))
    _write_texts(folder, values, read(folder))
    return tuple(sorted(path for path in folder.iterdir() if path.is_file()))


def _labels(mode: str) -> tuple[str, ...]:
    """The shapes; where the mode can use a hierarchy, in two branches."""
    if mode != "search":
        return shapes.LABELS
    return tuple(f"{'curved' if s in CURVED else 'angular'}/{s}" for s in shapes.LABELS)


def _values(mode: str, kind: str, labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    study: dict[str, Any] = {
        "name": "shapes",
        "title": "Which shape is it?",
        "description": "We want to know how people see shapes that are not quite one thing.",
        "labels": list(labels),
        "mode": mode,
        "frame": "third_person" if kind == "classic" else "self",
    }
    if kind == "search":
        names = dict(zip(shapes.LABELS, labels, strict=True))
        study["synonyms"] = {names[shape]: words for shape, words in SYNONYMS.items()}
    items = {
        "source": "items.csv",
        "per_item": 6,
        "per_annotator": PER_PERSON,
        "batch_size": PER_PERSON,
        "repeats": 2,
        "practice": "practice.jsonl",
        "checks": "checks.csv",
    }
    return {"study": study, "items": items, "pages": {"contact": "you@example.org"}}


def _write_texts(folder: Path, values: Values, study: Study) -> None:
    """The usual texts, as files and settings that can be changed."""
    write(folder / "consent.md", study.consent + "\n")
    write(folder / "instructions.md", "\n\n---\n\n".join(study.instructions) + "\n")
    pages = {"consent": "consent.md", "instructions": "instructions.md", **values["pages"]}
    full = {**values, "pages": pages}
    write(folder / FILE, render(full, defaults.quiz(study), defaults.debrief(study)))
