"""A new study that can be served at once: drawn shapes, some of them between two or three shapes.

Everything is known about its items because we draw them.
"""

import csv
import io
import json
import tomllib
from collections.abc import Sequence
from copy import deepcopy
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

NEW = tomllib.loads(Path(__file__).with_name("new.toml").read_text(encoding="utf-8"))


def write_new(folder: str | Path, *, mode: str = "quick", seed: int = 0) -> tuple[Path, ...]:
    """Write a study into an empty or new folder; return its files without the pictures.

    ``classic`` asks in the third person as its paper did, every other mode for one's own view.
    """
    folder = Path(folder)
    kind = registry.parse("mode", mode)
    kind.rules()  # its options are checked before anything is written
    require_empty(folder)
    labels = shapes.LABELS
    if kind.name == "search":  # which can use a hierarchy
        labels = tuple(f"{'curved' if s in NEW['curved'] else 'angular'}/{s}" for s in labels)
    _write_items(folder, labels, np.random.default_rng(seed))
    values = deepcopy(NEW["settings"])
    frame = "third_person" if kind.name == "classic" else "self"
    values["study"] |= {"labels": list(labels), "mode": mode, "frame": frame}
    if kind.name == "search":
        names = dict(zip(shapes.LABELS, labels, strict=True))
        synonyms = {names[shape]: words for shape, words in NEW["synonyms"].items()}
        values["study"]["synonyms"] = synonyms
    write_settings(folder, values)
    return tuple(sorted(path for path in folder.iterdir() if path.is_file()))


def require_empty(folder: Path) -> None:
    """Refuse a folder with something in it; hidden files, such as those of a desktop, may stay."""
    if not folder.exists():
        return
    if not folder.is_dir() or any(not path.name.startswith(".") for path in folder.iterdir()):
        reason = "exists already and is not empty; name a new folder"
        raise StudyError([Problem(str(folder), "", None, reason)])


def write_settings(folder: Path, values: dict[str, dict[str, Any]]) -> None:
    """Write ``study.toml`` with these settings, and the default texts as files to be edited."""
    write_file(folder / FILE, render(values, (), ()))
    study = read(folder)
    write_file(folder / "consent.md", study.consent + "\n")
    write_file(folder / "instructions.md", "\n\n---\n\n".join(study.instructions) + "\n")
    values["pages"] |= {"consent": "consent.md", "instructions": "instructions.md"}
    text = render(values, pages.default_quiz(study), pages.default_debrief(study))
    write_file(folder / FILE, text)


def _write_items(folder: Path, labels: Sequence[str], rng: np.random.Generator) -> None:
    """Write pictures, three tables that name them, and the truth; labels are in order of shapes."""
    checked, asked = NEW["checks"], NEW["practice"]
    fixed = [blend for blend, _ in asked] + [{shape: 1.0} for shape in checked]
    known = [[parts.get(shape, 0.0) for shape in shapes.LABELS] for parts in fixed]
    blends = np.array([*shapes.draw_weights(NEW["items"], rng), *known])
    truth = np.round(shapes.compute_truth(blends), 4)
    truth[np.arange(len(truth)), truth.argmax(axis=1)] += 1 - truth.sum(axis=1)
    # names are random numbers, which give away nothing about the pictures
    names = [f"shape-{number:02d}" for number in rng.permutation(len(blends)) + 1]
    (folder / "images").mkdir(parents=True)
    for name, blend in zip(names, blends, strict=True):
        picture = shapes.encode_png(shapes.draw(blend, rng, NEW["pixels"]))
        (folder / "images" / f"{name}.png").write_bytes(picture)
    cells = [{"id": name, "image": f"images/{name}.png", "alt": NEW["alt"]} for name in names]
    by_shape = dict(zip(shapes.LABELS, labels, strict=True))
    asked_for = by_shape[NEW["asked_for"]]
    practice = [
        {"gold": {by_shape[shape]: p for shape, p in blend.items()}, "feedback": feedback}
        for blend, feedback in asked
    ]
    checks = [
        {"text": "", "gold": by_shape[checked[0]], "kind": "gold"},
        {"text": NEW["attention"].format(label=asked_for), "gold": asked_for, "kind": "attention"},
    ]
    write_file(folder / "items.csv", to_csv(sorted(cells[: NEW["items"]], key=itemgetter("id"))))
    shown = cells[NEW["items"] : -len(checked)]
    lines = [row | more for row, more in zip(shown, practice, strict=True)]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_file(folder / "practice.jsonl", text)
    rows = [row | more for row, more in zip(cells[-len(checked) :], checks, strict=True)]
    write_file(folder / "checks.csv", to_csv(rows))
    rows = [
        {"id": name, **dict(zip(labels, row, strict=True))}
        for name, row in zip(names, truth.round(4).tolist(), strict=True)
    ]
    write_file(folder / "truth.csv", to_csv(sorted(rows[: -len(checked)], key=itemgetter("id"))))


def to_csv(rows: Sequence[dict[str, Any]]) -> str:
    """Return the text of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_file(path: Path, text: str) -> None:
    """Write a text with the same line ends on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")
