"""The latest answers of a running study: read once each, as tables, and as cards of annotators.

A flag excludes nobody and rejects nobody; it names a fact and the limit that it passed.
"""

import json
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from softlabel import annotators, registry
from softlabel.allocate import modes as arms
from softlabel.annotators import NEVER, Card, Checks, rules
from softlabel.construct import Clamp
from softlabel.elicit import Answer, Hard, Mode, readable_versions
from softlabel.errors import SoftlabelError
from softlabel.metrics import spread, total_variation
from softlabel.records import ASKED, CHECKS, KINDS, PRACTICE, options_when_asked, stack_answers
from softlabel.sampling import one_per_annotator
from softlabel.store import ResponseRow, Store, rows
from softlabel.study import Item, Study
from softlabel.tables import Annotations, Floats, Index, Ints, Statements, names

SUBMIT = "submit"  # the last step, which is no field
MOST = 20_000  # answers
REMEMBERED = 5_000  # answers
CELLS = 2_000_000  # answers x labels: a study with thousands of labels has a smaller sample
RULES = rules.PRESETS["paper"]
FAR = 0.5  # total variation to a reference: more than half of the belief lies elsewhere
TOGETHER = 20  # people judged between two rests
WORK_SECONDS = 0.001  # of work between two rests; less than the turn a thread gets by itself

Steps = tuple[tuple[str, float], ...]


class ReadAnswer(NamedTuple):
    """One stored answer, read.  ``answer`` is None where the person skipped the item, and where the
    study as it is now cannot read it; unknown times are NaN."""

    id: str
    item: str
    annotator: str
    kind: str
    mode: str
    at: float  # when it was stored
    active: float  # seconds the person looked at the item, without the time it was hidden
    first: float  # seconds until the first input
    steps: Steps
    skip: str | None  # the reason of a skip
    answer: Answer | None
    arm: str | None = None  # of a comparison of ways of asking


