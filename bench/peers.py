"""This package beside other annotation servers, in one run.

    python bench/peers.py [--peer potato=PROGRAM] [--peer label-studio=PROGRAM] [--quick]
                          [--annotators 100] [--minutes 1] [--realtime]

Install each in an environment of its own:

    python -m venv potato; potato/bin/pip install potato-annotation
    python -m venv studio; studio/bin/pip install label-studio

Each server starts in an empty folder on one core, as it comes, with 1,000 short texts and ten
labels; the annotators are on the other core.  Measured are: seconds from its start to the first
page; answers stored by annotators who think for 8 s on average, and how long the request that
stores an answer takes; the same by clients without thought; the most memory.  Then the server is
killed (``kill -9``) while answers come in, and its files are held against what it acknowledged.

Prints one table and puts it into RESULTS.md (not with ``--quick``).
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import results
from asking import figures, peers, usage
from asking.load import HABITS, Crowd, Load
from asking.runs import CLIENTS, SERVER

FLOOD, FLOODING = 20, 12.0  # clients that never think, and for how many seconds
KILLED = 5.0  # seconds of such clients after which the server is killed
TITLE = "Beside other annotation servers"


def measure(name: str, peer: peers.Peer, program: str, come: Crowd) -> list[str]:
    """One line: first with thought, then without, then killed."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder)
        with peers.running(peer, program, place, SERVER) as running:
            used = usage.process(running.process)
            seen = peers.run(peer, running.url, come)
            worked = 1000 * (usage.process(running.process) - used) / max(1, seen.log.answered)
            flood = Crowd(FLOOD, 0.0, 0.0, FLOODING)
            fast = peers.run(peer, running.url, flood, think=0.0)
            memory = usage.peak(running.process)
            killed = kill_amid(peer, running)
        lost = {*seen.names, *fast.names, *killed.names} - peer.stored(place)
    for one, times in (seen.log.errors + fast.log.errors).most_common(3):
        print(f"{name}: {one}, {times} times", flush=True)
    whole = len(seen.names) + len(fast.names) + len(killed.names)
    p50, p95, p99, _ = figures.percentiles(seen.times("answer"))
    return [
        f"{name} {version_of(name, program)}",
        f"{running.first_page:.1f}",
        f"{seen.rate:.1f}",
        *(f"{value:,.1f}" for value in (p50, p95, p99)),
        f"{worked:.1f}",
        f"{fast.rate:,.1f}",
        f"{sum(seen.log.errors.values()) + sum(fast.log.errors.values()):,}",
        f"{memory:,.0f}",
        f"{len(lost):,} of {whole:,}",
    ]


def kill_amid(peer: peers.Peer, running: peers.Running) -> Load:
    """Answers of clients without thought, until nobody answers them any more."""
    timer = threading.Timer(KILLED, os.kill, (running.process, signal.SIGKILL))
    timer.start()
    seen = peers.run(peer, running.url, Crowd(FLOOD, 0.0, 0.0, KILLED + 1), think=0.0)
    timer.join()
    return seen


def version_of(name: str, program: str) -> str:
    """The release that is installed where the program is."""
    package = {"potato": "potato-annotation"}.get(name, name)
    python = Path(program).parent / "python" if name in peers.PEERS else Path(program)
    code = f"from importlib.metadata import version; print(version({package!r}))"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "of an unknown version"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--peer", action="append", default=[], metavar="NAME=PROGRAM", help="may be repeated"
    )
    parser.add_argument("--annotators", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1.0, help="of annotators who think")
    parser.add_argument("--quick", action="store_true", help="few people, seconds")
    parser.add_argument("--realtime", action="store_true", help="do not wait for other programs")
    given = parser.parse_args(argv)
    programs = dict(peers.program_of(one) for one in given.peer)
    for name, program in programs.items():
        if name not in peers.PEERS or program is None:
            parser.error(f"no peer {name!r}, or its program is not there")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.sched_setaffinity(0, {CLIENTS})
    if given.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # children inherit it
    come = Crowd(given.annotators, 10.0, 0.0, 60 * given.minutes)
    if given.quick:
        come = Crowd(10, 1.0, 0.0, 10.0)
    made = [
        [
            *("", "first page s", f"answers/s of {come.annotators}", "stored in p50 ms", "p95 ms"),
            *("p99 ms", "processor ms per answer", f"answers/s of {FLOOD} without thought"),
            *("errors", "server MB", "lost by kill -9"),
        ]
    ]
    servers = {"softlabel": (peers.OURS, sys.executable)} | {
        name: (peers.PEERS[name], program) for name, program in programs.items() if program
    }
    for name, (peer, program) in servers.items():
        made.append(measure(name, peer, program, come))
        print(" | ".join(made[-1]), flush=True)
    about = (
        "`python bench/peers.py`: every server fresh, as it comes, on one core, with 1,000 short "
        f"texts and ten labels; {come.annotators} annotators who think for {HABITS.think:g} s on "
        f"average during {come.whole / 60:.1f} min, then {FLOOD} clients without thought. *Stored "
        "in*: the request that stores one answer; the pages and tasks that a server makes people "
        "load before it count in the rates and in the processor's time. Potato asks with "
        "`soft_label`; Label Studio with choices and a number, on its own SQLite, and everybody "
        "uses one account, which spares it logins; both and ours run in one process. *Lost*: "
        "answers that were acknowledged and are not in the server's files after `kill -9` amid "
        "answers."
        f"{figures.priority(given.realtime)} {results.circumstances()}"
    )
    if not given.quick:
        results.write_section(TITLE, [about, results.table(made)])
    print("\n" + results.table(made))


if __name__ == "__main__":
    main()
