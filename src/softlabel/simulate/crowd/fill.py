"""Many people at once: they arrive one after another and answer side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from softlabel.errors import SoftlabelError
from softlabel.simulate.crowd.entrance import entrances
from softlabel.simulate.crowd.http import Client
from softlabel.simulate.crowd.log import Log, Progress, Report
from softlabel.simulate.crowd.people import Habits, crowd
from softlabel.simulate.crowd.truth import known
from softlabel.simulate.crowd.walk import Site, Walk
from softlabel.study import Study


def fill(  # noqa: PLR0913  each is one thing to say about the crowd
    url: str,
    study: Study,
    *,
    annotators: int,
    seed: int,
    habits: Habits | None = None,
    concurrency: int = 16,
    progress: Progress | None = None,
    db: str | None = None,
) -> Report:
    """Send simulated people through a study that is served at ``url``, and wait for the last.

    Up to ``concurrency`` of them answer at the same time, but they enter, and ask for more items,
    in the order of their numbers: so who is asked about what depends on the seed alone.  People
    who take time to ``think`` all answer at once, and ask for more whenever they need it.

    The server must be a rehearsal, which marks them as simulated.  ``db`` is its database, where
    a study by invitation needs their invitations; by default the study's own for rehearsals.
    """
    people = crowd(annotators, seed)
    site = Site(url, study, known(study, seed), habits or Habits())
    log = Log(progress)
    walks = [Walk(site, somebody, log) for somebody in people]
    knock(url)
    begin = time.perf_counter()
    _complete(
        _visit(walks, entrances(study, people, db), None if site.habits.think else concurrency)
    )
    seconds = time.perf_counter() - begin
    ends = tuple(walk.outcome for walk in walks)
    return Report(ends, seconds, log.errors, log.waits, log.latencies)


def _complete(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end; in a notebook, whose own loop is running here, beside it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
    else:
        with ThreadPoolExecutor(1) as beside:
            beside.submit(asyncio.run, work).result()


def knock(url: str) -> None:
    """See that a rehearsal is there before sending people."""
    _complete(_knock(url))


async def _knock(url: str) -> None:
    client = Client(url)
    try:
        reply = await client.get("/health")
    except OSError as error:
        raise SoftlabelError(f"{url}: nobody answers there ({error})") from error
    finally:
        await client.close()
    if reply.status != 200:
        raise SoftlabelError(f"{url}: what answers there is no softlabel server")
    if b'"rehearsal"' not in reply.body:
        raise SoftlabelError(
            f"{url}: this server takes whoever comes for people; simulated people need one that "
            "marks them as simulated: softlabel serve DIR --rehearsal"
        )


async def _visit(walks: list[Walk], paths: list[str], concurrency: int | None) -> None:
    async with asyncio.TaskGroup() as group:
        for walk, path in zip(walks, paths, strict=True):
            await walk.enter(path)
            if concurrency is None:
                group.create_task(walk.stay())
    while here := [walk for walk in walks if walk.end is None]:
        await _side_by_side([walk.work for walk in here], concurrency or 1)
        for walk in here:
            if walk.end is None:
                await walk.ask_more()


async def _side_by_side(jobs: Sequence[Callable[[], Coroutine[Any, Any, None]]], most: int) -> None:
    free = asyncio.Semaphore(most)

    async def one(job: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async with free:
            await job()

    async with asyncio.TaskGroup() as group:
        for job in jobs:
            group.create_task(one(job))
