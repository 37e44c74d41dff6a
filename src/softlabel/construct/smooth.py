"""Smoothing: the class named first, softened by a constant that no person gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from softlabel.construct.base import first_named, labelled
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Statements


@dataclass(frozen=True)
class Smooth:
    """(1 - beta) on the class named first plus beta / k on every class."""

    beta: float = 0.05

    name: ClassVar[str] = "smooth"
    paper: ClassVar[str] = "Szegedy et al. 2016; beta = 0.05 in Collins, Bhatt & Weller 2022"
    ruled_out_stays_zero: ClassVar[bool] = False

    def __call__(self, said: Statements) -> Annotations:
        check_parameters(self, beta=(0, 1))
        k = len(said.index.labels)
        one_hot = np.eye(k)[first_named(said)]
        return labelled(said, (1 - self.beta) * one_hot + self.beta / k)
