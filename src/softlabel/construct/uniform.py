"""Uniform: what was not named is spread over all unnamed classes, ruled out or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.construct.base import Semantics, Top, labelled, percents
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Floats, Statements


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

    def __call__(self, said: Statements) -> Annotations:
        return labelled(said, self.vectors(said))

    def vectors(self, said: Statements) -> Floats:
        """(n, k) the labels."""
        check_parameters(self, spread=(0, 1))
        percent = percents(said, self.top, self.mode)
        total = percent.sum(axis=1, keepdims=True)
        unnamed = percent == 0
        receivers = unnamed.sum(axis=1, keepdims=True)
        rest = np.where(total < 100, 1 - total / 100, 0.0)
        label = percent / np.maximum(total, 100) + unnamed * rest / np.maximum(receivers, 1)
        return np.asarray(label / label.sum(axis=1, keepdims=True))
