"""Real pages in a real Chromium: small studies, the servers behind them, and somebody's hands."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, Page

from softlabel import store as stores
from softlabel import study as studies
from softlabel.serve.app import make_app
from softlabel.serve.databases import put_study
from softlabel.serve.secret import open_with_token
from softlabel.study import shapes

LABELS = ["cat", "dog", "fox", "owl", "hen", "cow"]
TREE = ["pet/cat", "pet/dog", "wild/fox", "wild/owl", "farm/hen", "farm/cow"]
QUIZ = """
[quiz]
tries = 2
[[quiz.question]]
text = "What is asked?"
options = ["Which animal it is", "How many there are"]
right = "Which animal it is"
"""
NO_QUIZ = "[quiz]\nask = false\n"
STUDY = """
[study]
name = "animals"
title = "{title}"
labels = {labels}
mode = "{mode}"
frame = "{frame}"
repeat_rest = {repeat_rest}
language = "{language}"
label_order = "fixed"

[items]
source = "items.jsonl"
per_item = 100
repeats = {repeats}
{practice}
{look}

[pages]
instructions = "instructions.md"

[debrief]
ask = {debrief}

{quiz}
{more}
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


# ── studies ──────────────────────────────────────────────────────────────────────────────────


def write_study(folder: Path, mode: str = "quick", items: int = 3, **changes: Any) -> Path:
    """Small pictures, each of its own shade, and one to practise on if wanted."""
    folder.mkdir(parents=True)
    side = changes.pop("side", 32)
    for n in range(items + 1):
        pixels = np.full((side, side, 3), 40 + 3 * n, dtype=np.uint8)
        (folder / f"{n}.png").write_bytes(shapes.encode_png(pixels))
    rows = [{"id": f"item-{n}", "image": f"{n}.png", "alt": "an animal"} for n in range(items)]
    labels = changes.pop("labels", TREE if mode.startswith("search") else LABELS)
    _write_lines(folder / "items.jsonl", changes.pop("rows", rows))
    for name, content in changes.pop("files", {}).items():
        (folder / name).write_bytes(b64decode(content))
    (folder / "silence.wav").write_bytes(wav(seconds=5))
    gold = {labels[0]: 0.75, labels[1]: 0.25}
    practice = {"id": "try", "image": f"{items}.png", "alt": "an animal", "gold": gold}
    _write_lines(folder / "practice.jsonl", [practice | {"feedback": "Mostly a cat."}])
    (folder / "instructions.md").write_text("Look at each picture.\n\n---\n\nSay what it shows.")
    settings = {"frame": "self", "language": "en", "repeats": 0, "debrief": "false", "more": ""}
    settings["look"] = ""
    settings |= {"title": "Which animal is this?", "repeat_rest": "false"}
    settings["quiz"] = QUIZ if changes.pop("quiz", False) else NO_QUIZ
    settings["practice"] = 'practice = "practice.jsonl"' if changes.pop("practice", False) else ""
    settings |= {"labels": json.dumps(labels), "mode": mode} | changes
    (folder / "study.toml").write_text(STUDY.format(**settings))
    return folder


def wav(seconds: int, rate: int = 8000) -> bytes:
    """Silence."""
    data = b"\x80" * seconds * rate
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate, 1, 8)
    body = b"WAVE" + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI", b"RIFF", len(body)) + body


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def study_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a study without serving it."""
    return lambda **settings: write_study(tmp_path / "study", **settings)


class Running:
    """A study that is being served from a thread."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.study = studies.read(folder)
        secret, _ = open_with_token(folder)
        self.store = stack.enter_context(stores.open(folder / ".softlabel" / "answers.db"))
        put_study(self.study, self.store, time.time())
        app = make_app(self.study, self.store, secret)
        door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.url = f"http://127.0.0.1:{door.getsockname()[1]}"
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        thread = threading.Thread(target=self._server.run, args=([door],))
        thread.start()
        stack.callback(thread.join)
        while not self._server.started:
            time.sleep(0.005)

    def stop(self) -> None:
        """Nobody is left to wait for."""
        self._server.force_exit = self._server.should_exit = True


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Running]]:
    """Serve a study with these settings; the same settings share a server."""
    running: dict[str, Running] = {}
    with ExitStack() as stack:

        def start(**settings: Any) -> Running:
            name = json.dumps(settings, sort_keys=True)
            if name not in running:
                folder = tmp_path_factory.mktemp("study") / "animals"
                running[name] = Running(write_study(folder, **settings), stack)
            return running[name]

        try:
            yield start
        finally:
            for one in running.values():
                one.stop()


# ── people ───────────────────────────────────────────────────────────────────────────────────


