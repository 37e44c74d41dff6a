"""CIFAR-10H as Gheibi & Ghazizadeh 2026 split it, and a small stand-in that needs no data.

Nothing is taught but votes: no class is given with an item, so that ``hard`` is the majority of
whatever votes a cell keeps (of equally many, the first class).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.aggregate import Mean
from softlabel.deliver import NO_CLASS, Teaching
from softlabel.pictures import shapes
from softlabel.randomness import name_keys
from softlabel.recipes.lesson import Lesson
from softlabel.sampling import votes_from_counts
from softlabel.tables import Annotations, Bools, Index, Ints, Names, SoftLabels, names

ONE_IN = 5  # the reading notes say "80/20, stratified"; which images, nobody knows
QUICK_ITEMS, QUICK_VOTES = 200, 20


@cache
def cifar10h() -> Lesson:
    """8,000 images to learn from, 2,000 to be tested on; 200 of each class."""
    images = datasets.cifar10.load("test")
    votes = datasets.cifar10h.load("counts").annotations  # the same votes on every machine
    assert images.gold is not None, "CIFAR-10 has its classes"
    assert votes is not None, "CIFAR-10H is votes"
    held = held_out(images.index.items, images.gold)
    return of_votes(images.arrays["images"], votes, held, "cifar10h, 80/20")


@cache
def quick() -> Lesson:
    """Generated shapes and what simulated people see in them."""
    rng = np.random.default_rng(26)
    blends = shapes.weights(QUICK_ITEMS, rng)
    truth = shapes.truth(blends)
    pictures = np.stack([shapes.draw(blend, rng, size=32) for blend in blends])
    items = names([f"shape-{number}" for number in range(QUICK_ITEMS)])
    index = Index(items, names([]), names(list(shapes.LABELS)))
    votes = votes_from_counts(index, rng.multinomial(QUICK_VOTES, truth))
    return of_votes(pictures, votes, held_out(items, truth.argmax(axis=1)), "generated shapes")


def held_out(items: Names, classes: Ints) -> Bools:
    """(m,) one item in five of each class, those whose names have the smallest hashes: a rule
    that needs no file and no seed."""
    keys = name_keys(items)
    held = np.zeros(len(items), dtype=np.bool_)
    for one in np.unique(classes):
        rows = np.flatnonzero(classes == one)
        first = np.argsort(keys[rows], kind="stable")[: round(len(rows) / ONE_IN)]
        held[rows[first]] = True
    return held


def of_votes(
    pictures: npt.NDArray[np.uint8], votes: Annotations, held: Bools, called: str
) -> Lesson:
    """Items are taught by their votes alone, and tested on the shares of all votes."""
    pooled = Mean()(votes)
    nothing = np.full(len(held), NO_CLASS)
    teaching = Teaching.of(pooled, votes, nothing).only(np.flatnonzero(~held))
    index = Index(pooled.index.items[held], names([]), pooled.index.labels)
    people = SoftLabels(
        index, pooled.probs[held], pooled.count[held], pooled.estimand, pooled.made_by
    )
    return Lesson(pictures[~held], teaching, pictures[held], index, people, {"images": called})
