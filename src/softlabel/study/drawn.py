"""The items of a new study: drawn shapes, of which everything is known because we drew them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softlabel.study.pictures import png, shapes
from softlabel.tables import Floats

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
CHECKS = ("cross", "triangle")  # plain ones; with the second comes a text that asks for another
ASKED_FOR, ATTENTION = "circle", "This one is about reading: whatever you see, answer {label}."
ALT = "a dark shape on light paper"


class Drawn(NamedTuple):
    """One picture, and how likely each label is."""

    name: str
    truth: Floats


def write_items(folder: Path, labels: Sequence[str], rng: np.random.Generator) -> None:
    """Pictures, the three tables that name them, and ``truth.csv``.

    ``labels`` are those of the shapes, in their order.  Names are numbers given at random, so
    that they say nothing about what is shown.
    """
    (folder / "images").mkdir(parents=True)
    practice = [_blend(parts) for parts, _ in PRACTICE]
    checks = [_blend({shape: 1.0}) for shape in CHECKS]
    drawn = _draw(folder, np.array([*shapes.weights(ITEMS, rng), *practice, *checks]), rng)
    targets, learning = drawn[:ITEMS], drawn[ITEMS : ITEMS + len(PRACTICE)]
    write(folder / "items.csv", _items(targets))
    write(folder / "practice.jsonl", _practice(learning, labels))
    write(folder / "checks.csv", _checks(drawn[-len(CHECKS) :], labels))
    write(folder / "truth.csv", _truth([*targets, *learning], labels))


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _blend(parts: dict[str, float]) -> list[float]:
    return [parts.get(shape, 0.0) for shape in shapes.LABELS]


def _draw(folder: Path, blends: Floats, rng: np.random.Generator) -> list[Drawn]:
    truth = np.round(shapes.truth(blends), 4)
    truth[np.arange(len(truth)), truth.argmax(axis=1)] += 1 - truth.sum(axis=1)
    names = [f"shape-{number:02d}" for number in rng.permutation(len(blends)) + 1]
    for name, blend in zip(names, blends, strict=True):
        picture = png.encode(shapes.draw(blend, rng, PIXELS))
        (folder / "images" / f"{name}.png").write_bytes(picture)
    return [Drawn(name, row.round(4)) for name, row in zip(names, truth, strict=True)]


def _items(drawn: Iterable[Drawn]) -> str:
    rows = [[one.name, f"images/{one.name}.png", ALT] for one in sorted(drawn, key=_name)]
    return _csv([["id", "image", "alt"], *rows])


def _practice(drawn: Iterable[Drawn], labels: Sequence[str]) -> str:
    by_shape = dict(zip(shapes.LABELS, labels, strict=True))
    lines = [
        {
            "id": one.name,
            "image": f"images/{one.name}.png",
            "alt": ALT,
            "gold": {by_shape[shape]: p for shape, p in gold.items()},
            "feedback": feedback,
        }
        for one, (gold, feedback) in zip(drawn, PRACTICE, strict=True)
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _checks(drawn: Sequence[Drawn], labels: Sequence[str]) -> str:
    by_shape = dict(zip(shapes.LABELS, labels, strict=True))
    told = by_shape[ASKED_FOR]
    known = [(by_shape[CHECKS[0]], "gold", ""), (told, "attention", ATTENTION.format(label=told))]
    rows = [
        [one.name, f"images/{one.name}.png", ALT, text, gold, kind]
        for one, (gold, kind, text) in zip(drawn, known, strict=True)
    ]
    return _csv([["id", "image", "alt", "text", "gold", "kind"], *rows])


def _truth(drawn: Iterable[Drawn], labels: Sequence[str]) -> str:
    rows = [[one.name, *one.truth.tolist()] for one in sorted(drawn, key=_name)]
    return _csv([["id", *labels], *rows])


def _name(drawn: Drawn) -> str:
    return drawn.name


def _csv(rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
