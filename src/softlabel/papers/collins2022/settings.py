"""What Collins, Bhatt & Weller 2022 learned from and tested on: their images, split as they split
them, or generated ones that take a minute.

Their validation set, on which spread and smoothing were chosen, is 15,000 of the 50,000 official
training images, drawn with seed 7; ours is the first 10,000 of them, which is what our data folder
holds.  Both have the given classes for labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.errors import UnknownName
from softlabel.tables import ANONYMOUS, Annotations, Ints, Names, SoftLabels, Statements
from softlabel.train import Known, published


@dataclass(frozen=True, eq=False)
class Exam:
    """Held-out items: what people say of them, the class that was given with each, and how many
    of them make a bin of the calibration error."""

    people: SoftLabels
    gold: Ints
    bin_size: int


@dataclass(frozen=True, eq=False)
class Setting:
    """``said`` are first answers to the rich form and ``votes`` hard ones, both of the relabelled
    items; ``again`` are the rich answers with all that the release counts twice.  ``validation``
    are pictures and their classes."""

    known: Known
    said: Statements
    again: Statements
    votes: Annotations
    exams: Mapping[str, Exam]
    validation: Callable[[], tuple[npt.NDArray[np.uint8], Ints]] | None


CIFAR, GENERATED, FEATURES = "cifar10s", "generated", "generated features"


@cache
def setting(name: str) -> Setting:
    """Read once: 10,000 pictures are large."""
    if name == CIFAR:
        return _cifar()
    if name in (GENERATED, FEATURES):
        from softlabel.papers.collins2022 import quick as collins2022_quick

        return collins2022_quick.generated(name, features=name == FEATURES)
    raise UnknownName("setting", name, (CIFAR, GENERATED, FEATURES))


def _cifar() -> Setting:
    """6,900 images to learn from, 900 of them relabelled; 3,000 and 100 held out."""
    known = published.cifar10s()
    everything = datasets.cifar10s.load("all")
    assert everything.statements is not None, "CIFAR-10S is statements"
    arrays = everything.arrays
    first = ~arrays["is_repeat"] & ~arrays["duplicate"]
    votes = datasets.cifar10h.load().annotations
    assert votes is not None, "CIFAR-10H is votes"
    relabelled = np.isin(votes.index.items, everything.index.items)
    classes = datasets.cifar10.gold_of_test()
    assert classes is not None, "its images were just read"
    people = {"10h": published.people("cifar10h"), "10s": published.people("cifar10s")}
    gold = {name: classes[_numbers(soft.index.items)] for name, soft in people.items()}
    return Setting(
        known,
        everything.statements.take(first),
        everything.statements,
        votes.take(relabelled[votes.item]),
        # bins of 100 and of 10 images, as published
        {name: Exam(people[name], gold[name], size) for name, size in (("10h", 100), ("10s", 10))},
        _train10k,
    )


def _train10k() -> tuple[npt.NDArray[np.uint8], Ints]:
    train = datasets.cifar10.load("train10k")
    assert train.gold is not None, "CIFAR-10 has its classes"
    return train.arrays["images"], train.gold


def _numbers(items: Names) -> Ints:
    return np.array([int(item) for item in items.tolist()])


def nameless(said: Annotations) -> Annotations:
    """Each answer as somebody else's, as in the released files."""
    return replace(said, annotator=np.full(len(said), ANONYMOUS))
