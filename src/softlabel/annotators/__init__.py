"""Annotators: how far they agree, which rules exclude them, and one report card each."""

from softlabel.annotators import agreement, cards, repeats, rules
from softlabel.annotators.agreement import alpha, alpha_score, measure_agreement, observed_agreement
from softlabel.annotators.cards import Card, Cards, Checks, compare_with_others, make_cards
from softlabel.annotators.inspection import inspect
from softlabel.annotators.repeats import NEVER, find_repeats, measure_repeats, repeat_distance
from softlabel.annotators.rules import find_usual, flag_answers, get_rules, judge, lower_limit

__all__ = [
    "NEVER", "Card", "Cards", "Checks", "agreement", "alpha", "alpha_score", "cards",
    "compare_with_others", "find_repeats", "find_usual", "flag_answers", "get_rules", "inspect",
    "judge", "lower_limit", "make_cards", "measure_agreement", "measure_repeats",
    "observed_agreement", "repeat_distance", "repeats", "rules",
]  # fmt: skip
