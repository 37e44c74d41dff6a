"""Baselines: hard labels, label smoothing, and labels that ignore the item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.construct.base import first_named, make_annotations
from softlabel.randomness import name_keys, uniform
from softlabel.registry import check_parameters
from softlabel.tables import ANONYMOUS, Annotations, Statements


@dataclass(frozen=True)
class Hard:
    """One vote for the class named first, whatever chance was given to it."""

    name: ClassVar[str] = "hard"
    paper: ClassVar[str] = "the usual practice"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, statements: Statements) -> Annotations:
        return Annotations(
            statements.index, statements.item, statements.annotator, label=first_named(statements)
        )


@dataclass(frozen=True)
class Smooth:
    """(1 - beta) on the class named first plus beta / k on every class."""

    beta: float = 0.05

    name: ClassVar[str] = "smooth"
    paper: ClassVar[str] = "Szegedy et al. 2016; beta = 0.05 in Collins, Bhatt & Weller 2022"
    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self, statements: Statements) -> Annotations:
        check_parameters(self, beta=(0, 1))
        k = len(statements.index.labels)
        one_hot = np.eye(k)[first_named(statements)]
        return make_annotations(statements, (1 - self.beta) * one_hot + self.beta / k)


@dataclass(frozen=True)
class Flat:
    """1 / k on every class."""

    name: ClassVar[str] = "flat"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (uniform)"
    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self, statements: Statements) -> Annotations:
        return make_annotations(
            statements, np.full(statements.possible.shape, 1 / statements.possible.shape[1])
        )


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

    def __call__(self, statements: Statements) -> Annotations:
        item = name_keys(statements.index.items)[statements.item]
        people = np.append(name_keys(statements.index.annotators), np.uint64(0))  # last: ANONYMOUS
        assert ANONYMOUS == -1, "the last key stands for people without a name"
        keys = name_keys(statements.index.labels)
        draw = uniform(
            self.seed, item[:, None], people[statements.annotator][:, None], keys[None, :]
        )
        draw = np.maximum(draw, np.finfo(np.float64).tiny)  # one class: 0 / 0 would be no label
        return make_annotations(statements, draw / draw.sum(axis=1, keepdims=True))
