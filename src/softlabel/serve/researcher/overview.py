"""Everything a researcher wants to know about a running study, in one value.

Counts come from the database and are exact; insight is computed from the latest answers.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import cast

import numpy as np

from softlabel import annotators, registry
from softlabel.annotators import Card
from softlabel.metrics import Spread, spread
from softlabel.serve.researcher import sample as samples
from softlabel.serve.researcher.comparison import ArmsCompared, compare_arms
from softlabel.serve.researcher.sample import MOST, SUBMIT, LatestAnswers, Sample, Steps, Throttle
from softlabel.store import Store, rows
from softlabel.study import Study

PAID = ("debrief", "done")  # stages of people who have answered everything
LEFT_EARLY = {"withdrawn": "withdrew", "screened-out": "skipped too many items"}
HOUR = 3600.0
SHORTEST = 60.0  # seconds below which nothing is known about speed
UNITS = {"minute": 60.0, "10 minutes": 600.0, "hour": HOUR, "6 hours": 6 * HOUR, "day": 24 * HOUR}
MOST_STRETCHES, FEWEST_STRETCHES = 36, 9
DRAWS = 100  # of the bootstrap: enough for a live page; ``softlabel agree`` draws five times more
COUNT_EVERY = 4.0  # seconds; a page asks every five
COUNT_SHARE = 0.05  # of the time, at most, is spent counting, however large the study
COMPUTE_EVERY = 15.0
COMPUTE_SHARE = 0.25  # of one core, at most, for what is computed while people wait for the server
VALID_FOR = 60.0  # seconds without a new answer: the rate of the latest hour changes all the same


@dataclass(frozen=True)
class Counts:
    """How far a study is, counted by the database.

    ``answers`` count towards the ``wanted`` ones: targets, each up to its quota.
    ``histogram[n]`` is how many items have n answers; ``stored`` counts everything, practice,
    checks, repeats and skips too; ``late`` ones were given when their items had all they wanted,
    and count towards nothing here.  ``skips`` counts skipped items by reason, ``skipped`` by
    person, both without practice.  ``paid`` sessions have finished all they were given; those
    under way have answered ``shares`` whole sessions together.  ``simulated`` sessions are those
    of a rehearsal.  ``excluded`` are the people who were left out, and why: only ``stored``,
    ``stages``, ``paid`` and ``shares`` count them.  ``minutes`` are those of each session.  With a
    ``ranking``, items are done as it says, and all answers count until as many are there as wanted.
    """

    items: int
    done: int
    answers: int
    wanted: int
    stored: int
    late: int
    skips: Mapping[str, int]
    skipped: Mapping[str, int]
    histogram: tuple[int, ...]
    per_item: Mapping[str, int]
    stages: Mapping[str, int]
    stage_of: Mapping[str, str]
    paid: int
    shares: float
    last_at: float | None
    simulated: int = 0
    state: rows.StudyState = "open"
    per_item_wanted: int = 0
    people_cap: int | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)
    minutes: Mapping[str, rows.Minutes] = field(default_factory=dict)
    ranking: rows.Ranking | None = None

    @property
    def missing(self) -> int:
        return self.wanted - self.answers

    @property
    def people(self) -> int:
        return len(self.stage_of)


def count_answers(study: Study, store: Store) -> Counts:
    """Count the study as it is in the store now."""
    progress, run = store.progress(study.name), store.control(study.name)
    per_item = store.answers_per_item(study.name)
    sessions = store.sessions(study.name)
    counted, quota = Counter(per_item.values()), run.per_item
    under_way = [one for one in sessions if one.stage not in rows.FINAL_STAGES.union(PAID)]
    whole = study.showings_per_person
    ranking = None if study.allocate is None else store.ranking(study.name)
    most = quota if ranking is None else ranking.most
    done = sum(items for answers, items in counted.items() if answers >= most)
    wanted = count_places(progress.items, quota, ranking)
    answers = sum(min(answers, most) * items for answers, items in counted.items())
    if ranking is not None:
        done = max(done, cast(int, ranking.report.get("done", 0)))
        wanted = min(wanted, answers) if done >= progress.items else wanted
    return Counts(
        items=progress.items,
        done=done,
        answers=min(answers, wanted),
        wanted=wanted,
        stored=progress.responses,
        late=progress.late,
        skips=progress.skips,
        skipped={
            one.annotator: one.skipped
            for one in sessions
            if one.skipped and one.excluded_at is None
        },
        histogram=tuple(counted[n] for n in range(max([quota, *counted]) + 1)),
        per_item=per_item,
        stages=progress.sessions,
        stage_of={one.annotator: one.stage for one in sessions},
        paid=sum(one.stage in PAID for one in sessions),
        shares=math.fsum(min(one.answered / whole, 1.0) for one in under_way),
        last_at=progress.last_at,
        simulated=sum(one.simulated for one in sessions),
        state=run.state,
        per_item_wanted=quota,
        people_cap=run.people_cap,
        excluded={
            one.annotator: one.excluded_because or ""
            for one in sessions
            if one.excluded_at is not None
        },
        minutes=store.minutes(study.name),
        ranking=ranking,
    )


def count_places(items: int, per_item: int, ranking: rows.Ranking | None) -> int:
    """Return how many answers the whole study wants: per item on average, within the budget."""
    total = items * per_item
    return total if ranking is None or ranking.places is None else min(total, ranking.places)


@dataclass(frozen=True)
class Seconds:
    """The times of one mode: the whole answer, the wait for the first input, and each step.

    ``steps`` holds, for every field and for the submission, the seconds since the step before it:
    the steps of one answer add up to the time from showing to submission.
    """

    mode: str
    answer: Spread
    first: Spread
    steps: Mapping[str, Spread]


def seconds_by_mode(answers: Iterable[tuple[str, float, float, Steps]]) -> tuple[Seconds, ...]:
    """Summarise ``(mode, whole answer, first input, steps)`` of each answer.

    Modes with most answers come first; steps come in the order in which the mode asks them, then
    unknown ones, and the submission last.
    """
    grouped: dict[str, list[tuple[float, float, Steps]]] = {}
    for mode, whole, first, steps in answers:
        grouped.setdefault(mode, []).append((whole, first, steps))
    summaries = []
    for mode, times in sorted(grouped.items(), key=lambda one: -len(one[1])):
        parts: dict[str, list[float]] = {}
        for name, seconds in (step for _, _, steps in times for step in steps):
            parts.setdefault(name, []).append(seconds)
        known = registry.members("mode").get(mode)
        asked = {field.name: place for place, field in enumerate(known.fields)} if known else {}
        order = sorted(parts, key=lambda name: (name == SUBMIT, asked.get(name, len(asked)), name))
        whole_answer = spread([whole for whole, _, _ in times])
        first_input = spread([first for _, first, _ in times])
        by_step = {name: spread(parts[name]) for name in order}
        summaries.append(Seconds(mode, whole_answer, first_input, by_step))
    return tuple(summaries)


@dataclass(frozen=True)
class Speed:
    """``per_hour`` is over the latest hour, or since the first answer.

    ``stretches`` are the latest stretches of one ``unit``: when each began, how many answers came.
    """

    per_hour: float
    unit: str
    stretches: tuple[tuple[float, int], ...]

    def hours_left(self, missing: int) -> float:
        """Return the hours until all answers are there at this speed; NaN if nobody answers."""
        if not missing:
            return 0.0
        return missing / self.per_hour if self.per_hour > 0 else math.nan


def measure_speed(times: Sequence[float], now: float, whole: bool = True) -> Speed:
    """Measure how fast answers come in from the times at which target answers were stored.

    If ``whole`` is False there were earlier answers: the first stretch, incomplete, is left out.

    >>> measure_speed([0.0, 1200.0, 2400.0], 3600.0).per_hour
    3.0
    """
    at = np.sort(np.asarray(times, dtype=np.float64))
    if not len(at):
        return Speed(0.0, "minute", ())
    oldest = float(at[0])
    recent = int((at >= now - HOUR).sum())
    per_hour = recent / max(now - max(oldest, now - HOUR), SHORTEST) * HOUR
    fits = [unit for unit, size in UNITS.items() if (now - oldest) / size <= MOST_STRETCHES]
    unit = fits[0] if fits else "day"
    size = UNITS[unit]
    last = math.floor(now / size)
    first = max(math.floor(oldest / size) + (not whole), last - MOST_STRETCHES)
    first = min(first, last - FEWEST_STRETCHES) if whole else first
    places = at // size - first
    count = np.bincount(places[places >= 0].astype(np.int64), minlength=last - first + 1)
    return Speed(per_hour, unit, tuple(((first + i) * size, int(n)) for i, n in enumerate(count)))


@dataclass(frozen=True)
class Bill:
    """What a study costs in ``currency``, without a platform's fee.

    ``earned`` counts a finished session whole and one under way by the share it has answered;
    ``projected`` adds the answers that are still wanted, at the price of an answer in a whole
    session.  ``hourly`` is what people earn in an hour of answering at the median speed.
    """

    currency: str
    session: float
    earned: float
    projected: float
    hourly: float


@dataclass(frozen=True, eq=False)
class Insight:
    """What takes time to compute, from the latest ``read`` of ``stored`` answers.

    ``unreadable`` ones were given before labels or mode changed.  ``seconds`` are those of targets
    and repeats; ``disagreement`` is the mean total variation between two people, by item.  ``arms``
    are compared in a study that has some.
    """

    at: float
    read: int
    stored: int
    unreadable: int
    seconds: tuple[Seconds, ...]
    speed: Speed
    agreement: annotators.agreement.Agreement | None
    repeats: annotators.repeats.Repeats
    people: tuple[Card, ...]
    disagreement: Mapping[str, float]
    arms: ArmsCompared | None = None

    @property
    def whole(self) -> bool:
        """Whether all answers were read."""
        return self.read >= self.stored

    @property
    def median(self) -> float:
        """The median seconds of an answer in the mode that most answers were given in."""
        return self.seconds[0].answer.median if self.seconds else math.nan


@dataclass(frozen=True, eq=False)
class Overview:
    """``insight`` is None as long as it has not been computed yet; ``bill`` without pay."""

    counts: Counts
    insight: Insight | None
    bill: Bill | None

    @property
    def hours_left(self) -> float:
        """Hours until every item has its answers at the latest hour's speed; NaN if unknown."""
        if self.insight is None:
            return math.nan
        return self.insight.speed.hours_left(self.counts.missing)

    def people(self) -> tuple[Card, ...]:
        """Everybody in the sample, those with most flags first; leaving early is a flag as well."""
        cards = []
        for card in self.insight.people if self.insight is not None else ():
            early = LEFT_EARLY.get(self.counts.stage_of.get(card.annotator, ""))
            cards.append(replace(card, flags=(*card.flags, early)) if early else card)
        return tuple(sorted(cards, key=lambda card: (-len(card.flags), card.annotator)))


