"""Annotators: how far they agree, which rules exclude them, and one report card each."""

from softlabel.annotators.agreement import (
    Agreement,
    Distance,
    alpha,
    alpha_score,
    measure_agreement,
    observed_agreement,
    pairwise_variation,
)
from softlabel.annotators.calibration import Bin
from softlabel.annotators.cards import (
    Card,
    Cards,
    Checks,
    card_row,
    cards_document,
    compare_with_others,
    make_cards,
    mean_of_others,
)
from softlabel.annotators.inspection import Inspection, inspect
from softlabel.annotators.repeats import (
    NEVER,
    Repeats,
    Stability,
    find_repeats,
    measure_repeats,
    measure_stability,
    repeat_distance,
)
from softlabel.annotators.rules import (
    FEW,
    PRESETS,
    Rules,
    Usual,
    Verdict,
    find_usual,
    flag_answers,
    get_rules,
    judge,
    lower_limit,
    measure_rounding,
)

__all__ = [
    "FEW", "NEVER", "PRESETS", "Agreement", "Bin", "Card", "Cards", "Checks", "Distance",
    "Inspection", "Repeats", "Rules", "Stability", "Usual", "Verdict", "alpha", "alpha_score",
    "card_row", "cards_document", "compare_with_others", "find_repeats", "find_usual",
    "flag_answers", "get_rules", "inspect", "judge", "lower_limit", "make_cards", "mean_of_others",
    "measure_agreement", "measure_repeats", "measure_rounding", "measure_stability",
    "observed_agreement", "pairwise_variation", "repeat_distance",
]  # fmt: skip
