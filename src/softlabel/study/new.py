"""A new study that can be served at once: drawn shapes, some of them between two or three shapes.

Everything is known about its items because we draw them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from softlabel import registry
from softlabel.errors import Problem, StudyError
from softlabel.study import pages, shapes
from softlabel.study.findings import FILE
from softlabel.study.folder import read
from softlabel.study.settings import render

SETTINGS: dict[str, Any] = {
    "source": "items.csv",
    "per_item": 6,
    "per_annotator": 12,
    "batch_size": 12,
    "repeats": 2,
    "practice": "practice.jsonl",
    "checks": "checks.csv",
}
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
    described: dict[str, Any] = {
        "name": "shapes",
        "title": "Which shape is it?",
        "description": "We want to know how people see shapes that are not quite one thing.",
        "labels": list(labels),
        "mode": mode,
        "frame": "third_person" if kind.name == "classic" else "self",
    }
    if kind.name == "search":
        names = dict(zip(shapes.LABELS, labels, strict=True))
        described["synonyms"] = {names[shape]: words for shape, words in SYNONYMS.items()}
    values = {"study": described, "items": dict(SETTINGS), "pages": {"contact": "you@example.org"}}
    _write(folder / FILE, render(values, (), ()))
    study = read(folder)  # for its default texts, which are written as files that can be changed
    _write(folder / "consent.md", study.consent + "\n")
    _write(folder / "instructions.md", "\n\n---\n\n".join(study.instructions) + "\n")
    values["pages"] |= {"consent": "consent.md", "instructions": "instructions.md"}
    text = render(values, pages.default_quiz(study), pages.default_debrief(study))
    _write(folder / FILE, text)
    return tuple(sorted(path for path in folder.iterdir() if path.is_file()))


# ── items ────────────────────────────────────────────────────────────────────────────────────


def _write_items(folder: Path, labels: Sequence[str], rng: np.random.Generator) -> None:
    """Write pictures, the three tables that name them, and ``truth.csv``.

    ``labels`` are those of the shapes, in their order.
    """
    fixed = [parts for parts, _ in PRACTICE] + [{shape: 1.0} for shape in CHECKS]
    known = [[parts.get(shape, 0.0) for shape in shapes.LABELS] for parts in fixed]
    blends = np.array([*shapes.draw_weights(ITEMS, rng), *known])
    truth = np.round(shapes.compute_truth(blends), 4)
    truth[np.arange(len(truth)), truth.argmax(axis=1)] += 1 - truth.sum(axis=1)
    # names are random numbers, which give away nothing about the pictures
    names = [f"shape-{number:02d}" for number in rng.permutation(len(blends)) + 1]
    (folder / "images").mkdir(parents=True)
    for name, blend in zip(names, blends, strict=True):
        picture = shapes.encode_png(shapes.draw(blend, rng, PIXELS))
        (folder / "images" / f"{name}.png").write_bytes(picture)
    cells = [{"id": name, "image": f"images/{name}.png", "alt": ALT} for name in names]
    by_shape = dict(zip(shapes.LABELS, labels, strict=True))
    asked_for = by_shape[ASKED_FOR]
    practice = [
        {"gold": {by_shape[shape]: p for shape, p in gold.items()}, "feedback": feedback}
        for gold, feedback in PRACTICE
    ]
    checks = [
        {"text": "", "gold": by_shape[CHECKS[0]], "kind": "gold"},
        {"text": ATTENTION.format(label=asked_for), "gold": asked_for, "kind": "attention"},
    ]
    _write(folder / "items.csv", _to_csv(sorted(cells[:ITEMS], key=itemgetter("id"))))
    lines = [row | more for row, more in zip(cells[ITEMS : -len(CHECKS)], practice, strict=True)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    _write(folder / "practice.jsonl", text)
    rows = [row | more for row, more in zip(cells[-len(CHECKS) :], checks, strict=True)]
    _write(folder / "checks.csv", _to_csv(rows))
    rows = [
        {"id": name, **dict(zip(labels, row, strict=True))}
        for name, row in zip(names, truth.round(4).tolist(), strict=True)
    ]
    _write(folder / "truth.csv", _to_csv(sorted(rows[: -len(CHECKS)], key=itemgetter("id"))))


def _to_csv(rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
