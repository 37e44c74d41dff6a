"""Material for a quick look at any paper: drawn shapes that melt into each other, and simulated
people who say what they see.  No data are needed, and all is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Hard
from softlabel.deliver import Teaching
from softlabel.elicit import Classic
from softlabel.simulate import people as simulate
from softlabel.study import shapes
from softlabel.tables import Annotations, Floats, Index, Ints, SoftLabels, Statements, names

if TYPE_CHECKING:
    from softlabel.train import Lesson

LEARN, HELD = 200, 80  # pictures
PEOPLE, PER_ITEM = 12, 6
SIZE = 16  # px
SEED = 2022


@dataclass(frozen=True, eq=False)
class Made:
    """All m pictures, the first ``LEARN`` of them to be learned from; what people saw in them, as
    ``said`` on the form, as ``votes`` (hard) and as ``rich`` answers (soft: two classes, clamped);
    the ``truth`` (m, k)."""

    images: shapes.Pixels
    truth: Floats
    said: Statements
    votes: Annotations
    rich: Annotations

    @property
    def gold(self) -> Ints:
        """(m,) the class that there is most of."""
        return np.asarray(self.truth.argmax(axis=1))

    @property
    def features(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """(m, 64) what a head may learn from: brightness, in 8 x 8 squares."""
        side = SIZE // 8
        light = self.images.mean(axis=3).reshape(-1, 8, side, 8, side).mean(axis=(2, 4))
        return np.asarray(light.reshape(len(light), -1) / 255, dtype=np.float32)


@cache
def made() -> Made:
    """Always the same."""
    rng = np.random.default_rng(SEED)
    count = LEARN + HELD
    blend = shapes.weights(count, rng)
    images = np.stack([shapes.draw(row, rng, SIZE) for row in blend])
    truth = shapes.truth(blend)
    persons = simulate.people(PEOPLE, rng)
    index = Index(
        names([f"picture {i}" for i in range(count)]),
        names([f"person {a}" for a in range(PEOPLE)]),
        names(list(shapes.LABELS)),
    )
    shown = simulate.plan(count, PEOPLE, rng, per_item=PER_ITEM)
    mode = Classic()
    sent = simulate.answers(truth, persons, mode, list(shapes.LABELS), rng, showings=shown)
    said = simulate.statements(index, mode, sent)
    return Made(images, truth, said, Hard()(said), Clamp()(said))


def lesson(rich: bool = False, features: bool = False) -> Lesson:
    """Learn from 200 pictures by votes, or by rich answers; be tested on what is true of 80."""
    from softlabel.train import Lesson

    found = made()
    inputs = found.features if features else found.images
    each = _first(found.rich if rich else found.votes, LEARN)
    index = Index(each.index.items, names([]), each.index.labels)
    pooled = SoftLabels(index, Mean()(each).probs, each.votes_per_item())
    held = Index(found.votes.index.items[LEARN:], names([]), each.index.labels)
    people = SoftLabels(held, found.truth[LEARN:], np.full(HELD, PER_ITEM))
    teaching = Teaching.of(pooled, each, found.gold[:LEARN])
    whole = Lesson.of(inputs[:LEARN], teaching, inputs[LEARN:], people)
    return replace(whole, named={"labels": "rich answers" if rich else "votes"})


def _first(each: Annotations, count: int) -> Annotations:
    kept = each.take(each.item < count)
    index = Index(each.index.items[:count], each.index.annotators, each.index.labels)
    return Annotations(index, kept.item, kept.annotator, kept.label, kept.probs)
