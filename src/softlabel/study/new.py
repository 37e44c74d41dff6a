"""A new study that can be served at once: drawn shapes, some of them between two or three shapes.

Everything is known about its items because we draw them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softlabel import registry
from softlabel.errors import Problem, StudyError
from softlabel.study import pages, shapes
from softlabel.study.findings import FILE
from softlabel.study.folder import read
from softlabel.study.settings import render
from softlabel.tables import Floats

PER_PERSON = 12
CURVED = ("circle", "heart")
SYNONYMS = {"circle": ["disc", "ring"], "cross": ["plus"], "square": ["box"]}
ITEMS = 24
PIXELS = 128  # wide
PRACTICE: tuple[tuple[dict[str, float], str], ...] = (
    ({"star": 1.0}, "A plain star: there is nothing to waver about."),
    ({"square": 0.6, "circle": 0.4}, "This was drawn as something between square and circle."),
    (
        {"heart": 0.5, "triangle": 0.3, "circle": 0.2},
        "This was drawn as a heart with something of a triangle and of a circle.",
    ),
)
CHECKS = ("cross", "triangle")  # pure shapes; the text of the second asks for another one
ASKED_FOR, ATTENTION = "circle", "This one is about reading: whatever you see, answer {label}."
ALT = "a dark shape on light paper"


def write_new(folder: str | Path, *, mode: str = "quick", seed: int = 0) -> tuple[Path, ...]:
    """Write a study into an empty or new folder; return its files without the pictures.

    ``classic`` asks in the third person as its paper did, every other mode for one's own view.
    """
    folder = Path(folder)
    kind = registry.parse("mode", mode)
    kind.rules()  # its options are checked before anything is written
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        reason = "exists already and is not empty; name a new folder"
        raise StudyError([Problem(str(folder), "", None, reason)])
    labels = shapes.LABELS
    if kind.name == "search":  # which can use a hierarchy
        labels = tuple(f"{'curved' if s in CURVED else 'angular'}/{s}" for s in labels)
    _write_items(folder, labels, np.random.default_rng(seed))
    values = _make_settings(mode, kind.name, labels)
    _write(folder / FILE, render(values, (), ()))
    study = read(folder)  # for its default texts, which are written as files that can be changed
    _write(folder / "consent.md", study.consent + "\n")
    _write(folder / "instructions.md", "\n\n---\n\n".join(study.instructions) + "\n")
    named = {"consent": "consent.md", "instructions": "instructions.md"}
    values["pages"] = named | values["pages"]
    text = render(values, pages.default_quiz(study), pages.default_debrief(study))
    _write(folder / FILE, text)
    return tuple(sorted(path for path in folder.iterdir() if path.is_file()))


def _make_settings(mode: str, kind: str, labels: Sequence[str]) -> dict[str, dict[str, Any]]:
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


# ── items ────────────────────────────────────────────────────────────────────────────────────


class Drawn(NamedTuple):
    """One picture, and how likely each label is."""

    name: str
    truth: Floats

    @property
    def cells(self) -> dict[str, str]:
        return {"id": self.name, "image": f"images/{self.name}.png", "alt": ALT}


def _write_items(folder: Path, labels: Sequence[str], rng: np.random.Generator) -> None:
    """Write pictures, the three tables that name them, and ``truth.csv``.

    ``labels`` are those of the shapes, in their order.
    """
    (folder / "images").mkdir(parents=True)
    fixed = [parts for parts, _ in PRACTICE] + [{shape: 1.0} for shape in CHECKS]
    blends = [[parts.get(shape, 0.0) for shape in shapes.LABELS] for parts in fixed]
    drawn = _draw(folder, np.array([*shapes.draw_weights(ITEMS, rng), *blends]), rng)
    targets, practice = sorted(drawn[:ITEMS]), drawn[ITEMS : ITEMS + len(PRACTICE)]
    by_shape = dict(zip(shapes.LABELS, labels, strict=True))
    asked_for = by_shape[ASKED_FOR]
    checks = [
        {"text": "", "gold": by_shape[CHECKS[0]], "kind": "gold"},
        {"text": ATTENTION.format(label=asked_for), "gold": asked_for, "kind": "attention"},
    ]
    _write(folder / "items.csv", _to_csv(one.cells for one in targets))
    lines = [
        one.cells
        | {"gold": {by_shape[shape]: p for shape, p in gold.items()}, "feedback": feedback}
        for one, (gold, feedback) in zip(practice, PRACTICE, strict=True)
    ]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    _write(folder / "practice.jsonl", text)
    rows = (one.cells | check for one, check in zip(drawn[-len(CHECKS) :], checks, strict=True))
    _write(folder / "checks.csv", _to_csv(rows))
    truth = (
        {"id": one.name, **dict(zip(labels, one.truth.tolist(), strict=True))}
        for one in sorted([*targets, *practice])
    )
    _write(folder / "truth.csv", _to_csv(truth))


def _draw(folder: Path, blends: Floats, rng: np.random.Generator) -> list[Drawn]:
    """Draw pictures; their names are random numbers, which give away nothing about them."""
    truth = np.round(shapes.compute_truth(blends), 4)
    truth[np.arange(len(truth)), truth.argmax(axis=1)] += 1 - truth.sum(axis=1)
    names = [f"shape-{number:02d}" for number in rng.permutation(len(blends)) + 1]
    for name, blend in zip(names, blends, strict=True):
        picture = shapes.encode_png(shapes.draw(blend, rng, PIXELS))
        (folder / "images" / f"{name}.png").write_bytes(picture)
    return [Drawn(name, row.round(4)) for name, row in zip(names, truth, strict=True)]


def _to_csv(rows: Iterable[dict[str, Any]]) -> str:
    listed = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(listed[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(listed)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
