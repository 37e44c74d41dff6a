"""What a study is: who is asked what about which items, how long it takes and what it costs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Literal

from softlabel.elicit import Mode, expected_seconds
from softlabel.errors import Problem
from softlabel.metrics import Cost

Frame = Literal["self", "third_person"]
LabelOrder = Literal["shuffled", "fixed"]
ItemKind = Literal["target", "training", "gold", "attention"]
QuestionKind = Literal["choice", "text", "scale"]
RecruitKind = Literal["open", "prolific", "url", "invitation"]

SKIP_LIMIT = 0.2  # of the items of a person
ALWAYS_SKIPPABLE = 2  # items that anybody may skip, however few they get
SECONDS_AROUND = 120.0  # for consent, instructions, quiz and debrief


@dataclass(frozen=True)
class Media:
    """A picture or a recording: its path, and its media type by its first bytes."""

    path: Path
    mime: str

    @cached_property
    def sha256(self) -> str:
        """The hash of the content, in hex: the only name under which it is ever served."""
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True)
class Item:
    """One thing that people judge.  ``gold``, ``meta`` and file names never leave the server."""

    id: str
    kind: ItemKind
    text: str | None = None
    image: Media | None = None
    audio: Media | None = None
    alt: str = ""
    gold: tuple[float, ...] | None = None  # a distribution over the labels of the study
    feedback: str | None = None  # shown after a practice item
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The hash of what people see and hear of the item: text, description, media.

        Gold and the names of files may change without changing it.
        """
        media = [file and file.sha256 for file in (self.image, self.audio)]
        shown = json.dumps([self.text, self.alt, *media], ensure_ascii=False)
        return sha256(shown.encode()).hexdigest()

    @property
    def media(self) -> tuple[Media, ...]:
        """The files that the item shows or plays."""
        return tuple(media for media in (self.image, self.audio) if media is not None)


@dataclass(frozen=True)
class Question:
    """A question of the quiz or the debrief; without options it is answered in free text."""

    text: str
    options: tuple[str, ...] = ()
    right: int | None = None  # the index of the right option, in the quiz
    kind: QuestionKind = "choice"


@dataclass(frozen=True)
class Quiz:
    """What must be understood before the first item, and how often it may be tried."""

    questions: tuple[Question, ...]
    tries: int = 2


@dataclass(frozen=True)
class Recruit:
    """Where people come from, which parameters carry their ids, and where they return.

    A return address is None if the recruiter has none for that outcome.
    """

    kind: RecruitKind = "open"
    id_param: str | None = None
    session_param: str | None = None
    id_pattern: str | None = None  # a regular expression that the whole id must match
    complete_url: str | None = None
    screenout_url: str | None = None
    noconsent_url: str | None = None
    completion_code: str | None = None
    screenout_code: str | None = None
    noconsent_code: str | None = None


@dataclass(frozen=True)
class Pay:
    """What people are paid: either by the hour or by the session."""

    currency: str
    minutes: float  # the length of a session, as people are told
    per_hour: float | None = None
    per_session: float | None = None
    bonus: str | None = None  # the rule, in plain words

    @property
    def session(self) -> float:
        """The pay of one complete session, without bonus."""
        if self.per_session is not None:
            return self.per_session
        assert self.per_hour is not None, "pay is by the hour or by the session"
        return self.per_hour * self.minutes / 60


@dataclass(frozen=True)
class Study:
    """A study folder without mistakes."""

    folder: Path
    name: str
    title: str
    description: str
    labels: tuple[str, ...]
    synonyms: Mapping[str, tuple[str, ...]]
    mode: Mode
    mode_text: str
    frame: Frame
    language: str
    label_order: LabelOrder
    items: tuple[Item, ...]
    practice: tuple[Item, ...]
    checks: tuple[Item, ...]
    batches: Mapping[str, tuple[str, ...]]  # batch -> item ids; empty: none were given
    per_item: int
    per_annotator: int | None  # None: as many as there are; with batches: one batch
    batch_size: int
    repeats: int
    repeat_positions: tuple[int, ...]  # 0-based places among a person's own target items
    consent: str
    instructions: tuple[str, ...]
    thanks: str
    contact: str
    quiz: Quiz | None
    debrief: tuple[Question, ...]
    recruit: Recruit
    pay: Pay | None
    seed: int
    lease_minutes: int
    toml: str
    skip_limit: float = SKIP_LIMIT  # the largest share of their items that a person may skip
    notes: tuple[Problem, ...] = ()  # what is allowed but may be a mistake
    repeat_rest: bool = False  # whether Enter repeats what was last said about the other labels

    @property
    def items_per_person(self) -> int:
        """The largest number of target items that one person answers, without repeats."""
        if self.batches:
            return max(map(len, self.batches.values()))
        return min(self.per_annotator or len(self.items), len(self.items))

    @property
    def most_skips(self) -> int:
        """How many items one person may skip; a person who skips more is screened out."""
        return self.skips_among(self.items_per_person)

    def skips_among(self, items: int) -> int:
        """Return how many of so many items may be skipped."""
        share = math.floor(self.skip_limit * items + 1e-9)  # .29 of 100 is 29
        return max(ALWAYS_SKIPPABLE, share)

    @property
    def showings_per_person(self) -> int:
        """The largest number of showings of one person: practice, items, checks, repeats."""
        return len(self.practice) + self.items_per_person + len(self.checks) + self.repeats

    @property
    def people_needed(self) -> int:
        """The smallest number of people who can give every item its answers."""
        if self.batches:
            return self.per_item * len(self.batches)
        answers = self.per_item * len(self.items)
        return max(self.per_item, math.ceil(answers / self.items_per_person))

    def find(self, item: str) -> Item:
        """Return the item with this id, of any kind."""
        return self._by_id[item]

    @cached_property
    def _by_id(self) -> dict[str, Item]:
        return {item.id: item for item in (*self.items, *self.practice, *self.checks)}


@dataclass(frozen=True)
class Estimate:
    """The expected length and cost of a study, before anybody has answered."""

    seconds: float  # per answer
    measured: bool  # whether people were timed for it
    minutes: float  # per session
    session: float | None  # pay of one session
    total: float | None  # pay of all people needed
    per_hour: float | None  # pay of an hour if sessions are as long as estimated here


def estimate(study: Study) -> Estimate:
    """Estimate how long a session takes and what the study costs.

    The seconds of an answer come from the mode.  If it has none, every field takes as long as one
    input of ``classic``.
    """
    expected = expected_seconds(study.mode)
    per_field = Cost().seconds_per_input * len(study.mode.fields)
    seconds = per_field if expected is None else expected.answer
    measured = expected is not None and expected.measured
    minutes = (SECONDS_AROUND + study.showings_per_person * seconds) / 60
    if study.pay is None:
        return Estimate(seconds, measured, minutes, None, None, None)
    session = study.pay.session
    total, hourly = session * study.people_needed, session / minutes * 60
    return Estimate(seconds, measured, minutes, session, total, hourly)
