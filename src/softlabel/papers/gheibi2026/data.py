"""CIFAR-10H as Gheibi & Ghazizadeh 2026 split it, and a small stand-in that needs no data.

Nothing is taught but votes: no class is given with an item, so that ``hard`` is the majority of
whatever votes a cell keeps (of equally many, the first class).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from softlabel import datasets
from softlabel.aggregate import Mean
from softlabel.deliver import NO_CLASS, Teaching
from softlabel.papers.claims import quick as generated
from softlabel.randomness import name_keys
from softlabel.tables import Annotations, Bools, Index, Ints, Names, SoftLabels, names

if TYPE_CHECKING:  # what the votes say can be known without torch
    from softlabel.train import Lesson

ONE_IN = 5  # the reading notes say "80/20, stratified"; which images, nobody knows
FEW = 100  # pictures of a quick look: what is measured at a run costs more than the run


@cache
def cifar10h() -> Lesson:
    """8,000 images to learn from, 2,000 to be tested on; 200 of each class."""
    votes, held = _votes()
    images = datasets.cifar10.load("test").arrays["images"]
    return of_votes(images, votes, held, "cifar10h, 80/20")


@cache
def known() -> Teaching:
    """The votes for the 8,000."""
    return taught(*_votes())


@cache
def quick() -> Lesson:
    """Drawn shapes, and the votes of simulated people."""
    made = generated.made()
    votes = made.votes.take(made.votes.item < FEW)
    votes = replace(votes, index=replace(votes.index, items=votes.index.items[:FEW]))
    held = held_out(votes.index.items, made.gold[:FEW])
    return of_votes(made.images[:FEW], votes, held, "drawn shapes")


@cache
def _votes() -> tuple[Annotations, Bools]:
    found = datasets.cifar10h.load("counts")  # the same votes on every machine
    assert found.annotations is not None, "CIFAR-10H is votes"
    assert found.gold is not None, "CIFAR-10 has its classes"
    return found.annotations, held_out(found.index.items, found.gold)


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


def taught(votes: Annotations, held: Bools) -> Teaching:
    """What is known of the items that are not held out: their votes."""
    nothing = np.full(len(held), NO_CLASS)
    return Teaching.of(Mean()(votes), votes, nothing).only(np.flatnonzero(~held))


def of_votes(
    pictures: npt.NDArray[np.uint8], votes: Annotations, held: Bools, called: str
) -> Lesson:
    """Items are taught by their votes alone, and tested on the shares of all votes."""
    from softlabel.train import Lesson

    pooled = Mean()(votes)
    index = Index(pooled.index.items[held], names([]), pooled.index.labels)
    people = SoftLabels(index, pooled.probs[held], pooled.count[held])
    named = {"images": called}
    return Lesson(pictures[~held], taught(votes, held), pictures[held], index, people, named)
