"""What a study is: who is asked what about which items, and everything around the asking."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal

from softlabel.elicit import Mode
from softlabel.errors import Problem

Frame = Literal["self", "third_person"]
LabelOrder = Literal["shuffled", "fixed"]
ItemKind = Literal["target", "training", "gold", "attention"]
QuestionKind = Literal["choice", "text", "scale"]
RecruitKind = Literal["open", "prolific", "url", "invitation"]

SKIP_LIMIT = 0.2  # of the items of a person
ALWAYS_SKIPPED = 2  # items that anybody may skip, however few they get


@dataclass(frozen=True)
class Media:
    """A picture or a recording: where it is, and what its first bytes say that it is."""

    path: Path
    mime: str

    @cached_property
    def sha256(self) -> str:
        """The hash of the content, in hex: the only name under which it is ever served."""
        with self.path.open("rb") as file:
            return _digest(iter(lambda: file.read(1 << 20), b""))


def _digest(blocks: Iterator[bytes]) -> str:
    digest = sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


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
    feedback: str | None = None  # what is said after a practice item
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The hash of what people see and hear of the item: text, description, media.  What is
        known about it, and what its files are called, may change."""
        media = [one and one.sha256 for one in (self.image, self.audio)]
        shown = json.dumps([self.text, self.alt, *media], ensure_ascii=False)
        return sha256(shown.encode()).hexdigest()

    @property
    def media(self) -> tuple[Media, ...]:
        """What the item shows or plays."""
        return tuple(media for media in (self.image, self.audio) if media is not None)


@dataclass(frozen=True)
class Question:
    """A question of the quiz or the debrief; without options it is answered in free text."""

    text: str
    options: tuple[str, ...] = ()
    right: int | None = None  # which option, in the quiz
    kind: QuestionKind = "choice"


@dataclass(frozen=True)
class Quiz:
    """What must be understood before the first item, and how often it may be tried."""

    questions: tuple[Question, ...]
    tries: int = 2


@dataclass(frozen=True)
class Recruit:
    """Where people come from, under which parameter they bring their id, and where they return.

    A return address is None where the recruiter has none for that outcome.
    """

    kind: RecruitKind = "open"
    id_param: str | None = None
    session_param: str | None = None
    id_pattern: str | None = None  # a regular expression the whole id must match
    complete_url: str | None = None
    screenout_url: str | None = None
    noconsent_url: str | None = None
    completion_code: str | None = None
    screenout_code: str | None = None
    noconsent_code: str | None = None


@dataclass(frozen=True)
class Pay:
    """What people are paid: by the hour or by the session, one of the two."""

    currency: str
    minutes: float  # how long a session is said to take
    per_hour: float | None = None
    per_session: float | None = None
    bonus: str | None = None  # the rule, in plain words

    @property
    def session(self) -> float:
        """What one whole session pays, without bonus."""
        if self.per_session is not None:
            return self.per_session
        assert self.per_hour is not None, "pay is by the hour or by the session"
        return self.per_hour * self.minutes / 60


@dataclass(frozen=True)
class Study:
    """A study folder, read and found to be without mistakes."""

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
    notes: tuple[Problem, ...] = ()  # what is odd but allowed
    repeat_rest: bool = False  # whether Enter repeats what was said of the rest before

    @property
    def items_per_person(self) -> int:
        """How many target items one person answers at most, repeats not counted."""
        if self.batches:
            return max(map(len, self.batches.values()))
        return min(self.per_annotator or len(self.items), len(self.items))

    @property
    def most_skips(self) -> int:
        """How many items one person may skip; who skips more is screened out."""
        return self.skips_among(self.items_per_person)

    def skips_among(self, items: int) -> int:
        """How many of so many items may be skipped."""
        share = math.floor(self.skip_limit * items + 1e-9)  # .29 of 100 is 29
        return max(ALWAYS_SKIPPED, share)

    @property
    def showings_per_person(self) -> int:
        """Practice, items, checks and repeats: everything one person answers at most."""
        return len(self.practice) + self.items_per_person + len(self.checks) + self.repeats

    @property
    def people_needed(self) -> int:
        """The least number of people who can give every item its answers."""
        if self.batches:
            return self.per_item * len(self.batches)
        answers = self.per_item * len(self.items)
        return max(self.per_item, math.ceil(answers / self.items_per_person))

    def find(self, item: str) -> Item:
        """The item with this id, of whatever kind."""
        return self._by_id[item]

    @cached_property
    def _by_id(self) -> dict[str, Item]:
        return {one.id: one for one in (*self.items, *self.practice, *self.checks)}
