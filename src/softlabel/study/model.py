"""What a study is: who is asked what about which items, how long it takes and what it costs."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softlabel.elicit import Mode, mode
from softlabel.errors import Problem
from softlabel.metrics import Cost

Frame = Literal["self", "third_person"]
LabelOrder = Literal["shuffled", "fixed"]
ItemKind = Literal["target", "training", "gold", "attention"]
QuestionKind = Literal["choice", "choices", "scale", "number", "text"]
Layout = Literal["auto", "rows", "columns"]
Smoothing = Literal["auto", "smooth", "pixelated"]
Language = Literal["ar", "de", "en", "es", "fr", "zh"]
RecruitKind = Literal["open", "prolific", "url", "invitation"]
BonusRule = Literal["none", "fixed", "score", "column"]
By = Literal["person", "batch"]

SKIPS = ("media_broken", "not_in_list", "cannot_judge")  # the reasons of a study without its own
SKIP_LIMIT = 0.2  # of the items of a person
ALWAYS_SKIPPABLE = 2  # items that anybody may skip, however few they get
SECONDS_AROUND = 120.0  # for consent, instructions, quiz and debrief
ARMS = 17  # sets the random numbers of arms apart from those of orders of labels
ASKS = ("mode", "mode_text", "question", "instructions", "quiz", "debrief", "others")  # by arm


@dataclass(frozen=True)
class Media:
    """A picture, a recording or a video: its path, and its media type by its first bytes."""

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
    texts: tuple[tuple[str, str], ...] = ()  # heading and text, in the order on the page
    image_2: Media | None = None  # beside the first one
    alt_2: str = ""
    video: Media | None = None
    question: str | None = None  # asked about this item instead of the study's question
    note: str | None = None  # shown under the item
    markdown: bool = False  # whether text, texts and note are Markdown

    @property
    def digest(self) -> str:
        """The hash of what people see and hear of the item; gold and names of files do not change
        it.  An item without the newer parts has the hash that it had before there were any."""
        media = [file and file.sha256 for file in (self.image, self.audio)]
        more: dict[str, object] = {
            "texts": self.texts,
            "image_2": self.image_2 and self.image_2.sha256,
            "alt_2": self.alt_2,
            "video": self.video and self.video.sha256,
            "question": self.question,
            "note": self.note,
            "markdown": self.markdown and bool(self.text or self.texts or self.note),
        }
        newer = {name: value for name, value in more.items() if value}
        shown = [self.text, self.alt, *media, *([newer] if newer else [])]
        return sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()

    @property
    def media(self) -> tuple[Media, ...]:
        """The files that the item shows or plays."""
        files = (self.image, self.image_2, self.audio, self.video)
        return tuple(media for media in files if media is not None)


@dataclass(frozen=True)
class About:
    """What people are told about a label; the colour is a mark beside its name."""

    describe: str = ""
    examples: tuple[Media, ...] = ()
    colour: str | None = None


@dataclass(frozen=True)
class Condition:
    """A question is shown only if the answer to another one is, or has among it, one of these."""

    question: str
    among: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A question beside the items: in the quiz, before the first item, or after the last one.

    Numbers lie from ``low`` to ``high`` in steps of ``step``; of a text, ``high`` is the greatest
    number of characters.
    """

    text: str
    options: tuple[str, ...] = ()
    right: int | None = None  # the index of the right option, in the quiz
    kind: QuestionKind = "choice"
    id: str = ""  # empty: it is named by its place
    required: bool = False
    low: float | None = None
    high: float | None = None
    step: float | None = None
    show_if: Condition | None = None


@dataclass(frozen=True)
class Quiz:
    """What must be understood before the first item, and how often it may be tried."""

    questions: tuple[Question, ...]
    tries: int = 2


@dataclass(frozen=True)
class Arm:
    """One way of asking in a comparison: a mode, and a question by the name of its wording."""

    name: str
    mode: Mode
    mode_text: str
    wording: str | None = None  # None: all arms ask the same question
    question: str | None = None


@dataclass(frozen=True)
class Compare:
    """Several ways of asking, and how people (or batches) are divided among them."""

    arms: tuple[Arm, ...]
    weights: tuple[int, ...]
    by: By = "person"

    def draw(self, seed: int, number: int) -> Arm:
        """Return the arm of the n-th person or batch, which never changes: of as many in a row as
        the weights add up to, each arm gets its weight, in random order."""
        block, place = divmod(number, sum(self.weights))
        order = np.repeat(np.arange(len(self.arms)), self.weights)
        rng = np.random.default_rng([seed % 2**64, block, ARMS])
        return self.arms[int(rng.permutation(order)[place])]


@dataclass(frozen=True)
class Recruit:
    """Where people come from, which parameters carry their ids, and where they return (or None)."""

    kind: RecruitKind = "open"
    id_param: str | None = None
    session_param: str | None = None
    id_pattern: str | None = None  # a regular expression that the whole id must match
    complete_url: str | None = None
    screenout_url: str | None = None
    skip_url: str | None = None
    noconsent_url: str | None = None
    completion_code: str | None = None
    screenout_code: str | None = None
    skip_code: str | None = None
    noconsent_code: str | None = None
    signed: bool = False  # whether only links count that the recruiter has signed


@dataclass(frozen=True)
class Advert:
    """How a study is announced on Prolific; ``reward`` and ``minutes`` are those of a session."""

    name: str
    description: str
    places: int
    reward: float
    minutes: int
    devices: tuple[str, ...]
    filters: tuple[Mapping[str, Any], ...] = ()
    project: str | None = None


