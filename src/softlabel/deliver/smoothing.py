"""Smoothing: the hard label, softened by a constant that no person gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from softlabel.deliver.base import Draws, Teaching
from softlabel.deliver.fixed import Fixed
from softlabel.deliver.given import given_class, one_hot
from softlabel.registry import check_parameters


@dataclass(frozen=True)
class Smoothing:
    """(1 - beta) on the class that ``hard`` would deliver, plus beta / k on every class.

    Mean over epochs: that label.
    """

    beta: float = 0.05

    name: ClassVar[str] = "smoothing"
    paper: ClassVar[str] = "Szegedy et al. 2016; beta = 0.05 in Collins, Bhatt & Weller 2022"

    def __call__(self, known: Teaching, rng: Draws) -> Fixed:
        check_parameters(self, beta=(0, 1))
        k = known.pooled.shape[1]
        return Fixed((1 - self.beta) * one_hot(given_class(known), k) + self.beta / k)
