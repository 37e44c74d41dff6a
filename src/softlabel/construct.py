"""Construction: build one soft label from each answer."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from softlabel.randomness import name_keys, uniform
from softlabel.registry import FAMILIES, Options
from softlabel.tables import Annotations, Bools, Floats, Ints, Statements, broken, given_away

__all__ = [
    "CONSTRUCTIONS", "Clamp", "Construct", "Flat", "Hard", "Random", "Select", "Smooth", "Uniform",
    "make_annotations", "stated_percents",
]  # fmt: skip

Semantics = Literal["strict", "reference"]
Top = Literal[1, 2, "all"]


class Construct(Protocol):
    """Builds one annotator's label from one answer, for all answers at once.

    ``ruled_out_stays_zero`` is a promise that ``testing.check_construct`` holds it to: a class
    that the person ruled out, and did not name, gets no mass.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    ruled_out_stays_zero: ClassVar[bool]

    def __call__(self, statements: Statements) -> Annotations: ...


def stated_percents(statements: Statements, top: Top, mode: Semantics) -> Floats:
    """Return percent (n, k) for the first ``top`` classes named, or all; 0 without a number.

    If a class is named twice, ``strict`` keeps the first number and ``reference`` the last, as
    the published code does.
    """
    values = np.zeros(statements.possible.shape)
    width = statements.named.shape[1]
    columns = range(width if top == "all" else min(top, width))
    for r in columns if mode == "reference" else reversed(columns):
        rows = np.flatnonzero((statements.named[:, r] >= 0) & ~np.isnan(statements.percent[:, r]))
        values[rows, statements.named[rows, r]] = statements.percent[rows, r]
    return values


def first_named(statements: Statements) -> Ints:
    """Return the class (n,) that each person named first; refuse answers that name none."""
    first = statements.named[:, 0] if statements.named.shape[1] else np.full(len(statements), -1)
    broken("Statements", first < 0, "no class is named, so there is no top class")
    return first


def make_annotations(statements: Statements, probs: Floats) -> Annotations:
    """Return the table of these labels; refuse rows that are not on the simplex."""
    rows = statements.item, statements.annotator
    return Annotations(statements.index, *rows, probs=given_away(probs))


class SoftConstruct(Options):
    """A construction whose labels are rows of probabilities: its ``vectors``."""

    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self: Any, statements: Statements) -> Annotations:
        """Return one soft label per statement."""
        return make_annotations(statements, self.vectors(statements))


@dataclass(frozen=True)
class Clamp(SoftConstruct):
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
    |possible| - |named|, which under contradictions misplaces mass and may turn negative (the row
    is refused), and lets a second number overwrite the first.  Both agree on well-formed answers.
    """

    top: Top = "all"
    spread: float = 0.1
    mode: Semantics = "strict"

    name: ClassVar[str] = "clamp"
    limits: ClassVar = {"spread": (0, 1)}
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, section 3"
    ruled_out_stays_zero: ClassVar[bool] = True

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels before the simplex check."""
        percent = stated_percents(statements, self.top, self.mode)
        build = _build_as_published if self.mode == "reference" else _build_strictly
        return build(percent, statements.possible, self.spread)


def _build_strictly(percent: Floats, possible: Bools, spread: float) -> Floats:
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


def _build_as_published(percent: Floats, possible: Bools, spread: float) -> Floats:
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
class Uniform(SoftConstruct):
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
    limits: ClassVar = {"spread": (0, 1)}
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, section 3"

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels."""
        percent = stated_percents(statements, self.top, self.mode)
        total = percent.sum(axis=1, keepdims=True)
        unnamed = percent == 0
        receivers = unnamed.sum(axis=1, keepdims=True)
        rest = np.where(total < 100, 1 - total / 100, 0.0)
        label = percent / np.maximum(total, 100) + unnamed * rest / np.maximum(receivers, 1)
        return np.asarray(label / label.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class Select(SoftConstruct):
    """Half each on the first two classes named, all on the first if there is no alternative.

    Of a person who names one class twice, ``strict`` makes one class of mass 1; ``reference``
    leaves mass 0.5 as the published code does, which is no distribution, so the row is refused.
    """

    mode: Semantics = "strict"

    name: ClassVar[str] = "select"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 5 (select top 2 only)"
    ruled_out_stays_zero: ClassVar[bool] = True

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels before the simplex check."""
        rows = np.arange(len(statements))
        first, second = first_named(statements), np.full(len(statements), -1)
        if statements.named.shape[1] > 1:
            second = statements.named[:, 1]
        label = np.zeros(statements.possible.shape)
        label[rows, first] = np.where(second >= 0, 0.5, 1.0)
        both = np.flatnonzero(second >= 0)
        if self.mode == "strict":
            np.add.at(label, (both, second[both]), 0.5)
        else:
            label[both, second[both]] = 0.5
        return label


# ── baselines: hard labels, label smoothing, and labels that ignore the item ─────────────────


@dataclass(frozen=True)
class Hard(Options):
    """One vote for the class named first, whatever chance was given to it."""

    name: ClassVar[str] = "hard"
    paper: ClassVar[str] = "the usual practice"
    ruled_out_stays_zero: ClassVar[bool] = True

    def __call__(self, statements: Statements) -> Annotations:
        """Return one vote per statement."""
        return Annotations(
            statements.index, statements.item, statements.annotator, label=first_named(statements)
        )


@dataclass(frozen=True)
class Smooth(SoftConstruct):
    """(1 - beta) on the class named first plus beta / k on every class."""

    beta: float = 0.05

    name: ClassVar[str] = "smooth"
    limits: ClassVar = {"beta": (0, 1)}
    paper: ClassVar[str] = "Szegedy et al. 2016; beta = 0.05 in Collins, Bhatt & Weller 2022"

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels."""
        k = len(statements.index.labels)
        return np.asarray((1 - self.beta) * np.eye(k)[first_named(statements)] + self.beta / k)


@dataclass(frozen=True)
class Flat(SoftConstruct):
    """1 / k on every class."""

    name: ClassVar[str] = "flat"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (uniform)"

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels."""
        return np.full(statements.possible.shape, 1 / statements.possible.shape[1])


@dataclass(frozen=True)
class Random(SoftConstruct):
    """k uniform(0, 1) numbers divided by their sum (not a flat Dirichlet: nearer to even).

    The draw belongs to seed, item, annotator and label, so it does not depend on row order; the
    answers of one person to one item share it, and so do all anonymous answers to an item.
    """

    seed: int = 0

    name: ClassVar[str] = "random"
    paper: ClassVar[str] = "Collins, Bhatt & Weller 2022, table 1 (random)"

    def vectors(self, statements: Statements) -> Floats:
        """(n, k) the labels."""
        item = name_keys(statements.index.items)[statements.item]
        # the last key stands for people without a name, whose code is -1
        people = np.append(name_keys(statements.index.annotators), np.uint64(0))
        labels = name_keys(statements.index.labels)
        draw = uniform(self.seed, item[:, None], people[statements.annotator][:, None], labels)
        draw = np.maximum(draw, np.finfo(np.float64).tiny)  # one class: 0 / 0 would be no label
        return np.asarray(draw / draw.sum(axis=1, keepdims=True))


CONSTRUCTIONS: dict[str, type[Construct]] = FAMILIES["construct"]
KINDS = (Clamp, Uniform, Select, Hard, Smooth, Flat, Random)
CONSTRUCTIONS.update({kind.name: kind for kind in KINDS})
