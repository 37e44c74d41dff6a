"""Material for a quick run of any paper: drawn shapes that blend into each other, and simulated
people who report what they see.  It needs no data, and the truth is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Hard
from softlabel.deliver import TrainingLabels
from softlabel.elicit import Classic
from softlabel.simulate import people
from softlabel.study import shapes
from softlabel.tables import Annotations, Floats, Index, Ints, SoftLabels, Statements, names

if TYPE_CHECKING:
    from softlabel.train import Split

LEARN, HELD = 200, 80  # pictures
PEOPLE, PER_ITEM = 12, 6
SIZE = 16  # px
SEED = 2022


@dataclass(frozen=True, eq=False)
class Made:
    """m pictures, of which the first ``LEARN`` are for training, and their ``truth`` (m, k).

    What people saw in them: their statements (``said``), as ``votes`` (hard) and as ``rich``
    answers (soft: two classes, clamped).
    """

    images: shapes.Pixels
    truth: Floats
    said: Statements
    votes: Annotations
    rich: Annotations

    @property
    def gold(self) -> Ints:
        """(m,) the largest class."""
        return np.asarray(self.truth.argmax(axis=1))

    @property
    def features(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        """(m, 64) features for a head: brightness, in 8 x 8 squares."""
        side = SIZE // 8
        light = self.images.mean(axis=3).reshape(-1, 8, side, 8, side).mean(axis=(2, 4))
        return np.asarray(light.reshape(len(light), -1) / 255, dtype=np.float32)


@cache
def made() -> Made:
    """Draw the pictures and simulate the people, always the same."""
    rng = np.random.default_rng(SEED)
    count = LEARN + HELD
    blend = shapes.draw_weights(count, rng)
    images = np.stack([shapes.draw(row, rng, SIZE) for row in blend])
    truth = shapes.compute_truth(blend)
    persons = people.draw_people(PEOPLE, rng)
    items = names([f"picture {i}" for i in range(count)])
    index = Index(items, names([f"person {a}" for a in range(PEOPLE)]), names(shapes.LABELS))
    showings = people.plan_showings(count, PEOPLE, rng, per_item=PER_ITEM)
    mode, labels = Classic(), list(shapes.LABELS)
    sent = people.simulate_answers(truth, persons, mode, labels, rng, showings=showings)
    said = people.read_responses(index, mode, sent)
    return Made(images, truth, said, Hard()(said), Clamp()(said))


def lesson(rich: bool = False, features: bool = False) -> Split:
    """Make a lesson: 200 pictures with votes or rich answers, 80 with the truth for testing."""
    from softlabel.train import Split

    data = made()
    inputs = data.features if features else data.images
    every = data.rich if rich else data.votes
    kept = every.take(every.item < LEARN)
    index = Index(every.index.items[:LEARN], every.index.annotators, every.index.labels)
    each = Annotations(index, kept.item, kept.annotator, kept.label, kept.probs)
    pooled_index = Index(index.items, names([]), index.labels)
    pooled = SoftLabels(pooled_index, Mean()(each).probs, each.votes_per_item())
    held = Index(every.index.items[LEARN:], names([]), index.labels)
    people = SoftLabels(held, data.truth[LEARN:], np.full(HELD, PER_ITEM))
    teaching = TrainingLabels.of(pooled, each, data.gold[:LEARN])
    whole = Split.of(inputs[:LEARN], teaching, inputs[LEARN:], people)
    return replace(whole, named={"labels": "rich answers" if rich else "votes"})
