"""Texts learned from: items of one text or two, split by name, read by some encoder.

``words`` learns its encoder from scratch with the labels; heads on a frozen encoder's features are
the recipe ``features``, and ``hub`` trains a whole pre-trained encoder further (``text_hub``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from softlabel.deliver import Teaching
from softlabel.errors import DataError
from softlabel.randomness import name_keys
from softlabel.tables import Bools, Index, Ints, Names, SoftLabels, names
from softlabel.train.recipes import features
from softlabel.train.recipes.base import Recipe
from softlabel.train.recipes.lesson import ONE_IN, Lesson

CONFIG = replace(
    features.CONFIG,  # as for heads: AdamW, 20 epochs, the rate down to 0
    net="words",  # with two texts: words:texts=2
    batch=64,  # of about 1,200 items: 19 steps an epoch
)
WORDS = Recipe("words", "scratch", CONFIG, __file__)

Reader = Callable[[Sequence[Sequence[str]]], npt.NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Texts:
    """m items, each said in as many texts as there are ``sides``: how people labelled them, and
    the one class (``hard``) that is taught where their distribution is not."""

    name: str
    sides: tuple[Sequence[str], ...]
    pooled: SoftLabels
    hard: Ints

    def __post_init__(self) -> None:
        sizes = {len(self.hard), len(self.pooled), *map(len, self.sides)}
        if len(sizes) != 1 or len(self.sides) not in (1, 2):
            raise DataError(
                f"{self.name}: {[len(side) for side in self.sides]} texts, {len(self.pooled)} "
                f"labels and {len(self.hard)} classes are not one or two texts for each item"
            )


def held_out(items: Names) -> Bools:
    """(m,) True for one item in five, by the hash of its name: a rule, so that no list is needed.

    >>> held_out(names(["a", "b", "c", "d", "e"])).tolist()
    [False, False, True, True, False]
    """
    return np.asarray(name_keys(items) % np.uint64(ONE_IN) == 0)


def lesson(texts: Texts, read: Reader, reader: str) -> Lesson:
    """Four items in five to learn from, the others held out; ``read`` makes rows of all of them."""
    rows = read(texts.sides)
    held = held_out(texts.pooled.index.items)
    if not held.any() or held.all():
        raise DataError(f"{texts.name}: {len(held)} items are too few to hold one in {ONE_IN} out")
    learned, people = _only(texts.pooled, ~held), _only(texts.pooled, held)
    made = Lesson.of(rows[~held], Teaching.of(learned, hard=texts.hard[~held]), rows[held], people)
    return replace(made, named={"texts": texts.name, "encoder": reader})


def _only(soft: SoftLabels, these: Bools) -> SoftLabels:
    index = Index(soft.index.items[these], names([]), soft.index.labels)
    return SoftLabels(index, soft.probs[these], soft.count[these], soft.estimand, soft.made_by)
