"""The server under load: 1,000 annotators who think, as many as it holds, and as fast as it goes.

    python bench/server.py [--quick] [--minutes 1] [--repetitions 3] [--peer NAME[=PROGRAM]]
                           [--realtime] [--entry]

The server runs on core 0 and the annotators on core 1.  Each of them walks the whole study, with
8 s of thought on average over every page and picture; 1 % of answers are sent twice, 1 % are
broken off in the middle and sent again, 5 % of people fail the quiz at first, 2 % leave early;
whoever is done is replaced; the dashboard is open.  Latencies are of all requests of a run, the
arrival included; answers per second are counted once everybody is at work.  After each run the
ids in the database must be exactly those acknowledged.  The last part is hostile: the latency of
honest answers before and during an attack with huge headers and half-open connections.

With ``--entry`` only this is measured: how long the last of 100 people who come at the same moment
waits for the first items, by the size of a batch.

Prints one table and puts it into RESULTS.md (not with ``--quick``).  Where other programs run
meanwhile, ``--realtime`` lets none of this wait for them (Linux, as root); the table says how many
cores they used.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import results
from asking import entering, figures, limits, peers, runs, usage
from asking import hostile as attackers
from asking.load import HABITS, Crowd
from asking.runs import CLIENTS, FLOOD, HONEST, SERVER, Run

ANNOTATORS, RAMP, HERD = 1000, 60.0, 5.0
MOST = 10_000  # annotators; beyond that one generator is not enough
READING = 75.0  # seconds until nearly everybody is through consent, instructions and quiz
FLOODING = 10.0  # seconds
GOOD = 150.0  # ms, for 95 of 100 answers
PEER_SIZES = (50, 200, ANNOTATORS)
PEER_FLOOD = 20  # clients that never think; more only break it
BATCHES = (30, 50, 600, 3000)
TITLE, ENTRY_TITLE = "Asking under load", "Entering"
HEAD = [
    *("", "n", "answers/s", "answer p50 ms", "p95 ms", "p99 ms", "max ms"),
    *("page, plan p95 ms", "p99 ms", "dashboard p95 ms", "errors", "acknowledged = stored"),
    *(
        "quota, balance",
        "server MB",
        "server cores",
        "others' cores",
        "of bare HTTP",
        "of bare commits",
    ),
]


@dataclass(frozen=True)
class Size:
    """How much is asked of a run of the benchmark."""

    annotators: int
    ramp: float
    reading: float
    seconds: float
    repetitions: int
    most: int  # annotators
    peers: tuple[int, ...]


def row(name: str, done: Sequence[Run], *shares: str) -> list[str]:
    """The middle of the runs and their spread; a dash where nothing was looked at."""

    def over(values: Iterable[float | None], digits: int = 0) -> str:
        found = [value for value in values if value is not None]
        return figures.spread(found, digits) if found else "–"

    def all_of(values: Iterable[bool | None], yes: str, no: str) -> str:
        found = [value for value in values if value is not None]
        return (yes if all(found) else no) if found else "–"

    made = [
        name,
        str(len(done)),
        over((one.rate for one in done), 1 if done[0].rate < 100 else 0),
        *(over((one.answers and one.answers[n] for one in done), 1) for n in range(4)),
        *(over((one.pages and one.pages[n] for one in done), 1) for n in (1, 2)),
        over(one.dashboard for one in done),
        f"{sum(one.errors for one in done):,}",
        all_of((one.exact for one in done), "yes", "NO"),
        all_of((one.balanced for one in done), "kept", "BROKEN"),
        over(one.megabytes for one in done),
        over((one.cores and one.cores.server for one in done), 2),
        over((one.cores and one.cores.others for one in done), 2),
        *(shares or ("–", "–")),
    ]
    print(" | ".join(made), *{one.trouble for one in done if one.trouble}, flush=True)
    return made


# ── the questions ────────────────────────────────────────────────────────────────────────────


def thinking(size: Size) -> list[list[str]]:
    """So many people, all at once, and arriving by and by; then more and more of them, until 95
    of 100 answers no longer come in time."""

    def visits(annotators: int, ramp: float, times: int) -> list[Run]:
        come = Crowd(annotators, ramp, size.reading, size.seconds)
        return [runs.visit(come) for _ in range(times)]

    herd = visits(size.annotators, HERD, size.repetitions)
    made = [row(f"{size.annotators:,} annotators, all within 5 s", herd)]
    for annotators in range(size.annotators, size.most + 1, size.annotators):
        times = size.repetitions if annotators == size.annotators else 1
        done = visits(annotators, size.ramp, times)
        made.append(row(f"{annotators:,} annotators, arriving over {size.ramp:.0f} s", done))
        if not all(one.errors == 0 and in_time(one) for one in done):
            break
    return made


def in_time(one: Run) -> bool:
    return one.answers is not None and one.answers[1] <= GOOD


def flooding(seconds: float, repetitions: int) -> list[list[str]]:
    """Nobody thinks; beside it what the machine does without us, by turns."""
    with runs.postgresql() as fresh, tempfile.TemporaryDirectory() as name:
        jobs: dict[str, Callable[[], Run]] = {
            f"softlabel on SQLite, {FLOOD} clients without thought": lambda: runs.flood(
                None, seconds
            ),
            f"softlabel on PostgreSQL, {FLOOD} clients without thought": lambda: runs.flood(
                fresh(), seconds
            ),
            "limit: bare uvicorn and Starlette, nothing kept": lambda: Run(
                limits.echo(FLOOD, seconds, SERVER)
            ),
            "limit: SQLite alone, one durable row per commit": lambda: Run(
                limits.commits(Path(name), seconds / 2, SERVER)
            ),
        }
        done: dict[str, list[Run]] = {title: [] for title in jobs}
        for _ in range(repetitions):
            for title, job in jobs.items():
                done[title].append(job())
    *_, http, commits = ([one.rate for one in each] for each in done.values())
    return [
        row(title, each, *(figures.ratio([one.rate for one in each], of) for of in (http, commits)))
        for title, each in done.items()
    ]


def hostile(seconds: float, repetitions: int) -> list[list[str]]:
    """People who answer once a second, before an attack and while it goes on."""
    done = [runs.attacked(seconds) for _ in range(repetitions)]
    names = (f"{HONEST} people, nobody attacks", f"the same people, {attack()}")
    return [row(name, each) for name, each in zip(names, zip(*done, strict=True), strict=True)]


def attack() -> str:
    huge = attackers.HEADER // 2**20
    return (
        f"{attackers.HALF_OPEN} half-open connections, {attackers.SENDERS} headers of {huge} MB "
        "at a time"
    )


def peer(given: str, size: Size) -> list[list[str]]:
    """The same people against another server: more and more of them, then as fast as it goes."""
    name, program = peers.program_of(given)
    if program is None:
        print(f"{name} is not installed, so it is not measured", flush=True)
        return []
    crowds = [Crowd(n, size.ramp / 2, 0.0, size.seconds) for n in size.peers]
    crowds.append(Crowd(PEER_FLOOD, 0.0, 0.0, size.seconds))
    other, made = peers.PEERS[name], []
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        peers.running(other, program, Path(folder), SERVER) as server,
    ):
        for come in crowds:
            seen = peers.run(other, server.url, come, HABITS.think if come.ramp else 0.0)
            one = Run(
                seen.rate,
                figures.percentiles(seen.times("answer")),
                errors=sum(seen.log.errors.values()),
                megabytes=usage.peak(server.process),
            )
            who = "annotators" if come.ramp else "clients without thought"
            made.append(row(f"{name}, {come.annotators:,} {who}", [one]))
    return made


def entry(repetitions: int) -> list[list[str]]:
    """The last of 100 people at once, and what the server works for them, by the size of a batch.

    The ratio is of the processor's seconds: other programs do not change it much.
    """
    made = [["", "batch", "n", "last person s", "server's processor s", "of the smallest"]]
    for way, prescribed in (("given out one by one", False), ("in batches of their own", True)):
        seen: dict[int, list[entering.Wait]] = {size: [] for size in BATCHES}
        for _ in range(repetitions):
            for size in BATCHES:
                seen[size].append(entering.longest(size, prescribed=prescribed))
        least = min(one.server for one in seen[BATCHES[0]])
        for size, waits in seen.items():
            cells = (figures.spread(values, 2) for values in zip(*waits, strict=True))
            ratio = f"{min(one.server for one in waits) / least:.2f}"
            made.append([f"items {way}", f"{size:,}", str(repetitions), *cells, ratio])
            print(" | ".join(made[-1]), flush=True)
    return made


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="counted in each run")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few people, seconds, once")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME[=PROGRAM]",
        help=f"{' or '.join(peers.PEERS)}, if it is installed; may be repeated",
    )
    parser.add_argument("--realtime", action="store_true", help="do not wait for other programs")
    parser.add_argument("--entry", action="store_true", help="measure only how people get in")
    given = parser.parse_args(argv)
    for one in given.peer:
        if peers.program_of(one)[0] not in peers.PEERS:
            parser.error(f"no peer called {one!r}")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.sched_setaffinity(0, {CLIENTS})
    if given.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # children inherit it
    if given.entry:
        made = entry(1 if given.quick else given.repetitions)
        about = (
            "`python bench/server.py --entry`: 100 people come at the same moment and go from the "
            "first page to the first items of a study of 3,000; the last of them, and the seconds "
            "of the processor that the server used for all."
            f"{figures.priority(given.realtime)} {results.circumstances()}"
        )
        if not given.quick:
            results.write_section(ENTRY_TITLE, [about, results.table(made)])
        print("\n" + results.table(made))
        return
    seconds = 60 * given.minutes
    size = Size(ANNOTATORS, RAMP, READING, seconds, given.repetitions, MOST, PEER_SIZES)
    if given.quick:
        size = Size(100, 5.0, 15.0, 10.0, 1, 200, (10,))
    parts: list[Callable[[], list[list[str]]]] = [
        lambda: thinking(size),
        lambda: flooding(min(FLOODING, size.seconds), size.repetitions),
        lambda: hostile(min(FLOODING, size.seconds), size.repetitions),
        *(partial(peer, one, size) for one in given.peer),
    ]
    made = [HEAD]
    for part in parts:
        made += part()
        if not given.quick:  # what was measured is kept, whatever happens to the next part
            about = figures.about(given.minutes, given.realtime)
            results.write_section(TITLE, [about, results.table(made)])
    print("\n" + results.table(made))


if __name__ == "__main__":
    main()
