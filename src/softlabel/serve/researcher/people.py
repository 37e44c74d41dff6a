"""The annotators of a running study: a card each.

A flag excludes nobody and rejects nobody; it names a fact and the limit that it passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from softlabel import annotators
from softlabel.annotators import FEW, NEVER, PRESETS, Card, Checks, Verdict
from softlabel.elicit import Hard
from softlabel.metrics import spread, total_variation
from softlabel.records import CHECKS, PRACTICE
from softlabel.serve.researcher.sample import Sample, Throttle, label_statements
from softlabel.study import Item
from softlabel.tables import Floats

RULES = PRESETS["paper"]
FAR = 0.5  # total variation to a reference: more than half of the belief lies elsewhere
TOGETHER = 20  # people judged between two rests


def make_people_cards(
    sample: Sample, checks: Sequence[Item], throttle: Throttle
) -> tuple[Card, ...]:
    """Make the card of everybody in the sample, in the order in which they came."""
    said, verdicts = sample.said, dict[str, Verdict]()
    modes = {answer.mode for answer in sample.seen}
    if not modes <= {Hard.name}:  # a plain vote cannot contradict itself
        for start in range(0, len(said.index.annotators), TOGETHER):
            rows = (said.annotator >= start) & (said.annotator < start + TOGETHER)
            verdicts |= {one.annotator: one for one in annotators.judge(said.take(rows), RULES)}
            throttle()
    scores = {kind: _score_checks(sample, checks, kind) for kind in CHECKS}
    repeats = annotators.measure_repeats(sample.each, said, sample.is_repeat)[1]
    short = {card.annotator: card for card in annotators.compare_with_others(sample.each)}
    seconds: dict[str, list[float]] = {}
    for answer in sample.asked:
        seconds.setdefault(answer.annotator, []).append(answer.active)
    times = {name: spread(values) for name, values in seconds.items()}
    skips: dict[str, Counter[str]] = {}
    for answer in sample.seen:
        if answer.skip is not None and answer.kind != PRACTICE:
            skips.setdefault(answer.annotator, Counter())[answer.skip] += 1
    usual = annotators.find_usual(
        (time.median for time in times.values()),
        (card.agreement for card in short.values() if card.answers >= FEW),
    )
    cards = []
    for name in dict.fromkeys(answer.annotator for answer in sample.seen):
        verdict = verdicts.get(name)
        own = {kind: scores[kind].get(name, Checks()) for kind in CHECKS}
        card = replace(
            short.get(name, Card(name, 0)),
            seconds=times.get(name, spread([])),
            repeats=repeats.get(name, NEVER),
            skips=dict(skips.get(name, {})),
            remarks=verdict.remarks if verdict else (),
            **own,
        )
        flags = list(verdict.reasons) if verdict else []
        for kind, score in own.items():
            if score.failed:
                flags.append(f"{score.failed} of {score.n} {kind} checks failed")
        flags += usual.flags(card.answers, card.seconds.median, card.agreement)
        cards.append(replace(card, flags=tuple(flags)))
        throttle()
    return tuple(cards)


def _score_checks(sample: Sample, checks: Sequence[Item], kind: str) -> dict[str, Checks]:
    """Score the checks of each person: a gold check fails far from the reference, an attention
    check with another top class."""
    said, items = sample.checks, sample.checks.index.items.tolist()
    gold = {item.id: item.gold for item in checks if item.kind == kind and item.gold is not None}
    rows = np.flatnonzero([items[code] in gold for code in said.item.tolist()])
    if not len(rows):
        return {}
    cut = said.take(rows)
    soft = label_statements(cut, {answer.mode for answer in sample.seen}).soft()
    right: Floats = np.array([gold[items[code]] for code in cut.item.tolist()])
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
