"""What goes into the store and what comes out of it: plain, frozen, without a database in sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["target", "repeat", "gold", "attention", "training"]
State = Literal["open", "answered", "skipped", "released"]
"""Open and answered showings of a target take one of its places, the others take none."""

MOST_REVISIONS = 50
"""How often the response to one showing may be revised: every one of them is kept for ever."""

LEFT = frozenset({"screened-out", "no-consent", "withdrawn", "full", "closed", "done"})
"""The stages of people who will not answer any more: what they hold is given back."""

AHEAD = 25
"""How many targets a person holds at most of a large batch."""


class ItemRow(NamedTuple):
    """An item of a study, as assignment sees it; ``digest`` is of what people are shown, None
    where that is not known."""

    id: str
    kind: Kind = "target"
    batch: str | None = None
    digest: str | None = None


class Session(NamedTuple):
    """One person's way through one study; ``lease_end`` is 0 while they hold nothing.

    ``answered`` counts showings with an answer, ``skipped`` those that the person skipped instead,
    practice aside.
    """

    id: str
    study: str
    annotator: str
    number: int
    stage: str
    label_order: tuple[str, ...]
    seed: int
    recruiter_session: str | None
    quiz_tries: int
    answered: int
    lease_end: float
    entered_at: float
    skipped: int = 0
    simulated: bool = False


class Showing(NamedTuple):
    """One item in one place of a session's order; ``response`` is the answer that counts now.

    A ``skipped`` showing has a response without an answer.
    """

    session: str
    position: int
    item: str
    kind: Kind
    repeat_of: int | None
    batch: str | None
    state: State
    response: str | None


class Portion(NamedTuple):
    """What a person has at hand: what to answer next, and the last answers before it.

    Of everything the person was given ``shown`` still counts: it waits for an answer, or is
    ``done`` because it was answered or skipped.  Among those done, ``gone`` have left the study.
    ``coming`` is how many more showings there will be, None where the store cannot know it.
    ``more`` says that some may follow; without an open showing there is nothing left to do.
    """

    showings: tuple[Showing, ...]
    shown: int
    done: int
    gone: int
    coming: int | None
    more: bool


@dataclass(frozen=True)
class Plan:
    """How items are given to a person; positions and counts as in the study.

    However large a batch is, a person holds at most ``ahead`` targets at a time.
    """

    per_item: int
    per_annotator: int | None = None
    batch_size: int = 25
    repeats: int = 0
    repeat_positions: tuple[int, ...] = ()
    practice: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    batches: bool = False
    lease_seconds: float = 3600.0
    seed: int = 0
    ahead: int = AHEAD


class Timing(NamedTuple):
    """Milliseconds since the item was shown; ``fields`` has the last input to each field."""

    first_input_ms: float | None = None
    submit_ms: float | None = None
    active_ms: float | None = None
    hidden_ms: float | None = None
    fields: Mapping[str, float] = {}


@dataclass(frozen=True)
class NewResponse:
    """An answer as it arrived: ``payload`` is the text as sent, ``answer_json`` null if skipped.

    ``digest`` covers what may not differ between two deliveries of the same answer.
    ``mode_options`` and ``frame`` say how it was asked for; no frame: as the study says.
    """

    id: str
    position: int
    answer_json: str | None
    payload: str
    mode: str
    mode_version: int
    digest: str
    skip: str | None = None
    supersedes: str | None = None
    timing: Timing = field(default_factory=Timing)
    mode_options: str = "{}"
    frame: str | None = None


class Ack(NamedTuple):
    """The answer ``id`` is on the disk: ``stored`` by this call, or ``known`` from before.

    ``kind`` and ``item`` are what was shown.  ``ended`` says that the session has ended, perhaps
    by this response.
    """

    id: str
    state: Literal["stored", "known"]
    kind: Kind
    item: str
    ended: bool = False


class ResponseRow(NamedTuple):
    """A stored answer, with what was shown; ``seq`` grows in the order of storing.

    ``mode_options`` is JSON and holds only if there is a ``frame``: older rows have neither.
    """

    seq: int
    id: str
    session: str
    annotator: str
    item: str
    kind: Kind
    position: int
    repeat_of: int | None
    batch: str | None
    label_order: tuple[str, ...]
    mode: str
    mode_version: int
    mode_options: str
    frame: str | None
    answer_json: str | None
    payload: str
    skip: str | None
    supersedes: str | None
    superseded: bool
    late: bool
    received_at: float
    timing: Timing
    simulated: bool = False


class Invitation(NamedTuple):
    """A personal link: who it is for, and since when it no longer opens (None: it does)."""

    study: str
    name: str
    annotator: str | None
    created_at: float
    revoked_at: float | None


class Event(NamedTuple):
    """Something that happened and is not an answer: consent, quiz, debrief, another study file."""

    seq: int
    annotator: str | None
    name: str
    detail: Mapping[str, object]
    at: float


class StoredStudy(NamedTuple):
    """A study in the store; ``toml`` is the file with which collecting began."""

    name: str
    toml: str
    labels: tuple[str, ...]
    per_item: int
    created_at: float


class Progress(NamedTuple):
    """How far a study is; ``answered`` and ``taken`` count targets, ``full`` items at quota.

    ``late`` answers came when their place had been given to somebody else: kept, not counted.
    ``skips`` are the items that people skipped, by their reason; practice is not among them.
    """

    items: int
    wanted: int
    taken: int
    answered: int
    full: int
    late: int
    skips: Mapping[str, int]
    responses: int
    sessions: Mapping[str, int]
    last_at: float | None


class Crowd(NamedTuple):
    """Who is in a database: people, and simulated people."""

    people: int
    answers_of_people: int
    simulated: int
    answers_of_simulated: int


class TimedAnswer(NamedTuple):
    """What was answered and how long it took, without what else the browser sent: small enough
    to look at many."""

    seq: int
    id: str
    session: str
    annotator: str
    item: str
    kind: Kind
    mode: str
    mode_version: int
    mode_options: str
    frame: str | None
    answer_json: str | None
    skip: str | None
    supersedes: str | None
    received_at: float
    timing: Timing
