"""One card per annotator, with flags: what a researcher should look at before trusting them.

A flag excludes nobody and rejects nobody; it names a fact and the limit that it passed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from softlabel.annotators import (
    FEW,
    NEVER,
    PRESETS,
    Repeats,
    Usual,
    Verdict,
    compare_with_others,
    find_usual,
    judge,
    measure_repeats,
)
from softlabel.elicit import Hard
from softlabel.metrics import Spread, spread, total_variation
from softlabel.serve.researcher.sample import Pace, Sample, labelled
from softlabel.tables import Floats

RULES = PRESETS["paper"]
FAR = 0.5  # total variation to a reference: more than half of the belief lies elsewhere
TOGETHER = 20  # people judged between two rests


@dataclass(frozen=True)
class Checks:
    """Items with a known answer: ``failed`` of ``n``; ``variation`` is the mean distance to it."""

    n: int = 0
    failed: int = 0
    variation: float = math.nan


@dataclass(frozen=True)
class Person:
    """What one annotator's answers look like.  ``flags`` deserve a look, ``remarks`` may.

    ``skips`` are the items skipped instead, by reason; practice is not among them.
    """

    annotator: str
    answers: int
    seconds: Spread
    agreement: float = math.nan  # 1 - total variation to the mean of the others
    entropy: float = math.nan  # of own labels, in nats
    repeats: Repeats = NEVER
    gold: Checks = Checks()
    attention: Checks = Checks()
    skips: Mapping[str, int] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def with_flag(self, flag: str | None) -> Person:
        """The same person with one flag more, if there is one."""
        return self if flag is None else replace(self, flags=(*self.flags, flag))


@dataclass(frozen=True)
class Reference:
    """The known answer of a check: a distribution over the labels of the study."""

    kind: str
    gold: tuple[float, ...]


def people(sample: Sample, known: Mapping[str, Reference], pace: Pace) -> tuple[Person, ...]:
    """Everybody in the sample, in the order in which they came."""
    checks = {kind: _checks(sample, known, kind) for kind in ("gold", "attention")}
    verdicts = {verdict.annotator: verdict for verdict in _verdicts(sample, pace)}
    repeats = measure_repeats(sample.each, sample.said, sample.is_repeat)[1]
    times = {name: spread(values) for name, values in _times(sample).items()}
    skips = _skips(sample)
    close = {card.annotator: card for card in compare_with_others(sample.each)}
    common = find_usual(
        (one.median for one in times.values()),
        (card.agreement for card in close.values() if card.answers >= FEW),
    )
    found = []
    for name in dict.fromkeys(one.annotator for one in sample.seen):
        card, verdict = close.get(name), verdicts.get(name)
        person = Person(
            annotator=name,
            answers=card.answers if card else 0,
            seconds=times.get(name, spread([])),
            agreement=card.agreement if card else math.nan,
            entropy=card.sharpness if card else math.nan,
            repeats=repeats.get(name, NEVER),
            gold=checks["gold"].get(name, Checks()),
            attention=checks["attention"].get(name, Checks()),
            skips=dict(skips.get(name, {})),
            remarks=verdict.remarks if verdict else (),
        )
        found.append(_flagged(person, verdict, common))
        pace()
    return tuple(found)


def _flagged(person: Person, verdict: Verdict | None, common: Usual) -> Person:
    flags = list(verdict.reasons) if verdict else []
    for kind, checks in (("gold", person.gold), ("attention", person.attention)):
        if checks.failed:
            flags.append(f"{checks.failed} of {checks.n} {kind} checks failed")
    flags += common.flags(person.answers, person.seconds.median, person.agreement)
    return replace(person, flags=tuple(flags))


def _times(sample: Sample) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for one in sample.asked:
        times.setdefault(one.annotator, []).append(one.active)
    return times


def _skips(sample: Sample) -> dict[str, Counter[str]]:
    """How often each person skipped an item, by reason."""
    found: dict[str, Counter[str]] = {}
    for one in sample.seen:
        if one.skip is not None and one.kind != "training":
            found.setdefault(one.annotator, Counter())[one.skip] += 1
    return found


def _verdicts(sample: Sample, pace: Pace) -> Iterator[Verdict]:
    """Under the published rules, a few people at a time; a plain vote cannot contradict itself."""
    said = sample.said
    if {one.mode for one in sample.seen} <= {Hard.name}:
        return
    for start in range(0, len(said.index.annotators), TOGETHER):
        rows = (said.annotator >= start) & (said.annotator < start + TOGETHER)
        yield from judge(said.take(rows), RULES)
        pace()


def _checks(sample: Sample, known: Mapping[str, Reference], kind: str) -> dict[str, Checks]:
    """Gold fails far from the reference, attention with another top class than the reference."""
    said = sample.checks
    wanted = {item: one.gold for item, one in known.items() if one.kind == kind}
    items = said.index.items.tolist()
    rows = np.flatnonzero([items[code] in wanted for code in said.item.tolist()])
    if not len(rows):
        return {}
    cut = said.take(rows)
    soft = labelled(cut, {one.mode for one in sample.seen}).soft()
    right: Floats = np.array([wanted[items[code]] for code in cut.item.tolist()])
    apart = total_variation(right, soft)
    other = soft.argmax(axis=1) != right.argmax(axis=1)
    failed = apart > FAR if kind == "gold" else other
    return {
        str(said.index.annotators[a]): Checks(
            int((cut.annotator == a).sum()),
            int(failed[cut.annotator == a].sum()),
            float(apart[cut.annotator == a].mean()),
        )
        for a in np.unique(cut.annotator)
    }
