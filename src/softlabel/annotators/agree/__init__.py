"""Do people agree: with each other, beyond chance, with themselves; and one card per annotator."""

from softlabel.annotators.agree.again import (
    NEVER,
    Repeats,
    Stability,
    repeat_distance,
    repeats,
    stability,
    steadiness,
)
from softlabel.annotators.agree.chance import (
    Distance,
    alpha,
    alpha_score,
    observed_agreement,
    pairwise_variation,
)
from softlabel.annotators.agree.others import Card, cards, others

__all__ = [
    "NEVER",
    "Card",
    "Distance",
    "Repeats",
    "Stability",
    "alpha",
    "alpha_score",
    "cards",
    "observed_agreement",
    "others",
    "pairwise_variation",
    "repeat_distance",
    "repeats",
    "stability",
    "steadiness",
]
