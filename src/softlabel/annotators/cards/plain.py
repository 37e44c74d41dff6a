"""Cards as plain values: one flat row per person for tables, everything for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from softlabel.annotators.cards.card import Card
from softlabel.annotators.cards.deck import Cards


def row(card: Card) -> dict[str, str | int | float]:
    """One person as the row of a table; what is not known is NaN."""
    return {
        "annotator": card.annotator,
        "answers": card.answers,
        "items": card.items,
        "skips": card.skipped,
        "agreement": card.agreement,
        "reliability": card.reliability.value,
        "reliability_low": card.reliability.low,
        "reliability_high": card.reliability.high,
        "skill": card.skill,
        "sharpness": card.sharpness,
        "temperature": card.temperature,
        "repeats": card.repeats.pairs,
        "repeats_changed": card.repeats.changed,
        "repeats_variation": card.repeats.variation,
        "seconds_median": card.seconds.median,
        "seconds_p10": card.seconds.p10,
        "seconds_p90": card.seconds.p90,
        "flags": "; ".join(card.flags),
        "remarks": "; ".join(card.remarks),
    }


def document(found: Cards) -> dict[str, Any]:
    """All of it, in lists, dicts, text and numbers; what is not known is NaN."""
    return {
        "schema": "softlabel.annotators/1",
        "labels": list(found.labels),
        "items": found.items,
        "answers": found.answers,
        "reference": found.reference,
        "temperature": found.temperature,
        "repeats": asdict(found.repeats),
        "annotators": [_person(card) for card in found.people],
    }


def _person(card: Card) -> dict[str, Any]:
    reliability = card.reliability
    return {
        "annotator": card.annotator,
        "answers": card.answers,
        "items": card.items,
        "skips": dict(card.skips),
        "agreement": card.agreement,
        "reliability": {
            "value": reliability.value,
            "low": reliability.low,
            "high": reliability.high,
            "n": reliability.n,
        },
        "skill": card.skill,
        "sharpness": card.sharpness,
        "temperature": card.temperature,
        "calibration": [bin_._asdict() for bin_ in card.curve],
        "confusion": None if card.confusion is None else card.confusion.tolist(),
        "repeats": asdict(card.repeats),
        "seconds": asdict(card.seconds),
        "flags": list(card.flags),
        "remarks": list(card.remarks),
    }
