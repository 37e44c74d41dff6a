"""The demo: a whole study with simulated annotators, as commands that you could type yourself.

    python examples/demo/demo.py DIR --seed 0

The script draws ambiguous pictures whose true distribution over labels is known, runs a study with
simulated annotators, makes labels from their answers, trains networks on them if torch is
installed, and writes ``DIR/index.html``, a page about the results.  It prints each command of
softlabel before running it.  ``softlabel demo DIR`` does the same.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

if not __package__:  # run as a script: import the other files of this folder as a package
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    __package__ = "demo"

from softlabel import io
from softlabel.cli import main as softlabel
from softlabel.construct import Hard as HardLabel
from softlabel.elicit import Hard
from softlabel.errors import SoftlabelError
from softlabel.simulate import draw_participants
from softlabel.study import shapes
from softlabel.tables import Index, SoftLabels, Statements, names

from . import findings
from .findings import ANNOTATORS, DELIVERIES, EPOCHS, ITEMS, MEASURES, PER_ITEM, SEEDS, SIDE
from .page import INSTALL, render

STUDY = """\
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
GRID = """\
recipe = "small"
images = "{folder}/pictures.npz"
labels = "{folder}/answers.jsonl"
against = "{folder}/unseen.npz"
out = "{folder}/runs"
deliver = {deliver}
seeds = {seeds}

[set]
epochs = {epochs}
batch = 32
augment = "per_epoch"
device = "cpu"
"""


def run(folder: Path, seed: int = 0) -> None:
    """Run the whole demo and write everything to ``folder``."""
    is_old_demo = (folder / "truth.npz").is_file()
    if folder.exists() and any(folder.iterdir()) and not is_old_demo:
        raise SoftlabelError(f"{folder}: holds other files; name a new folder or an old demo")
    for part in ("study", "runs"):
        shutil.rmtree(folder / part, ignore_errors=True)
    study = collect(folder, seed)
    print("\n# compare the labels with the truth")
    results = findings.measure_labels(study)
    training = train(folder, study) if importlib.util.find_spec("torch") else None
    page = folder / "index.html"
    page.write_text(render(results, training), encoding="utf-8", newline="\n")
    print("\ntotal variation from the truth, with 95 % confidence intervals over pictures:")
    for one in results.pooled:
        print(f"  {one.recipe.name:<24}  {one.tv}")
    if training is None:
        print(f"\nno network was trained: {INSTALL}, then run the demo again")
    print(f"\nwrote {page}")


def command(*words: object) -> None:
    """Print a command of softlabel and run it."""
    typed = [str(word) for word in words]
    print(f"\n$ softlabel {shlex.join(typed)}", flush=True)
    if code := softlabel(typed):
        raise SystemExit(code)


# ── the study ────────────────────────────────────────────────────────────────────────────────


def collect(folder: Path, seed: int) -> findings.Study:
    """Draw the pictures, let simulated annotators answer, and make labels from their answers."""
    pictures, truth = draw_pictures(ITEMS, "picture", np.random.default_rng(seed))
    place, responses, people = folder / "study", folder / "study/responses.jsonl", "people.csv"
    write_study(place, seed, pictures, truth)
    truth.save(folder / "truth.npz")
    print(f"# {ITEMS} pictures and a study folder are in {place}")
    command("check", place)
    who = ("--annotators", ANNOTATORS, "--seed", seed, "--people", folder / people)
    command("simulate", place, *who)
    command("export", place, responses, "--db", place / ".softlabel/rehearsal.db")

    print(f"\n# name the annotators with the help of {people}; let each vote on every picture")
    rich = read_answers(responses, folder / people, truth.index)
    everybody = [(item, who) for who in range(ANNOTATORS) for item in range(ITEMS)]
    votes = findings.ask(truth.index, truth.probs, everybody, seed, Hard(), "vote")
    answers, clicks = folder / "answers.jsonl", folder / "votes.csv"
    io.write_answers(rich, answers)
    io.write_answers(HardLabel()(votes), clicks)

    steps = ("--construct", "clamp", "--aggregate", "mean", "--repeats", "first")
    command("label", answers, folder / "labels.npz", *steps)
    classes = ("--labels", ",".join(shapes.LABELS))
    command("label", clicks, folder / "shares.npz", "--aggregate", "share", *classes)
    persons = [one.person for one in draw_participants(ANNOTATORS, seed)]
    return findings.Study(seed, truth.index, pictures, truth.probs, persons, rich, votes)