class Person:
    """Somebody with a browser of their own, at work on a study."""

    def __init__(self, url: str, context: BrowserContext) -> None:
        self.url, self.context = url, context
        self.errors: list[str] = []
        self.sent = ""
        self.page = self.open()

    def open(self) -> Page:
        """A tab; mistakes of scripts in it are remembered."""
        page = self.context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        return page

    def _hear(self, message: Any) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def start(self) -> Person:
        """Straight to the first item; the pages before it have tests of their own."""
        return self.enter().ready()

    def enter(self) -> Person:
        """Go to the page of the task, and do not wait for it."""
        boxes = {"adult": "on", "read": "on", "agree": "on"}
        for path, form in (("consent", boxes), ("instructions", {})):
            self.context.request.post(
                f"{self.url}/{path}", form=form, headers={"X-Softlabel": "1"}, max_redirects=0
            )
        self.page.goto(self.url)
        return self

    def ready(self, after: int | None = None) -> Person:
        """Wait for an item, other than the one at this position, and for the whole page."""
        but = "" if after is None else f':not([data-position="{after}"])'
        self.page.wait_for_selector(f"#task[data-whole][data-position]{but}", state="attached")
        return self

    @property
    def position(self) -> int:
        return int(self.page.locator("#task").get_attribute("data-position") or -1)

    @property
    def problem(self) -> str:
        return self.page.locator(".problem").inner_text()

    def press(self, *keys: str) -> Person:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def answer(self, *keys: str) -> Person:
        """Press keys that send an answer, and wait for the next item or page."""
        before = self.position
        if keys[0] == self.sent:  # the page takes a quick second press for a slip
            self.page.wait_for_selector("#task[data-ready]", state="attached")
        self.press(*keys)
        self.sent = keys[-1]
        self.page.wait_for_selector(
            f'#task:not([data-position="{before}"]), #go-on, body:not(.task-page)',
            state="attached",
        )
        return self

    def go_on(self) -> Person:
        """From the feedback to the next item."""
        self.page.wait_for_selector("#task[data-phase=feedback][data-ready]")
        before = self.position
        return self.press("Enter").ready(after=before)

    def saved(self) -> Person:
        """Wait until nothing is left to be sent."""
        end = time.monotonic() + 60
        while self.waiting():  # not in the page: its policy forbids to evaluate strings there
            assert time.monotonic() < end, "answers were not sent"
            time.sleep(0.02)
        return self

    def waiting(self) -> int:
        return int(self.page.evaluate(WAITING))

    def kept(self) -> tuple[int, list[str]]:
        """What the browser still holds: the number of answers, and the names of its notes."""
        notes = "() => Object.keys(localStorage).filter((name) => name.startsWith('softlabel'))"
        return int(self.page.evaluate(WAITING.replace(STILL, "true"))), self.page.evaluate(notes)

    def done(self) -> Person:
        """Wait for the last page."""
        self.page.wait_for_selector("body:not(.task-page) h1")
        return self


STILL = 'record.state === "waiting"'
WAITING = """() => new Promise((resolve) => {
  const request = indexedDB.open("softlabel");
  request.onsuccess = () => {
    const all = request.result.transaction("answers").objectStore("answers").getAll();
    all.onsuccess = () => {
      request.result.close();
      resolve(all.result.filter((record) => record.state === "waiting").length);
    };
  };
})"""


@pytest.fixture(scope="package")
def chromium(launch_chromium: Callable[[], AbstractContextManager[Browser]]) -> Iterator[Browser]:
    """One for all tests of this folder: none of them uses asyncio in its own thread."""
    with launch_chromium() as browser:
        yield browser


class Desk:
    """A browser context that one person after the other uses: who comes finds nothing of others.

    A first tab stays open, because a context without one ends its process, and starting that takes
    longer than most tests.
    """

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.context = context
        self._first = context.new_page()
        self._first.goto(f"{url}/health")
        self._tools = context.new_cdp_session(self._first)

    def clear(self, url: str) -> None:
        """Leave it like a new one; ``url`` is where the last person was."""
        for page in self.context.pages:
            if page is not self._first:
                page.close()
        self.context.unroute_all()
        self.context.clear_cookies()
        everything = {"origin": url, "storageTypes": "all"}
        self._tools.send("Storage.clearDataForOrigin", everything)
        self._tools.send("Network.clearBrowserCache")


@pytest.fixture(scope="package")
def desks(chromium: Browser) -> Callable[[str, dict[str, Any]], list[Desk]]:
    """The desks that are free, by the options of their context; one at least."""
    free: dict[str, list[Desk]] = {}

    def find(url: str, options: dict[str, Any]) -> list[Desk]:
        some = free.setdefault(json.dumps(options, sort_keys=True), [])
        if not some:
            some.append(Desk(chromium.new_context(**options), url))
        return some

    return find


@pytest.fixture
def person(
    chromium: Browser,
    desks: Callable[[str, dict[str, Any]], list[Desk]],
) -> Iterator[Callable[..., Person]]:
    """Make somebody; options are those of a browser context. Nobody may meet a script's mistake.

    Whoever goes offline is ``alone``: tabs of a process hear together that the network is back, and
    the first tab of a desk has it before the others.
    """
    people: list[tuple[Person, Desk, list[Desk]]] = []
    hermits: list[Person] = []

    def make(url: str, alone: bool = False, **options: Any) -> Person:
        options = {"viewport": {"width": 1280, "height": 800}} | options
        if alone:
            hermits.append(Person(url, chromium.new_context(**options)))
            return hermits[-1]
        free = desks(url, options)
        desk = free.pop()
        somebody = Person(url, desk.context)
        people.append((somebody, desk, free))
        return somebody

    yield make
    for one, desk, free in people:
        desk.clear(one.url)
        free.append(desk)
    for one in hermits:
        one.context.close()
    everybody = [*hermits, *(one for one, *_ in people)]
    assert [error for one in everybody for error in one.errors] == []


@pytest.fixture
def answers() -> Callable[[Running], list[dict[str, Any] | None]]:
    """What the store holds, in the order in which it came."""

    def read(running: Running) -> list[dict[str, Any] | None]:
        rows = running.store.responses(running.study.name)
        return [row.answer_json and json.loads(row.answer_json) for row in rows]

    return read
