"""The store: one object, safe to use from any thread, through which everything is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

import sqlalchemy as sa

from softlabel.errors import StoreError
from softlabel.store import (
    answers,
    assign,
    bulk,
    forget,
    invitations,
    migrate,
    pick,
    places,
    reads,
    sessions,
    studies,
    summaries,
)
from softlabel.store.engine import Engines, locate, make_engines, shown
from softlabel.store.file import mark_of
from softlabel.store.jobs import reason
from softlabel.store.rows import (
    Ack,
    Crowd,
    Event,
    Invitation,
    ItemRow,
    NewResponse,
    Plan,
    Portion,
    Progress,
    ResponseRow,
    Session,
    Showing,
    StoredStudy,
    TimedAnswer,
)
from softlabel.store.writer import Writer, driver, renew

P = ParamSpec("P")
T = TypeVar("T")


def name_of(place: str | Path) -> str:
    """What a database at this place is called, without its password."""
    path, url = locate(place)
    return str(path) if url is None else shown(url)


def open(
    place: str | Path, *, create: bool = True, read_only: bool = False, rehearsal: bool = False
) -> Store:
    """The store at a path, ``sqlite:///…`` or ``postgresql://…``, brought up to date.

    ``create=False`` refuses a database that is not there yet.  With ``read_only`` nothing is
    changed, not even the schema: one of another version is refused.  Whoever enters during a
    ``rehearsal`` is marked as simulated for ever.
    """
    engines = make_engines(place, create=create, read_only=read_only)
    try:
        if read_only:
            migrate.refuse_older(engines)
        else:
            migrate.upgrade(engines, create=create)
            _mark(engines)
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        engines.dispose()
        raise StoreError(f"cannot open the database {engines.name}: {reason(error)}") from None
    except StoreError:
        engines.dispose()
        raise
    return Store(engines, read_only=read_only, rehearsal=rehearsal)


def _mark(engines: Engines) -> None:
    """Write into the file itself which database it is, and begin a new generation of it."""
    if not engines.is_sqlite:
        return
    with engines.read.connect() as connection:
        mark = mark_of(migrate.identify(connection) or "0")
    with driver(engines) as writing:
        if writing.execute("PRAGMA application_id").fetchone() != (mark,):
            writing.execute(f"PRAGMA application_id = {mark}")
    renew(engines)


class Store:
    """Writes return futures that resolve when the disk has them; reads return what they found.

    Times are seconds since 1970 as the caller's clock has them.
    """

    def __init__(
        self, engines: Engines, *, read_only: bool = False, rehearsal: bool = False
    ) -> None:
        self._engines = engines
        self.rehearsal = rehearsal
        self._writer = Writer(engines)
        if read_only:
            self._writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Finish what was asked for, and let go of the database."""
        self._writer.close()
        self._engines.dispose()

    @property
    def name(self) -> str:
        """Where the database is, without its password."""
        return self._engines.name

    @property
    def id(self) -> str:
        """Which database this is, whatever it is called and wherever it is."""
        found = self._read(migrate.identify)
        assert found is not None, "it was given one when it was opened"
        return found

    def check(self) -> None:
        """Raise if SQLite finds the file damaged; PostgreSQL looks after itself."""
        if self._engines.is_sqlite:
            found = self._read(_quick_check)
            if found != "ok":
                raise StoreError(
                    f"{self.name} is damaged: {found}; restore a backup with softlabel restore"
                )

    def probe(self) -> Future[None]:
        """Write something that changes nothing: resolves if answers can be stored."""
        return self._write(migrate.touch)

    # ── the study ────────────────────────────────────────────────────────────────────────────

    def put_study(
        self,
        name: str,
        toml: str,
        labels: Sequence[str],
        items: Sequence[ItemRow],
        per_item: int,
        now: float,
        mode: Mapping[str, Any] | None = None,
    ) -> Future[None]:
        """Bring the store up to the study; again and again if you like.

        The file is kept as it was at the first answer; a later change is written as an event.
        Labels, ``mode`` (its name, version, options and frame), and the kind, batch and content of
        items may not change once people have answered or seen them; the version of the mode may,
        and that is an event.  An item that is no longer among ``items`` is never shown again.
        """
        new = studies.NewStudy(name, toml, tuple(labels), tuple(items), per_item, mode)
        return self._write(studies.put, new, now)

    def study(self, name: str) -> StoredStudy | None:
        return self._read(studies.find, name)

    # ── people ───────────────────────────────────────────────────────────────────────────────

    def enter(
        self,
        study: str,
        annotator: str,
        token_hash: str,
        *,
        label_order_of: Callable[[int], Sequence[str]],
        seed: int,
        recruiter_session: str | None,
        now: float,
    ) -> Future[Session]:
        """The one session of this person, new or resumed; the token opens it from now on.

        Who comes back from the recruiter as another session is a Conflict.
        """
        entry = sessions.Entry(
            study, annotator, token_hash, label_order_of, seed, recruiter_session, self.rehearsal
        )
        return self._write(sessions.enter, entry, now)

    def session(self, token_hash: str) -> Session | None:
        return self._read(sessions.by_token, token_hash)

    def session_of(self, study: str, annotator: str) -> Session | None:
        return self._read(sessions.by_annotator, study, annotator)

    def sessions(self, study: str) -> tuple[Session, ...]:
        """Everybody who came in, in that order."""
        return self._read(sessions.by_study, study)

    def unanswered(self, some: Sequence[str]) -> dict[str, float]:
        """Of these sessions, those under way that have no answer, and when their lease ends."""
        return self._read(sessions.unanswered, some)

    def set_stage(
        self,
        session_id: str,
        stage: str,
        *,
        event: str,
        detail: Mapping[str, object],
        now: float,
        leaves: str | None = None,
    ) -> Future[Session]:
        """Move the session on and write an event; whoever leaves gives back what they hold.

        ``leaves`` is the stage it must still be at: of two who move it at once, one is refused.
        """
        return self._write(sessions.set_stage, session_id, stage, event, detail, now, leaves)

    def quiz_try(
        self, session_id: str, passed: bool, detail: Mapping[str, object], now: float
    ) -> Future[Session]:
        return self._write(sessions.quiz_try, session_id, passed, detail, now)

    def finish(self, session_id: str, now: float) -> Future[Session]:
        """The person is done; what they did not answer is given back."""
        return self.set_stage(session_id, "done", event="finished", detail={}, now=now)

    def withdraw(self, session_id: str, forget: bool, now: float) -> Future[Session | None]:
        """The person leaves; ``forget`` deletes every row about them and returns None."""
        task = partial(_withdraw, session_id=session_id, forgets=forget, now=now)
        return self._writer.submit(task, cleans=forget)

    def forget(self, study: str, annotator: str) -> Future[dict[str, int]]:
        """Delete every row about a person; how many went from each table.

        When it resolves their words are gone from the files of an SQLite database, too.
        """
        task = partial(forget.forget, of=study, annotator=annotator)
        return self._writer.submit(task, cleans=True)

    # ── items ────────────────────────────────────────────────────────────────────────────────

    def lease(self, session_id: str, plan: Plan, now: float) -> Future[Portion]:
        """What the session is to answer next; more is added when the open showings run out.

        If none of them is open there is nothing left for this person to do.
        """
        return self._write(assign.lease, session_id, plan, now)

    def showings(self, session_id: str) -> tuple[Showing, ...]:
        """Everything that the session was given so far, in order."""
        return self._read(assign.showings, session_id)

    def missing(self, session_id: str) -> tuple[int, ...]:
        """The positions that still wait for an answer."""
        return self._read(assign.missing, session_id)

    def has_room(self, study: str, *, batches: bool) -> bool:
        """Whether somebody who comes now would be given something, a seat in a batch or an item."""
        return self._read(pick.has_room, study, batches=batches)

    def release_expired(self, study: str, now: float) -> Future[int]:
        """Give back what people hold whose lease has ended; how many showings."""
        return self._write(places.release_expired, study, now)

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def answer(
        self, session_id: str, response: NewResponse, now: float, *, most_skips: int | None = None
    ) -> Future[Ack]:
        """Store an answer; the same one twice is stored once, another one is a Conflict.

        So is a new one of somebody who has left, and one more revision than ``MOST_REVISIONS``;
        one to no showing is Absent.  A skip is stored,
        too, and gives the item to somebody else; who skips more than ``most_skips`` is screened
        out.
        """
        arrival = answers.Arrival(session_id, response, now, most_skips)
        return self._writer.submit_alike(answers.answer, bulk.answer_many, arrival)

    def responses(
        self, study: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[ResponseRow]:
        """Every answer, in the order of storing, from the one after number ``after`` on."""
        values = {"of": study, "after": after}
        rows = reads.pieces(self._read, reads.RESPONSES, values, limit)
        return map(reads.response_of, rows)

    def latest(self, study: str, count: int) -> tuple[ResponseRow, ...]:
        """The last answers, newest first."""
        return self._responses(reads.LATEST, {"of": study, "most": count})

    def before_latest(self, study: str, count: int) -> int:
        """What to give ``responses`` as ``after`` to get the latest so many answers."""
        return self._read(summaries.before_latest, study, count)

    def responses_to(self, study: str, item: str) -> tuple[ResponseRow, ...]:
        return self._responses(reads.OF_ITEM, {"of": study, "item": item})

    def responses_by(self, study: str, annotator: str) -> tuple[ResponseRow, ...]:
        return self._responses(reads.OF_ANNOTATOR, {"of": study, "who": annotator})

    # ── what else happened ───────────────────────────────────────────────────────────────────

    def event(
        self, study: str, annotator: str | None, name: str, detail: Mapping[str, object], now: float
    ) -> Future[None]:
        return self._write(sessions.note, study, annotator, name, detail, now)

    def events(self, study: str, name: str | None = None) -> Iterator[Event]:
        statement = reads.EVENTS if name is None else reads.NAMED_EVENTS
        values = {"of": study} if name is None else {"of": study, "name": name}
        return map(reads.event_of, reads.pieces(self._read, statement, values))

    def debriefs(self, study: str) -> Iterator[Event]:
        """What people said at the end: the events called ``debrief``."""
        return self.events(study, "debrief")

    def invite(
        self, study: str, name: str, token_hash: str, now: float, *, annotator: str | None = None
    ) -> Future[None]:
        """Keep a personal link; with ``annotator``, forgetting that person deletes it."""
        new = Invitation(study, name, annotator, now, None)
        return self._write(invitations.invite, new, token_hash)

    def revoke(self, study: str, name: str, now: float) -> Future[None]:
        return self._write(invitations.revoke, study, name, now)

    def invitation(self, token_hash: str) -> Invitation | None:
        return self._read(invitations.by_token, token_hash)

    def invitations(self, study: str) -> tuple[Invitation, ...]:
        return self._read(invitations.by_study, study)

    # ── how far it is ────────────────────────────────────────────────────────────────────────

    def progress(self, study: str) -> Progress:
        return self._read(summaries.progress, study)

    def crowd(self, study: str | None = None) -> Crowd:
        """How many people and simulated people came, to one study or to any of them."""
        return self._read(summaries.crowd, study)

    def answers_per_item(self, study: str) -> dict[str, int]:
        return self._read(summaries.answers_per_item, study)

    def taken_per_batch(self, study: str) -> dict[str, int]:
        return self._read(summaries.taken_per_batch, study)

    def counts(self, study: str) -> dict[str, int]:
        """Rows by table."""
        return self._read(summaries.counts, study)

    def newest(self) -> float | None:
        """The latest time at which something was written, in any study; None if nothing was."""
        return self._read(summaries.newest)

    def timings(self, study: str, *, after: int = 0) -> Iterator[TimedAnswer]:
        """What was answered and how long it took, in the order of storing."""
        values = {"of": study, "after": after}
        return map(reads.timed_of, reads.pieces(self._read, reads.TIMINGS, values))

    def _responses(
        self, statement: sa.Select[tuple[object, ...]], values: dict[str, object]
    ) -> tuple[ResponseRow, ...]:
        return tuple(map(reads.response_of, self._read(reads.rows_of, statement, values)))

    def _write(
        self, do: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        return self._writer.submit(lambda connection: do(connection, *args, **kwargs))

    def _read(
        self, look: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            with self._engines.read.connect() as connection:
                found = look(connection, *args, **kwargs)
            self._engines.check()
            return found
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(f"{self.name}: {reason(error)}") from error


def _quick_check(connection: sa.Connection) -> str:
    return str(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar())


def _withdraw(
    connection: sa.Connection, session_id: str, forgets: bool, now: float
) -> Session | None:
    me = sessions.set_stage(connection, session_id, "withdrawn", "withdrawn", {}, now)
    if not forgets:
        return me
    forget.forget(connection, me.study, me.annotator)
    return None
