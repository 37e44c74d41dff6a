"""Beliefs: labels built from the chances that people stated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.construct.base import Semantics, Top, first_named, make_annotations, stated_percents
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Bools, Floats, Statements


@dataclass(frozen=True)
class Clamp:
    """The label of CIFAR-10S (T2-clamp; T1-clamp with ``top=1``).

    ``top`` is how many of the classes named count, in the order of naming; the form of CIFAR-10S
    asks for two, so there ``all`` and 2 are the same.

    Named classes keep their chances.  If these sum to less than 100 %, the rest is shared
    equally by the classes that were neither named nor ruled out.  If they reach 100 % they are
    scaled to 1 and, where some unnamed class was left possible, damped by ``1 - spread``; the
    ``spread`` is shared by those classes.  If nothing else is possible the named mass is scaled
    to 1.  A class that was named keeps its mass even if it was also ruled out.

    ``mode="strict"`` divides by the number of classes that really receive a share, takes a class
    named twice as named once (first number), and answers "nothing" with an even split over what
    is possible.  ``mode="reference"`` is the published counting rule, bug for bug: it divides by
    |possible| - |named|, which under contradictions misplaces mass and may turn negative (then
    the row is refused), and lets a second number overwrite the first.  Both agree on well-formed
    answers.
    """

    top: Top = "all"
    spread: float = 0.1
    mode: Semantics = "strict"

    name: ClassVar[str] = "clamp"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, section 3"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, statements: Statements) -> Annotations:
        return make_annotations(statements, self.vectors(statements))

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels before the simplex check."""
        check_parameters(self, spread=(0, 1))
        percent = stated_percents(statements, self.top, self.mode)
        if self.mode == "reference":
            return _reference(percent, statements.possible, self.spread)
        return _strict(percent, statements.possible, self.spread)


def _strict(percent: Floats, possible: Bools, spread: float) -> Floats:
    total = percent.sum(axis=1, keepdims=True)
    receives = possible & (percent == 0)
    receivers = receives.sum(axis=1, keepdims=True)
    # percent units: 70 + 30 is exactly 100, while .7 + .2 + .1 is not exactly 1
    rest = np.where(total < 100, 1 - total / 100, np.where(receivers > 0, spread, 0.0))
    scale = np.where(total < 100, 1 / 100, (1 - rest) / np.maximum(total, 100))
    label = percent * scale + receives * rest / np.maximum(receivers, 1)
    silent = (label.sum(axis=1) == 0)[:, None]  # nothing stated and every class ruled out
    label = np.where(silent, 1.0, label)
    return np.asarray(label / label.sum(axis=1, keepdims=True))


def _reference(percent: Floats, possible: Bools, spread: float) -> Floats:
    label = percent / 100
    total = label.sum(axis=1, keepdims=True)
    named = label > 0
    divisor = possible.sum(axis=1, keepdims=True) - named.sum(axis=1, keepdims=True)
    full = total >= 1
    label = np.where(full, label / np.where(full, total, 1), label)
    share = np.where(full, spread, 1 - total) / np.where(divisor == 0, 1, divisor)
    damped = np.where(named & full, label * (1 - spread), label)
    label = np.where(divisor != 0, np.where(possible & ~named, share, damped), label)
    with np.errstate(invalid="ignore"):  # an all-zero row becomes NaN and is refused by the table
        return np.asarray(label / label.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Uniform:
    """T2-unif (T1-unif with ``top=1``): the rest of 100 % is shared equally by all classes that
    were not named; what people ruled out is not looked at.  Named mass of 100 % or more is scaled
    to 1 and nothing is spread.  ``top`` is how many of the classes named count.

    ``spread`` has no effect here, by definition; it is accepted so that one set of options serves
    ``clamp`` and ``uniform`` in a sweep.
    """

    top: Top = "all"
    spread: float = 0.1
    mode: Semantics = "strict"

    name: ClassVar[str] = "uniform"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, section 3"
    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self, statements: Statements) -> Annotations:
        return make_annotations(statements, self.vectors(statements))

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels."""
        check_parameters(self, spread=(0, 1))
        percent = stated_percents(statements, self.top, self.mode)
        total = percent.sum(axis=1, keepdims=True)
        unnamed = percent == 0
        receivers = unnamed.sum(axis=1, keepdims=True)
        rest = np.where(total < 100, 1 - total / 100, 0.0)
        label = percent / np.maximum(total, 100) + unnamed * rest / np.maximum(receivers, 1)
        return np.asarray(label / label.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Select:
    """Half each on the first two classes named, all on the first if there is no alternative.

    Of a person who names one class twice, ``strict`` makes one class of mass 1; ``reference``
    leaves mass 0.5 as the published code does, which is no distribution, so the row is refused.
    """

    mode: Semantics = "strict"

    name: ClassVar[str] = "select"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 5 (select top 2 only)"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, statements: Statements) -> Annotations:
        return make_annotations(statements, self.vectors(statements))

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels before the simplex check."""
        check_parameters(self)
        rows = np.arange(len(statements))
        first = first_named(statements)
        second = (
            statements.named[:, 1]
            if statements.named.shape[1] > 1
            else np.full(len(statements), -1)
        )
        label = np.zeros(statements.possible.shape)
        label[rows, first] = np.where(second >= 0, 0.5, 1.0)
        both = np.flatnonzero(second >= 0)
        if self.mode == "strict":
            np.add.at(label, (both, second[both]), 0.5)
        else:
            label[both, second[both]] = 0.5
        return label
