"""Honest people during an attack: headers of 42 MB, and connections that are left half open."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import uvloop
from asking.saturation import Outbox, outboxes
from asking.wire import Wire, connect

from softlabel.simulate.people import Habits, read_truth
from softlabel.simulate.visit import Site
from softlabel.study import Study

HALF_OPEN, SENDERS = 500, 4
HEADER, PIECE = 42 * 1024 * 1024, b"a" * 65536
THINK = 1.0  # seconds between two answers of a person
PATIENCE = 30.0  # seconds after which an answer counts as an error
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: "


@dataclass
class Seen:
    """Seconds that answers took while all was quiet and while the attack went on."""

    quiet: list[float] = field(default_factory=list)
    attacked: list[float] = field(default_factory=list)
    errors: int = 0
    acknowledged: list[str] = field(default_factory=list)


def run(url: str, study: Study, people: int, seconds: float) -> Seen:
    """So many seconds without the attacker, and as many with one."""
    seen = Seen()
    site = Site(url, study, read_truth(study, 0), Habits())
    boxes = uvloop.run(outboxes(site, people))
    uvloop.run(_answer(url, boxes, seconds, seen.quiet, seen))
    with attacking(url):
        uvloop.run(_answer(url, boxes, seconds, seen.attacked, seen))
    return seen


async def _answer(
    url: str, boxes: list[Outbox], seconds: float, times: list[float], seen: Seen
) -> None:
    end = time.perf_counter() + seconds

    async def person(outbox: Outbox, late: float) -> None:
        await asyncio.sleep(late)
        wire: Wire | None = None
        while outbox and time.perf_counter() < end:
            name, request = outbox.pop()
            begin = time.perf_counter()
            try:
                async with asyncio.timeout(PATIENCE):
                    wire = wire or await connect(url)
                    reply = await wire.ask(request)
                    assert name.encode() in reply, reply
                seen.acknowledged.append(name)
            except OSError:
                seen.errors += 1
                wire = None
            times.append(time.perf_counter() - begin)
            await asyncio.sleep(THINK)
        if wire is not None:
            wire.close()

    each = THINK / len(boxes)
    await asyncio.gather(*(person(box, n * each) for n, box in enumerate(boxes)))


@contextmanager
def attacking(url: str) -> Iterator[None]:
    """Another process attacks."""
    process = multiprocessing.get_context("spawn").Process(target=_attack, args=(url,), daemon=True)
    process.start()
    time.sleep(1)  # until it has started
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _attack(url: str) -> None:
    uvloop.run(_attack_for_ever(url))


async def _attack_for_ever(url: str) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(HALF_OPEN):
            group.create_task(_again_and_again(url, 0))
        for _ in range(SENDERS):
            group.create_task(_again_and_again(url, HEADER))


async def _again_and_again(url: str, length: int) -> None:
    """Connect and send half a request; with a length, a header that is so long.  Nobody waits
    long before coming back, so that whoever is dropped is there again."""
    parts = urlsplit(url)
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            with suppress(OSError):
                writer.write(HEAD)
                for _ in range(length // len(PIECE)):
                    writer.write(PIECE)
                    await writer.drain()
                if not length:
                    await reader.read()
            writer.close()
        await asyncio.sleep(0.1)
