"""How many durable answers per second there are when nobody thinks."""

from __future__ import annotations

import asyncio
import time
import uuid

import uvloop
from asking.wire import Wire, connect

from softlabel.crowd import timing
from softlabel.crowd.log import Log
from softlabel.crowd.people import Habits, crowd
from softlabel.crowd.truth import Truth, known
from softlabel.crowd.walk import Site, Walk
from softlabel.study import Study

Outbox = list[tuple[str, bytes]]


def run(url: str, study: Study, clients: int, seconds: float) -> tuple[float, list[str]]:
    """Answers per second, and the ids acknowledged; what people say is prepared before."""
    return uvloop.run(_run(Site(url, study, known(study, 0), Habits()), clients, seconds))


async def _run(site: Site, clients: int, seconds: float) -> tuple[float, list[str]]:
    boxes = await outboxes(site, clients)
    wires = [await connect(site.url) for _ in boxes]
    begin = time.perf_counter()
    end = begin + seconds
    pairs = zip(wires, boxes, strict=True)
    told = await asyncio.gather(*(_post(wire, box, end) for wire, box in pairs))
    took = time.perf_counter() - begin
    for wire in wires:
        wire.close()
    acknowledged = [one for each in told for one in each]
    return len(acknowledged) / took, acknowledged


async def outboxes(site: Site, people: int) -> list[Outbox]:
    """Let so many people in, and prepare everything they have to say."""
    walks = [Walk(site, somebody, Log()) for somebody in crowd(people, seed=0)]
    for walk in walks:
        await walk.enter("/")
    boxes = [_outbox(walk, site.study, site.truth) for walk in walks]
    for walk in walks:
        await walk.line.close()
    return boxes


def _outbox(walk: Walk, study: Study, truth: Truth) -> Outbox:
    """Names of answers, and how they go over the wire."""
    somebody = walk.somebody
    times = timing.block({"top": "x"}, study.mode, somebody.draw("timing"))
    made = []
    for showing in walk.open():
        item = truth.item(showing)
        body = {
            "response_uuid": str(uuid.uuid4()),
            "position": showing["position"],
            "answer": somebody.says(item, truth.of[item], "main 1", study.mode, study.labels),
            "timing": times,
            "events": timing.events(times),
            "client": timing.CLIENT,
            "delivery": {"attempt": 1, "queued_ms": 0},
        }
        made.append((str(body["response_uuid"]), walk.line.prepared(body)))
    return made


async def _post(wire: Wire, outbox: Outbox, end: float) -> list[str]:
    told = []
    for name, request in outbox:
        if time.perf_counter() > end:
            break
        reply = await wire.ask(request)
        assert name.encode() in reply, reply
        told.append(name)
    return told