def compute_overview(study: Study, store: Store, now: float, most: int = MOST) -> Overview:
    """Compute the overview from at most the latest ``most`` answers."""
    counts, throttle = count_answers(study, store), Throttle()
    sample = LatestAnswers(study, store, most).refresh(throttle)
    return combine(study, counts, compute_insight(study, sample, now, throttle))


def compute_insight(study: Study, sample: Sample, now: float, throttle: Throttle) -> Insight:
    """Compute what a sample shows; call ``throttle`` between the steps."""
    asked, once = sample.asked, sample.once
    seconds = seconds_by_mode((one.mode, one.active, one.first, one.steps) for one in asked)
    throttle()
    shared = (once.votes_per_item() > 1).any()
    agreement = annotators.measure_agreement(once, draws=DRAWS) if shared else None
    throttle()
    times = [one.at for one in asked if one.kind == "target"]
    distances = annotators.agreement.pairwise_variation(once).tolist()
    pairs = zip(once.index.items.tolist(), distances, strict=True)
    return Insight(
        at=now,
        read=sample.read,
        stored=sample.stored,
        unreadable=sample.unreadable,
        seconds=seconds,
        speed=measure_speed(times, now, sample.whole),
        agreement=agreement,
        repeats=annotators.measure_repeats(sample.each, sample.said, sample.is_repeat)[0],
        people=samples.make_cards(sample, study.checks, throttle),
        disagreement={item: value for item, value in pairs if math.isfinite(value)},
        arms=compare_arms(study, sample, throttle),
    )


