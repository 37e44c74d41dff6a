"""The card of one annotator."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.special import betaincinv

from softlabel.annotators import agree
from softlabel.annotators.cards.calibration import Bin, calibration
from softlabel.annotators.cards.temperature import temperature
from softlabel.metrics import UNTIMED, Spread
from softlabel.tables import Bools, Floats, Score

LEVEL = 0.95
UNKNOWN = Score(math.nan, math.nan, math.nan, 0)


@dataclass(frozen=True, eq=False)
class Card:
    """``answers`` counts repeats; everything else but ``repeats`` and ``seconds`` is about the
    first answer to each of ``items``.  ``skips`` are no answers: how often the person skipped an
    item, by reason.

    ``confusion[j, l]`` counts how often l was said where the reference says j (fractions for soft
    labels); ``reliability`` is the share of it on the diagonal: the chance that a class drawn
    from the person's label and one drawn from the reference are the same.  ``skill`` is what the
    truth pool thinks of the person.  ``sharpness`` is the mean entropy of the own labels in nats,
    ``agreement`` 1 minus the mean total variation to the mean of the others.
    """

    annotator: str
    answers: int
    items: int = 0
    agreement: float = math.nan
    reliability: Score = UNKNOWN
    skill: float = math.nan
    sharpness: float = math.nan
    temperature: float = math.nan
    curve: tuple[Bin, ...] = ()
    confusion: Floats | None = None
    repeats: agree.Repeats = agree.NEVER
    seconds: Spread = UNTIMED
    skips: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def skipped(self) -> int:
        """How many items the person skipped."""
        return sum(self.skips.values())


@dataclass(frozen=True, eq=False)
class Labels:
    """One person's labels (r, k) beside the consensus of the others and the reference.

    ``shared`` (r,) marks items that somebody else answered too, ``known`` those whose reference
    is known.
    """

    own: Floats
    others: Floats
    shared: Bools
    reference: Floats
    known: Bools

    def confusion(self) -> Floats:
        """(k, k) expected counts: reference class, class said."""
        return np.asarray(self.reference[self.known].T @ self.own[self.known])

    def reliability(self) -> Score:
        """Share on the diagonal, with Jeffreys' interval (Brown, Cai & DasGupta 2001)."""
        n = int(self.known.sum())
        if not n:
            return UNKNOWN
        hits = float((self.reference[self.known] * self.own[self.known]).sum())
        tail = (1 - LEVEL) / 2
        low, high = (
            float(betaincinv(hits + 0.5, max(n - hits, 0.0) + 0.5, q)) for q in (tail, 1 - tail)
        )
        return Score(hits / n, min(low, hits / n), max(high, hits / n), n)

    def calibration(self, usual: float) -> tuple[tuple[Bin, ...], float]:
        """The curve and the temperature, against the others, on items that they share."""
        own, others = self.own[self.shared], self.others[self.shared]
        return calibration(own, others) if len(own) else (), temperature(own, others, usual)


def described(beside: agree.Card, labels: Labels, usual: float, matrix: bool) -> Card:
    """What the labels of one person say.  ``usual`` is everybody's temperature, NaN where plain
    votes state no chances."""
    rich = not math.isnan(usual)
    curve, t = labels.calibration(usual) if rich else ((), math.nan)
    return Card(
        annotator=beside.annotator,
        answers=beside.answers,
        items=len(labels.own),
        agreement=beside.agreement,
        reliability=labels.reliability(),
        sharpness=beside.entropy,
        temperature=t,
        curve=curve,
        confusion=labels.confusion() if matrix else None,
    )