@dataclass(frozen=True)
class Pay:
    """What people are paid: either by the hour or by the session."""

    currency: str
    minutes: float  # the length of a session, as people are told
    per_hour: float | None = None
    per_session: float | None = None
    bonus: str | None = None  # the rule, in plain words
    bonus_rule: BonusRule = "none"  # how it is computed
    bonus_amount: float | None = None  # fixed: for everybody who is done
    bonus_max: float | None = None  # score: for answers equal to those of the others
    bonus_floor: float = 0.0  # score: for answers that know nothing of the item
    screenout: float = 0.0  # for people who are screened out
    cap_per_person: float | None = None
    cap_total: float | None = None

    @property
    def session(self) -> float:
        """The pay of one complete session, without bonus."""
        if self.per_session is not None:
            return self.per_session
        assert self.per_hour is not None, "pay is by the hour or by the session"
        return self.per_hour * self.minutes / 60


@dataclass(frozen=True)
class Allocate:
    """How a running study decides what to ask next: by a policy, within a budget of seconds or of
    money; with ``judges``, from what models said: True for all of them, or the name of one."""

    policy: str  # with its options
    least: int
    most: int
    seconds: float | None = None
    money: float | None = None
    judges: bool | str = False


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
    contact: str
    recruit: Recruit
    pay: Pay | None
    seed: int
    lease_minutes: int
    toml: str
    skip_limit: float = SKIP_LIMIT  # the largest share of their items that a person may skip
    # name -> words, empty for those of the interface; without any, nobody may skip
    skip_reasons: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(SKIPS, ""))
    comment: bool = False  # whether people may comment on each item
    notes: tuple[Problem, ...] = ()  # what is allowed but may be a mistake
    ordered: bool = False  # whether the labels are steps of a scale
    repeat_rest: bool = False  # whether Enter repeats what was last said about the other labels
    consent: str = ""
    instructions: tuple[str, ...] = ()
    thanks: str = ""
    quiz: Quiz | None = None
    before: tuple[Question, ...] = ()  # asked after the consent
    debrief: tuple[Question, ...] = ()
    advert: Advert | None = None  # None: not recruited on Prolific, or nothing is paid
    layout: Layout = "auto"  # of several texts or pictures of an item
    smoothing: Smoothing = "auto"  # of pictures that are shown larger than they are
    question: str | None = None  # the heading above the labels; None: as the mode asks
    about: Mapping[str, About] = field(default_factory=dict)  # by label, or by branch above labels
    words: Mapping[str, Any] = field(default_factory=dict)  # the interface in this language
    others: Mapping[str, "Study"] = field(default_factory=dict)  # in its other languages
    allocate: Allocate | None = None  # None: every item gets ``per_item`` answers
    compare: Compare | None = None  # None: everybody is asked in the same way
    arms: Mapping[str, "Study"] = field(default_factory=dict)  # as each arm asks

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that people may choose among, the default first."""
        return (self.language, *self.others)

    def speak(self, language: str | None) -> "Study":
        """Return the study in one of its languages; in the first if it does not have this one."""
        return self.others.get(language or "", self)

    def arm_of(self, number: int, batch: str | None = None) -> Arm | None:
        """Return the arm of the n-th person, or that of their batch where batches are compared;
        None if nothing is compared, or the batch is not known yet."""
        if self.compare is None:
            return None
        if self.compare.by == "person":
            return self.compare.draw(self.seed, number)
        places = {name: place for place, name in enumerate(self.batches)}
        return self.compare.draw(self.seed, places[batch]) if batch in places else None

    def in_arm(self, arm: Arm | None) -> "Study":
        """Return the study as an arm asks; as it is if there is none."""
        if arm is None:
            return self
        asks = self.arms[arm.name]
        return replace(self, **{name: getattr(asks, name) for name in ASKS})

    @property
    def modes(self) -> tuple[Mode, ...]:
        """The modes in which people answer: one, unless modes are compared."""
        arms = self.compare.arms if self.compare else ()
        return tuple({arm.mode_text: arm.mode for arm in arms}.values()) or (self.mode,)

    @property
    def asks(self) -> str:
        """How people are asked, in words: the mode, or what is compared."""
        if self.compare is None:
            return f"mode {self.mode_text}"
        return f"comparing {', '.join(arm.name for arm in self.compare.arms)}"

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

    def has(self, item: str) -> bool:
        """Return whether there is an item with this id, of any kind."""
        return item in self._by_id

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
    """Estimate how long a session takes and what the study costs; without seconds of an answer in
    the mode, every field takes as long as one input of ``classic``."""
    per_mode = []
    for asked in study.modes:  # of those that are compared the slowest, as all are paid alike
        expected = mode.expected_seconds(asked)
        per_field = Cost().seconds_per_input * len(asked.fields)
        known = expected is not None and expected.measured
        per_mode.append((per_field if expected is None else expected.answer, known))
    seconds, measured = max(per_mode)
    minutes = (SECONDS_AROUND + study.showings_per_person * seconds) / 60
    if study.pay is None:
        return Estimate(seconds, measured, minutes, None, None, None)
    session = study.pay.session
    total, hourly = session * study.people_needed, session / minutes * 60
    return Estimate(seconds, measured, minutes, session, total, hourly)
