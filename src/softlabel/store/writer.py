"""The one writer: a thread that runs jobs in groups, and reports when they are on the disk.

A group of jobs is one transaction.  A job that fails is rolled back alone.
"""

import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, Self, TypeVar

import sqlalchemy as sa

from softlabel.errors import StoreError
from softlabel.store import engine
from softlabel.store.engine import Engines, begin
from softlabel.store.file import WatchedFile, scrub

LARGEST_GROUP = 256
TRIES = 4  # of a group that PostgreSQL asks to be repeated
REPEATABLE = {"40001", "40P01"}  # serialization failure, deadlock
JOBS_IN_LOG = 256  # after so many jobs an SQLite log is moved into its file
UNSTORABLE = (sa.exc.SQLAlchemyError, UnicodeEncodeError)  # half a surrogate pair

A = TypeVar("A")
T = TypeVar("T")
Task = Callable[[sa.Connection], T]
Many = Callable[[sa.Connection, list[Any]], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Job:
    """A task to run inside a transaction, and the future of its outcome.  ``many`` runs jobs of one
    kind together, given the ``argument`` of each; where it returns None, the own task is run."""

    task: Task[Any]
    future: Future[Any]
    cleans: bool = False
    many: Many | None = None
    argument: Any = None


class Outcome:
    """The value or the error of a task; as a context manager, it captures what its body raises."""

    def __init__(self, value: Any = None, error: BaseException | None = None) -> None:
        self.value, self.error = value, error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        self.error = error
        return True  # the error reaches whoever waits for the future

    def pass_to(self, future: Future[Any]) -> None:
        if self.error is None:
            future.set_result(self.value)
        elif isinstance(self.error, UNSTORABLE):
            text = f"this cannot be stored: {first_line(self.error)}"
            future.set_exception(StoreError(text))
        else:
            future.set_exception(self.error)


def run_all(connection: sa.Connection, group: list[Job]) -> Iterator[Outcome]:
    """Run jobs in order, and yield each outcome; neighbours of one kind are tried together."""
    for many, neighbours in groupby(group, key=attrgetter("many")):
        jobs = list(neighbours)
        values: Sequence[Any] = [None] * len(jobs)
        if many is not None and len(jobs) > 1:
            tried = run_one(connection, with_argument(many, [job.argument for job in jobs]))
            values = values if tried.error else tried.value
        for job, value in zip(jobs, values, strict=True):
            yield run_one(connection, job.task) if value is None else Outcome(value)


def run_one(connection: sa.Connection, task: Task[Any]) -> Outcome:
    """Run a task, and roll it back if it fails; raise if the whole transaction is lost, because
    disk, lock or connection failed, and not the values of the job."""
    connection.exec_driver_sql("SAVEPOINT job")
    with Outcome() as outcome:
        outcome.value = task(connection)
    if outcome.error is not None:
        if isinstance(outcome.error, sa.exc.OperationalError | sa.exc.InternalError):
            raise outcome.error
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
    connection.exec_driver_sql("RELEASE SAVEPOINT job")
    return outcome


def with_argument(function: Callable[[sa.Connection, A], T], argument: A) -> Task[T]:
    return lambda connection: function(connection, argument)


def first_line(error: BaseException) -> str:
    """Return the message of the database in one line."""
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]


class Writer:
    """Runs jobs from any thread one after the other, many to a transaction; one that cannot be
    committed fails all its jobs, and the next one starts afresh."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._open = True
        self._logged = 0
        self._thread = threading.Thread(target=self._run, name="softlabel-writer", daemon=True)
        self._thread.start()

    def submit(self, task: Task[T], *, cleans: bool = False) -> Future[T]:
        """Queue a task; with ``cleans``, what it deletes must also be gone from the disk."""
        return self._put(Job(task, Future(), cleans))

    def submit_alike(self, one: Callable[[sa.Connection, A], T], many: Many, value: A) -> Future[T]:
        """Queue a task that is cheaper to run together with others of its kind."""
        return self._put(Job(with_argument(one, value), Future(), False, many, value))

    def close(self) -> None:
        """Finish the queued jobs, then stop."""
        with self._lock:
            if self._open:
                self._open = False
                self._jobs.put(None)
        self._thread.join()

    def _put(self, job: Job) -> Future[Any]:
        with self._lock:
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
                self._run_group(group)
                self._logged += len(group)
                file = self._engines.file
                # move a long log into the file; if that fails now, it is tried again later
                if isinstance(file, WatchedFile) and (
                    self._logged >= JOBS_IN_LOG or file.log_is_long
                ):
                    self._logged = 0
                    with suppress(sqlite3.Error, OSError, StoreError):
                        checkpoint(self._engines)

    def _run_group(self, group: list[Job]) -> None:
        with Outcome() as done:
            done.value = self._run_transaction(group)
        if done.error is not None:
            for job in group:
                error: BaseException = done.error
                if isinstance(error, sa.exc.SQLAlchemyError):  # each job gets its own copy
                    text = f"{self._engines.name}: {first_line(error)}; nothing was stored"
                    error = StoreError(text)
                Outcome(error=error).pass_to(job.future)
            return
        outcomes = list(zip(group, done.value, strict=True))
        for job, outcome in outcomes:
            if not job.cleans:
                outcome.pass_to(job.future)
        if any(job.cleans for job in group):
            self._clean([(job, outcome) for job, outcome in outcomes if job.cleans])

    def _run_transaction(self, group: list[Job]) -> list[Outcome]:
        for left in reversed(range(TRIES)):
            try:
                self._engines.check()
                with self._engines.write.connect() as connection, connection.begin():
                    begin(connection)
                    done = list(run_all(connection, group))
                self._engines.check()  # nothing is acknowledged that is not in the file
                return done
            except sa.exc.DBAPIError as error:
                if not left or getattr(error.orig, "sqlstate", None) not in REPEATABLE:
                    raise
        raise AssertionError("the last try either returns or raises")

    def _clean(self, outcomes: list[tuple[Job, Outcome]]) -> None:
        """Scrub deleted rows from the log and the unused space of an SQLite file, then report."""
        file = self._engines.file
        with Outcome(True) as scrubbed:
            if isinstance(file, WatchedFile):
                scrubbed.value = False
                with writing_connection(self._engines) as connection:
                    scrubbed.value = scrub(connection, file, engine.SECONDS_TO_WAIT)
        why = first_line(scrubbed.error) if scrubbed.error else "another program is reading"
        for job, outcome in outcomes:
            if not scrubbed.value and outcome.error is None:
                outcome.error = StoreError(
                    f"the rows are deleted, but traces of them may be left in {self._engines.name} "
                    f"or beside it: {why}; ask again"
                )
            outcome.pass_to(job.future)


def checkpoint(engines: Engines) -> None:
    """Move the log of an SQLite database into its file, as a new generation."""
    if isinstance(engines.file, WatchedFile):
        engines.file.check()
        with writing_connection(engines) as connection:
            if engines.file.checkpoint(connection):
                engines.file.begin_log(connection)


@contextmanager
def writing_connection(engines: Engines) -> Iterator[sqlite3.Connection]:
    """Lend the driver's own connection of the engine that writes."""
    borrowed = engines.write.raw_connection()
    try:
        assert isinstance(borrowed.driver_connection, sqlite3.Connection)
        yield borrowed.driver_connection
    finally:
        borrowed.close()
