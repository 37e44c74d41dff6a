"""Many annotators who take their time, on one core, against a server on the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
import uvloop
from asking import usage
from asking.researcher import Researcher

from softlabel.simulate.client import Log, Request
from softlabel.simulate.crowd import Server
from softlabel.simulate.people import Habits, Participant, draw_participants, read_truth
from softlabel.simulate.visit import Site, Visit
from softlabel.study import Study

HABITS = Habits(duplicates=0.01, disconnects=0.01, leavers=0.02, fail_quiz=0.05, think=8.0)
TURNED_AWAY = 1.0  # seconds until somebody tries again who has met a paused study


@dataclass(frozen=True)
class Crowd:
    """How many come, over how many seconds, how long they read, and how long we count; whether the
    researcher does something every second, and whether pauses are among it."""

    annotators: int
    ramp: float
    reading: float
    seconds: float
    acting: bool = False
    pausing: bool = False

    @property
    def whole(self) -> float:
        return self.ramp + self.reading + self.seconds


@dataclass
class Load:
    """What a run saw: everything that was logged, and who was acknowledged what."""

    log: Log = field(default_factory=Log)
    walks: list[Visit] = field(default_factory=list)
    names: list[str] = field(default_factory=list)  # of answers that another server acknowledged
    dashboard: list[float] = field(default_factory=list)
    acts: list[float] = field(default_factory=list)  # seconds that the researcher's actions took
    rate: float = 0.0  # acknowledged answers per second, once everybody is at it
    worked: float = 0.0  # milliseconds of the server's processor per answer, meanwhile

    def times(self, *kinds: Request) -> list[float]:
        """How long all requests of these kinds took, in seconds."""
        return [one for kind in kinds for one in self.log.latencies[kind]]

    @property
    def acknowledged(self) -> list[str]:
        return [one for walk in self.walks for one in walk.acknowledged]


def run(server: Server, study: Study, come: Crowd, token: str) -> Load:
    """Keep so many people busy: whoever is done is replaced by somebody who has just come."""
    load = Load()
    site = Site(server.url, study, read_truth(study, 0), HABITS)
    uvloop.run(_run(load, site, come, token, server.process.pid))
    return load


async def _run(load: Load, site: Site, come: Crowd, token: str, server: int) -> None:
    people = iter(draw_participants(50 * come.annotators, seed=0))
    delays = np.random.default_rng(0).uniform(0, come.ramp, come.annotators).tolist()
    watcher, doer = (Researcher(site.url, token, load.log) for _ in range(2))
    busy = [asyncio.create_task(watcher.watch())]
    if come.acting:
        await _come_and_go(load, site, next(people))
        alone = await doer.find_person()
        busy.append(asyncio.create_task(doer.act(alone, site.study.per_item, come.pausing)))
    end = time.perf_counter() + come.whole
    async with asyncio.TaskGroup() as group:
        group.create_task(_count(load, come, server))
        for delay in delays:
            group.create_task(_place(load, site, lambda: next(people), delay, end, come.acting))
    for task in busy:
        task.cancel()
    load.dashboard, load.acts = watcher.looks, doer.acts
    for task in busy:
        with suppress(asyncio.CancelledError):
            await task


async def _come_and_go(load: Load, site: Site, somebody: Participant) -> None:
    """Somebody whom the researcher can leave out and take in again: all others are at work."""
    walk = Visit(replace(site, habits=Habits()), somebody, load.log)
    load.walks.append(walk)
    await walk.enter("/")
    await walk.work()


async def _place(
    load: Load,
    site: Site,
    somebody: Callable[[], Participant],
    delay: float,
    end: float,
    patient: bool,
) -> None:
    """One place in front of a screen; the ``patient`` come back to where they were turned away."""
    await asyncio.sleep(delay)
    while time.perf_counter() < end:
        walk = Visit(site, somebody(), load.log)
        load.walks.append(walk)
        await walk.enter("/")
        while walk.end == "turned away" and patient and time.perf_counter() < end:
            await asyncio.sleep(TURNED_AWAY)
            walk.end = None
            await walk.enter("/")
        await walk.stay()
        if walk.end == "turned away":
            return  # the study is full


async def _count(load: Load, come: Crowd, server: int) -> None:
    """Measure the rate of the last seconds, then send everybody home."""
    await asyncio.sleep(come.ramp + come.reading)
    before, used = load.log.answered, usage.process(server)
    await asyncio.sleep(come.seconds)
    answered = load.log.answered - before
    load.rate = answered / come.seconds
    load.worked = 1000 * (usage.process(server) - used) / max(1, answered)
    for walk in load.walks:
        walk.leave()
