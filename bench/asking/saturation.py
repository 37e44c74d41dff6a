"""How many durable answers per second there are when nobody thinks."""

from __future__ import annotations

import asyncio
import time
import uuid

import uvloop
from asking.wire import Wire, connect

from softlabel.simulate.crowd import timing
from softlabel.simulate.crowd.log import Log
from softlabel.simulate.crowd.people import Habits, crowd
from softlabel.simulate.crowd.truth import Truth, known
from softlabel.simulate.crowd.walk import Site, Walk
from softlabel.store import AHEAD
from softlabel.study import Study

REFILL = 20  # answers after which a page asks for more items

Outbox = list[tuple[str, bytes]]


def run(url: str, study: Study, clients: int, seconds: float) -> tuple[float, list[str]]:
    """Answers per second, and the ids acknowledged; what people say is prepared before.

    The study has nothing but items: the n-th position is the n-th item that somebody gets.
    """
    return uvloop.run(_run(Site(url, study, known(study, 0), Habits()), clients, seconds))


async def _run(site: Site, clients: int, seconds: float) -> tuple[float, list[str]]:
    walks = await _enter(site, clients)
    boxes = [_outbox(walk, site.study, site.truth) for walk in walks]
    wires = [await connect(site.url) for _ in walks]
    begin = time.perf_counter()
    end = begin + seconds
    everybody = zip(walks, wires, boxes, strict=True)
    told = await asyncio.gather(*(_post(*one, end) for one in everybody))
    took = time.perf_counter() - begin
    for walk, wire in zip(walks, wires, strict=True):
        wire.close()
        await walk.line.close()
    acknowledged = [one for each in told for one in each]
    return len(acknowledged) / took, acknowledged


async def outboxes(site: Site, people: int) -> list[Outbox]:
    """Let so many people in, and prepare what they have to say of the first items they get."""
    walks = await _enter(site, people)
    boxes = [_outbox(walk, site.study, site.truth)[:AHEAD] for walk in walks]
    for walk in walks:
        await walk.line.close()
    return boxes


async def _enter(site: Site, people: int) -> list[Walk]:
    walks = [Walk(site, somebody, Log()) for somebody in crowd(people, seed=0)]
    for walk in walks:
        await walk.enter("/")
    return walks


def _outbox(walk: Walk, study: Study, truth: Truth) -> Outbox:
    """Names of answers, and how they go over the wire."""
    somebody = walk.somebody
    times = timing.block({"top": "x"}, study.mode, somebody.draw("timing"))
    made = []
    for position, item in enumerate(one.id for one in study.items):
        body = {
            "response_uuid": str(uuid.uuid4()),
            "position": position,
            "answer": somebody.says(item, truth.of[item], "main 1", study.mode, study.labels),
            "timing": times,
            "events": timing.events(times),
            "client": timing.CLIENT,
            "delivery": {"attempt": 1, "queued_ms": 0},
        }
        made.append((str(body["response_uuid"]), walk.line.prepared(body)))
    return made


async def _post(walk: Walk, wire: Wire, outbox: Outbox, end: float) -> list[str]:
    told: list[str] = []
    for name, request in outbox:
        if time.perf_counter() > end:
            break
        if told and len(told) % REFILL == 0:
            await walk.line.get("plan", "/api/plan")
        reply = await wire.ask(request)
        assert name.encode() in reply, reply
        told.append(name)
    return told
