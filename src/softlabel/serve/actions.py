"""What a researcher does to a running study: the dashboard and the commands do it through this.

An action first says what it will do (``explain``), and then does it (``do``), with an entry in the
audit log.  No action needs a restart of the server.
"""

import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from softlabel import study as studies
from softlabel.errors import SoftlabelError, StoreError
from softlabel.serve.secret import make_private_folder
from softlabel.store import FINAL_STAGES, Act, ItemRow, Session, Store
from softlabel.study import Item, Study

LARGEST = 5 * 1024 * 1024  # bytes of a table of items
MOST = 10**6  # answers per item, people
LONGEST_REASON = 500  # characters
LISTED = 5  # ids
TABLES = (".csv", ".jsonl")


@dataclass(frozen=True)
class Desk:
    """The study and its store, who acts, and when."""

    study: Study
    store: Store
    actor: str
    now: float

    @property
    def act(self) -> Act:
        return Act(self.study.name, self.actor, self.now)


class Action(Protocol):
    """Something to do to a running study; ``name`` is its command, and stands in the audit log."""

    name: ClassVar[str]
    title: ClassVar[str]

    def explain(self, desk: Desk) -> list[str]:
        """Say what will happen, in sentences; refuse what cannot be done."""
        ...

    def do(self, desk: Desk) -> str:
        """Do it, and say what has changed."""
        ...


# ── the study ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Pause:
    """Give out no more items until the study is resumed."""

    name: ClassVar[str] = "pause"
    title: ClassVar[str] = "Pause the study"

    def explain(self, desk: Desk) -> list[str]:
        return [
            "Nobody new can begin, and nobody gets further items.",
            f"Items that are held now may be finished: {_holders(desk)}.",
            "Everybody else sees a page that says that the study is paused, until you resume it.",
        ]

    def do(self, desk: Desk) -> str:
        desk.store.move_study(desk.act, self.name).result()
        return "The study is paused."


@dataclass(frozen=True)
class Resume:
    """Go on after a pause."""

    name: ClassVar[str] = "resume"
    title: ClassVar[str] = "Resume the study"

    def explain(self, desk: Desk) -> list[str]:
        return ["People can begin again, and those who wait get further items."]

    def do(self, desk: Desk) -> str:
        desk.store.move_study(desk.act, self.name).result()
        return "The study is open."


@dataclass(frozen=True)
class Close:
    """End the study for everybody."""

    name: ClassVar[str] = "close"
    title: ClassVar[str] = "Close the study"

    def explain(self, desk: Desk) -> list[str]:
        return [
            "Nobody new can begin, and nobody gets further items.",
            f"Items that are held now may be finished: {_holders(desk)}. After that people reach "
            "the end, with the completion code.",
            "The study can be reopened.",
        ]

    def do(self, desk: Desk) -> str:
        desk.store.move_study(desk.act, self.name).result()
        return "The study is closed."


@dataclass(frozen=True)
class Reopen:
    """Open a closed study again."""

    name: ClassVar[str] = "reopen"
    title: ClassVar[str] = "Reopen the study"

    def explain(self, desk: Desk) -> list[str]:
        return ["People can begin again. Those who have reached the end stay there."]

    def do(self, desk: Desk) -> str:
        desk.store.move_study(desk.act, self.name).result()
        return "The study is open."


def count_missing(study: Study, answers: Collection[int], per_item: int) -> int:
    """Count the answers that are still wanted; a live study wants so many on average."""
    if study.allocate is not None:
        return max(0, per_item * len(answers) - sum(answers))
    return sum(max(0, per_item - n) for n in answers)


def word_per_item(study: Study, per_item: int) -> str:
    """Return how many answers items get; those of a live study get so many on average."""
    if study.allocate is None:
        return f"Each item gets {per_item} answers"
    return f"Items get {per_item} answers on average, none more than {study.allocate.most}"


