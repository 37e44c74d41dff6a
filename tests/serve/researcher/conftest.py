"""A study with simulated answers in the real store, its dashboard, and a researcher."""

from __future__ import annotations

import copy
import json
import math
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

from softlabel import registry, store
from softlabel.serve.app import make_app
from softlabel.serve.guard import Limits
from softlabel.serve.secret import Secret, hash_token
from softlabel.simulate.people import Person
from softlabel.store import ItemRow, NewResponse, Plan, Session, Showing, Store, Timing
from softlabel.study import Item, Pay, Recruit, Study

LABELS = ("cat", "dog", "fox", "hare")
TOKEN = "the-token-that-was-printed-once"
START = 1_800_000_000.0  # when the first person comes in, on a clock that tests move


def make_study(folder: Path, mode: str = "classic", items: int = 12, **changes: Any) -> Study:
    """Text items whose gold, where a check has one, is certainly the first label."""
    sure = (1.0, *[0.0] * (len(changes.get("labels", LABELS)) - 1))
    study = Study(
        folder=folder,
        name="animals",
        title="Which animal?",
        description="",
        labels=LABELS,
        synonyms={},
        mode=registry.parse("mode", mode),
        mode_text=mode,
        frame="self",
        language="en",
        label_order="shuffled",
        items=tuple(Item(f"item-{n}", "target", text=f"Animal {n}") for n in range(items)),
        practice=(Item("try", "training", text="A cat", gold=sure),),
        checks=(
            Item("gold", "gold", text="Surely a cat", gold=sure),
            Item("note", "attention", text="Say cat", gold=sure),
        ),
        batches={},
        per_item=4,
        per_annotator=6,
        batch_size=25,
        repeats=2,
        repeat_positions=(0, 1),
        consent="",
        instructions=("",),
        thanks="",
        contact="",
        quiz=None,
        debrief=(),
        recruit=Recruit(),
        pay=Pay("GBP", minutes=6, per_hour=9),
        seed=0,
        lease_minutes=60,
        toml="",
    )
    return replace(study, **changes)


@dataclass
class World:
    """A study, its store, the clock, and every payload that was stored, by id."""

    study: Study
    store: Store
    now: float = START
    sent: dict[str, dict[str, Any]] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        self.sent = {}
        study = self.study
        rows = [ItemRow(i.id, i.kind) for i in (*study.items, *study.practice, *study.checks)]
        self.store.put_study(
            study.name, study.toml, study.labels, rows, study.per_item, self.now
        ).result()

    @property
    def plan(self) -> Plan:
        study = self.study
        return Plan(
            study.per_item,
            study.per_annotator,
            study.batch_size,
            study.repeats,
            study.repeat_positions,
            tuple(item.id for item in study.practice),
            tuple(item.id for item in study.checks),
        )

    def enter(self, name: str) -> Session:
        return self.store.enter(
            self.study.name,
            name,
            f"token of {name} in {self.study.name}",
            label_order_of=lambda n: [*self.study.labels[n % 2 :], *self.study.labels[: n % 2]],
            seed=0,
            recruiter_session=None,
            now=self.now,
        ).result()

    def send(self, who: Session, shown: Showing, answer: Any, **changes: Any) -> str:
        """One answer, as a browser would have sent it; returns its id."""
        own = {
            "response_uuid": str(
                uuid.uuid5(uuid.NAMESPACE_URL, f"{self.study.name}/{len(self.sent)}")
            ),
            "position": shown.position,
            "answer": answer,
            "skip": None if answer is not None else "cannot_judge",
            "touched": True,
            "supersedes": None,
            "timing": timing(2.0 + shown.position % 3),
            "events": [[1240, "key", "Digit3", "é"]],
            "client": {"pointer": "fine"},
            "delivery": {"attempt": 1, "queued_ms": 0},
        }
        own |= changes
        mode = self.study.mode
        times = own["timing"]
        self.store.answer(
            who.id,
            NewResponse(
                id=own["response_uuid"],
                position=own["position"],
                answer_json=None if answer is None else json.dumps(answer),
                payload=json.dumps(own),
                mode=mode.name,
                mode_version=mode.version,
                digest=own["response_uuid"],
                skip=own["skip"],
                supersedes=own["supersedes"],
                timing=Timing(*(times.get(k) for k in Timing._fields[:4]), times["fields"]),
            ),
            self.now,
        ).result()
        self.sent[own["response_uuid"]] = own
        return own["response_uuid"]

    def visit(
        self,
        name: str,
        answer: Callable[[Showing], Any] | None = None,
        most: float = math.inf,
        **changes: Any,
    ) -> Session:
        """Somebody answers what they are given, ten seconds apart, and finishes."""
        who = self.enter(name)
        believe = answer or self.believer(name)
        done = 0
        while True:
            shown = [s for s in self.store.lease(who.id, self.plan, self.now).result().showings]
            waiting = [s for s in shown if s.state == "open"]
            if not waiting or done >= most:
                break
            for one in waiting[: int(min(len(waiting), most - done))]:
                self.now += 10
                self.send(who, one, believe(one), **changes)
                done += 1
        if done < most:
            self.store.finish(who.id, self.now).result()
        return self.store.session_of(self.study.name, name)

    def believer(self, name: str, person: Person | None = None) -> Callable[[Showing], Any]:
        """Who answers through the study's mode and is right about checks."""
        rng = np.random.default_rng(list(name.encode()))
        k = len(self.study.labels)

        def believe(shown: Showing) -> Any:
            sharp = np.random.default_rng(list(shown.item.encode())).dirichlet(np.full(k, 0.3))
            sure = np.eye(k)[0]
            belief = sure if shown.item in ("try", "gold", "note") else sharp
            belief = 0.9 * belief + 0.1 * rng.dirichlet(np.ones(k))
            return self.study.mode.simulate(belief, self.study.labels, rng)

        return believe