def combine(study: Study, counts: Counts, insight: Insight | None) -> Overview:
    """Combine what was counted and what was computed, and add the costs."""
    if study.pay is None:
        return Overview(counts, insight, None)
    session = study.pay.session
    earned = (counts.paid + counts.shares) * session
    left = counts.missing / study.items_per_person * session
    median = math.nan if insight is None else insight.median
    hours = median * study.showings_per_person / HOUR
    bill = Bill(study.pay.currency, session, earned, earned + left, session / hours)
    return Overview(counts, insight, bill)


class LiveOverview:
    """The overview of a study that people are answering now, for many threads and open pages.

    ``overview`` answers quickly, with the insight there is.  ``renew`` computes a new one if the
    last one is old enough; it is called when nobody waits for it.
    """

    def __init__(self, study: Study, store: Store, now: Callable[[], float]) -> None:
        self.study, self.store, self.now = study, store, now
        self._latest = LatestAnswers(study, store)
        self._counting, self._computing = Lock(), Lock()
        self._counts: Counts | None = None
        self._count_at = -math.inf
        self._insight: Insight | None = None
        self._computed_of: tuple[int, frozenset[str]] = (0, frozenset())  # stored, left out

    def adopt(self, study: Study) -> None:
        """Count and compute for another version of the study from now on."""
        self.study = study
        self.expire()

    def expire(self) -> None:
        """Count again the next time: something was done to the study."""
        self._count_at = -math.inf

    def overview(self) -> Overview:
        return combine(self.study, self.counts(), self._insight)

    def counts(self) -> Counts:
        """Return counts of a few seconds ago at most, or longer if counting takes long."""
        with self._counting:
            if self._counts is None or self.now() >= self._count_at:
                begin = time.perf_counter()
                self._counts = count_answers(self.study, self.store)
                seconds = time.perf_counter() - begin
                self._count_at = self.now() + max(COUNT_EVERY, seconds / COUNT_SHARE)
            return self._counts

    def last_counts(self) -> Counts:
        """Return the last counts, however old: for pages that need none of what changes."""
        return self._counts or self.counts()

    def renew(self) -> None:
        """Compute what is out of date, slowly; do nothing while another thread does it."""
        if not self._computing.acquire(blocking=False):
            return
        try:
            last = self._insight
            age = self.now() - last.at if last else math.inf
            counts = self.counts()
            state = counts.stored, frozenset(counts.excluded)
            due = last and age >= COMPUTE_EVERY and state != self._computed_of
            if due or age >= VALID_FOR:
                self._computed_of = state
                throttle = Throttle(COMPUTE_SHARE)
                sample = self._latest.refresh(throttle)
                self._insight = compute_insight(self.study, sample, self.now(), throttle)
        finally:
            self._computing.release()
