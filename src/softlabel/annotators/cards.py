"""Cards: one report card per annotator.

A card describes.  Nothing on it changes a label, and a flag excludes nobody.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from softlabel.annotators.calibration import Bin, calibration_curve, fit_temperature
from softlabel.annotators.repeats import NEVER, Repeats, measure_repeats
from softlabel.annotators.rules import FEW, PRESETS, Rules, find_usual, judge
from softlabel.errors import DataError
from softlabel.metrics import UNTIMED, Spread, entropy, spread, total_variation
from softlabel.sampling import first_presentation, one_per_annotator
from softlabel.tables import ESTIMATES, Annotations, Floats, Ints, Score, SoftLabels, Statements

LEVEL = 0.95
UNKNOWN = Score(math.nan, math.nan, math.nan, 0)
CONSENSUS = "the mean of the other people's labels (leave-one-out consensus)"
MOST_CELLS = 50_000_000  # of all confusion matrices together: 400 MB


@dataclass(frozen=True)
class Checks:
    """Items with a known answer: ``failed`` of ``n``; ``variation`` is the mean distance to it."""

    n: int = 0
    failed: int = 0
    variation: float = math.nan


@dataclass(frozen=True, eq=False)
class Card:
    """What one annotator's answers look like; what is not known is NaN.

    ``answers`` counts repeats; everything else but ``repeats`` and ``seconds`` is about the first
    answer to each of ``items``.  ``skips`` counts skipped items by reason; they are no answers.

    ``agreement`` is 1 minus the mean total variation to the mean of the others, ``sharpness`` the
    mean entropy of the person's labels in nats (small is sharp), ``accuracy`` the share of answers
    whose top class is gold.  ``confusion[j, l]`` counts how often l was chosen where the reference
    is j (fractions for soft labels); ``reliability`` is the share of it on the diagonal: the
    chance that a class drawn from the person's label and one drawn from the reference are equal.
    ``skill`` is the truth pool's estimate.  ``flags`` deserve a look, ``remarks`` may.
    """

    annotator: str
    answers: int
    items: int = 0
    agreement: float = math.nan
    sharpness: float = math.nan
    accuracy: float = math.nan
    reliability: Score = UNKNOWN
    skill: float = math.nan
    temperature: float = math.nan
    curve: tuple[Bin, ...] = ()
    confusion: Floats | None = None
    repeats: Repeats = NEVER
    gold: Checks = Checks()
    attention: Checks = Checks()
    seconds: Spread = UNTIMED
    skips: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def skipped(self) -> int:
        """How many items the person skipped."""
        return sum(self.skips.values())


@dataclass(frozen=True, eq=False)
class Cards:
    """Everybody's cards: most flags first, then least agreement with the others.

    ``reference`` describes what confusion and reliability compare with; agreement, calibration and
    temperature always compare with the others.  ``temperature`` fits everybody together (NaN for
    plain votes, which state no chances).  ``repeats`` are everybody's.
    """

    labels: tuple[str, ...]
    items: int
    answers: int
    reference: str
    temperature: float
    repeats: Repeats
    people: tuple[Card, ...]


def mean_of_others(own: Floats, counts: Floats) -> Floats:
    """Return the leave-one-out consensus (r, k): the mean of all other labels of the same items.

    ``own`` (r, k) are some people's labels, ``counts`` (r, k) the mass that all answers to these
    items give to each class.  A row whose item has no other answer is zero.
    """
    rest = np.maximum(counts - own, 0)  # rounding alone can take it below
    total = rest.sum(axis=1, keepdims=True)
    return np.asarray(rest / np.where(total > 0.5, total, 1))


def compare_with_others(annotations: Annotations, gold: Ints | None = None) -> list[Card]:
    """Return short cards with agreement, sharpness and accuracy, in the order of the index.

    A person counts once per item, by the mean of their answers; without answers all is NaN.
    """
    people = len(annotations.index.annotators)
    answers = np.bincount(annotations.annotator[annotations.annotator >= 0], minlength=people)
    annotations = one_per_annotator(annotations, "mean")
    item, owner = annotations.item, annotations.annotator
    count = annotations.votes_per_item()[item]
    if annotations.label is not None:  # a vote agrees with the share that chose the same class
        top, doubt = annotations.label, np.zeros(len(annotations))
        close = (annotations.counts()[item, top] - 1) / np.maximum(count - 1, 1)
    else:
        soft = annotations.soft()
        top, doubt = soft.argmax(axis=1), entropy(soft)
        rest = mean_of_others(soft, annotations.counts()[item])
        close = np.full(len(annotations), np.nan)  # with nobody else to compare with
        close[count > 1] = 1 - total_variation(rest[count > 1], soft[count > 1])
    right = np.full(len(annotations), np.nan)
    if gold is not None:
        known = np.asarray(gold)[item]
        right = np.where(known >= 0, top == known, np.nan)

    def mean_by_person(values: Floats) -> Floats:
        use = ~np.isnan(values) & (owner >= 0)
        size = np.bincount(owner[use], minlength=people)
        sums = np.bincount(owner[use], values[use], minlength=people)
        return np.where(size > 0, sums / np.maximum(size, 1), np.nan)

    close = np.where(count > 1, close, np.nan)
    means = np.stack([mean_by_person(values) for values in (close, doubt, right)], axis=1).tolist()
    names = annotations.index.annotators.tolist()
    return [
        Card(name, int(answers[a]), agreement=near, sharpness=unsure, accuracy=accuracy)
        for a, (name, (near, unsure, accuracy)) in enumerate(zip(names, means, strict=True))
    ]


def make_cards(
    annotations: Annotations,
    statements: Statements | None = None,
    *,
    gold: Ints | None = None,
    pooled: SoftLabels | None = None,
    seconds: Floats | None = None,
    rules: Rules = PRESETS["paper"],
    skips: Mapping[str, Mapping[str, int]] | None = None,
) -> Cards:
    """Make the card of everybody who answered or skipped.

    ``annotations`` holds one label per answer, repeats included, in the order in which they were
    given; ``statements`` the answers they were made from, row by row, if any: then ``rules`` are
    applied.  ``gold`` (m,) holds class codes, -1 unknown; ``pooled`` a truth posterior of the same
    items; ``seconds`` (n,) the time of each answer, NaN unknown; ``skips`` counts each person's
    skips by reason.
    """
    if annotations.anonymous:
        raise DataError(
            "annotators cannot be described: some answers do not say who gave them; 'softlabel "
            "label' and 'softlabel agree' work without annotators"
        )
    description, reference = _reference(len(annotations.index.labels), gold, pooled)
    once, temperature = annotations.take(first_presentation(annotations)), math.nan
    if once.probs is not None:  # plain votes state no chances
        shared = once.votes_per_item()[once.item] > 1
        own, item = once.probs[shared], once.item[shared]
        temperature = fit_temperature(own, mean_of_others(own, once.counts()[item]))
    everybody, repeats = measure_repeats(annotations, statements)
    judged = judge(statements, rules, gold) if statements is not None else []
    verdicts = {verdict.annotator: verdict for verdict in judged}
    taken = np.full(len(annotations), math.nan) if seconds is None else np.asarray(seconds)
    if len(taken) != len(annotations):
        raise DataError(f"seconds has {len(taken)} entries for {len(annotations)} answers")
    answers = np.bincount(annotations.annotator, minlength=len(annotations.index.annotators))
    order = np.argsort(annotations.annotator, kind="stable")
    times = np.split(taken[order], np.cumsum(answers)[:-1])  # by annotator, repeats included
    skill: Floats = getattr(pooled, "skill", np.zeros(0))
    cards = []
    for a, card in _compare(once, reference, temperature).items():
        verdict = verdicts.get(card.annotator)
        cards.append(
            replace(
                card,
                answers=len(times[a]),
                seconds=spread(times[a].tolist()),
                repeats=repeats.get(card.annotator, NEVER),
                skill=float(skill[a]) if len(skill) else math.nan,
                skips=(skips or {}).get(card.annotator, {}),
                flags=verdict.reasons if verdict else (),
                remarks=verdict.remarks if verdict else (),
            )
        )
    only_skipped = sorted((skips or {}).keys() - {card.annotator for card in cards})
    cards += [Card(name, 0, skips=(skips or {})[name]) for name in only_skipped]
    usual = find_usual(
        (card.seconds.median for card in cards),
        (card.agreement for card in cards if card.answers >= FEW),
    )
    for n, card in enumerate(cards):
        unusual = usual.flags(card.answers, card.seconds.median, card.agreement)
        cards[n] = replace(card, flags=(*card.flags, *unusual))

    def rank(card: Card) -> tuple[int, bool, float, str]:
        unknown = math.isnan(card.agreement)
        return -len(card.flags), unknown, 0.0 if unknown else card.agreement, card.annotator

    return Cards(
        labels=tuple(annotations.index.labels.tolist()),
        items=int((annotations.votes_per_item() > 0).sum()),
        answers=len(annotations),
        reference=description,
        temperature=temperature,
        repeats=everybody,
        people=tuple(sorted(cards, key=rank)),
    )


def _reference(k: int, gold: Ints | None, pooled: SoftLabels | None) -> tuple[str, Floats | None]:
    """What people are compared with, in words and as labels (m, k), NaN where unknown: the truth
    posterior if there is one, else gold, else (None) the consensus of the others."""
    known = np.zeros(0, dtype=np.int64) if gold is None else np.flatnonzero(gold >= 0)
    counted = f"{len(known):,} item{'' if len(known) == 1 else 's'}"
    if pooled is not None:
        if pooled.estimand != "truth":
            raise DataError(
                f"people cannot be compared with {pooled.made_by}: it estimates "
                f"{ESTIMATES[pooled.estimand]}, and their own answers are in it; without it they "
                "are compared with the other annotators"
            )
        with_gold = "" if gold is None else f", {counted} fixed"
        words = f"the truth posterior of {pooled.made_by}, own answers included{with_gold}"
        return words, pooled.probs
    if gold is None:
        return CONSENSUS, None
    probs = np.full((len(gold), k), np.nan)
    probs[known] = 0
    probs[known, gold[known]] = 1
    return f"gold ({counted})", probs


def _compare(once: Annotations, reference: Floats | None, usual: float) -> dict[int, Card]:
    """Compare each annotator's first answers with the others and with the reference, by code."""
    _, people, k = once.index.shape
    short = compare_with_others(once)
    counts, size = once.counts(), once.votes_per_item()
    order = np.argsort(once.annotator, kind="stable")
    codes, start = np.unique(once.annotator[order], return_index=True)
    cards = {}
    for a, rows in zip(codes.tolist(), np.split(order, start)[1:], strict=True):
        item, own = once.item[rows], once.take(rows).soft()
        others = mean_of_others(own, counts[item])
        target = others if reference is None else reference[item]
        known = ~np.isnan(target[:, 0]) & (target.sum(axis=1) > 0)
        shared = size[item] > 1
        card = replace(
            short[a],
            items=len(own),
            reliability=_reliability(own[known], target[known]),
            confusion=target[known].T @ own[known] if people * k * k <= MOST_CELLS else None,
        )
        if not math.isnan(usual):
            card = replace(
                card,
                curve=calibration_curve(own[shared], others[shared]) if shared.any() else (),
                temperature=fit_temperature(own[shared], others[shared], usual),
            )
        cards[a] = card
    return cards