def draw_pictures(
    count: int, name: str, rng: np.random.Generator
) -> tuple[list[shapes.Pixels], SoftLabels]:
    """Draw pictures that blend one to three shapes; return them with their true distributions."""
    blend = shapes.draw_weights(count, rng)
    items = names([f"{name}-{i:03d}" for i in range(1, count + 1)])
    index = Index(items, findings.ANNOTATOR_NAMES, names(shapes.LABELS))
    pictures = [shapes.draw(row, rng) for row in blend]
    ones = np.ones(count, dtype=np.int64)  # a truth has no number of annotators
    return pictures, SoftLabels(
        index, shapes.compute_truth(blend), ones, made_by="known by construction"
    )


def write_study(folder: Path, seed: int, pictures: list[shapes.Pixels], truth: SoftLabels) -> None:
    """Write a study folder, with ``truth.csv`` for simulated annotators."""
    (folder / "images").mkdir(parents=True)
    settings = STUDY.format(
        labels=json.dumps(shapes.LABELS),
        seed=seed,
        per_item=PER_ITEM,
        share=ITEMS * PER_ITEM // ANNOTATORS,
        repeats=findings.REPEATS,
    )
    (folder / "study.toml").write_text(settings, encoding="utf-8", newline="\n")
    items = truth.index.items.tolist()
    for item, pixels in zip(items, pictures, strict=True):
        (folder / "images" / f"{item}.png").write_bytes(shapes.encode_png(pixels))
    rows = [
        {"id": item} | dict(zip(shapes.LABELS, probs, strict=True))
        for item, probs in zip(items, truth.probs.tolist(), strict=True)
    ]
    io.write_table(rows, folder / "truth.csv")


def read_answers(responses: Path, people: Path, index: Index) -> Statements:
    """Read the exported answers and sort them by annotator.

    An export has pseudonyms.  ``people``, written by ``softlabel simulate``, holds the id of one
    answer of each simulated annotator.
    """
    lines = responses.read_text(encoding="utf-8").splitlines()
    pseudonyms = {row["response_uuid"]: row["annotator"] for row in map(json.loads, lines)}
    with people.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = {pseudonyms[row["response_uuid"]]: int(row["person"]) - 1 for row in rows}
    said = io.read_answers(responses).answers
    assert isinstance(said, Statements), "answers on a form"
    places = {name: code for code, name in enumerate(index.items.tolist())}
    item = np.array([places[name] for name in said.index.items.tolist()])[said.item]
    annotator = np.array([numbers[name] for name in said.index.annotators.tolist()])[said.annotator]
    renamed = replace(said, index=index, item=item, annotator=annotator)
    return renamed.take(np.argsort(annotator, kind="stable"))


# ── training ─────────────────────────────────────────────────────────────────────────────────


def train(folder: Path, study: findings.Study) -> findings.Training:
    """Train a small network with each delivery and seed, and test it on unseen pictures."""
    unseen, truth = draw_pictures(findings.UNSEEN, "unseen", np.random.default_rng([study.seed, 2]))
    truth.save(folder / "unseen.npz")
    large = np.stack([*study.pictures, *unseen])
    step = large.shape[1] // SIDE
    small = large.reshape(-1, SIDE, step, SIDE, step, 3).mean(axis=(2, 4))
    light_on_dark = np.round(255 - small).astype(np.uint8)  # random crops pad with black
    items = np.array([*study.index.items.tolist(), *truth.index.items.tolist()])
    np.savez_compressed(folder / "pictures.npz", images=light_on_dark, items=items)
    grid = folder / "training.toml"
    values = {"deliver": json.dumps(list(DELIVERIES)), "seeds": SEEDS, "epochs": EPOCHS}
    text = GRID.format(folder=json.dumps(folder.as_posix())[1:-1], **values)
    grid.write_text(text, encoding="utf-8", newline="\n")
    print(f"\n# {grid} trains {len(DELIVERIES)} deliveries of the same labels, {SEEDS} seeds each")
    command("grid", grid)
    measures = [word for name in MEASURES for word in ("--metric", name)]
    command("evaluate", folder / "runs", "--by", "deliver", *measures)

    from softlabel.train import runs

    finished = {name: runs.find(folder / "runs", deliver=name) for name in DELIVERIES}
    return findings.measure_training(finished, unseen, truth)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo from the command line and return the exit code."""
    parser = argparse.ArgumentParser(description="Run a study with simulated annotators.")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to write to")
    parser.add_argument("--seed", type=int, default=0, help="random seed of pictures and people")
    options = parser.parse_args(argv)
    try:
        run(options.folder, options.seed)
    except SoftlabelError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
