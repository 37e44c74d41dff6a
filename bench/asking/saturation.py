"""How many durable answers per second there are when nobody thinks."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

import uvloop

from softlabel.crowd import timing
from softlabel.crowd.line import Line
from softlabel.crowd.log import Log
from softlabel.crowd.people import Habits, Somebody, crowd
from softlabel.crowd.truth import Truth, known
from softlabel.crowd.walk import Site, Walk
from softlabel.study import Study

Bodies = list[dict[str, Any]]


def run(url: str, study: Study, clients: int, seconds: float) -> tuple[float, list[str]]:
    """Answers per second, and the ids acknowledged; what people say is prepared before."""
    return uvloop.run(_run(Site(url, study, known(study, 0), Habits()), clients, seconds))


async def _run(site: Site, clients: int, seconds: float) -> tuple[float, list[str]]:
    walks = [Walk(site, somebody, Log()) for somebody in crowd(clients, seed=0)]
    for walk in walks:
        await walk.enter("/")
    outboxes = [_outbox(walk.somebody, site.study, site.truth, walk.open()) for walk in walks]
    begin = time.perf_counter()
    end = begin + seconds
    pairs = zip(walks, outboxes, strict=True)
    told = await asyncio.gather(*(_post(walk.line, box, end) for walk, box in pairs))
    took = time.perf_counter() - begin
    for walk in walks:
        await walk.line.close()
    acknowledged = [one for each in told for one in each]
    return len(acknowledged) / took, acknowledged


def _outbox(somebody: Somebody, study: Study, truth: Truth, showings: Bodies) -> Bodies:
    times = timing.block({"top": "x"}, study.mode, somebody.draw("timing"))
    items = [(showing["position"], truth.item(showing)) for showing in showings]
    return [
        {
            "response_uuid": str(uuid.uuid4()),
            "position": position,
            "answer": somebody.says(item, truth.of[item], "main 1", study.mode, study.labels),
            "timing": times,
            "events": timing.events(times),
            "client": timing.CLIENT,
            "delivery": {"attempt": 0, "queued_ms": 0},
        }
        for position, item in items
    ]


async def _post(line: Line, outbox: Bodies, end: float) -> list[str]:
    told = []
    for body in outbox:
        if time.perf_counter() > end:
            break
        await line.deliver(body)
        told.append(body["response_uuid"])
    return told
