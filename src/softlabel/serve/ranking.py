"""Live allocation: rank the items of a running study by what people have answered.

A ``Ranker`` reads new answers, brings its state up to date, and writes the weights of the items
that changed to the store, where items are given out by them.  It works in a thread of its own, a
small part of the time, and has what takes long computed by another process of low priority, so
that nobody waits for it.  That process is ready before people come.  Of several servers one does
the work.
Nothing is lost with a process: the state is made again from the stored answers.
"""

import logging
import math
import os
from array import array
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any

import numpy as np

from softlabel import registry
from softlabel._util.machine import end_with_parent, keep_doing
from softlabel.allocate import (
    Allocation,
    FitJudged,
    FitVotes,
    Policy,
    Price,
    Quality,
    cost_of_answer,
    measure_quality,
    measure_seconds,
)
from softlabel.errors import SoftlabelError
from softlabel.judges import read_judges
from softlabel.serve.researcher.sample import (
    Reader,
    Throttle,
    label_statements,
    statements,
    to_seconds,
)
from softlabel.store import Store, TimedAnswer
from softlabel.study import Study, estimate
from softlabel.tables import Annotations, Floats, Index, Ints, Score, names

EVERY = 2.0  # seconds between two looks
PATIENCE = 4 * EVERY  # without a ranking, after which another process takes over
LONGEST = 30.0  # seconds without a look at who was left out, and between two reports
SHARE = 0.25  # of one core
READ = 40  # answers read between two rests
CHUNK = 200  # weights written at a time: answers wait for no more
DIGITS = 6  # of a weight: items of which as much is known have equal ones
TIMED = 20  # answers before their seconds are trusted
CHANGED = 1.2  # times the seconds of an answer, from which on the state is made again
NICE = 10  # of the process that computes
POINTS = 60  # of the quality over time

log = logging.getLogger("softlabel.serve")


# ── what was answered ────────────────────────────────────────────────────────────────────────


class Evidence:
    """All answers to target items, as votes per item and label; the last one of each person."""

    def __init__(self, study: Study, store: Store) -> None:
        self.study, self.store = study, store
        self.index = Index(names([item.id for item in study.items]), names([]), names(study.labels))
        self._code = {item: code for code, item in enumerate(self.index.items.tolist())}
        self._reader = Reader(study)
        self._after = 0
        m, _, k = self.index.shape
        self._votes, self._answers = np.zeros((m, k)), np.zeros(m, dtype=np.int64)
        self._current: dict[str, dict[int, Floats]] = {}  # votes that count
        self._replaced: set[str] = set()
        self._seconds = array("d")  # of every answer

    def read_new(self, throttle: Throttle) -> bool:
        """Read the answers that came since the last time; return whether there were any."""
        before = self._after
        new = self.store.timings(self.study.name, after=before)
        while rows := list(islice(new, READ)):
            self._add([row for row in rows if row.kind == "target" and row.item in self._code])
            self._after = rows[-1].seq
            throttle()
        return self._after > before

    def _add(self, rows: list[TimedAnswer]) -> None:
        read = [self._reader.read(row) for row in rows]
        told = [one for one in read if one.answer is not None]
        each = label_statements(statements(self.study.labels, told), [one.mode for one in told])
        votes = dict(zip((one.id for one in told), each.soft(), strict=True))
        for row in rows:
            if row.supersedes is not None:
                self._replaced.add(row.supersedes)
            if row.id in self._replaced:  # it came after the one that replaces it
                continue
            item, mine = self._code[row.item], self._current.setdefault(row.session, {})
            if (before := mine.pop(item, None)) is not None:
                self._votes[item] -= before
                self._answers[item] -= 1
            if row.id in votes:
                mine[item] = votes[row.id]
                self._votes[item] += votes[row.id]
                self._answers[item] += 1
                self._seconds.append(to_seconds(row.timing.active_ms))

    def count(self) -> tuple[Floats, Ints]:
        """(m, k) votes and (m,) answers of the people who take part and were not left out."""
        sessions = self.store.sessions(self.study.name)
        known = {one.id for one in sessions if one.excluded_at is None}
        votes, answers = self._votes.copy(), self._answers.copy()
        for session in self._current.keys() - known:
            for item, vote in self._current[session].items():
                votes[item] -= vote
                answers[item] -= 1
        votes[answers == 0] = 0.0
        return np.maximum(votes, 0.0), answers  # what was taken away may leave a rounding error

    @property
    def given(self) -> int:
        """How many answers were given, with those that do not count."""
        return len(self._seconds)

    @property
    def seconds(self) -> float | None:
        """How long an answer takes; None if too few were timed."""
        timed = np.array(self._seconds)
        return measure_seconds(timed) if np.isfinite(timed).sum() >= TIMED else None


