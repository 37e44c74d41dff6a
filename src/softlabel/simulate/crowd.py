"""Many simulated people at once: they arrive one after another and answer side by side."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from softlabel.errors import SoftlabelError
from softlabel.simulate.client import Client, Log, Progress, Request
from softlabel.simulate.people import Habits, draw_participants, read_truth
from softlabel.simulate.visit import Outcome, Site, Visit, make_links
from softlabel.study import Study

T = TypeVar("T")
PATIENCE = 60.0  # seconds for a server to start, or to stop
LISTENS = re.compile(r" at (http://\S+?)/?\s")


@dataclass(frozen=True)
class Report:
    """What came of sending people to a study.

    ``people`` are in the order of their numbers; ``errors`` counts requests that failed, also
    those that a second try rescued; ``waits`` how often the server asked somebody to slow down;
    ``latencies`` are seconds by kind of request.
    """

    people: tuple[Outcome, ...]
    seconds: float
    errors: Mapping[str, int]
    waits: int
    latencies: Mapping[Request, list[float]]

    @property
    def acknowledged(self) -> int:
        return sum(len(person.acknowledged) for person in self.people)

    @property
    def finished(self) -> int:
        return sum(person.end == "finished" for person in self.people)


def fill_study(  # noqa: PLR0913  each is one thing to say about the people
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
    people = draw_participants(annotators, seed)
    site = Site(url, study, read_truth(study, seed), habits or Habits())
    log = Log(progress)
    visits = [Visit(site, participant, log) for participant in people]
    check_rehearsal(url)
    begin = time.perf_counter()
    links = make_links(study, people, db)

    complete(take_part(visits, links, concurrency))
    seconds = time.perf_counter() - begin
    outcomes = tuple(visit.outcome for visit in visits)
    return Report(outcomes, seconds, log.errors, log.waits, log.latencies)


async def take_part(visits: Sequence[Visit], links: Sequence[str], concurrency: int) -> None:
    """Let people enter in this order, and stay until the last of them has left."""
    async with asyncio.TaskGroup() as group:
        for visit, link in zip(visits, links, strict=True):
            await visit.enter(link)
            if visit.site.habits.think:
                group.create_task(visit.stay())
    free = asyncio.Semaphore(concurrency)

    async def work(visit: Visit) -> None:
        async with free:
            await visit.work()

    while here := [visit for visit in visits if visit.end is None]:
        async with asyncio.TaskGroup() as group:
            for visit in here:
                group.create_task(work(visit))
        for visit in here:
            if visit.end is None:
                await visit.ask_more()


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; in a notebook, which has a running loop of its own, in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def check_rehearsal(url: str) -> None:
    """Refuse to send people where no rehearsal is served."""

    async def check() -> None:
        client = Client(url)
        try:
            reply = await client.get("/health")
        except OSError as error:
            raise SoftlabelError(
                f"{url}: nobody answers there ({error.strerror or error}); softlabel serve DIR "
                "--rehearsal lets simulated people in"
            ) from error
        finally:
            await client.close()
        if reply.status != 200:
            raise SoftlabelError(f"{url}: what answers there is no softlabel server")
        if b'"rehearsal"' not in reply.body:
            raise SoftlabelError(
                f"{url}: this server takes whoever comes for people; simulated people need one "
                "that marks them as simulated: softlabel serve DIR --rehearsal"
            )

    complete(check())


@dataclass(frozen=True, eq=False)
class Server:
    """A running ``softlabel serve``: its address, its process, and what it printed."""

    url: str
    process: subprocess.Popen[bytes]
    _output: IO[bytes]

    def read_output(self) -> str:
        return _read_all(self._output)


@contextmanager
def run_server(folder: Path, *options: str, before: Sequence[str] = ()) -> Iterator[Server]:
    """Serve a study on a free loopback port, and stop when it is no longer needed.

    ``options`` go to ``softlabel serve``; ``before`` are words before the whole command, for
    instance ``("taskset", "-c", "0")``.
    """
    command = [*before, sys.executable, "-m", "softlabel", "serve", str(folder), "--port", "0"]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([*command, *options], stdout=output, stderr=subprocess.STDOUT)
        end = time.monotonic() + PATIENCE
        try:
            while True:
                running = process.poll() is None  # looked at first, so that its last words are read
                printed = _read_all(output)
                if address := LISTENS.search(printed):
                    break
                if not running or time.monotonic() > end:
                    last = " ".join(printed.split("\n")[-5:])
                    raise SoftlabelError(f"the server did not start: {last}")
                time.sleep(0.02)
            yield Server(address[1], process, output)
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _read_all(output: IO[bytes]) -> str:
    """Read without moving the writer's place in the file, which is shared."""
    number = output.fileno()
    return os.pread(number, os.fstat(number).st_size, 0).decode(errors="replace")
