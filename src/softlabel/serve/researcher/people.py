"""The annotators of a running study: a card each, agreement and disagreement.

A flag excludes nobody and rejects nobody; it names a fact and the limit that it passed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from softlabel.annotators import (
    FEW,
    NEVER,
    PRESETS,
    Agreement,
    Card,
    Checks,
    Verdict,
    compare_with_others,
    find_usual,
    judge,
    measure_agreement,
    measure_repeats,
    pairwise_variation,
)
from softlabel.elicit import Hard
from softlabel.metrics import spread, total_variation
from softlabel.records import CHECKS, PRACTICE
from softlabel.serve.researcher.sample import Sample, Throttle, label_statements
from softlabel.tables import Annotations, Floats

RULES = PRESETS["paper"]
FAR = 0.5  # total variation to a reference: more than half of the belief lies elsewhere
TOGETHER = 20  # people judged between two rests
DRAWS = 100  # of the bootstrap: enough for a live page; ``softlabel agree`` draws five times more


@dataclass(frozen=True)
class Reference:
    """The known answer of a check: a distribution over the labels of the study."""

    kind: str
    gold: tuple[float, ...]


def make_people_cards(
    sample: Sample, known: Mapping[str, Reference], throttle: Throttle
) -> tuple[Card, ...]:
    """Make the card of everybody in the sample, in the order in which they came."""
    checks = {kind: _score_checks(sample, known, kind) for kind in CHECKS}
    verdicts = {verdict.annotator: verdict for verdict in _judge_slowly(sample, throttle)}
    repeats = measure_repeats(sample.each, sample.said, sample.is_repeat)[1]
    short = {card.annotator: card for card in compare_with_others(sample.each)}
    seconds: dict[str, list[float]] = {}
    for one in sample.asked:
        seconds.setdefault(one.annotator, []).append(one.active)
    skips: dict[str, Counter[str]] = {}
    for one in sample.seen:
        if one.skip is not None and one.kind != PRACTICE:
            skips.setdefault(one.annotator, Counter())[one.skip] += 1
    times = {name: spread(values) for name, values in seconds.items()}
    usual = find_usual(
        (one.median for one in times.values()),
        (card.agreement for card in short.values() if card.answers >= FEW),
    )
    cards = []
    for name in dict.fromkeys(one.annotator for one in sample.seen):
        verdict = verdicts.get(name)
        card = replace(
            short.get(name, Card(name, 0)),
            seconds=times.get(name, spread([])),
            repeats=repeats.get(name, NEVER),
            gold=checks["gold"].get(name, Checks()),
            attention=checks["attention"].get(name, Checks()),
            skips=dict(skips.get(name, {})),
            remarks=verdict.remarks if verdict else (),
        )
        flags = list(verdict.reasons) if verdict else []
        for kind, of_kind in (("gold", card.gold), ("attention", card.attention)):
            if of_kind.failed:
                flags.append(f"{of_kind.failed} of {of_kind.n} {kind} checks failed")
        flags += usual.flags(card.answers, card.seconds.median, card.agreement)
        cards.append(replace(card, flags=tuple(flags)))
        throttle()
    return tuple(cards)


def _judge_slowly(sample: Sample, throttle: Throttle) -> Iterator[Verdict]:
    """Judge by the published rules, a few people at a time; a plain vote cannot contradict
    itself."""
    said = sample.said
    if {one.mode for one in sample.seen} <= {Hard.name}:
        return
    for start in range(0, len(said.index.annotators), TOGETHER):
        rows = (said.annotator >= start) & (said.annotator < start + TOGETHER)
        yield from judge(said.take(rows), RULES)
        throttle()


def _score_checks(sample: Sample, known: Mapping[str, Reference], kind: str) -> dict[str, Checks]:
    """Score the checks of each person: a gold check fails far from the reference, an attention
    check with another top class."""
    said = sample.checks
    wanted = {item: one.gold for item, one in known.items() if one.kind == kind}
    items = said.index.items.tolist()
    rows = np.flatnonzero([items[code] in wanted for code in said.item.tolist()])
    if not len(rows):
        return {}
    cut = said.take(rows)
    soft = label_statements(cut, {one.mode for one in sample.seen}).soft()
    right: Floats = np.array([wanted[items[code]] for code in cut.item.tolist()])
    distance = total_variation(right, soft)
    failed = distance > FAR if kind == "gold" else soft.argmax(axis=1) != right.argmax(axis=1)
    return {
        str(said.index.annotators[a]): Checks(
            int((cut.annotator == a).sum()),
            int(failed[cut.annotator == a].sum()),
            float(distance[cut.annotator == a].mean()),
        )
        for a in np.unique(cut.annotator)
    }


def measure_sample_agreement(sample: Sample) -> Agreement | None:
    """Measure how far people agree; None while no item has two answers."""
    shared = (sample.once.votes_per_item() > 1).any()
    return measure_agreement(sample.once, draws=DRAWS) if shared else None


def measure_disagreement(annotations: Annotations) -> Mapping[str, float]:
    """Return the mean total variation between two people for every item that two have answered."""
    distance = pairwise_variation(annotations)
    pairs = zip(annotations.index.items.tolist(), distance.tolist(), strict=True)
    return {item: value for item, value in pairs if math.isfinite(value)}
