"""What pools are held against: how others split over the same items, and gold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from softlabel import Annotations, datasets
from softlabel.construct import Clamp, Hard
from softlabel.datasets import Dataset, MissingData
from softlabel.sampling import one_per_annotator, subsample
from softlabel.tables import Floats, Ints, Statements


@dataclass(frozen=True, eq=False)
class Task:
    """Answers to pool, and what they are held against: how others split (m, k), gold (m,)."""

    name: str
    said: Annotations
    split: Floats | None = None
    gold: Ints | None = None


def held_out(name: str, data: Dataset, votes: int) -> Task:
    """``votes`` of each item are pooled, the rest of its votes are the reference."""
    whole = data.annotations
    assert whole is not None, "these sets hold votes"
    few = subsample(whole, votes, np.random.default_rng(0))
    rest = whole.counts() - few.counts()
    size = rest.sum(axis=1, keepdims=True)
    split = np.where(size > 0, rest / np.maximum(size, 1), np.nan)
    return Task(name, few, split, data.gold)


def cifar10s() -> tuple[Statements, Floats, Ints | None]:
    """What people said, how the people of CIFAR-10H split over the same images, and gold."""
    data = datasets.cifar10s.load()
    assert data.statements is not None, "they are statements"
    counts = datasets.cifar10h.load("counts").arrays["counts"]
    rows = counts[[int(name) for name in data.index.items.tolist()]]
    return data.statements, rows / rows.sum(axis=1, keepdims=True), data.gold


def _beliefs() -> Iterator[Task]:
    said, split, gold = cifar10s()
    yield Task("CIFAR-10S rich", Clamp()(said), split, gold)
    yield Task("CIFAR-10S clicks", Hard()(said), split, gold)


def _votes() -> Iterator[Task]:
    yield held_out("CIFAR-10H 5", datasets.cifar10h.load("counts"), 5)


def _inference() -> Iterator[Task]:
    for part in ("snli", "mnli"):
        yield held_out(f"ChaosNLI {part} 5", datasets.load(f"chaosnli/{part}"), 5)


def _ratings() -> Iterator[Task]:
    for part, votes in (("offensiveness", 4), ("politeness", 3)):
        yield held_out(f"{part} {votes}", datasets.load(f"popquorn/{part}"), votes)


def _truths() -> Iterator[Task]:
    for name in ("labelme", "rte", "sentiment", "pos"):
        data = datasets.load(name)
        assert data.annotations is not None, "these sets hold votes"
        yield Task(name, one_per_annotator(data.annotations), None, data.gold)


SOURCES: tuple[Callable[[], Iterator[Task]], ...] = (
    *(_beliefs, _votes, _inference, _ratings, _truths),
)


def tasks() -> list[Task]:
    """All whose data are here; the others are named."""
    found: list[Task] = []
    for source in SOURCES:
        try:
            found += source()
        except MissingData as error:
            print(f"left out: {str(error).splitlines()[0]}")
    return found
