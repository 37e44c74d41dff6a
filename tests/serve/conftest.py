"""A small study, served by a real server in this process, and somebody who takes part in it."""

from __future__ import annotations

import asyncio
import shutil
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn

from softlabel import store as stores
from softlabel import study as studies
from softlabel.serve.app import make_app
from softlabel.serve.connections import ConnectionLimits
from softlabel.serve.databases import put_study
from softlabel.serve.guard import Limits
from softlabel.serve.process import configure
from softlabel.serve.secret import open_with_token
from softlabel.store import Store
from softlabel.study import Study, shapes

STUDY = """
[study]
name = "birds"
title = "{title}"
labels = ["wren", "finch", "robin", "owl"]
mode = "{mode}"
language = "{language}"
label_order = "{label_order}"
seed = 5

[items]
source = "items.csv"
per_item = {per_item}
per_annotator = 4
batch_size = 3
repeats = 1
repeat_positions = [1]
practice = "practice.jsonl"
checks = "checks.csv"

[pages]
consent = "consent.md"
instructions = "instructions.md"
contact = "ann@example.org"

[quiz]
tries = 2
[[quiz.question]]
text = "What is asked?"
options = ["Which bird it is", "How many there are"]
right = "Which bird it is"
[[quiz.question]]
text = "Whose view counts?"
options = ["The editor's", "My own", "Nobody's"]
right = "My own"

[debrief]
[[debrief.question]]
text = "How clear was it?"
kind = "scale"
options = ["1", "2", "3"]
[[debrief.question]]
text = "Anything else?"
kind = "text"

[recruit]
{recruit}
"""
RIGHT = {"q0": "0", "q1": "1"}
DEFAULTS = {
    "title": "Which bird is this?",
    "mode": "quick",
    "language": "en",
    "label_order": "shuffled",
    "per_item": 3,
    "recruit": 'kind = "open"',
}


def write_study(folder: Path, **changes: object) -> Path:
    """Seven pictures, one of them for practice and one with a known answer."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(8):
        shade = np.full((4, 4, 3), 30 * n, dtype=np.uint8)
        (folder / f"secret-file-{n}.png").write_bytes(shapes.encode_png(shade))
    rows = [f"hidden-id-{n},secret-file-{n}.png,a bird" for n in range(6)]
    (folder / "items.csv").write_text("\n".join(["id,image,alt", *rows]) + "\n")
    (folder / "practice.jsonl").write_text(
        '{"id": "hidden-id-6", "image": "secret-file-6.png", "alt": "a bird", '
        '"gold": {"wren": 0.75, "owl": 0.25}, "feedback": "Mostly a wren."}\n'
    )
    (folder / "checks.csv").write_text(
        "id,image,alt,gold,kind\nhidden-id-7,secret-file-7.png,a bird,robin,attention\n"
    )
    (folder / "consent.md").write_text("# About\n\nWe look at birds.\n")
    (folder / "instructions.md").write_text("## First\n\nLook.\n\n---\n\n## Then\n\nSay.\n")
    (folder / "study.toml").write_text(STUDY.format(**(DEFAULTS | changes)))
    return folder


@pytest.fixture
def study_folder(tmp_path: Path) -> Callable[..., Path]:
    return lambda **changes: write_study(tmp_path / "birds", **changes)


class Clock:
    """A time that moves when it is told to."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Server(uvicorn.Server):
    """Starts and stops at once instead of at the next tick of its own clock."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens, self._told = threading.Event(), asyncio.Event()

    async def main_loop(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.listens.set()
        ticking = asyncio.create_task(super().main_loop())
        told = asyncio.create_task(self._told.wait())
        await asyncio.wait({ticking, told}, return_when=asyncio.FIRST_COMPLETED)
        ticking.cancel()
        told.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for _ in range(50):  # what was closed at the other end a moment ago is noticed soon
            if not (self.server_state.connections or self.server_state.tasks):
                break
            await asyncio.sleep(0.002)
        else:
            await super().shutdown(sockets)
            return
        for server in self.servers:
            server.close()
            await server.wait_closed()

    def stop(self) -> None:
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._told.set)


def run_server(config: uvicorn.Config, stack: ExitStack, *, force: bool = False) -> int:
    """Serve from a thread until the stack is left; the port."""
    door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    server = Server(config)
    thread = threading.Thread(target=server.run, args=([door],))
    thread.start()
    stack.callback(thread.join)
    stack.callback(server.stop)
    if force:
        stack.callback(setattr, server, "force_exit", True)
    assert server.listens.wait(60)
    return int(door.getsockname()[1])


@pytest.fixture(scope="session")
def listen() -> Callable[..., int]:
    """``listen(config, stack)`` serves an application from a thread; the port."""
    return run_server


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite database with the current schema and no rows, to be copied."""
    path = tmp_path_factory.mktemp("empty") / "answers.db"
    stores.open(path).close()
    return path


