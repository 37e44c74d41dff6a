"""Many annotators who take their time, on one core, against a server on the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import uvloop

from softlabel.simulate.client import Client, Log, Request
from softlabel.simulate.people import Habits, Participant, draw_participants, read_truth
from softlabel.simulate.visit import Site, Visit
from softlabel.study import Study

HABITS = Habits(duplicates=0.01, disconnects=0.01, leavers=0.02, fail_quiz=0.05, think=8.0)
POLL = 5.0  # seconds between two looks at the dashboard


@dataclass(frozen=True)
class Crowd:
    """How many come, over how many seconds, how long they read, and how long we count."""

    annotators: int
    ramp: float
    reading: float
    seconds: float

    @property
    def whole(self) -> float:
        return self.ramp + self.reading + self.seconds


@dataclass
class Load:
    """What a run saw: everything that was logged, and who was acknowledged what."""

    log: Log = field(default_factory=Log)
    walks: list[Visit] = field(default_factory=list)
    dashboard: list[float] = field(default_factory=list)
    rate: float = 0.0  # acknowledged answers per second, once everybody is at it

    def times(self, *kinds: Request) -> list[float]:
        """How long all requests of these kinds took, in seconds."""
        return [one for kind in kinds for one in self.log.latencies[kind]]

    @property
    def acknowledged(self) -> list[str]:
        return [one for walk in self.walks for one in walk.acknowledged]


def run(url: str, study: Study, come: Crowd, token: str) -> Load:
    """Keep so many people busy: whoever is done is replaced by somebody who has just come."""
    load = Load()
    uvloop.run(_run(load, Site(url, study, read_truth(study, 0), HABITS), come, token))
    return load


async def _run(load: Load, site: Site, come: Crowd, token: str) -> None:
    people = iter(draw_participants(50 * come.annotators, seed=0))
    end = time.perf_counter() + come.whole
    delays = np.random.default_rng(0).uniform(0, come.ramp, come.annotators).tolist()
    watching = asyncio.create_task(_watch(load, site.url, token))
    async with asyncio.TaskGroup() as group:
        group.create_task(_count(load, come))
        for delay in delays:
            group.create_task(_place(load, site, lambda: next(people), delay, end))
    watching.cancel()


async def _place(
    load: Load, site: Site, somebody: Callable[[], Participant], delay: float, end: float
) -> None:
    """One place in front of a screen."""
    await asyncio.sleep(delay)
    while time.perf_counter() < end:
        walk = Visit(site, somebody(), load.log)
        load.walks.append(walk)
        await walk.enter("/")
        await walk.stay()
        if walk.end == "turned away":
            return  # the study is full


async def _count(load: Load, come: Crowd) -> None:
    """Measure the rate of the last seconds, then send everybody home."""
    await asyncio.sleep(come.ramp + come.reading)
    before = load.log.answered
    await asyncio.sleep(come.seconds)
    load.rate = (load.log.answered - before) / come.seconds
    for walk in load.walks:
        walk.leave()


async def _watch(load: Load, url: str, token: str) -> None:
    """A researcher with the dashboard open."""
    client = Client(url)
    await client.post_form("/research/login", {"token": token})
    while True:
        try:
            reply = await client.get("/research")
        except OSError as error:
            load.log.errors[f"GET /research: {type(error).__name__}"] += 1
        else:
            if reply.status == 200:
                load.dashboard.append(reply.seconds)
            else:
                load.log.errors[f"GET /research: {reply.status}"] += 1
        await asyncio.sleep(POLL)
