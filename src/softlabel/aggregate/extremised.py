"""The linear pool with a floor, sharpened."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softlabel.aggregate.base import Map
from softlabel.aggregate.climbing import CELLS, majorities
from softlabel.aggregate.evidence import distinct
from softlabel.aggregate.fitting import left_out, search
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.splitting import OfCounts, shares, split
from softlabel.errors import DataError
from softlabel.registry import SMALLEST, check_parameters
from softlabel.tables import Annotations, Estimand, Floats

ALONE = {"confusion": 0.8, "even": 0.12}  # floor where no item has two answers, as measured there
START = {"floor": 0.1, "power": 1.0}
LIMITS = {"floor": (1e-4, 1.0), "power": (0.5, 2.0)}  # of what is fitted


@dataclass(frozen=True)
class Extremised:
    """q proportional to ((1 - floor) lin + floor f)^power, lin being the mean of the answers.

    The mean of calibrated people is under-confident: a power above 1 mends that.  The floor f is
    even (1/k), or spreads like the answers to items of the same leading class (``confusion``:
    sum_j lin_j T_jk).  ``floor`` or ``power`` None are fitted, the power within .5 to 2: the first
    choice of each answer is foretold from the others to its item.
    """

    floor: float | None = None
    power: float | None = None
    shape: Literal["confusion", "even"] = "confusion"

    name: ClassVar[str] = "extremised"
    paper: ClassVar[str] = "Ranjan & Gneiting 2010; Satopää et al. 2014"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(self, said: Annotations, map: Map = in_turn, shards: int = 1) -> LabelDistribution:
        fitted = self.fit(said)
        why = f"floor {fitted.floor:.3g} and power {fitted.power:.3g}"
        return split(self, fitted, said, map, shards, why)

    def fit(self, said: Annotations) -> Sharpened:
        """The pool with numbers for floor and power, and its table of confusions."""
        known = {
            name: limits
            for name, limits in {"floor": (0, 1), "power": (SMALLEST, 1e6)}.items()
            if getattr(self, name) is not None
        }
        check_parameters(self, **known)
        table = confusion_table(said.counts()) if self.shape == "confusion" else None
        if self.floor is not None and self.power is not None:
            return Sharpened(self.floor, self.power, table)
        out = left_out(said)
        numbers = START | ({} if len(out) else {"floor": ALONE[self.shape]})
        numbers = numbers | {name: getattr(self, name) for name in known}
        free = [name for name in numbers if name not in known]

        def made(*values: float) -> Sharpened:
            used = numbers | dict(zip(free, values, strict=True))
            return Sharpened(used["floor"], used["power"], table)

        start = [numbers[name] for name in free]
        if not len(out):
            return made(*start)
        lin = shares(out.votes)

        def loss(*values: float) -> float:
            return out.loss(made(*values).labels(lin))

        return made(*search(loss, start, [LIMITS[name] for name in free]))


@dataclass(frozen=True, eq=False)
class Sharpened(OfCounts):
    """The pool with its numbers; ``table`` (k, k) shapes the floor, None makes it even."""

    floor: float
    power: float
    table: Floats | None

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels."""
        return self.labels(shares(sums))

    def labels(self, lin: Floats) -> Floats:
        """(m, k) labels from means of answers."""
        ground = 1 / lin.shape[1] if self.table is None else lin @ self.table
        with np.errstate(divide="ignore"):  # log 0 is the answer of a pool without a floor
            logs = self.power * np.log((1 - self.floor) * lin + self.floor * ground)
        top = np.maximum(logs.max(axis=1, keepdims=True), -1e300)  # rows without answers have none
        weights = np.exp(logs - top)
        return np.asarray(weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300))


def confusion_table(counts: Floats) -> Floats:
    """(k, k) how the answers to items whose leading class is j spread over all classes; ties in
    equal parts, and one item's worth of even answers so that nothing is impossible."""
    k = counts.shape[1]
    if k * k > CELLS:
        raise DataError(
            f"a table of the confusions of {k} classes needs {k} x {k} numbers, more than {CELLS}; "
            "use extremised:shape=even"
        )
    rows, _ = distinct(counts[counts.sum(axis=1) > 0])
    top = majorities(rows.n) * rows.times[:, None]
    table = top.T @ shares(rows.n) + 1 / k
    return np.asarray(table / table.sum(axis=1, keepdims=True))