def _reliability(own: Floats, reference: Floats) -> Score:
    """The share on the diagonal, with Jeffreys' interval (Brown, Cai & DasGupta 2001)."""
    n = len(own)
    if not n:
        return UNKNOWN
    hits = float((reference * own).sum())
    tail = (1 - LEVEL) / 2
    low, high = map(float, betaincinv(hits + 0.5, max(n - hits, 0.0) + 0.5, [tail, 1 - tail]))
    return Score(hits / n, min(low, hits / n), max(high, hits / n), n)


def card_row(card: Card) -> dict[str, str | int | float]:
    """Return one person as the row of a table; what is not known is NaN."""
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


def cards_document(cards: Cards) -> dict[str, Any]:
    """Return everything as lists, dicts, text and numbers; what is not known is NaN."""
    return {
        "schema": "softlabel.annotators/1",
        "labels": list(cards.labels),
        "items": cards.items,
        "answers": cards.answers,
        "reference": cards.reference,
        "temperature": cards.temperature,
        "repeats": asdict(cards.repeats),
        "annotators": [
            {
                "annotator": card.annotator,
                "answers": card.answers,
                "items": card.items,
                "skips": dict(card.skips),
                "agreement": card.agreement,
                "reliability": {
                    key: getattr(card.reliability, key) for key in ("value", "low", "high", "n")
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
            for card in cards.people
        ],
    }