@dataclass(frozen=True, eq=False)
class Sample:
    """The latest answers, oldest first, without those that were superseded.

    ``stored`` is the number of all answers: where it is larger than ``read``, numbers computed from
    this sample are about its answers only.
    """

    labels: tuple[str, ...]
    seen: Sequence[ReadAnswer]
    read: int
    stored: int

    @property
    def whole(self) -> bool:
        """Whether the sample holds all answers."""
        return self.read >= self.stored

    @property
    def unreadable(self) -> int:
        """How many answers cannot be read because the labels or the mode have changed."""
        return sum(one.answer is None and one.skip is None for one in self.seen)

    @cached_property
    def asked(self) -> tuple[ReadAnswer, ...]:
        """The answers to target items and their repeats, without skips."""
        return tuple(one for one in self.seen if one.kind in ASKED and one.skip is None)

    @cached_property
    def said(self) -> Statements:
        """The statements on target items and their repeats."""
        return statements(self.labels, [one for one in self.seen if one.kind in ASKED])

    @cached_property
    def is_repeat(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of ``said`` the study asked for a second time."""
        asked = [one for one in self.seen if one.kind in ASKED and one.answer is not None]
        return np.array([one.kind == "repeat" for one in asked], dtype=np.bool_)

    @cached_property
    def each(self) -> Annotations:
        """The label of each of these statements."""
        return label_statements(self.said, list_modes(self.seen, ASKED))

    @cached_property
    def once(self) -> Annotations:
        """One label per annotator and item: a repeat is not a second opinion."""
        return one_per_annotator(self.each)

    @cached_property
    def checks(self) -> Statements:
        """The statements on items whose answer is known."""
        return statements(self.labels, [one for one in self.seen if one.kind in CHECKS])


def statements(labels: Sequence[str], answers: Sequence[ReadAnswer]) -> Statements:
    """Return the statements among these answers in their order; a skip is no statement."""
    given = [(one, one.answer) for one in answers if one.answer is not None]

    def encode(values: list[str]) -> tuple[list[str], Ints]:
        codes = {name: code for code, name in enumerate(dict.fromkeys(values))}
        return list(codes), np.array([codes[value] for value in values], dtype=np.int64)

    items, item = encode([one.item for one, _ in given])
    people, annotator = encode([one.annotator for one, _ in given])
    index = Index(names(items), names(people), names(list(labels)))
    return stack_answers(index, item, annotator, [answer for _, answer in given])


def list_modes(answers: Sequence[ReadAnswer], kinds: Sequence[str] = KINDS) -> list[str]:
    """Return the mode of each statement among the answers of these kinds."""
    return [one.mode for one in answers if one.kind in kinds and one.answer is not None]


def label_statements(given: Statements, modes: Sequence[str]) -> Annotations:
    """Clamp the statements; those whose mode is that of plain votes stay votes, as in
    ``softlabel label``."""
    votes = np.array([mode == Hard.name for mode in modes], dtype=np.bool_)
    if votes.all() and len(given):
        return Annotations(given.index, given.item, given.annotator, label=given.named[:, 0])
    made = Clamp()(given)
    return replace(made, probs=arms.label_answers(given, votes)) if votes.any() else made


class Throttle:
    """Called between steps of work, sleep so that work takes at most ``share`` of the time.

    Threads of one program take turns: a dashboard that computed without a rest would take every
    second turn from the people who are answering.  With ``share`` 1 there is no rest.
    """

    def __init__(self, share: float = 1.0) -> None:
        self.share = share
        self._worked = time.thread_time()

    def __call__(self) -> None:
        worked = time.thread_time() - self._worked
        if self.share < 1 and worked >= WORK_SECONDS:
            time.sleep(worked * (1 / self.share - 1))
            self._worked = time.thread_time()


class LatestAnswers:
    """At most the latest ``size`` answers; a refresh reads only new ones.  For one thread."""

    def __init__(self, study: Study, store: Store, most: int = MOST) -> None:
        self.study, self.store = study, store
        self.size = max(1, min(most, CELLS // len(study.labels)))
        self._reader = Reader(study)
        self._rows: deque[tuple[str, ReadAnswer]] = deque(maxlen=self.size)  # with their session
        self._superseded: set[str] = set()
        self._after: int | None = None

    def refresh(self, throttle: Throttle) -> Sample:
        """Return the sample as of now, without the answers of people who were forgotten since, or
        are left out."""
        stored = self.store.progress(self.study.name).responses
        if self._after is None:
            self._after = self.store.before_latest(self.study.name, self.size)
        for row in self.store.timings(self.study.name, after=self._after):
            self._rows.append((row.session, self._reader.read(row)))
            if row.supersedes is not None:
                self._superseded.add(row.supersedes)
            self._after = row.seq
            throttle()
        sessions = self.store.sessions(self.study.name)
        out = {session.id for session in sessions if session.excluded_at is not None}
        known = {session.id for session in sessions} - out
        held = [answer for session, answer in self._rows if session in known]
        stored -= sum(session in out for session, _ in self._rows)
        current = [answer for answer in held if answer.id not in self._superseded]
        return Sample(self.study.labels, current, len(held), max(stored, len(held)))


class Reader:
    """Read stored rows with the mode that asked.

    Many people give the same answer, word for word: what was read once is kept for a while.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self._parse = lru_cache(REMEMBERED)(self._parse_answer)
        self._mode: Callable[[str, str], Mode] = lru_cache(
            lambda name, options: registry.make("mode", name, **json.loads(options))
        )

    def read(self, row: rows.TimedAnswer | ResponseRow) -> ReadAnswer:
        """Return the row with its answer and times read."""
        timing = row.timing
        return ReadAnswer(
            id=row.id,
            item=row.item,
            annotator=row.annotator,
            kind=row.kind,
            mode=row.mode,
            at=row.received_at,
            active=to_seconds(timing.active_ms),
            first=to_seconds(timing.first_input_ms),
            steps=split_steps(timing.fields, timing.active_ms),
            skip=row.skip,
            answer=self.read_answer(row),
            arm=row.arm,
        )

    def read_answer(self, row: rows.TimedAnswer | ResponseRow) -> Answer | None:
        """Return the answer; None where the item was skipped, or where it cannot be read now."""
        if row.answer_json is None:
            return None
        recorded = row.frame is not None
        options = row.mode_options if recorded else json.dumps(options_when_asked(self.study, row))
        return self._parse(row.mode, row.mode_version, options, row.answer_json)

    def _parse_answer(self, name: str, version: int, options: str, text: str) -> Answer | None:
        try:
            mode = self._mode(name, options)
            readable = version in readable_versions(mode)
            return mode.read(json.loads(text), self.study.labels) if readable else None
        except SoftlabelError:
            return None


def to_seconds(ms: float | None) -> float:
    """Return milliseconds as seconds, NaN if they are unknown."""
    return math.nan if ms is None else ms / 1000


def split_steps(fields: Mapping[str, float], submit_ms: float | None) -> Steps:
    """Return the fields in the order in which they were left, each with the seconds it took.

    >>> split_steps({"top": 1240, "certainty": 1910}, 2310)
    (('top', 1.24), ('certainty', 0.67), ('submit', 0.4))
    """
    ends = [(at, False, name) for name, at in fields.items()]
    if submit_ms is not None:
        ends.append((submit_ms, True, SUBMIT))
    steps, before = [], 0.0
    for at, _, name in sorted(ends):
        steps.append((name, round((at - before) / 1000, 3)))
        before = at
    return tuple(steps)


def make_cards(sample: Sample, checks: Sequence[Item], throttle: Throttle) -> tuple[Card, ...]:
    """Make the card of everybody in the sample, in the order in which they came."""
    said, verdicts = sample.said, dict[str, rules.Verdict]()
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
        (taken.median for taken in times.values()),
        (card.agreement for card in short.values() if card.answers >= rules.FEW),
    )
    cards = []
    for name in dict.fromkeys(answer.annotator for answer in sample.seen):
        verdict = verdicts.get(name)
        own: dict[str, Any] = {kind: scores[kind].get(name, Checks()) for kind in CHECKS}
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
    modes = list_modes(sample.seen, CHECKS)
    soft = label_statements(cut, [modes[row] for row in rows.tolist()]).soft()
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