def timing(seconds: float, hidden: float = 0.0) -> dict[str, Any]:
    """The clock of an answer whose first field took half of the time."""
    ms = 1000 * seconds
    return {
        "media_ready_ms": 80,
        "first_input_ms": ms / 2,
        "submit_ms": ms + 1000 * hidden,
        "active_ms": ms,
        "hidden_ms": 1000 * hidden,
        "fields": {"top": ms / 2, "p1": 0.75 * ms},
    }


@pytest.fixture(params=["sqlite", "postgres"])
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A fresh store of either kind, for what the database itself computes."""
    sqlite = request.param == "sqlite"
    place = tmp_path / "answers.db" if sqlite else request.getfixturevalue("postgres_url")
    with store.open(place) as opened:
        yield opened


@pytest.fixture
def answers(tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    shutil.copy(empty_database, tmp_path / "answers.db")
    with store.open(tmp_path / "answers.db") as opened:
        yield opened


@pytest.fixture(scope="session")
def world_of() -> type[World]:
    """``world_of(study, store)`` for a study of one's own."""
    return World


@pytest.fixture
def make_world(tmp_path: Path, answers: Store) -> Callable[..., World]:
    """A world in SQLite; arguments are those of a study."""

    def make(db: Store | None = None, **settings: Any) -> World:
        return World(make_study(tmp_path, **settings), db or answers)

    return make


@pytest.fixture(scope="session")
def visited(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Callable[..., Any]:
    """Databases of studies that some people have answered: the path, the time, what was sent."""
    kept: dict[str, tuple[Path, float, dict[str, Any]]] = {}

    def make(people: int, settings: dict[str, Any]) -> tuple[Path, float, dict[str, Any]]:
        key = f"{people} {settings}"
        if key not in kept:
            folder = tmp_path_factory.mktemp("visited")
            path = folder / "answers.db"
            shutil.copy(empty_database, path)
            with store.open(path) as opened:
                world = World(make_study(folder, **settings), opened)
                for n in range(people):
                    world.visit(f"person-{n}")
            kept[key] = path, world.now, world.sent
        return kept[key]

    return make


@pytest.fixture
def visited_world(tmp_path: Path, visited: Callable[..., Any]) -> Iterator[Callable[..., World]]:
    """``visited_world(4)``: a world with answers of person-0 to person-3, made once and copied."""
    with ExitStack() as stack:

        def make(people: int, **settings: Any) -> World:
            path, now, sent = visited(people, settings)
            shutil.copy(path, tmp_path / "answers.db")
            opened = stack.enter_context(store.open(tmp_path / "answers.db"))
            world = World(make_study(tmp_path, **settings), opened, now)
            world.sent |= copy.deepcopy(sent)
            return world

        yield make


class Served:
    """A world behind an address; ``ahead`` moves the server's clock."""

    def __init__(
        self,
        world: Any,
        stack: ExitStack,
        listen: Callable[..., int],
        limits: Limits | None = None,
    ) -> None:
        self.world, self.ahead = world, 0.0
        self.secret = Secret(b"k" * 32, hash_token(TOKEN))
        app = make_app(
            world.study, world.store, self.secret, now=lambda: world.now + self.ahead, limits=limits
        )
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", timeout_graceful_shutdown=5
        )
        self.url = f"http://127.0.0.1:{listen(config, stack)}"
        self._stack = stack

    def browser(self, **headers: str) -> httpx.Client:
        """Somebody who has not logged in; comes from our own page unless told otherwise."""
        own = {"sec-fetch-site": "same-origin"} | headers
        return self._stack.enter_context(
            httpx.Client(base_url=self.url, headers=own, timeout=120, follow_redirects=False)
        )

    def researcher(self) -> httpx.Client:
        client = self.browser()
        assert client.post("/research/login", data={"token": TOKEN}).status_code == 303
        return client

    def computed(self, client: httpx.Client) -> str:
        """The overview, once everything on it is there."""
        for _ in range(200):
            page = client.get("/research").text
            if "being computed" not in page:
                return page
            time.sleep(0.02)
        raise AssertionError("the numbers were never computed")


@pytest.fixture
def serve(listen: Callable[..., int]) -> Iterator[Callable[..., Served]]:
    with ExitStack() as stack:
        yield lambda world, **options: Served(world, stack, listen, **options)
