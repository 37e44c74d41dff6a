"""How many durable answers per second there are when nobody thinks."""

from __future__ import annotations

import asyncio
import time
import uuid

import uvloop
from asking.wire import Wire, connect

from softlabel.simulate.client import Log
from softlabel.simulate.people import Habits, Truth, draw_participants, read_truth, simulate_timing
from softlabel.simulate.visit import CLIENT, Site, Visit
from softlabel.store.rows import MAX_HELD
from softlabel.study import Study

REFILL = 20  # answers after which a page asks for more items

Outbox = list[tuple[str, bytes]]


def run(url: str, study: Study, clients: int, seconds: float) -> tuple[float, list[str]]:
    """Answers per second, and the ids acknowledged; what people say is prepared before.

    The study has nothing but items: the n-th position is the n-th item that somebody gets.
    """
    return uvloop.run(_run(Site(url, study, read_truth(study, 0), Habits()), clients, seconds))


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
        await walk.client.close()
    acknowledged = [one for each in told for one in each]
    return len(acknowledged) / took, acknowledged


async def outboxes(site: Site, people: int) -> list[Outbox]:
    """Let so many people in, and prepare what they have to say of the first items they get."""
    walks = await _enter(site, people)
    boxes = [_outbox(walk, site.study, site.truth)[:MAX_HELD] for walk in walks]
    for walk in walks:
        await walk.client.close()
    return boxes


async def _enter(site: Site, people: int) -> list[Visit]:
    walks = [Visit(site, somebody, Log()) for somebody in draw_participants(people, seed=0)]
    for walk in walks:
        await walk.enter("/")
    return walks


def _outbox(walk: Visit, study: Study, truth: Truth) -> Outbox:
    """Names of answers, and how they go over the wire."""
    somebody = walk.participant
    times = simulate_timing({"top": "x"}, study.mode, somebody.draw("timing"))
    made = []
    for position, item in enumerate(one.id for one in study.items):
        body = {
            "response_uuid": str(uuid.uuid4()),
            "position": position,
            "answer": somebody.answer(item, truth.of[item], "main 1", study.mode, study.labels),
            "timing": times,
            "events": [[at, "click", "", name] for name, at in times["fields"].items()],
            "client": CLIENT,
            "delivery": {"attempt": 1, "queued_ms": 0},
        }
        made.append((str(body["response_uuid"]), walk.client.encode_json("/api/answers", body)))
    return made


async def _post(walk: Visit, wire: Wire, outbox: Outbox, end: float) -> list[str]:
    told: list[str] = []
    for name, request in outbox:
        if time.perf_counter() > end:
            break
        if told and len(told) % REFILL == 0:
            await walk.client.get("/api/plan")
        reply = await wire.ask(request)
        assert name.encode() in reply, reply
        told.append(name)
    return told
