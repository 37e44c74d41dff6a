"""The server under load: 1,000 annotators who think, as many as it holds, and as fast as it goes.

    python bench/server.py [--quick] [--minutes 1] [--repetitions 3] [--peer NAME] [--write]

The server runs on core 0 and the annotators on core 1.  Each of them walks the whole study, with
8 s of thought on average over every page and picture; 1 % of answers are sent twice, 1 % are
broken off in the middle and sent again, 5 % of people fail the quiz at first, 2 % leave early;
whoever is done is replaced; the dashboard is open.  Latencies are of all requests of a run, the
arrival included; answers per second are counted once everybody is at work.  After each run the
ids in the database must be exactly those acknowledged.

Prints one table per question; ``--write`` puts them into RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from asking import checks, figures, limits, load, peers, saturation
from asking import study as studies_to_ask

from softlabel import study as studies
from softlabel.crowd.server import Server, serving

SERVER, CLIENTS = 0, 1  # cores
ANNOTATORS, RAMP, HERD = 1000, 60.0, 5.0
READING = 75.0  # seconds until nearly everybody is through consent, instructions and quiz
GOOD = 150.0  # ms, for 95 of 100 answers
FLOOD = 64  # clients that never think
TITLE = "Asking under load"
TOKEN = re.compile(r"token[^:]*: (\S+)")


@dataclass(frozen=True)
class Run:
    """One run, in numbers."""

    rate: float  # acknowledged answers per second
    answers: tuple[float, float, float, float]  # p50, p95, p99 and the largest, in ms
    pages: tuple[float, float, float, float]
    dashboard: float  # p95 in ms
    errors: int
    exact: bool  # acknowledged = stored
    balanced: bool  # nothing over its quota, batches within one of each other
    megabytes: float
    first_error: str


@contextmanager
def server(folder: Path, *options: str) -> Iterator[Server]:
    with serving(folder, *options, before=("taskset", "-c", str(SERVER))) as running:
        yield running


def visit(come: load.Crowd) -> Run:
    """One server with a fresh database, and a crowd."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        studies_to_ask.write_batches(folder, people=50 * come.annotators)
        study = studies.read(folder)
        with server(folder) as running:
            token = TOKEN.search(running.said())
            assert token, running.said()
            seen = load.run(running.url, study, come, token[1])
            megabytes = peak(running.process.pid)
        stored = checks.look(study, folder / ".softlabel" / "answers.db")
    low, high = stored.batches or (0, 0)
    times = seen.log.latencies
    return Run(
        rate=seen.rate,
        answers=figures.percentiles(times["answer"]),
        pages=figures.percentiles([*times["page"], *times["plan"]]),
        dashboard=figures.percentiles(seen.dashboard)[1],
        errors=sum(seen.log.errors.values()) + seen.log.waits,
        exact=stored.is_exactly(seen.acknowledged),
        balanced=stored.most_per_item <= study.per_item and high - low <= 1,
        megabytes=megabytes,
        first_error=next(iter(seen.log.errors), ""),
    )


def peak(process: int) -> float:
    """The most memory a process has held, in megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


# ── the questions ────────────────────────────────────────────────────────────────────────────

HEAD = [
    *("", "n", "answers/s", "answer p50 ms", "p95 ms", "p99 ms", "max ms"),
    *("page, plan p95 ms", "p99 ms", "dashboard p95 ms", "errors", "acknowledged = stored"),
    *("quota, balance", "server MB"),
]


def row(name: str, runs: Sequence[Run]) -> list[str]:
    def over(values: Iterator[float], digits: int = 0) -> str:
        return figures.spread(list(values), digits)

    return [
        name,
        str(len(runs)),
        over(one.rate for one in runs),
        *(over((one.answers[place] for one in runs), 1) for place in range(4)),
        *(over((one.pages[place] for one in runs), 1) for place in (1, 2)),
        over(one.dashboard for one in runs),
        str(sum(one.errors for one in runs)),
        "yes" if all(one.exact for one in runs) else "NO",
        "kept" if all(one.balanced for one in runs) else "BROKEN",
        over(one.megabytes for one in runs),
    ]


def thousand(annotators: int, seconds: float, repetitions: int) -> str:
    """The same people, arriving by and by, and all at once."""
    rows = [HEAD]
    for name, ramp in ((f"arriving over {RAMP:.0f} s", RAMP), (f"all within {HERD:.0f} s", HERD)):
        runs = []
        for _ in range(repetitions):
            runs.append(visit(load.Crowd(annotators, ramp, READING, seconds)))
            print(row(name, runs[-1:]), runs[-1].first_error, flush=True)
        rows.append(row(f"{annotators:,} annotators {name}", runs))
    return figures.table(rows)


def most(first: int, step: int, seconds: float, repetitions: int) -> str:
    """More and more people, until 95 of 100 answers take longer than they should."""
    rows, annotators = [HEAD], first
    while True:
        come = load.Crowd(annotators, RAMP / 2, READING, seconds)
        runs = [visit(come) for _ in range(repetitions)]
        rows.append(row(f"{annotators:,} annotators", runs))
        print(rows[-1], runs[-1].first_error, flush=True)
        if any(one.answers[1] > GOOD or one.errors for one in runs):
            return figures.table(rows)
        annotators += step


def fastest(seconds: float, repetitions: int) -> str:
    """Answers per second when nobody thinks, and what the machine could do without us."""
    sqlite = [flood(None, seconds) for _ in range(repetitions)]
    with postgresql() as address:
        postgres = [flood(address, seconds) for _ in range(repetitions)]
    echo = [limits.echo(FLOOD, seconds, SERVER) for _ in range(repetitions)]
    with tempfile.TemporaryDirectory() as name:
        commits = []
        for n in range(repetitions):
            (Path(name) / str(n)).mkdir()
            commits.append(limits.commits(Path(name) / str(n), seconds / 2, SERVER))
    kinds = {
        "softlabel, SQLite": sqlite,
        "softlabel, PostgreSQL": postgres,
        "limit: bare uvicorn + Starlette, nothing kept": echo,
        "limit: SQLite alone, one durable row per commit": commits,
    }
    rows = [["", "n", "per second", "of the bare server", "of the bare commits"]]
    for name, rates in kinds.items():
        shares = [f"{max(rates) / max(whole):.2f}" for whole in (echo, commits)]
        rows.append([name, str(len(rates)), figures.spread(rates), *shares])
        print(rows[-1], flush=True)
    return figures.table(rows)


def flood(database: str | None, seconds: float) -> float:
    """Durable answers per second; stops the benchmark if one of them was not stored."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "load"
        studies_to_ask.write_long(folder, FLOOD, items=round(40 * seconds))
        study = studies.read(folder)
        options = ("--db", database) if database else ()
        with server(folder, *options) as running:
            rate, acknowledged = saturation.run(running.url, study, FLOOD, seconds)
        stored = checks.look(study, database or folder / ".softlabel" / "answers.db")
    if not set(acknowledged) <= set(stored.ids):
        raise SystemExit("acknowledged answers are not in the database")
    return rate


