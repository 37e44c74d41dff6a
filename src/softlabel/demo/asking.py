"""How the demo's answers are collected: a study folder, a server that asks, people who answer."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from softlabel import io as files
from softlabel import store
from softlabel import study as studies
from softlabel.demo.study import ITEMS, PEOPLE, PER_ITEM, REPEATS, Study
from softlabel.elicit import Classic, Hard, Mode
from softlabel.errors import SoftlabelError
from softlabel.records import stack
from softlabel.serve import monitor
from softlabel.simulate import crowd, serving
from softlabel.study import png, shapes
from softlabel.tables import Floats, Index, Statements, names

RESPONSES = "responses.jsonl"
FILE = """\
[study]
name = "demo"
title = "Which shape is it?"
labels = {labels}
mode = "classic"
seed = {seed}

[items]
source = "images"
per_item = {per_item}
per_annotator = {share}
batch_size = {share}
repeats = {repeats}
"""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What there is to see, and what is true of it."""

    index: Index
    pictures: list[shapes.Pixels]
    truth: Floats


def collect(folder: Path, seed: int) -> Study:
    """Serve drawn pictures as a study in ``folder``, and ask simulated people what they see: on
    the form through the server, and once more for plain votes without it."""
    drawn = draw(seed)
    write_folder(folder, seed, drawn)
    said = read_export(folder / RESPONSES, drawn.index, ask(folder, seed))
    people = crowd.crowd(PEOPLE, seed)
    persons = [somebody.person for somebody in people]
    votes = vote(drawn, people)
    return Study(drawn.index, drawn.pictures, drawn.truth, persons, said, votes)


def draw(seed: int) -> Drawn:
    """The pictures of this seed."""
    rng = np.random.default_rng(seed)
    blend = shapes.weights(ITEMS, rng)
    index = Index(
        names([f"picture-{i:03d}" for i in range(1, ITEMS + 1)]),
        names([f"person-{i:02d}" for i in range(1, PEOPLE + 1)]),
        names(shapes.LABELS),
    )
    return Drawn(index, [shapes.draw(row, rng) for row in blend], shapes.truth(blend))


def write_folder(folder: Path, seed: int, drawn: Drawn) -> None:
    """The study as ``softlabel serve`` reads it, and beside it the truth."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "images").mkdir(parents=True)
    settings = FILE.format(
        labels=json.dumps(shapes.LABELS),
        seed=seed,
        per_item=PER_ITEM,
        share=ITEMS * PER_ITEM // PEOPLE,
        repeats=REPEATS,
    )
    (folder / "study.toml").write_text(settings, "utf-8", newline="\n")
    rows: list[dict[str, Any]] = []
    named = zip(drawn.index.items.tolist(), drawn.pictures, drawn.truth.tolist(), strict=True)
    for name, pixels, probs in named:
        (folder / "images" / f"{name}.png").write_bytes(png.encode(pixels))
        rows.append({"id": name} | dict(zip(shapes.LABELS, probs, strict=True)))
    files.write_rows(rows, folder / "truth.csv")


def ask(folder: Path, seed: int) -> crowd.Report:
    """Everybody answers over HTTP; then the server is stopped and the answers are exported."""
    study = studies.read(folder)
    with serving(folder, "--rehearsal", "--no-token") as server:
        report = crowd.fill(server.url, study, annotators=PEOPLE, seed=seed)
    if report.finished < PEOPLE:
        trouble = ", ".join(report.errors)
        raise SoftlabelError(f"only {report.finished} of {PEOPLE} people could finish: {trouble}")
    with store.open(folder / ".softlabel" / "rehearsal.db", read_only=True) as answers:
        monitor.export(study, answers, folder / RESPONSES)
    return report


def read_export(path: Path, index: Index, report: crowd.Report) -> Statements:
    """The exported answers, person by person.  An export has pseudonyms; who is who is known here
    from the ids of the answers that each person's browser sent."""
    who = {id: number for number, one in enumerate(report.people) for id in one.acknowledged}
    items = {name: code for code, name in enumerate(index.items.tolist())}
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows.sort(key=lambda row: (who[row["response_uuid"]], row["presentation"]["position"]))
    said = [Said(items[row["item"]], who[row["response_uuid"]], row["answer"]) for row in rows]
    return statements(index, Classic(), said)


def vote(drawn: Drawn, people: list[crowd.Somebody]) -> Statements:
    """One click on every picture by everybody: the same opinions, at another look."""
    mode, labels = Hard(), drawn.index.labels.tolist()
    items = list(enumerate(drawn.index.items.tolist()))
    said = [
        Said(i, somebody.number, somebody.says(name, drawn.truth[i], "vote", mode, labels))
        for somebody in people
        for i, name in items
    ]
    return statements(drawn.index, mode, said)


class Said(NamedTuple):
    """One answer: codes of item and person, and what was sent."""

    item: int
    annotator: int
    answer: dict[str, Any]


def statements(index: Index, mode: Mode, said: list[Said]) -> Statements:
    """The answers, read by the mode that asked for them."""
    item, annotator = (np.array([one[place] for one in said]) for place in (0, 1))
    read = [mode.read(one.answer, index.labels.tolist()) for one in said]
    return stack(index, item, annotator, read)