@dataclass(frozen=True)
class SetPerItem:
    """Set how many answers each item is to get; None: as many as the study file says."""

    per_item: int | None
    name: ClassVar[str] = "quota"
    title: ClassVar[str] = "Set how many answers are wanted"

    def __post_init__(self) -> None:
        _check_number("answers per item", self.per_item)

    def explain(self, desk: Desk) -> list[str]:
        now = desk.store.control(desk.study.name).per_item
        counts = desk.store.answers_per_item(desk.study.name).values()
        if self.per_item is None:
            stored = desk.store.study(desk.study.name)
            to = now if stored is None else stored.per_item
            said = [f"{word_per_item(desk.study, to)}, as study.toml says; now it is {now}."]
        else:
            to = self.per_item
            said = [
                f"{word_per_item(desk.study, to)}; now it is {now}.",
                "This takes the place of per_item in study.toml, also after a restart.",
            ]
        missing = count_missing(desk.study, counts, to)
        said.append(f"{missing:,} answers to {len(counts):,} items are then still wanted.")
        if to < now:
            said.append("No answer is deleted; people may finish the items that they hold.")
        return said

    def do(self, desk: Desk) -> str:
        after = desk.store.set_per_item(desk.act, self.per_item).result()
        return f"{word_per_item(desk.study, after.per_item)}."


@dataclass(frozen=True)
class SetPeopleCap:
    """Set how many people may be given items; None: no limit."""

    people: int | None
    name: ClassVar[str] = "cap"
    title: ClassVar[str] = "Set the largest number of people"

    def __post_init__(self) -> None:
        _check_number("people", self.people)

    def explain(self, desk: Desk) -> list[str]:
        sessions = desk.store.sessions(desk.study.name)
        begun = sum(_has_begun(one) for one in sessions if one.excluded_at is None)
        if self.people is None:
            return [f"{begun:,} people have been given items; there is no limit any more."]
        left = max(0, self.people - begun)
        return [
            f"At most {self.people:,} people are given items. {begun:,} have been, without those "
            f"who were left out, so {left:,} more can begin.",
            "Whoever comes later is told that there is nothing left to do.",
        ]

    def do(self, desk: Desk) -> str:
        desk.store.set_people_cap(desk.act, self.people).result()
        return "There is no limit." if self.people is None else f"At most {self.people:,} people."


@dataclass(frozen=True)
class AddItems:
    """Add the items of a table; ``called`` is the name that the user knows it by."""

    table: Path
    called: str
    name: ClassVar[str] = "add"
    title: ClassVar[str] = "Add items"

    def explain(self, desk: Desk) -> list[str]:
        with self._checked(desk) as (_, _, items):
            pass
        ids = ", ".join(item.id for item in items[:LISTED])
        more = f" and {len(items) - LISTED:,} more" if len(items) > LISTED else ""
        wanted = len(items) * desk.store.control(desk.study.name).per_item
        return [
            f"{_count(len(items), 'item', 'items')} of {self.called} will join the "
            f"{len(desk.study.items):,} of the study: {ids}{more}.",
            f"{wanted:,} more answers are then wanted.",
            "People who are at work get them as well. An item that somebody has seen cannot be "
            "changed any more.",
        ]

    def do(self, desk: Desk) -> str:
        folder = desk.study.folder
        with self._checked(desk) as (table, study, items):
            batch_of = {one: name for name, ids in study.batches.items() for one in ids}
            rows = [ItemRow(i.id, i.kind, batch_of.get(i.id), i.digest) for i in items]
            # first the file: items in the database without a file could not be shown to anybody
            kept = studies.keep_table(folder, table, self.called)
            try:
                desk.store.add_items(desk.act, rows, kept.name).result()
            except SoftlabelError:
                kept.unlink(missing_ok=True)
                raise
        added = _count(len(items), "item was", "items were")
        return f"{added} added; their table is {kept.relative_to(folder)}."

    @contextmanager
    def _checked(self, desk: Desk) -> Iterator[tuple[Path, Study, tuple[Item, ...]]]:
        """Copy the table into the study's private folder; yield it, the study with its items, and
        these items."""
        suffix = Path(self.called).suffix.lower()
        if suffix not in TABLES:
            raise StoreError(f"{self.called}: a table of items ends in {' or '.join(TABLES)}")
        size = self.table.stat().st_size
        if size > LARGEST:
            most = f"at most {LARGEST // 1024**2} MB can be added at a time"
            raise StoreError(f"{self.called} has {size / 1024**2:.1f} MB; {most}: split the table")
        private = make_private_folder(desk.study.folder)
        with tempfile.TemporaryDirectory(dir=private, prefix="adding-") as folder:
            copy = Path(folder) / f"table{suffix}"
            shutil.copyfile(self.table, copy)
            yield copy, *studies.check_table(desk.study.folder, copy, self.called)


