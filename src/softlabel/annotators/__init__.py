"""Annotators: how far they agree, which rules exclude them, and one report card each."""

from softlabel.annotators import agree, inspection, quality
from softlabel.annotators.agree import (
    NEVER,
    Repeats,
    alpha_score,
    observed_agreement,
    pairwise_variation,
    steadiness,
)
from softlabel.annotators.cards import Cards
from softlabel.annotators.inspection import Inspection
from softlabel.annotators.quality import FEW, PRESETS, Usual, Verdict, judge, usual

__all__ = [
    "FEW",
    "NEVER",
    "PRESETS",
    "Cards",
    "Inspection",
    "Repeats",
    "Usual",
    "Verdict",
    "agree",
    "alpha_score",
    "inspection",
    "judge",
    "observed_agreement",
    "pairwise_variation",
    "quality",
    "steadiness",
    "usual",
]
