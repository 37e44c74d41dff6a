"""Small things to train on: sixty pictures with soft labels, and eighty in files with votes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from softlabel import Annotations, Index, SoftLabels
from softlabel.deliver import TrainingLabels
from softlabel.io import write_answers

CLASSES = 3


class Fixed:
    """A delivery that gives every item the same label in every epoch."""

    def __init__(self, labels):
        self.labels = np.asarray(labels, dtype=np.float64)

    def labels_for(self, epoch, indices, rng):
        return self.labels[indices]


@pytest.fixture
def pictures():
    """(60, 16, 16, 3): the colour of class c is brighter than the others."""
    rng = np.random.default_rng(5)
    images = rng.integers(0, 200, (60, 16, 16, 3))
    images[np.arange(60), :, :, np.arange(60) % CLASSES] += 55
    return images.astype(np.uint8)


@pytest.fixture
def soft():
    """(60, 3): four fifths on the class of the picture, one tenth on the others."""
    return 0.1 + 0.7 * np.eye(CLASSES)[np.arange(60) % CLASSES]


@pytest.fixture
def delivery(soft):
    return Fixed(soft)


@pytest.fixture
def teaching(soft):
    """Five annotators; each item has the votes of two or three of them."""
    rng = np.random.default_rng(6)
    item, annotator = (rng.random((60, 5)) < 0.5).nonzero()
    label = np.where(rng.random(len(item)) < 0.95, item % CLASSES, (item + 1) % CLASSES)
    index = Index([str(i) for i in range(60)], list("abcde"), list("rgb"))
    return TrainingLabels(
        np.arange(60) % CLASSES, soft, Annotations(index, item, annotator, label=label)
    )


# ── files ────────────────────────────────────────────────────────────────────────────────────

ITEMS, PEOPLE, COLOURS = 80, 5, ["red", "green", "blue"]


class Toy(NamedTuple):
    """Eighty small pictures in three colours, five people who mostly see which, and their files."""

    folder: Path
    images: np.ndarray
    said: Annotations

    @property
    def pictures(self) -> str:
        return str(self.folder / "toy.npz")

    @property
    def votes(self) -> str:
        return str(self.folder / "votes.csv")

    @property
    def labels(self) -> str:
        return str(self.folder / "labels.npz")

    def words(self, **more: object) -> dict[str, object]:
        """Of a quick job on these files."""
        quick = {"epochs": 2, "batch": 24, "checkpoint_seconds": 0.0}
        settings = quick | more.pop("settings", {})
        base = {"recipe": "small", "images": self.pictures, "labels": self.votes}
        return {**base, "out": str(self.folder / "runs"), "settings": settings} | more


@pytest.fixture
def toy(tmp_path) -> Toy:
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, ITEMS)
    images = rng.normal(90, 30, (ITEMS, 8, 8, 3))
    images += 60 * np.eye(3)[colour][:, None, None]
    images = np.clip(images, 0, 255).astype(np.uint8)
    items = [f"picture {i}" for i in range(ITEMS)]
    wrong = rng.random((ITEMS, PEOPLE)) < 0.2
    vote = np.where(wrong, rng.integers(0, 3, (ITEMS, PEOPLE)), colour[:, None])
    index = Index(items, [f"person {a}" for a in range(PEOPLE)], COLOURS)
    who = np.tile(np.arange(PEOPLE), ITEMS)
    said = Annotations(index, np.repeat(np.arange(ITEMS), PEOPLE), who, label=vote.ravel())
    made = Toy(tmp_path, images, said)
    np.savez(made.pictures, images=images, items=np.array(items))
    write_answers(said, Path(made.votes))
    SoftLabels(index, said.counts() / PEOPLE, said.votes_per_item()).save(made.labels)
    return made