# ── people ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Exclude:
    """Leave a person out: the answers are marked, and others get their items."""

    annotator: str
    reason: str
    name: ClassVar[str] = "exclude"
    title: ClassVar[str] = "Leave a person out"

    def __post_init__(self) -> None:
        if not self.reason.strip() or "\0" in self.reason:
            raise StoreError("say why this person is left out: the reason stands in every export")
        if len(self.reason) > LONGEST_REASON:
            raise StoreError(f"the reason has more than {LONGEST_REASON} characters; shorten it")

    def explain(self, desk: Desk) -> list[str]:
        session = _find(desk, self.annotator)
        said = [
            f"The {session.answered:,} answers of {self.annotator} stay stored and are marked as "
            "left out in exports; labels, agreement and progress do not count them.",
            "The places that they took are free again, so that others answer these items.",
        ]
        if session.stage not in FINAL_STAGES:
            said.append(f"The session, which is at {session.stage}, ends.")
        return [*said, "You can take the person back in."]

    def do(self, desk: Desk) -> str:
        freed = desk.store.exclude(desk.act, self.annotator, self.reason.strip()).result()
        return (
            f"{self.annotator} is left out; {_count(freed, 'item is', 'items are')} wanted again."
        )


@dataclass(frozen=True)
class Include:
    """Take a person back in who was left out."""

    annotator: str
    name: ClassVar[str] = "include"
    title: ClassVar[str] = "Take a person back in"

    def explain(self, desk: Desk) -> list[str]:
        session = _find(desk, self.annotator)
        return [
            f"The {session.answered:,} answers of {self.annotator} count again. Items that were "
            "answered by others meanwhile have more answers than wanted.",
            "A session that was ended by leaving the person out goes on where it was.",
        ]

    def do(self, desk: Desk) -> str:
        taken = desk.store.include(desk.act, self.annotator).result()
        counts = _count(taken, "answer counts", "answers count")
        return f"{self.annotator} is back in; {counts} again."


@dataclass(frozen=True)
class EndSession:
    """End the session of a person; the answers count."""

    annotator: str
    name: ClassVar[str] = "end"
    title: ClassVar[str] = "End a person’s session"

    def explain(self, desk: Desk) -> list[str]:
        session = _find(desk, self.annotator)
        return [
            f"The session of {self.annotator}, which is at {session.stage}, ends, without a "
            "completion code. This cannot be undone.",
            f"The {session.answered:,} answers given so far stay and count; items that the person "
            "holds go to others.",
        ]

    def do(self, desk: Desk) -> str:
        desk.store.end_session(desk.act, self.annotator).result()
        return f"The session of {self.annotator} has ended."


def read_action(name: str, fields: Mapping[str, str]) -> Action:
    """Return the action that a form describes; adding items has a form of its own."""
    plain: dict[str, type[Action]] = {one.name: one for one in (Pause, Resume, Close, Reopen)}
    who = fields.get("annotator", "")
    if name in plain:
        return plain[name]()
    if name == SetPerItem.name:
        return SetPerItem(read_number("answers per item", fields.get("number", "")))
    if name == SetPeopleCap.name:
        return SetPeopleCap(read_number("people", fields.get("number", "")))
    if name == Exclude.name:
        return Exclude(who, fields.get("reason", ""))
    if name in (Include.name, EndSession.name):
        return Include(who) if name == Include.name else EndSession(who)
    raise StoreError(f"there is no action {name!r}")


def read_number(what: str, text: str) -> int | None:
    """Return a number from 1 on; None for nothing, or for ``none``."""
    text = text.strip().lower()
    if text in ("", "none"):
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 8):
        raise StoreError(f"{what} = {text!r}: write a whole number from 1 on, or none")
    return int(text)


def _check_number(what: str, number: int | None) -> None:
    if number is not None and not 1 <= number <= MOST:
        raise StoreError(f"{what} = {number}: must be from 1 to {MOST:,}, or none")


def _find(desk: Desk, annotator: str) -> Session:
    session = None if "\0" in annotator else desk.store.session_of(desk.study.name, annotator)
    if session is None:
        raise StoreError(f"study {desk.study.name!r} has no session of {annotator!r}")
    return session


def _has_begun(session: Session) -> bool:
    return session.lease_end > 0 or session.answered > 0 or session.skipped > 0


def _holders(desk: Desk) -> str:
    """Say how many people hold items now."""
    sessions = desk.store.sessions(desk.study.name)
    holders = sum(one.lease_end > desk.now and one.stage == "task" for one in sessions)
    return f"{_count(holders, 'person holds', 'people hold')} some"


def _count(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"
