"""Jobs of the writer: done inside a transaction, each undone alone if it fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from types import TracebackType
from typing import Any, TypeVar

import sqlalchemy as sa

from softlabel.errors import StoreError

A = TypeVar("A")
T = TypeVar("T")
Task = Callable[[sa.Connection], T]
UNSTORABLE = (sa.exc.SQLAlchemyError, UnicodeEncodeError)  # half a surrogate pair
Many = Callable[[sa.Connection, list[Any]], Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Job:
    """Something to do inside a transaction, and where to say how it went.

    ``many`` does the jobs of one kind together, given the ``argument`` of each; where it returns
    None it has done nothing, and the job is done by its own task.
    """

    task: Task[Any]
    future: Future[Any]
    cleans: bool = False
    many: Many | None = None
    argument: Any = None


class Outcome:
    """What became of something: as a context, it keeps what its body raises for the caller."""

    def __init__(self, value: Any = None) -> None:
        self.value = value
        self.error: BaseException | None = None

    def __enter__(self) -> Outcome:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> bool:
        self.error = error
        return True  # nothing is swallowed: whoever waits for the future gets it

    def tell(self, future: Future[Any]) -> None:
        if self.error is None:
            future.set_result(self.value)
        elif isinstance(self.error, UNSTORABLE):
            future.set_exception(StoreError(f"this cannot be stored: {reason(self.error)}"))
        else:
            future.set_exception(self.error)


def attempt_all(connection: sa.Connection, group: list[Job]) -> Iterator[Outcome]:
    """What became of each job, done in order; neighbours of one kind are first tried together."""
    for many, neighbours in groupby(group, key=attrgetter("many")):
        jobs = list(neighbours)
        values: Sequence[Any] = [None] * len(jobs)
        if many is not None and len(jobs) > 1:
            tried = attempt(connection, alone(many, [job.argument for job in jobs]))
            values = values if tried.error else tried.value
        for job, value in zip(jobs, values, strict=True):
            yield attempt(connection, job.task) if value is None else Outcome(value)


def attempt(connection: sa.Connection, task: Task[Any]) -> Outcome:
    """Do the task, or undo it; if the whole transaction is lost, raise."""
    connection.exec_driver_sql("SAVEPOINT job")
    with Outcome() as outcome:
        outcome.value = task(connection)
    if outcome.error is not None:
        if loses_transaction(outcome.error):
            raise outcome.error
        connection.exec_driver_sql("ROLLBACK TO SAVEPOINT job")
    connection.exec_driver_sql("RELEASE SAVEPOINT job")
    return outcome


def alone(one: Callable[[sa.Connection, A], T], argument: A) -> Task[T]:
    """The task of doing ``one`` with its argument."""
    return lambda connection: one(connection, argument)


def loses_transaction(error: BaseException) -> bool:
    """Whether disk, lock or connection failed, and not the values of the job."""
    return isinstance(error, sa.exc.OperationalError | sa.exc.InternalError)


def reason(error: BaseException) -> str:
    """What the database said, in one line."""
    said = getattr(error, "orig", None) or error
    return (str(said).strip().splitlines() or [type(said).__name__])[0]
