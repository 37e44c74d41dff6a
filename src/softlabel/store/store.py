"""The store: one object, safe to use from any thread, through which everything is kept."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import sqlalchemy as sa

from softlabel.errors import StoreError
from softlabel.store import answers, assign, control, engine, ranks, reads, rows, sessions, studies
from softlabel.store import payments as ledger
from softlabel.store import submissions as platform
from softlabel.store.control import Act
from softlabel.store.engine import Engines, make_engines
from softlabel.store.file import to_mark
from softlabel.store.writer import Writer, checkpoint, first_line, writing_connection

P = ParamSpec("P")
T = TypeVar("T")


class Store:
    """Writes return futures that resolve when the data are on the disk; reads return at once.

    Times are seconds since 1970 by the caller's clock.
    """

    def __init__(self, engines: Engines, *, read_only: bool = False, rehearsal: bool = False):
        self._engines = engines
        self.rehearsal = rehearsal
        self._writer = Writer(engines)
        if read_only:
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finish the queued writes, and close the database."""
        self._writer.close()
        self._engines.dispose()

    @property
    def name(self) -> str:
        """The path or the address of the database, without its password."""
        return self._engines.name

    @property
    def id(self) -> str:
        """The id of the database, which does not depend on its name or place."""
        id = self._read(engine.read_identity)
        assert id is not None, "the database got an id when it was opened"
        return id

    def check(self) -> None:
        """Raise if SQLite finds the file damaged; PostgreSQL checks itself."""
        if self._engines.is_sqlite:
            query = "PRAGMA quick_check(1)"
            verdict = self._read(lambda connection: connection.exec_driver_sql(query).scalar())
            if verdict != "ok":
                raise StoreError(
                    f"{self.name} is damaged: {verdict}; restore a backup with softlabel restore"
                )

    def probe(self) -> Future[None]:
        """Write something that changes nothing; resolves if answers can be stored."""
        return self._write(engine.write_and_undo)

    # ── the study ────────────────────────────────────────────────────────────────────────────

    def put_study(
        self,
        name: str,
        toml: str,
        labels: Sequence[str],
        items: Sequence[rows.ItemRow],
        per_item: int,
        now: float,
        mode: Mapping[str, Any] | None = None,
    ) -> Future[None]:
        """Bring the store up to date with the study; may be called any number of times.

        The file is kept as it was at the first answer; a later change is recorded as an event.
        Labels, ``mode`` (its name, version, options and frame), and the kind, batch and content of
        items may not change once people have answered or seen them.  The version of the mode may;
        that is recorded as an event.  An item that is no longer in ``items`` is not shown again.
        """
        new = studies.NewStudy(name, toml, tuple(labels), tuple(items), per_item, mode)
        return self._write(studies.put, new, now)

    def study(self, name: str) -> rows.StoredStudy | None:
        return self._read(studies.find, name)

    # ── running it ───────────────────────────────────────────────────────────────────────────

    def control(self, study: str) -> rows.Control:
        """Return how the study is being run: open, paused or closed, quota and cap."""
        return self._read(sessions.get_control, study)

    def move_study(self, act: Act, action: str) -> Future[rows.Control]:
        """Do one of pause, resume, close and reopen; a Conflict if the study is not at that."""
        return self._write(control.move, act, action)

    def set_per_item(self, act: Act, quota: int | None) -> Future[rows.Control]:
        """Set the number of answers wanted per item; None: as in the study file."""
        return self._write(control.set_per_item, act, quota)

    def set_people_cap(self, act: Act, cap: int | None) -> Future[rows.Control]:
        """Set the largest number of people who may be given items; None: no limit."""
        return self._write(control.set_people_cap, act, cap)

    def add_items(
        self, act: Act, items: Sequence[rows.ItemRow], source: str
    ) -> Future[rows.Control]:
        """Add target items to a study; a Conflict if it has, or had, one of that id."""
        return self._write(control.add_items, act, items, source)

    def exclude(self, act: Act, annotator: str, reason: str) -> Future[int]:
        """Leave a person out: the answers are marked, and their places are free again."""
        return self._write(control.exclude, act, annotator, reason)

    def include(self, act: Act, annotator: str) -> Future[int]:
        """Undo ``exclude``; items may get more answers than wanted."""
        return self._write(control.include, act, annotator)

    def end_session(self, act: Act, annotator: str) -> Future[rows.Session]:
        """End a person's session; the answers stay and count."""
        return self._write(control.end_session, act, annotator)

    def audit(
        self, study: str, *, before: int | None = None, most: int = 100
    ) -> tuple[rows.AuditEntry, ...]:
        """Return the newest entries of the audit log before number ``before``, newest first."""
        values = {"of": study, "before": before or reads.LAST_NUMBER, "most": most}
        return tuple(map(reads.to_audit_entry, self._rows(reads.AUDIT, values)))

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
    ) -> Future[rows.Session]:
        """Create or resume the one session of this person; the token opens it from now on.

        A person who returns with another recruiter session is a Conflict.
        """
        entry = sessions.Entry(
            study, annotator, token_hash, label_order_of, seed, recruiter_session, self.rehearsal
        )
        return self._write(sessions.enter, entry, now)

    def session(self, token_hash: str) -> rows.Session | None:
        return self._first(sessions.BY_TOKEN, {"token": token_hash}, sessions.to_session)

    def session_of(self, study: str, annotator: str) -> rows.Session | None:
        return self._read(sessions.find_by_annotator, study, annotator)

    def sessions(self, study: str) -> tuple[rows.Session, ...]:
        """Return all sessions of a study, in the order of entering."""
        return tuple(map(sessions.to_session, self._rows(sessions.BY_STUDY, {"of": study})))

    def unanswered(self, some: Sequence[str]) -> dict[str, float]:
        """Of these sessions, return those in progress without an answer, and their lease ends."""
        unanswered = self._rows(sessions.UNANSWERED, {"some": some})
        return {row.id: row.lease_end for row in unanswered}

    def set_stage(
        self,
        session_id: str,
        stage: str,
        *,
        event: str,
        detail: Mapping[str, object],
        now: float,
        leaves: str | None = None,
    ) -> Future[rows.Session]:
        """Move the session to a stage and add an event; release what a leaving person holds.

        ``leaves`` is the stage it must still be at: if two move it at once, one is refused.
        """
        return self._write(sessions.set_stage, session_id, stage, event, detail, now, leaves)

    def set_language(self, session_id: str, language: str) -> Future[None]:
        """Keep the language in which a person takes part."""
        return self._write(sessions.set_language, session_id, language)

    def quiz_try(
        self, session_id: str, passed: bool, detail: Mapping[str, object], now: float
    ) -> Future[rows.Session]:
        return self._write(sessions.count_quiz_try, session_id, passed, detail, now)

    def finish(self, session_id: str, now: float) -> Future[rows.Session]:
        """End the session of a person who is done, and release what they did not answer."""
        return self.set_stage(session_id, "done", event="finished", detail={}, now=now)

    def withdraw(self, session_id: str, forget: bool, now: float) -> Future[rows.Session | None]:
        """End the session of a person who leaves; ``forget`` deletes every row about them."""
        task = partial(sessions.withdraw, session_id=session_id, erase=forget, now=now)
        return self._writer.submit(task, cleans=forget)

    def forget(self, study: str, annotator: str) -> Future[dict[str, int]]:
        """Delete every row about a person, and their words from the files of an SQLite database;
        resolves to the number of rows by table."""
        task = partial(sessions.forget, of=study, annotator=annotator)
        return self._writer.submit(task, cleans=True)

    # ── items ────────────────────────────────────────────────────────────────────────────────

    def lease(self, session_id: str, plan: rows.Plan, now: float) -> Future[rows.Portion]:
        """Give the session what to answer next, and more when the open showings run out.  If none
        is open there is nothing left for this person to do."""
        return self._write(assign.lease, session_id, plan, now)

    def showings(self, session_id: str) -> tuple[rows.Showing, ...]:
        """Return everything that the session was given so far, in order."""
        return tuple(map(rows.Showing._make, self._rows(assign.SHOWN, {"me": session_id})))

    def missing(self, session_id: str) -> tuple[int, ...]:
        """Return the positions that still wait for an answer."""
        return tuple(row.position for row in self._rows(assign.OPEN, {"me": session_id}))

    def has_room(self, study: str, *, batches: bool, live: rows.Live | None = None) -> bool:
        """Return whether a person who enters now would get an item, or a seat in a batch."""
        return self._read(assign.has_room, study, batches=batches, live=live)

    def release_expired(self, study: str, now: float) -> Future[int]:
        """Release what people hold whose lease has ended; resolves to the number of showings."""
        return self._write(sessions.release_expired, study, now)

    # ── ranking them ─────────────────────────────────────────────────────────────────────────

    def put_ranking(self, study: str, most: int | None) -> Future[None]:
        """Begin to rank the items of a study, with at most so many answers each; None: end it."""
        return self._write(ranks.put, study, most)

    def ranking(self, study: str) -> rows.Ranking | None:
        """Return how items are ranked; None if they are not."""
        return self._read(ranks.find, study)

    def claim_ranking(self, study: str, now: float, every: float) -> Future[bool]:
        """Resolves to whether the caller is to rank now: one process does, in ``every`` seconds."""
        return self._write(ranks.claim, study, now, every)

    def weigh(self, study: str, weights: Mapping[str, float]) -> Future[None]:
        """Set what one more answer to each of these items is worth; 0: it is done."""
        return self._write(ranks.weigh, study, weights)

    def report_ranking(
        self, study: str, places: int | None, explore: float, known: Mapping[str, object]
    ) -> Future[None]:
        """Set how many places all items have together, the share that is given out at random, and
        what is known of the study."""
        return self._write(ranks.report, study, places, explore, known)

    # ── answers ──────────────────────────────────────────────────────────────────────────────

    def answer(
        self,
        session_id: str,
        response: rows.NewResponse,
        now: float,
        *,
        most_skips: int | None = None,
    ) -> Future[rows.Ack]:
        """Store a response; the same response twice is stored once.  A Conflict is: another
        response under its id, a new one by a person who has left, and more than ``MAX_REVISIONS``
        revisions.  A response to no showing is Absent.  A skip is stored, too, and gives the item
        to somebody else; a person who skips more than ``most_skips`` items is screened out."""
        arrival = answers.Arrival(session_id, response, now, most_skips)
        return self._writer.submit_alike(answers.answer, answers.answer_many, arrival)

    def responses(
        self, study: str, *, after: int = 0, limit: int | None = None
    ) -> Iterator[rows.ResponseRow]:
        """Yield every response, in the order of storing, after number ``after``."""
        values = {"of": study, "after": after}
        pieces = reads.read_pieces(self._rows, reads.RESPONSES, values, limit)
        return map(reads.to_response, pieces)

    def latest(self, study: str, count: int) -> tuple[rows.ResponseRow, ...]:
        """Return the last responses, newest first."""
        return self._responses(reads.LATEST, {"of": study, "most": count})

    def before_latest(self, study: str, count: int) -> int:
        """Return the ``after`` with which ``responses`` yields the latest so many responses."""
        values = {"of": study, "count": count}
        return self._first(reads.BEFORE_LATEST, values, lambda row: int(row.seq)) or 0

    def responses_to(self, study: str, item: str) -> tuple[rows.ResponseRow, ...]:
        return self._responses(reads.OF_ITEM, {"of": study, "item": item})

    def responses_by(self, study: str, annotator: str) -> tuple[rows.ResponseRow, ...]:
        return self._responses(reads.OF_ANNOTATOR, {"of": study, "who": annotator})

    def find_responses(
        self, study: str, filters: rows.Filters, *, before: int | None = None, most: int = 100
    ) -> tuple[rows.ResponseRow, ...]:
        """Return the newest matching responses before number ``before``, newest first."""
        values = {"of": study, "before": before or reads.LAST_NUMBER, "most": most}
        return self._responses(reads.select_responses(filters), values)

    def commented(
        self, study: str, *, before: int | None = None, most: int = 100
    ) -> tuple[rows.ResponseRow, ...]:
        """Return the newest responses whose payload has a comment, newest first."""
        values = {"of": study, "before": before or reads.LAST_NUMBER, "most": most}
        return self._responses(reads.COMMENTED, values)

    def minutes(self, study: str) -> dict[str, rows.Minutes]:
        """Return how long everybody took who answered or skipped something, by person."""
        return self._read(reads.get_minutes, study)

    def timings(self, study: str, *, after: int = 0) -> Iterator[rows.TimedAnswer]:
        """Yield what was answered and how long it took, in the order of storing."""
        values = {"of": study, "after": after}
        return map(reads.to_timed_answer, reads.read_pieces(self._rows, reads.TIMINGS, values))

    # ── events and invitations ───────────────────────────────────────────────────────────────

    def event(
        self, study: str, annotator: str | None, name: str, detail: Mapping[str, object], now: float
    ) -> Future[None]:
        return self._write(sessions.add_event, study, annotator, name, detail, now)

    def events(self, study: str, name: str | None = None) -> Iterator[rows.Event]:
        statement = reads.EVENTS if name is None else reads.NAMED_EVENTS
        values = {"of": study} if name is None else {"of": study, "name": name}
        return map(reads.to_event, reads.read_pieces(self._rows, statement, values))

    def debriefs(self, study: str) -> Iterator[rows.Event]:
        """Yield the answers of the debrief: the events called ``debrief``."""
        return self.events(study, "debrief")

    def invite(
        self, study: str, name: str, token_hash: str, now: float, *, annotator: str | None = None
    ) -> Future[None]:
        """Store a personal link; with ``annotator``, forgetting that person deletes it."""
        new = rows.Invitation(study, name, annotator, now, None)
        return self._write(sessions.invite, new, token_hash)

    def revoke(self, study: str, name: str, now: float) -> Future[None]:
        return self._write(sessions.revoke, study, name, now)

    def invitation(self, token_hash: str) -> rows.Invitation | None:
        return self._first(sessions.LINK_BY_TOKEN, {"token": token_hash}, rows.Invitation._make)

    def invitations(self, study: str) -> tuple[rows.Invitation, ...]:
        return tuple(map(rows.Invitation._make, self._rows(sessions.LINKS_BY_STUDY, {"of": study})))

    # ── payments ─────────────────────────────────────────────────────────────────────────────

    def work(self, study: str) -> tuple[ledger.Work, ...]:
        """Return what each person has done, in the order of entering."""
        return tuple(map(ledger.to_work, self._rows(ledger.WORK, {"of": study})))

    def payments(self, study: str) -> tuple[ledger.Payment, ...]:
        """Return the ledger of a study, by person."""
        return tuple(map(ledger.to_payment, self._rows(ledger.BY_STUDY, {"of": study})))

    def plan_payments(
        self,
        new: Sequence[ledger.NewPayment],
        now: float,
        actor: str,
        *,
        most_each: int | None = None,
        most: int | None = None,
    ) -> Future[tuple[ledger.Payment, ...]]:
        """Add those payments that are not in the ledger yet; resolves to them.  More than
        ``most_each`` for one person, or ``most`` in all, is a Conflict."""
        return self._write(ledger.plan, new, now, actor, most_each, most)

    def move_payments(
        self,
        ids: Sequence[str],
        from_state: str,
        to_state: str,
        transfer: str | None,
        now: float,
        actor: str,
    ) -> Future[tuple[ledger.Payment, ...]]:
        """Move payments from planned to approved, sent (with a new ``transfer``) or confirmed (with
        that transfer).  If one of them is at another state it is a Conflict, and none moves."""
        return self._write(ledger.move, ids, from_state, to_state, transfer, now, actor)

    def undo_transfer(
        self, transfer: str, reason: str, now: float, actor: str
    ) -> Future[tuple[ledger.Payment, ...]]:
        """Make what was sent approved again; only if it is proved that nothing of it was paid."""
        return self._write(ledger.undo, transfer, reason, now, actor)

    def drop_payments(
        self, study: str, now: float, actor: str
    ) -> Future[tuple[ledger.Payment, ...]]:
        """Delete all payments that were not sent; resolves to them."""
        return self._write(ledger.drop, study, now, actor)

    # ── what the platform says ───────────────────────────────────────────────────────────────

    def record_submission(self, news: platform.Submission) -> Future[platform.News]:
        """Take in the status of a visit if it is newer than what is known; give back what a person
        holds who has returned the study or ran out of time."""
        return self._write(platform.record, news)

    def record_message(
        self, id: str, news: platform.Submission, *, is_ours: bool
    ) -> Future[platform.News | None]:
        """Take in a message of the platform; None if it was taken in before or is not for us."""
        return self._write(platform.record_message, id, news, is_ours)

    def submissions(self, study: str) -> tuple[platform.Submission, ...]:
        """Return what is known about the visits of a study."""
        return tuple(map(platform.Submission._make, self._rows(platform.BY_STUDY, {"of": study})))

    def audit_platform(
        self, study: str, action: str, detail: Mapping[str, Any], now: float, actor: str
    ) -> Future[None]:
        """Record in the audit log what was asked of the platform, and by whom."""
        return self._write(platform.add_audit, study, action, dict(detail), now, actor)

    # ── counts ───────────────────────────────────────────────────────────────────────────────

    def progress(self, study: str) -> rows.Progress:
        return self._read(reads.get_progress, study)

    def crowd(self, study: str | None = None) -> rows.Crowd:
        """Count people and simulated people in one study, or in all of them."""
        return self._read(reads.count_crowd, study)

    def answers_per_item(self, study: str) -> dict[str, int]:
        """Return the number of answers that count, by target; targets without any are included."""
        return {name: count for name, count in self._rows(reads.PER_ITEM, {"of": study})}

    def taken_per_batch(self, study: str) -> dict[str, int]:
        """Return the number of seats taken, by batch."""
        return {row.name: row.taken for row in self._rows(reads.PER_BATCH, {"of": study})}

    def counts(self, study: str) -> dict[str, int]:
        """Return the number of rows of a study, by table."""
        return self._read(reads.count_rows, study)

    def newest(self) -> float | None:
        """Return the latest time at which anything was written, in any study, or None."""
        return self._read(reads.find_newest_time)

    def _rows(self, statement: sa.Select[Any], values: dict[str, Any]) -> Sequence[Any]:
        return self._read(lambda connection: connection.execute(statement, values).all())

    def _responses(
        self, statement: sa.Select[Any], values: dict[str, Any]
    ) -> tuple[rows.ResponseRow, ...]:
        return tuple(map(reads.to_response, self._rows(statement, values)))

    def _first(
        self, statement: sa.Select[Any], values: dict[str, Any], make: Callable[[Any], T]
    ) -> T | None:
        matches = self._rows(statement, values)
        return make(matches[0]) if matches else None

    def _write(
        self, do: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        return self._writer.submit(lambda connection: do(connection, *args, **kwargs))

    def _read(
        self, look: Callable[Concatenate[sa.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            with self._engines.read.connect() as connection:
                result = look(connection, *args, **kwargs)
            self._engines.check()
            return result
        except sa.exc.SQLAlchemyError as error:
            raise StoreError(f"{self.name}: {first_line(error)}") from error


def open(
    place: str | Path, *, create: bool = True, read_only: bool = False, rehearsal: bool = False
) -> Store:
    """Open the store at a path, ``sqlite:///…`` or ``postgresql://…``, and migrate its schema.

    ``create=False`` refuses a database that does not exist yet.  With ``read_only`` nothing is
    changed, not even the schema: one of another version is refused.  Everybody who enters during
    a ``rehearsal`` is marked as simulated for ever.
    """
    engines = make_engines(place, create=create, read_only=read_only)
    try:
        if read_only:
            engine.refuse_older(engines)
        else:
            engine.upgrade(engines, create=create)
            if engines.is_sqlite:  # write its id into the header, and begin a new generation
                with engines.read.connect() as connection:
                    mark = to_mark(engine.read_identity(connection) or "0")
                with writing_connection(engines) as writing:
                    if writing.execute("PRAGMA application_id").fetchone() != (mark,):
                        writing.execute(f"PRAGMA application_id = {mark}")
                checkpoint(engines)
    except (sa.exc.DBAPIError, sqlite3.Error) as error:
        engines.dispose()
        raise StoreError(f"cannot open the database {engines.name}: {first_line(error)}") from None
    except StoreError:
        engines.dispose()
        raise
    return Store(engines, read_only=read_only, rehearsal=rehearsal)