# ── what models said ─────────────────────────────────────────────────────────────────────────


def read_study_judges(study: Study, index: Index) -> Annotations | None:
    """Return what models said of the items, as the study names them."""
    if study.allocate is None or study.allocate.judges is False:
        return None
    which = study.allocate.judges
    folder = study.folder / "judges"
    return read_judges(folder if which is True else folder / f"{which}.jsonl", index)


# ── what takes long ──────────────────────────────────────────────────────────────────────────

Outside = Callable[..., Any]  # a function and its arguments: the result


def compute(function: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Compute here and now."""
    return function(*values, **named)


# ── ranking ──────────────────────────────────────────────────────────────────────────────────


class Ranker:
    """Rank the items of a study again and again; for one thread."""

    def __init__(self, study: Study, store: Store, now: Callable[[], float]) -> None:
        self.store, self.now = store, now
        self.outside: Outside = compute  # where what takes long is computed
        self._new: Study | None = None
        self._start(study)

    def _start(self, study: Study) -> None:
        assert study.allocate is not None, "only a study with [allocate] is ranked"
        self.study, self.wants = study, study.allocate
        self.policy: Policy = registry.parse("policy", study.allocate.policy)
        self.evidence = Evidence(study, self.store)
        said = read_study_judges(study, self.evidence.index)
        self.fit = FitVotes() if said is None else FitJudged(said)
        self.state: Allocation | None = None
        self.quality: Quality | None = None
        self._measured = 0
        self.seconds = estimate(study).seconds  # of an answer
        self._price = self.seconds  # as the state has it
        self._written: Floats = np.full(len(study.items), np.nan)  # weights by item
        self._history: list[tuple[int, float]] = []
        self._leads = self._dirty = False
        self._looked_at = self._reported_at = -math.inf

    def adopt(self, study: Study) -> None:
        """Rank another version of the study from the next look on: it has other items."""
        self._new = study

    def step(self, *, share: float = SHARE) -> bool:
        """Look once; return whether items were ranked."""
        if self._new is not None:
            if self._new.items != self.study.items:
                self._start(self._new)
            self.study, self._new = self._new, None
        throttle = Throttle(share)
        self._dirty |= self.evidence.read_new(throttle)
        stale = self.now() - self._looked_at >= LONGEST
        if not (self._dirty or stale):
            return False
        name, wait = self.study.name, EVERY if self._leads else PATIENCE
        led, begin = self._leads, self.now()
        self._leads = self.store.claim_ranking(name, begin, wait).result()
        if not self._leads:
            return False
        if not led:  # another process may have written other weights
            self._written = np.full(len(self.study.items), np.nan)
            known = self.store.ranking(name)
            self._history = _read_history(known.report if known else {})
        self._dirty, self._looked_at = False, begin
        votes, answers = self.evidence.count()
        throttle()
        if self.evidence.given:
            self._update(votes, answers)
            throttle()
            self._write(throttle)
        self._report(answers, throttle)
        return True

    def _update(self, votes: Floats, answers: Ints) -> None:
        """Bring the state up to date with the answers."""
        seconds = self.seconds = min(max(self.evidence.seconds or self.seconds, 1e-3), 1e6)
        moved = max(seconds / self._price, self._price / seconds) > CHANGED
        if self.state is not None:
            self.state.correct(votes, answers)
        if self.state is None or moved or self.state.due:
            self._price = seconds
            self.state = self.outside(
                Allocation,
                self.evidence.index,
                self.policy,
                fit=self.fit,
                prices=[Price(self.study.mode.name, seconds)],
                evidence=votes,
                answers=answers,
            )

    def _write(self, throttle: Throttle) -> None:
        """Write the weights that changed."""
        assert self.state is not None, "there are answers"
        now = round_weights(self.state.weigh())
        items = self.evidence.index.items
        changed = np.flatnonzero(now != self._written)
        for start in range(0, len(changed), CHUNK):
            some = changed[start : start + CHUNK]
            weights = dict(zip(items[some].tolist(), now[some].tolist(), strict=True))
            self.store.weigh(self.study.name, weights).result()
            self._written[some] = now[some]
            throttle()

    def warm_up(self) -> None:
        """Load whatever ranking needs, so that this does not happen while people answer."""
        index = Index(names(["item"]), names([]), names(["yes", "no"]))
        state = self.outside(Allocation, index, self.policy, evidence=np.ones((1, 2)))
        self.outside(measure_quality, state)
        state.correct(np.ones((1, 2)), np.array([3]))

    # ── reporting ────────────────────────────────────────────────────────────────────────────

    def _report(self, answers: Ints, throttle: Throttle) -> None:
        """Write what the budget allows, and from time to time how good labels are."""
        state, now = self.state, self.now()
        if state is not None and now - self._reported_at >= LONGEST:
            self.quality, self._reported_at = self.outside(measure_quality, state), now
            self._measured = int(answers.sum())
            self._history = thin([*self._history, (self._measured, self.quality.kl.value)], POINTS)
            throttle()
        lost = self.evidence.given - int(answers.sum())  # paid for, and of no use
        places = None
        if (allowed := count_allowed(self.study, self.seconds)) is not None:
            places = max(0, allowed - lost)
        explore = 0.0 if state is None or state.is_even else self.policy.explore
        known = self._describe(answers)
        self.store.report_ranking(self.study.name, places, explore, known).result()

    def _describe(self, answers: Ints) -> dict[str, object]:
        state, quality = self.state, self.quality
        known: dict[str, object] = {
            "at": self.now(),
            "answers": int(answers.sum()),
            "given": self.evidence.given,
            "done": 0 if state is None else int(state.done.sum()),
            "seconds": self.seconds,
            "even": state is None or state.is_even,
            "judges": "" if state is None else getattr(state.fit, "why", ""),
            "history": [list(point) for point in self._history],
        }
        if quality is not None:
            known |= {
                "measured": self._measured,  # answers
                "kl": _to_list(quality.kl),
                "gain": _to_list(quality.gain),
                "equal": quality.equal if math.isfinite(quality.equal) else None,
                "curve": [list(point) for point in quality.curve],
            }
        return known


def round_weights(weights: Floats) -> Floats:
    """Round to a few digits, so that items of which as much is known have equal weights.

    >>> round_weights(np.array([0.0, 1 / 3, 2e-7 / 3, 123456.7])).tolist()
    [0.0, 0.333333, 6.66667e-08, 123457.0]
    """
    size = np.where(weights > 0, weights, 1.0)
    power = DIGITS - 1 - np.floor(np.log10(size))
    return np.round(weights * 10.0**power) / 10.0**power


def count_allowed(study: Study, seconds: float) -> int | None:
    """Return how many answers the budget pays for if each takes so long; None: no budget."""
    wants = study.allocate
    if wants is None or (wants.seconds is None and wants.money is None):
        return None
    if wants.seconds is not None:
        return math.floor(wants.seconds / seconds + 1e-9)
    assert wants.money is not None, "a budget is in seconds or money"
    return math.floor(wants.money / cost_of_answer(study, seconds) + 1e-9)


def thin(points: list[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """Return at most so many points, the first and the last among them.

    >>> thin([(n, 0.0) for n in range(6)], 4)
    [(0, 0.0), (2, 0.0), (4, 0.0), (5, 0.0)]
    """
    if len(points) <= most:
        return points
    kept = points[::2]
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def _to_list(score: Score) -> list[float]:
    return [score.value, score.low, score.high]


def _read_history(report: Mapping[str, Any]) -> list[tuple[int, float]]:
    return [(int(answers), float(lost)) for answers, lost in report.get("history", ())]


@contextmanager
def keep_ranking(ranker: Ranker) -> Iterator[None]:
    """Rank in a thread of its own while the body runs."""
    pool = ProcessPoolExecutor(1, get_context("spawn"), initializer=end_with_parent)
    ranker.outside = lambda function, *values, **named: pool.submit(
        function, *values, **named
    ).result()

    def attempt(work: Callable[[], object]) -> None:
        try:
            work()
        except BrokenExecutor:
            log.warning("the process that computes rankings has ended; computing goes on here")
            ranker.outside = compute
        except (SoftlabelError, OSError) as error:
            log.warning("items were not ranked: %s", error)

    attempt(ranker.warm_up)
    attempt(lambda: pool.submit(os.nice, NICE).result())  # from now on, people come first
    try:
        with keep_doing(partial(attempt, ranker.step), EVERY, "softlabel-ranking"):
            yield
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
