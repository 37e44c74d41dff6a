"""The one writer: a thread that does jobs in groups, and answers when they are on the disk."""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import sqlalchemy as sa

from softlabel.errors import StoreError
from softlabel.store import engine
from softlabel.store.engine import Engines, begin
from softlabel.store.file import Watched
from softlabel.store.jobs import Job, Many, Outcome, Task, alone, attempt_all, reason
from softlabel.store.scrub import scrub

LARGEST_GROUP = 256
TRIES = 4  # of a group that PostgreSQL asks to be done again
AGAIN = {"40001", "40P01"}  # serialization failure, deadlock
JOBS_IN_LOG = 256  # after so many an SQLite log is moved into its file

A = TypeVar("A")
T = TypeVar("T")


class Writer:
    """Takes jobs from any thread; does them one after the other, many to a transaction.

    A job that fails is undone alone.  A transaction that cannot be committed fails all its jobs;
    the next one starts afresh.
    """

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._door = threading.Lock()
        self._open = True
        self._logged = 0
        self._thread = threading.Thread(target=self._run, name="softlabel-writer", daemon=True)
        self._thread.start()

    def submit(self, task: Task[T], *, cleans: bool = False) -> Future[T]:
        """Have something done; ``cleans`` says that what it deletes must be gone from the disk."""
        return self._put(Job(task, Future(), cleans))

    def submit_alike(
        self, one: Callable[[sa.Connection, A], T], many: Many, argument: A
    ) -> Future[T]:
        """Have something done that is cheaper done together with others of its kind."""
        return self._put(Job(alone(one, argument), Future(), False, many, argument))

    def close(self) -> None:
        """Do what was asked for, then stop."""
        with self._door:
            if self._open:
                self._open = False
                self._jobs.put(None)
        self._thread.join()

    def _put(self, job: Job) -> Future[Any]:
        with self._door:
            if not self._open:
                raise StoreError(f"the store {self._engines.name} is closed")
            self._jobs.put(job)
        return job.future

    def _run(self) -> None:
        stopping = False
        while not stopping:
            waiting = [self._jobs.get()]
            while len(waiting) < LARGEST_GROUP and not self._jobs.empty():
                waiting.append(self._jobs.get())
            stopping = None in waiting
            group = [job for job in waiting if job and job.future.set_running_or_notify_cancel()]
            if group:
                self._do(group)
                self._tidy(len(group))

    def _do(self, group: list[Job]) -> None:
        with Outcome() as done:
            done.value = self._transaction(group)
        if done.error is not None:
            for job in group:
                self._failed(done).tell(job.future)
            return
        told = list(zip(group, done.value, strict=True))
        for job, outcome in told:
            if not job.cleans:
                outcome.tell(job.future)
        if any(job.cleans for job in group):
            self._clean([(job, outcome) for job, outcome in told if job.cleans])

    def _transaction(self, group: list[Job]) -> list[Outcome]:
        for left in reversed(range(TRIES)):
            try:
                self._engines.check()
                with self._engines.write.connect() as connection, connection.begin():
                    begin(connection)
                    done = list(attempt_all(connection, group))
                self._engines.check()  # nothing is acknowledged that is not in the file
                return done
            except sa.exc.DBAPIError as error:
                if not left or getattr(error.orig, "sqlstate", None) not in AGAIN:
                    raise
        raise AssertionError("the last try either returns or raises")

    def _failed(self, done: Outcome) -> Outcome:
        """Each job's own copy of the news that the whole transaction is lost."""
        failed = Outcome()
        failed.error = done.error
        if isinstance(done.error, sa.exc.SQLAlchemyError):
            text = f"{self._engines.name}: {reason(done.error)}; nothing was stored"
            failed.error = StoreError(text)
        return failed

    def _clean(self, told: list[tuple[Job, Outcome]]) -> None:
        """Scrub the files of what was deleted, and only then tell."""
        with Outcome() as scrubbed:
            scrubbed.value = self._scrub()
        why = reason(scrubbed.error) if scrubbed.error else "another program is reading"
        for job, outcome in told:
            if not scrubbed.value and outcome.error is None:
                outcome.error = StoreError(
                    f"the rows are deleted, but traces of them may be left in {self._engines.name} "
                    f"or beside it: {why}; ask again"
                )
            outcome.tell(job.future)

    def _scrub(self) -> bool:
        """The log of an SQLite database and unused space in its pages would keep old rows."""
        file = self._engines.file
        if not isinstance(file, Watched):
            return True
        with driver(self._engines) as connection:
            return scrub(connection, file, engine.SECONDS_TO_WAIT)

    def _tidy(self, done: int) -> None:
        """Move a long log into the file.  If that fails now, it is tried again later."""
        file = self._engines.file
        self._logged += done
        if isinstance(file, Watched) and (self._logged >= JOBS_IN_LOG or file.log_is_long):
            self._logged = 0
            with suppress(sqlite3.Error, OSError, StoreError):
                renew(self._engines)


def renew(engines: Engines) -> None:
    """Move the log of an SQLite database into its file, as a new generation."""
    if isinstance(engines.file, Watched):
        engines.file.check()
        with driver(engines) as connection:
            if engines.file.renew(connection):
                engines.file.begin_log(connection)


@contextmanager
def driver(engines: Engines) -> Iterator[sqlite3.Connection]:
    """The connection that writes, as the driver made it."""
    borrowed = engines.write.raw_connection()
    try:
        assert isinstance(borrowed.driver_connection, sqlite3.Connection)
        yield borrowed.driver_connection
    finally:
        borrowed.close()
