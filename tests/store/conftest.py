"""Both kinds of database, and the few moves that most tests of the store are made of."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from softlabel import store
from softlabel.store import ItemRow, NewResponse, Plan, Session, Showing, Store
from softlabel.store.rows import Ack

LABELS = ("sparrow", "wren", "finch")


@dataclass(frozen=True)
class Scene:
    """A study called birds, and people who come to it."""

    db: Store

    def put(self, items: Sequence[ItemRow] | int, per_item: int = 2) -> None:
        rows = [ItemRow(f"bird-{i}") for i in range(items)] if isinstance(items, int) else items
        self.db.put_study("birds", "[study]", LABELS, rows, per_item, 0.0).result()

    def enter(self, annotator: str, now: float = 0.0, study: str = "birds") -> Session:
        entering = self.db.enter(
            study,
            annotator,
            f"token of {annotator}",
            label_order_of=lambda number: LABELS[number % 3 :] + LABELS[: number % 3],
            seed=7,
            recruiter_session=None,
            now=now,
        )
        return entering.result()

    def lease(self, who: Session, plan: Plan, now: float = 0.0) -> tuple[Showing, ...]:
        """Ask for items; everything this person was ever given, in order."""
        self.db.lease(who.id, plan, now).result()
        return self.db.showings(who.id)

    def answer(self, who: Session, position: int, now: float = 0.0, **changes: object) -> Ack:
        return self.db.answer(who.id, self.response(who, position, **changes), now).result()

    def response(self, who: Session, position: int, **changes: object) -> NewResponse:
        values = {
            "id": f"{who.annotator}-{position}",
            "position": position,
            "answer_json": '{"top": "wren"}',
            "payload": '{"answer": {"top": "wren"}}',
            "mode": "hard",
            "mode_version": 1,
            "digest": "wren",
        }
        return NewResponse(**values | changes)

    def skip(self, who: Session, position: int, now: float = 0.0, **changes: object) -> Ack:
        """Say that this item cannot be judged; ``most_skips`` is the person's limit."""
        most = changes.pop("most_skips", None)
        said = {"id": f"{who.annotator}-{position}", "digest": "skip", "skip": "cannot_judge"}
        new = self.response(who, position, **said | {"answer_json": None} | changes)
        return self.db.answer(who.id, new, now, most_skips=most).result()

    def answer_all(self, who: Session, plan: Plan, now: float = 0.0) -> tuple[Showing, ...]:
        """Ask and answer until there is nothing left to do."""
        while waiting := [s for s in self.lease(who, plan, now) if s.state == "open"]:
            for shown in waiting:
                self.answer(who, shown.position, now)
        return self.db.showings(who.id)

    def taken(self) -> dict[str, int]:
        """The counter of every target."""
        with self.db._engines.read.connect() as connection:
            query = "SELECT id, taken FROM item WHERE kind = 'target' ORDER BY id"
            return {name: taken for name, taken in connection.exec_driver_sql(query)}

    def held(self) -> dict[str, int]:
        """What the counters should be: open and answered showings of each target."""
        with self.db._engines.read.connect() as connection:
            query = (
                "SELECT item.id, count(showing.position) FROM item LEFT JOIN showing"
                " ON showing.item = item.id AND showing.kind = 'target'"
                " AND showing.state IN ('open', 'answered')"
                " WHERE item.kind = 'target' GROUP BY item.id ORDER BY item.id"
            )
            return {name: count for name, count in connection.exec_driver_sql(query)}


@contextmanager
def held_back(db: Store) -> Iterator[None]:
    """Holds the writer until the body has asked for everything: all of it in one transaction."""
    waiting, gate = threading.Event(), threading.Event()

    def wait(connection: object) -> None:
        waiting.set()
        gate.wait(30)

    db._writer.submit(wait)
    waiting.wait(30)
    try:
        yield
    finally:
        gate.set()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with the current schema and no rows, to be copied."""
    path = tmp_path_factory.mktemp("empty") / "answers.db"
    store.open(path).close()
    return path


@pytest.fixture(scope="session")
def copy_postgres(postgres_server: Any, new_postgres: Callable[[], str]) -> Callable[[], str]:
    """Gives PostgreSQL databases with the current schema and no rows: one to which nobody is
    connected any more, emptied, or else a new one."""
    import psycopg

    numbers, template = count(), new_postgres()
    store.open(template).close()
    with psycopg.connect(template) as connection:
        name = connection.info.dbname
        found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        kept = {"alembic_version", "identity"}
        tables = ", ".join(table for (table,) in found if table not in kept)
    made: list[str] = []

    def make() -> str:
        with psycopg.connect(postgres_server.get_uri(), autocommit=True) as connection:
            query = "SELECT datname FROM pg_stat_activity WHERE datname IS NOT NULL"
            in_use = {database for (database,) in connection.execute(query)}
            free = [database for database in made if database not in in_use]
            if not free:
                made.append(f"{name}_{next(numbers)}")
                connection.execute(f"CREATE DATABASE {made[-1]} TEMPLATE {name}")
                return str(postgres_server.get_uri(made[-1]))
        url = str(postgres_server.get_uri(free[0]))
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"TRUNCATE {tables} RESTART IDENTITY")
        return url

    return make


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where to open a store: a file that is not there yet, or an empty database.

    For tests that open it through ``db`` or ``scenes``, it has the current schema already.
    """
    with_schema = not {"db", "scenes"}.isdisjoint(request.fixturenames)
    if request.param == "postgres":
        make = request.getfixturevalue("copy_postgres" if with_schema else "new_postgres")
        return str(make())
    path = tmp_path / "answers.db"
    if with_schema:
        shutil.copy(request.getfixturevalue("empty_file"), path)
    return str(path)


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """For tests that open one store after the other: each time another place, with the schema."""
    if request.param == "postgres":
        make: Callable[[], str] = request.getfixturevalue("copy_postgres")
        return make
    numbers, empty = count(), request.getfixturevalue("empty_file")
    return lambda: str(shutil.copy(empty, tmp_path / f"answers-{next(numbers)}.db"))


@pytest.fixture
def db(place: str) -> Iterator[Store]:
    with store.open(place) as opened:
        yield opened


@pytest.fixture
def scene(db: Store) -> Scene:
    return Scene(db)


@pytest.fixture(scope="session")
def scene_of() -> type[Scene]:
    """For tests that open stores of their own."""
    return Scene


@pytest.fixture(scope="session")
def together() -> Callable[[Store], AbstractContextManager[None]]:
    return held_back
