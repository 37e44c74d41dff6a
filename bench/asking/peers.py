"""The same load against other annotation servers, if they are installed: each as it comes, on the
server's core, with its own way of sending an answer."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import uvloop
from asking import study as asked
from asking.load import HABITS, Crowd, Load
from asking.study import LABELS

from softlabel import store
from softlabel.elicit import MODES
from softlabel.simulate.client import ANSWERS, Client, Reply
from softlabel.simulate.people import keyed_rng, simulate_timing
from softlabel.simulate.visit import make_record

ITEMS, START = 1000, 600.0  # one of them migrates its database for minutes
TIMEOUT = 30.0


class Refused(Exception):
    """The server did not take it."""


class Sent(NamedTuple):
    """The reply to an answer, and the name under which the server keeps it."""

    reply: Reply
    name: str


class Peer(Protocol):
    """Another server: how it is started, how somebody enters, how one answer is sent, and which
    answers its files hold."""

    headers: Mapping[str, str]

    def command(self, program: str, folder: Path, port: int) -> list[str]: ...

    async def prepare(self, client: Client) -> None: ...

    async def enter(self, client: Client, number: int) -> None: ...

    async def answer(self, client: Client, rng: np.random.Generator) -> Sent: ...

    def stored(self, folder: Path) -> set[str]: ...


class Softlabel:
    """This package, in mode ``quick`` over texts, on SQLite; a page has its next items already."""

    headers: Mapping[str, str] = {}
    forms: tuple[tuple[str, dict[str, str]], ...] = (
        ("/consent", dict.fromkeys(("adult", "read", "agree"), "on")),
        ("/instructions", {}),
    )

    def __init__(self) -> None:
        self._open: dict[Client, list[int]] = {}

    def command(self, program: str, folder: Path, port: int) -> list[str]:
        asked.write_plain(folder / "study", ITEMS)
        return [program, "-m", "softlabel", "serve", str(folder / "study"), "--port", str(port)]

    async def prepare(self, client: Client) -> None:
        pass

    async def enter(self, client: Client, number: int) -> None:
        checked(await client.get("/"))
        for path, fields in self.forms:
            checked(await client.post_form(path, fields))
        self._open[client] = []

    async def answer(self, client: Client, rng: np.random.Generator) -> Sent:
        if not self._open[client]:
            plan = checked(await client.get("/api/plan")).json()
            left = [one["position"] for one in plan["showings"] if not one["answered"]]
            self._open[client] = left[::-1]
            if not left:
                raise Refused("no item")
        top, other = (LABELS[int(k)] for k in rng.permutation(len(LABELS))[:2])
        answer = {"top": top, "certainty": 4, "alternatives": [other], "rest": "ruled_out"}
        timing = simulate_timing(answer, MODES["quick"](), rng)
        record = make_record(self._open[client][-1], answer, timing)
        record["delivery"]["attempt"] = 1
        reply = checked(await client.post_json(ANSWERS, record))
        self._open[client].pop()
        return Sent(reply, record["response_uuid"])

    def stored(self, folder: Path) -> set[str]:
        with store.open(folder / "study" / ".softlabel" / "answers.db", create=False) as answers:
            return {row.id for row in answers.responses("load")}


class Potato:
    """Potato's ``soft_label`` over texts, without passwords; an answer is one POST, after which
    the page asks for the next item and loads it."""

    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._names: dict[Client, str] = {}
        self._numbers = count()  # so that nobody comes a second time

    def command(self, program: str, folder: Path, port: int) -> list[str]:
        items = [{"id": f"item-{i}", "text": f"the text of item {i}"} for i in range(ITEMS)]
        (folder / "items.json").write_text(json.dumps(items))
        scheme = {"annotation_type": "soft_label", "name": "belief", "labels": LABELS}
        config = {
            "annotation_task_name": "load",
            "task_dir": ".",
            "site_dir": "default",
            "data_files": ["items.json"],
            "item_properties": {"id_key": "id", "text_key": "text"},
            "output_annotation_dir": "out",
            "output_annotation_format": "jsonl",
            "require_password": False,
            "user_config": {"allow_all_users": True, "users": []},
            "assignment_strategy": "random",
            "max_annotations_per_item": -1,
            "max_annotations_per_user": 500,
            "annotation_schemes": [scheme | {"description": "How likely is each?"}],
        }
        (folder / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
        return [program, "start", "config.yaml", "-p", str(port), "--host", "127.0.0.1"]

    async def prepare(self, client: Client) -> None:
        pass

    async def enter(self, client: Client, number: int) -> None:
        self._names[client] = name = f"person-{number}-{next(self._numbers)}"
        checked(await client.post_form("/auth", {"email": name, "pass": ""}))

    async def answer(self, client: Client, rng: np.random.Generator) -> Sent:
        belief = rng.multinomial(100, [1 / len(LABELS)] * len(LABELS)).tolist()
        page = checked(await client.get("/annotate"))
        item = re.search(r"item-\d+", page.text)
        if item is None:
            raise Refused("no item")
        shares = {f"belief:::{name}": str(n) for name, n in zip(LABELS, belief, strict=True)}
        said = {"instance_id": item[0], "annotations": shares, "span_annotations": []}
        reply = checked(await client.post_json("/updateinstance", said))
        checked(await client.post_json("/annotate", {"action": "next_instance"}))
        return Sent(reply, f"{self._names[client]} {item[0]}")

    def stored(self, folder: Path) -> set[str]:
        found = set()
        for path in (folder / "out").glob("*/user_state.json"):
            with suppress(ValueError):  # half a file holds nothing that can be read
                state = json.loads(path.read_text())
                names = state["instance_id_to_label_to_value"]
                found |= {f"{state['user_id']} {item}" for item in names}
        return found


class LabelStudio:
    """Label Studio with choices and a number over texts, on SQLite.  Everybody uses one account
    and goes straight to a task of their own, which spares it logins and its queue."""

    token = "0123456789abcdef0123456789abcdef01234567"
    headers: Mapping[str, str] = {"authorization": f"Token {token}"}

    def command(self, program: str, folder: Path, port: int) -> list[str]:
        words = ["start", "-b", "--data-dir", "data", "-p", str(port)]
        words += ["--internal-host", "127.0.0.1", "--username", "a@example.org"]
        words += ["--password", "not-a-secret", "--user-token", self.token]
        return [program, *words, "--enable-legacy-api-token"]

    async def prepare(self, client: Client) -> None:
        choices = "".join(f'<Choice value="{name}"/>' for name in LABELS)
        view = f'<Text name="t" value="$text"/><Choices name="c" toName="t">{choices}</Choices>'
        config = f'<View>{view}<Number name="p" toName="t"/></View>'
        project = {"title": "load", "label_config": config, "maximum_annotations": 10**6}
        checked(await client.post_json("/api/projects", project))
        tasks = [{"text": f"the text of item {i}"} for i in range(ITEMS)]
        checked(await client.post_json("/api/projects/1/import", tasks))

    async def enter(self, client: Client, number: int) -> None:
        pass

    async def answer(self, client: Client, rng: np.random.Generator) -> Sent:
        task = 1 + int(rng.integers(ITEMS))
        checked(await client.get(f"/api/tasks/{task}"))
        choice = {"choices": [LABELS[int(rng.integers(len(LABELS)))]]}
        said = [
            {"from_name": "c", "to_name": "t", "type": "choices", "value": choice},
            {"from_name": "p", "to_name": "t", "type": "number", "value": {"number": 70}},
        ]
        body = {"result": said, "lead_time": 5.0}
        reply = checked(await client.post_json(f"/api/tasks/{task}/annotations/", body))
        return Sent(reply, str(reply.json()["id"]))

    def stored(self, folder: Path) -> set[str]:
        database = sqlite3.connect(folder / "data" / "label_studio.sqlite3")
        with closing(database):
            return {str(row[0]) for row in database.execute("SELECT id FROM task_completion")}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def checked(reply: Reply) -> Reply:
    if reply.status >= 400:
        raise Refused(str(reply.status))
    return reply


OURS = Softlabel()
PEERS: dict[str, Peer] = {"potato": Potato(), "label-studio": LabelStudio()}


def program_of(given: str) -> tuple[str, str | None]:
    """``NAME`` or ``NAME=PATH``: the peer, and its program if it is there."""
    name, _, path = given.partition("=")
    return name, path or shutil.which(name)


class Running(NamedTuple):
    """A server that answers: its address, its process, and the seconds to its first page."""

    url: str
    process: int
    first_page: float


@contextmanager
def running(peer: Peer, program: str, folder: Path, core: int) -> Iterator[Running]:
    """Start a server in a folder, and wait until it answers and has its items."""
    port = free_port()
    command = ["taskset", "-c", str(core), *peer.command(program, folder, port)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
        try:
            url = f"http://127.0.0.1:{port}"
            yield Running(url, process.pid, uvloop.run(_ready(peer, url, process)))
        finally:
            process.terminate()
            process.wait()


async def _ready(peer: Peer, url: str, process: subprocess.Popen[bytes]) -> float:
    """Return the seconds until the first page came."""
    client, begin = Client(url, headers=peer.headers), time.monotonic()
    end = begin + START
    while True:
        try:
            await client.get("/")
            break
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise
            await asyncio.sleep(0.05)
    seconds = time.monotonic() - begin
    await peer.prepare(client)
    await client.close()
    return seconds


def run(peer: Peer, url: str, come: Crowd, think: float = HABITS.think) -> Load:
    """People who come over the ramp and answer until the end; with ``think`` 0, without pause."""
    load = Load()
    uvloop.run(_run(peer, url, come, think, load))
    return load


async def _run(peer: Peer, url: str, come: Crowd, think: float, load: Load) -> None:
    begin = time.perf_counter()
    delays = np.random.default_rng(0).uniform(0, come.ramp, come.annotators).tolist()
    jobs = [
        asyncio.create_task(_person(peer, url, n, delay, think, load))
        for n, delay in enumerate(delays)
    ]
    await asyncio.sleep(come.whole)
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    load.rate = load.log.answered / (time.perf_counter() - begin)


async def _person(
    peer: Peer, url: str, number: int, delay: float, think: float, load: Load
) -> None:
    client = Client(url, timeout=TIMEOUT, headers=peer.headers)
    rng, entered = keyed_rng(0, "peer", number), False
    await asyncio.sleep(delay)
    while True:
        await asyncio.sleep(rng.exponential(think) if think else 0)
        try:
            if not entered:
                await peer.enter(client, number)
                entered = True
            sent = await peer.answer(client, rng)
        except (OSError, Refused) as error:
            load.log.errors[f"{type(error).__name__}: {error}"] += 1
            continue
        load.log.latencies["answer"].append(sent.reply.seconds)
        load.log.acknowledge()
        load.names.append(sent.name)
