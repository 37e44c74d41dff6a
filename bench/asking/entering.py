"""How long many people who come at once wait for their first items."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import uvloop
from asking import runs, usage
from asking import study as asked

from softlabel import study as studies
from softlabel.simulate.client import Log
from softlabel.simulate.people import Habits, draw_participants, read_truth
from softlabel.simulate.visit import Site, Visit

PEOPLE, ITEMS = 100, 3000
PATIENCE = 300.0  # seconds, for all of them


class Wait(NamedTuple):
    """Seconds until the last of them had the first plan, and of the server's processor."""

    seconds: float
    server: float


def longest(batch: int, *, prescribed: bool) -> Wait:
    """How long 100 people at once take from the first page to the first plan.

    ``batch`` items make a batch: one of the study's own, or as many as a person may hold.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        asked.write_texts(folder, ITEMS, batch, PEOPLE, prescribed=prescribed)
        study = studies.read(folder)
        with runs.server(folder) as running:
            site = Site(running.url, study, read_truth(study, 0), Habits())
            before = usage.process(running.process.pid)
            seconds = uvloop.run(asyncio.wait_for(_enter(site), PATIENCE))
            return Wait(seconds, usage.process(running.process.pid) - before)


async def _enter(site: Site) -> float:
    walks = [Visit(site, somebody, Log()) for somebody in draw_participants(PEOPLE, seed=0)]
    begin = time.perf_counter()
    await asyncio.gather(*(walk.enter("/") for walk in walks))
    seconds = time.perf_counter() - begin
    assert all(walk.open() for walk in walks), "somebody came in and got nothing to do"
    for walk in walks:
        await walk.client.close()
    return seconds
