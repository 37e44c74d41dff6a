"""Controls: labels that know nothing of the item, to show what softness alone buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.construct.base import labelled
from softlabel.randomness import name_keys, uniform
from softlabel.tables import ANONYMOUS, Annotations, Statements


@dataclass(frozen=True)
class Flat:
    """1 / k on every class."""

    name: ClassVar[str] = "flat"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (uniform)"
    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self, said: Statements) -> Annotations:
        return labelled(said, np.full(said.possible.shape, 1 / said.possible.shape[1]))


@dataclass(frozen=True)
class Random:
    """k uniform(0, 1) numbers divided by their sum (not a flat Dirichlet: nearer to even).

    The draw belongs to seed, item, annotator and label, so it does not depend on row order; the
    answers of one person to one item share it, and so do all anonymous answers to an item.
    """

    seed: int = 0

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (random)"
    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self, said: Statements) -> Annotations:
        item = name_keys(said.index.items)[said.item]
        people = np.append(name_keys(said.index.annotators), np.uint64(0))  # last: ANONYMOUS
        assert ANONYMOUS == -1, "the last key stands for people without a name"
        keys = name_keys(said.index.labels)
        draw = uniform(self.seed, item[:, None], people[said.annotator][:, None], keys[None, :])
        draw = np.maximum(draw, np.finfo(np.float64).tiny)  # one class: 0 / 0 would be no label
        return labelled(said, draw / draw.sum(axis=1, keepdims=True))
