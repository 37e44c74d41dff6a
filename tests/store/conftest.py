"""Both kinds of database, and the few moves that most tests of the store are made of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from softlabel import store
from softlabel.store import Ack, ItemRow, NewResponse, Plan, Session, Showing, Store

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


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where to open a store: a file that is not there yet, or an empty database."""
    if request.param == "sqlite":
        return str(tmp_path / "answers.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """For tests that open one store after the other: each time another place."""
    if request.param == "postgres":
        make: Callable[[], str] = request.getfixturevalue("new_postgres")
        return make
    numbers = count()
    return lambda: str(tmp_path / f"answers-{next(numbers)}.db")


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