class Running:
    """A study that is being served from a thread."""

    def __init__(
        self,
        folder: Path,
        db: str | Path,
        stack: ExitStack,
        connections: ConnectionLimits | None = None,
        clock: Any = None,
        **options: Any,
    ) -> None:
        self.folder, self.clock = folder, clock or Clock()
        self.study: Study = studies.read(folder)
        self.secret, self.token = open_with_token(folder)
        self.store: Store = stack.enter_context(stores.open(db))
        put_study(self.study, self.store, self.clock())
        app = make_app(self.study, self.store, self.secret, now=self.clock, **options)
        config = configure(app, connections)
        config.timeout_graceful_shutdown = 2
        self.port = run_server(config, stack)
        self.url = f"http://127.0.0.1:{self.port}"
        self._stack = stack

    def person(self, **headers: str) -> Person:
        """Somebody with a browser of their own."""
        return self._stack.enter_context(Person(self, headers))

    def responses(self) -> list[Any]:
        return list(self.store.responses(self.study.name))

    def session(self) -> Any:
        """The only session there is."""
        (only,) = self.store.sessions(self.study.name)
        return only


class Person(httpx.Client):
    """A browser without script: keeps cookies, and says where its requests come from."""

    def __init__(self, running: Running, headers: dict[str, str]) -> None:
        self.running = running
        same = {"sec-fetch-site": "same-origin"}
        super().__init__(base_url=running.url, headers=same | headers, timeout=120)

    def agree(self) -> httpx.Response:
        return self.post("/consent", data={"adult": "on", "read": "on", "agree": "on"})

    def to_quiz(self) -> Person:
        self.agree()
        self.post("/instructions")
        return self

    def to_task(self) -> Person:
        self.to_quiz()
        self.post("/quiz", data=RIGHT)
        return self

    def plan(self) -> dict[str, Any]:
        reply = self.get("/api/plan")
        assert reply.status_code == 200, reply.text
        return reply.json()

    def open_positions(self) -> list[int]:
        return [one["position"] for one in self.plan()["showings"] if not one["answered"]]

    def give(self, position: int, **changes: Any) -> httpx.Response:
        return self.post("/api/answers", json=make_answer(position, **changes))

    def answer_all(self) -> list[int]:
        """Everything there is, in pieces as it is given out."""
        answered = []
        while positions := self.open_positions():
            for position in positions:
                assert self.give(position).status_code == 200
            answered += positions
        return answered

    def to_debrief(self) -> Person:
        self.to_task().answer_all()
        assert self.post("/api/finish", json={}).json() == {"open": True, "next": "/"}
        return self

    def to_done(self) -> Person:
        self.to_debrief().post("/debrief", data={"d0": "1", "d1": "fine"})
        return self

    def heading(self) -> str:
        """What the page calls itself."""
        page = self.get("/", follow_redirects=True).text
        return page.split("<h1>")[1].split("</h1>")[0]


def make_answer(position: int, **changes: Any) -> dict[str, Any]:
    """What the page would send."""
    body = {
        "response_uuid": str(uuid.uuid4()),
        "position": position,
        "answer": {
            "top": "wren",
            "certainty": 4,
            "alternatives": ["owl"],
            "excluded": [],
            "rest": "unsaid",
        },
        "skip": None,
        "touched": True,
        "supersedes": None,
        "timing": {"first_input_ms": 900.5, "submit_ms": 2000, "fields": {"top": 900.5}},
        "events": [[900.5, "key", "Digit1", "wren"]],
        "client": {"pointer": "fine", "viewport": [1280, 800]},
        "delivery": {"attempt": 1, "queued_ms": 0},
    }
    return body | changes


@pytest.fixture
def answer_body() -> Callable[..., dict[str, Any]]:
    return make_answer


@pytest.fixture
def serving(tmp_path: Path, empty_database: Path) -> Iterator[Callable[..., Running]]:
    """``serving(recruit=…)`` starts a server with a study that differs so from the usual one."""
    with ExitStack() as stack:

        def start(
            *,
            db: str | None = None,
            url: str | None = None,
            limits: Limits | None = None,
            connections: ConnectionLimits | None = None,
            edit: Callable[[Path], object] | None = None,
            clock: Callable[[], float] | None = None,
            **changes: Any,
        ) -> Running:
            folder = write_study(tmp_path / "birds", **changes)
            if edit is not None:
                edit(folder)
            own = folder / ".softlabel" / "answers.db"
            if db is None and not own.exists():
                own.parent.mkdir(mode=0o700, exist_ok=True)
                shutil.copy(empty_database, own)
            return Running(folder, db or own, stack, connections, clock, url=url, limits=limits)

        yield start


@pytest.fixture
def running(serving: Callable[..., Running]) -> Running:
    """The usual study."""
    return serving()
