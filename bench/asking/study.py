"""The study that is asked under load: 1,000 small pictures in 40 batches of 25, mode quick."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from softlabel.study import shapes

LABELS = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
BATCHES, PER_BATCH, REPEATS = 40, 25, 2
FILE = """\
[study]
name = "load"
title = "Under load"
labels = {labels}
mode = "quick"

[items]
source = "images"
per_item = {per_item}
repeats = {repeats}
"""
NOTHING_ELSE = "[quiz]\nask = false\n[debrief]\nask = false\n"


def write_batches(folder: Path, people: int) -> None:
    """One batch per person, and a place for each of ``people`` (rounded up to whole rounds)."""
    names = _pictures(folder, BATCHES * PER_BATCH)
    batches = {
        str(b): [{"id": n[:-4], "file": n} for n in names[b * PER_BATCH : (b + 1) * PER_BATCH]]
        for b in range(BATCHES)
    }
    (folder / "allocation.json").write_text(json.dumps({"classes": LABELS, "batches": batches}))
    text = _file(per_item=-(-people // BATCHES), repeats=REPEATS)
    (folder / "study.toml").write_text(text + 'allocation = "allocation.json"\n')


def write_long(folder: Path, people: int, items: int) -> None:
    """Everybody gets all items: nothing but answers, and now and then a plan, is to be sent."""
    _pictures(folder, items)
    text = _file(per_item=people, repeats=0)
    (folder / "study.toml").write_text(text + f"batch_size = {items}\n")


def write_plain(folder: Path, items: int) -> None:
    """Short texts, and everybody gets all of them, with nothing before and after them."""
    folder.mkdir(parents=True)
    rows = [f"item-{n},the text of item {n}" for n in range(items)]
    (folder / "items.csv").write_text("\n".join(["id,text", *rows]) + "\n")
    text = _file(per_item=100_000, repeats=0).replace('"images"', '"items.csv"')
    (folder / "study.toml").write_text(text + f"batch_size = {items}\n{NOTHING_ELSE}")


def write_texts(folder: Path, items: int, batch: int, people: int, *, prescribed: bool) -> None:
    """Short texts, enough for ``people``; in batches, or given out so many at a time."""
    folder.mkdir(parents=True)
    rows = [f"text-{n:05d},Text number {n},b{n // batch}" for n in range(items)]
    head = "id,text,batch" if prescribed else "id,text,group"
    (folder / "items.csv").write_text("\n".join([head, *rows]) + "\n")
    text = _file(per_item=people, repeats=REPEATS).replace('"images"', '"items.csv"')
    (folder / "study.toml").write_text(text + ("" if prescribed else f"batch_size = {batch}\n"))


def write_mode(folder: Path, mode: str, labels: list[str], items: int) -> None:
    """Everybody gets all items and is asked in this mode, with nothing before and after them."""
    _pictures(folder, items)
    text = _file(per_item=1000, repeats=0).replace("load", "hands").replace("quick", mode)
    text = text.replace(json.dumps(LABELS), json.dumps(labels) + '\nlabel_order = "fixed"')
    (folder / "study.toml").write_text(text + f"batch_size = {items}\n{NOTHING_ELSE}")


def _file(per_item: int, repeats: int) -> str:
    return FILE.format(labels=json.dumps(LABELS), per_item=per_item, repeats=repeats)


def _pictures(folder: Path, count: int) -> list[str]:
    """Pictures of 32 × 32 pixels that all differ."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True)
    names = [f"picture-{i:04d}.png" for i in range(count)]
    for name in names:
        tiles = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
        (folder / "images" / name).write_bytes(shapes.encode_png(tiles.repeat(4, 0).repeat(4, 1)))
    return names
