"""CIFAR-10H and CIFAR-10S as lessons, split as their authors split them.

Both number the CIFAR-10 test images and share one split of 7,000 images to learn from and 3,000 to
be tested on.  CIFAR-10S holds 100 of its 1,000 images out besides: 6,900 are learned from, 900 of
them relabelled, and the other 6,000 by their given class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.aggregate import Mean
from softlabel.construct import Clamp
from softlabel.deliver import Teaching
from softlabel.tables import Annotations, Index, Ints, Names, SoftLabels, names

HELD_10S = Path(__file__).with_name("cifar10s-held-out.txt")


@dataclass(frozen=True, eq=False)
class Known:
    """A published set: all ``images`` and their names; of the items in ``learn`` the ``gold``
    class and the ``teaching``; ``held`` items are predicted, and ``people`` is known of them."""

    name: str
    items: Names
    images: npt.NDArray[Any]
    learn: Names
    gold: Ints
    teaching: Teaching
    held: Names
    people: SoftLabels


def cifar10h() -> Known:
    """7,000 images with the shares of about 51 votes each, 3,000 to be tested on."""
    images = datasets.cifar10.load("test")
    learn, held = _split()
    votes = datasets.cifar10h.load().annotations
    assert votes is not None, "CIFAR-10H is votes"
    gold = _gold(images)[learn]
    each = _only(votes, learn)
    teaching = Teaching.of(Mean()(each), each, gold)
    items = images.index.items
    return Known(
        "cifar10h",
        items,
        images.arrays["images"],
        items[learn],
        gold,
        teaching,
        items[held],
        people("cifar10h"),
    )


def cifar10s() -> Known:
    """6,900 images, of which 900 have what 6 or 7 people believe; 3,100 to be predicted, scored on
    the 3,000 of CIFAR-10H (the 100 held out of CIFAR-10S: ``people("cifar10s")``)."""
    images = datasets.cifar10.load("test")
    learn, held = _split()
    apart = held_10s()
    learn = learn[~np.isin(learn, apart)]
    gold = _gold(images)[learn]
    each = _only(_said(), learn)
    asked = np.bincount(each.item, minlength=len(learn)) > 0
    soft = np.eye(len(images.index.labels))[gold]
    soft[asked] = Mean()(each).probs[asked]
    items = images.index.items
    return Known(
        "cifar10s",
        items,
        images.arrays["images"],
        items[learn],
        gold,
        Teaching(gold, soft, each),
        items[np.concatenate([held, apart])],
        people("cifar10h"),
    )


def people(name: str) -> SoftLabels:
    """What is known of the held-out items: vote shares of 3,000, or soft labels of 100."""
    if name == "cifar10h":
        _, held = _split()
        votes = datasets.cifar10h.load().annotations
        assert votes is not None, "CIFAR-10H is votes"
        return Mean()(_only(votes, held))
    return Mean()(_only(_said(), held_10s()))


SETS: dict[str, Callable[[], Known]] = {"cifar10h": cifar10h, "cifar10s": cifar10s}


def held_10s() -> Ints:
    """The 100 images that Collins et al. held out, as their script draws them; see the file."""
    lines = HELD_10S.read_text().splitlines()
    return np.array([int(line) for line in lines if line and not line.startswith("#")])


def _split() -> tuple[Ints, Ints]:
    """The 7,000 and the 3,000 of Uma et al., which Collins et al. use too."""
    from softlabel.datasets import array, locate

    info = datasets.cifar10s.INFO
    return tuple(  # type: ignore[return-value]
        np.sort(array(locate(info, f"{part}_indices.npy"))) for part in ("train", "test")
    )


def _gold(images: datasets.Dataset) -> Ints:
    assert images.gold is not None, "CIFAR-10 has its classes"
    return images.gold


def _said() -> Annotations:
    """What each person believed: two classes, clamped, a tenth spread over the possible rest."""
    statements = datasets.cifar10s.load().statements
    assert statements is not None, "CIFAR-10S is statements"
    return Clamp()(statements)


def _only(said: Annotations, images: Ints) -> Annotations:
    """The answers about these images of CIFAR-10, items in this order."""
    place = {str(image): row for row, image in enumerate(images.tolist())}
    new = np.array([place.get(item, -1) for item in said.index.items.tolist()], dtype=np.int64)
    kept = said.take(new[said.item] >= 0)
    index = Index(names(list(place)), said.index.annotators, said.index.labels)
    return Annotations(index, new[kept.item], kept.annotator, kept.label, kept.probs)