PEER_HEAD = ["", "answers/s", "p50 ms", "p95 ms", "p99 ms", "max ms", "errors", "server MB"]
PEER_SIZES = (50, 200, ANNOTATORS)
PEER_FLOOD = 20  # clients that never think; more only break it


def peer(given: str, sizes: Sequence[int], seconds: float) -> str:
    """The same people against another server: more and more of them, then as fast as it goes."""
    name, program = peers.program_of(given)
    if name not in peers.PEERS:
        raise SystemExit(f"no peer called {name!r}; there are {', '.join(peers.PEERS)}")
    if program is None:
        return f"{name} is not installed, so it was not measured."
    jobs = [(f"{size:,} annotators", load.Crowd(size, RAMP / 2, 0.0, seconds)) for size in sizes]
    jobs.append(
        (f"{PEER_FLOOD} clients without thought", load.Crowd(PEER_FLOOD, 0.0, 0.0, seconds))
    )
    rows, other = [PEER_HEAD], peers.PEERS[name]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        peers.running(other, program, Path(folder), SERVER) as (url, process),
    ):
        for title, come in jobs:
            think = load.HABITS.think if come.ramp else 0.0
            seen = peers.run(other, url, come, think)
            rows.append([f"{name}, {title}", *peer_cells(seen), f"{peak(process):,.0f}"])
            print(rows[-1], flush=True)
    return figures.table(rows)


def peer_cells(seen: load.Load) -> list[str]:
    times = [f"{ms:,.0f}" for ms in figures.percentiles(seen.log.latencies["answer"])]
    return [f"{seen.rate:,.1f}", *times, f"{sum(seen.log.errors.values()):,}"]


@contextmanager
def postgresql() -> Iterator[str]:
    """A PostgreSQL of our own, on the server's core, with its defaults (fsync on)."""
    import pgserver

    os.sched_setaffinity(0, {SERVER})  # inherited by what is started here
    name = tempfile.mkdtemp()
    running = pgserver.get_server(name)
    os.sched_setaffinity(0, {CLIENTS})
    try:
        yield running.get_uri()
    finally:
        running.cleanup()
        shutil.rmtree(name, ignore_errors=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="counted in each run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="100 annotators, seconds, once")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME[=PROGRAM]",
        help="potato or label-studio, if it is installed; may be repeated",
    )
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    given = parser.parse_args(argv)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.sched_setaffinity(0, {CLIENTS})
    people, seconds, times = ANNOTATORS, 60 * given.minutes, given.repetitions
    if given.quick:
        people, seconds, times = 100, 10.0, 1
    parts = [thousand(people, seconds, times)]
    parts.append(most(2 * people, people, seconds, 1))
    parts.append(fastest(min(10.0, seconds), times))
    sizes = (10,) if given.quick else PEER_SIZES
    parts += [peer(one, sizes, seconds) for one in given.peer]
    print("\n\n".join([figures.machine(), *parts]))
    if given.write:
        figures.write_section(TITLE, [f"`python bench/server.py`: {figures.machine()}.", *parts])


if __name__ == "__main__":
    main()
