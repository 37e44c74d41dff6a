"""One run against a server of ours with a fresh database, in numbers."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from asking import checks, figures, hostile, load, saturation, usage
from asking import study as asked

from softlabel import study as studies
from softlabel.simulate.crowd import Server, run_server

SERVER, CLIENTS = 0, 1  # cores
FLOOD = 64  # clients that never think
HONEST = 100  # people who answer while somebody attacks
TOKEN = re.compile(r"token[^:]*: (\S+)")

Times = tuple[float, float, float, float]  # p50, p95, p99 and the largest, in ms


@dataclass(frozen=True)
class Run:
    """What came of one run; None where it was not looked at."""

    rate: float  # acknowledged answers per second
    answers: Times | None = None
    pages: Times | None = None
    dashboard: float | None = None  # p95 in ms
    errors: int = 0
    exact: bool | None = None  # acknowledged = stored
    balanced: bool | None = None  # nothing over its quota, batches within one of each other
    megabytes: float | None = None
    cores: usage.Usage | None = None
    trouble: str = ""
    worked: float = 0.0  # ms of the server's processor per answer
    acts: Sequence[float] = ()  # seconds that the researcher's actions took


@contextmanager
def server(folder: Path, *options: str, source: Path | None = None) -> Iterator[Server]:
    """On a core of its own; with ``source``, the package that lies there."""
    other = () if source is None else ("env", f"PYTHONPATH={source}")
    before = (*other, "taskset", "-c", str(SERVER))
    with run_server(folder, *options, before=before) as running:
        yield running


def visit(come: load.Crowd, source: Path | None = None) -> Run:
    """A crowd that thinks; with ``source``, in front of the package that lies there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        asked.write_batches(folder, people=50 * come.annotators)
        study = studies.read(folder)
        with server(folder, source=source) as running:
            token = TOKEN.search(running.read_output())
            assert token, running.read_output()
            meter = usage.Meter(running.process.pid)
            seen = load.run(running, study, come, token[1])
            cores, megabytes = meter.read(), usage.peak(running.process.pid)
        stored = checks.look(study, folder / ".softlabel" / "answers.db")
    low, high = stored.batches or (0, 0)
    balanced = stored.most_per_item <= study.per_item and high - low <= 1
    return Run(
        rate=seen.rate,
        answers=figures.percentiles(seen.times("answer")),
        pages=figures.percentiles(seen.times("page", "plan")),
        dashboard=figures.percentiles(seen.dashboard)[1],
        errors=sum(seen.log.errors.values()) + seen.log.waits,
        exact=stored.is_exactly(seen.acknowledged),
        balanced=None if come.acting else balanced,  # who is left out frees a place
        megabytes=megabytes,
        cores=cores,
        worked=seen.worked,
        acts=seen.acts,
        trouble=", ".join(seen.log.errors),
    )


def flood(database: str | None, seconds: float) -> Run:
    """Clients that never think; on SQLite, or at the address of a PostgreSQL."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        asked.write_long(folder, FLOOD, items=round(40 * seconds))
        study = studies.read(folder)
        options = ("--db", database) if database else ()
        with server(folder, *options) as running:
            rate, acknowledged = saturation.run(running.url, study, FLOOD, seconds)
            megabytes = usage.peak(running.process.pid)
        stored = checks.look(study, database or folder / ".softlabel" / "answers.db")
    return Run(rate, exact=stored.is_exactly(acknowledged), megabytes=megabytes)


def attacked(seconds: float) -> tuple[Run, Run]:
    """The same people without and with an attacker, against one server."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        asked.write_long(folder, HONEST, items=round(2.5 * seconds / hostile.THINK))
        study = studies.read(folder)
        with server(folder) as running:
            seen = hostile.run(running.url, study, HONEST, seconds)
            megabytes = usage.peak(running.process.pid)
        stored = checks.look(study, folder / ".softlabel" / "answers.db")
    exact = set(stored.ids) >= set(seen.acknowledged)
    both = [(seen.quiet, None, 0), (seen.attacked, megabytes, seen.errors)]
    quiet, bad = (
        Run(
            len(times) / seconds,
            figures.percentiles(times),
            errors=errors,
            exact=exact,
            megabytes=peak,
        )
        for times, peak, errors in both
    )
    return quiet, bad


@contextmanager
def postgresql() -> Iterator[Callable[[], str]]:
    """The address of a fresh database, as often as it is asked for, in a PostgreSQL of our own on
    the server's core, with its defaults (fsync on)."""
    import pgserver
    import psycopg

    os.sched_setaffinity(0, {SERVER})  # inherited by what is started here
    name = tempfile.mkdtemp()
    running = pgserver.get_server(name)
    os.sched_setaffinity(0, {CLIENTS})
    numbers = count()

    def fresh() -> str:
        database = f"run_{next(numbers)}"
        with psycopg.connect(running.get_uri(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {database}")
        return str(running.get_uri(database))

    try:
        yield fresh
    finally:
        running.cleanup()
        shutil.rmtree(name, ignore_errors=True)
