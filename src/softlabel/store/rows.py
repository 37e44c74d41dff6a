"""The values that go into the store and come out of it: frozen, and independent of the database."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from softlabel.records import Kind

# open and answered showings of a target take one of its places; the others take none
State = Literal["open", "answered", "skipped", "released"]
StudyState = Literal["open", "paused", "closed"]
Flag = Literal["late", "replaced", "excluded", "skipped", "repeat"]
FLAGS: tuple[Flag, ...] = get_args(Flag)  # of responses

RETIRED = "retired "  # prefix of the kind of an item that was shown and has left the study
MAX_REVISIONS = 50  # of the response to one showing; every revision is kept
MAX_HELD = 25  # targets of a large batch that a person holds at most
# the stages of people who will not answer any more; what they hold is released
FINAL_STAGES = frozenset({"screened-out", "no-consent", "withdrawn", "full", "closed", "done"})


class ItemRow(NamedTuple):
    """An item as assignment sees it; ``digest`` is the hash of what is shown, None if not known."""

    id: str
    kind: Kind = "target"
    batch: str | None = None
    digest: str | None = None


class Session(NamedTuple):
    """One person's passage through one study.  ``lease_end`` is 0 while they hold nothing;
    ``answered`` and ``skipped`` count showings, the latter without practice items."""

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
    excluded_at: float | None = None  # None: this person's answers count
    excluded_because: str | None = None
    language: str | None = None  # chosen by the person; None: the first of the study


class Showing(NamedTuple):
    """One item at one position of a session, and the id of the response or skip that counts."""

    session: str
    position: int
    item: str
    kind: Kind
    repeat_of: int | None
    batch: str | None
    state: State
    response: str | None
    propensity: float | None = None  # the chance that the item had at its turn; None: not live


class Portion(NamedTuple):
    """The showings that a person receives: what to answer next, preceded by the last answers.  Of
    the ``shown`` showings of the session (open, answered or skipped) ``done`` are answered or
    skipped, and ``gone`` of those are items that have left the study.  ``coming`` showings are
    still to follow (None: not known).  ``more`` may follow; if none is open, nothing is left."""

    showings: tuple[Showing, ...]
    shown: int
    done: int
    gone: int
    coming: int | None
    more: bool


class Live(NamedTuple):
    """Items are ranked while the study runs: each gets ``least`` answers, then up to ``most``."""

    least: int
    most: int


class Ranking(NamedTuple):
    """The ranking of a study: ``places`` are those of all items together (None: as many as the
    study wants), ``explore`` the share given out at random, ``report`` what is known of it."""

    most: int
    places: int | None
    explore: float
    at: float
    report: Mapping[str, object]


@dataclass(frozen=True)
class Plan:
    """How items are given to a person, as in the study; at most ``ahead`` targets at a time.

    ``live`` items are given by their ranking, and then ``per_item`` is their mean."""

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
    ahead: int = MAX_HELD
    live: Live | None = None

    @property
    def quota(self) -> int:
        """The most answers to one item."""
        return self.per_item if self.live is None else self.live.most


class Timing(NamedTuple):
    """Milliseconds since the item was shown; ``fields`` maps each field to its last input."""

    first_input_ms: float | None = None
    submit_ms: float | None = None
    active_ms: float | None = None
    hidden_ms: float | None = None
    fields: Mapping[str, float] = {}


@dataclass(frozen=True)
class NewResponse:
    """A response as it arrived: ``payload`` is the text as sent, ``answer_json`` is None for a
    skip, and ``digest`` covers all that must be equal in two deliveries of it.  ``mode_options``
    and ``frame`` record how the question was asked; without a frame, as the study says.  ``arm`` is
    that of a study that compares ways of asking."""

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
    arm: str | None = None


class Ack(NamedTuple):
    """The response ``id`` is on the disk: ``stored`` by this call, or ``known`` from before.
    ``ended`` is True if the session has ended, perhaps because of this response."""

    id: str
    state: Literal["stored", "known"]
    kind: Kind
    item: str
    ended: bool = False


class ResponseRow(NamedTuple):
    """A stored response with its showing; ``seq`` grows in the order of storing.

    ``mode_options`` is JSON and is valid only if there is a ``frame``: older rows have neither.
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
    partial: bool = False  # of a visit that the platform ended before the person was done
    excluded: str | None = None  # why this person was left out; None: the answer counts
    propensity: float | None = None  # the chance that the item had at its turn; None: not live
    arm: str | None = None  # of a comparison of ways of asking


class TimedAnswer(NamedTuple):
    """The part of a response that quality checks need, small enough to read many of them."""

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
    arm: str | None
    timing: Timing


class Invitation(NamedTuple):
    """A personal link: who it is for, and when it was revoked (None: it is valid)."""

    study: str
    name: str
    annotator: str | None
    created_at: float
    revoked_at: float | None


class Event(NamedTuple):
    """Something other than a response: consent, quiz, debrief, a changed study file."""

    seq: int
    annotator: str | None
    name: str
    detail: Mapping[str, object]
    at: float


class StoredStudy(NamedTuple):
    """A study in the store; ``toml`` is the study file at the time of the first answer."""

    name: str
    toml: str
    labels: tuple[str, ...]
    per_item: int
    created_at: float


class Control(NamedTuple):
    """How a study is being run.  ``per_item`` is the number of answers wanted now, ``per_item_set``
    the one that was set by hand (None: as in the study file); ``revision`` grows with every
    action."""

    state: StudyState
    revision: int
    per_item: int
    per_item_set: int | None
    people_cap: int | None  # most people who may be given items; None: no limit


class AuditEntry(NamedTuple):
    """Who did what to a running study, and when."""

    seq: int
    at: float
    actor: str
    action: str
    detail: Mapping[str, object]


class Filters(NamedTuple):
    """Which responses to read; None is any.  ``mentions`` is a label that the answer names."""

    item: str | None = None
    annotator: str | None = None
    mentions: str | None = None
    flag: Flag | None = None
    since: float | None = None
    until: float | None = None


class Minutes(NamedTuple):
    """How long a person took: from coming in to the last answer, and looking at items."""

    elapsed: float
    active: float


class Progress(NamedTuple):
    """How far a study is; ``answered`` and ``taken`` count targets, ``full`` items at quota.
    ``late`` answers came after their place had been given to somebody else: they are kept and not
    counted.  ``skips`` counts skipped items by reason, without practice items.  Nothing but
    ``responses`` and ``sessions`` counts people who were left out."""

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
    """How many people and simulated people there are, and how many answers they gave."""

    people: int
    answers_of_people: int
    simulated: int
    answers_of_simulated: int
