"""This code beside an earlier one, under the same load, with the dashboard open and in use.

    python bench/before.py SOURCE [--quick] [--minutes 0.5] [--repetitions 2] [--realtime]

SOURCE is the folder ``src`` of the earlier code, for instance of a worktree:

    git worktree add --detach /tmp/earlier COMMIT
    python bench/before.py /tmp/earlier/src

The annotators are those of bench/server.py.  They meet, by turns in one run, so that whatever else
uses the machine disturbs all alike: the earlier code, this code, and this code while a researcher
does something on the page *Run* every second: leave somebody out, take them in again, change the
quota, and set it back; each with its question and its confirmation.  The last line adds pauses: a
second in every ten.  People who come in during one are turned away and try again, and the others
are not given their next batch, so that there are fewer answers to share the server's work.

The main figure is the processor's milliseconds that the server used per answer once everybody is
at work, because others' load changes it least.  Prints one table and puts it into RESULTS.md (not
with ``--quick``).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
from collections.abc import Sequence
from pathlib import Path

import results
from asking import figures, runs
from asking.load import Crowd
from asking.runs import CLIENTS, Run

ANNOTATORS, RAMP, READING = (1000, 3000), 20.0, 50.0  # seconds
TITLE = "Asking before and after"
HEAD = [
    *("", "n", "answers/s", "answer p50 ms", "p95 ms", "p99 ms", "dashboard p95 ms", "actions"),
    *("action p95 ms", "errors", "acknowledged = stored", "server MB", "others' cores"),
    *("server cores", "processor ms per answer", "of before"),
]


def compare(source: Path, annotators: int, times: Sequence[float], n: int) -> list[list[str]]:
    """One line for each code; ``times`` are the seconds of arriving, reading and counting."""
    ways: dict[str, tuple[Path | None, dict[str, bool]]] = {
        "before": (source, {}),
        "now": (None, {}),
        "now, an action every second": (None, {"acting": True}),
        "now, pauses among the actions": (None, {"acting": True, "pausing": True}),
    }
    done: dict[str, list[Run]] = {way: [] for way in ways}
    for turn in range(n):
        for way, (code, acting) in ways.items():
            if acting and turn % 2:
                continue  # what it adds is seen without repeating all of it
            one = runs.visit(Crowd(annotators, *times, **acting), code)
            done[way].append(one)
            print(annotators, way, f"{one.worked:.3f} ms", one.answers, one.trouble, flush=True)
    before = statistics.median(one.worked for one in done["before"])
    return [row(f"{annotators:,} annotators, {way}", some, before) for way, some in done.items()]


def row(name: str, done: Sequence[Run], before: float) -> list[str]:
    acts = [one for run in done for one in run.acts]
    worked = [one.worked for one in done]
    times = [one.answers for one in done if one.answers is not None]
    return [
        name,
        str(len(done)),
        figures.spread([one.rate for one in done]),
        *(figures.spread([one[n] for one in times], 1) for n in range(3)),
        figures.spread([one.dashboard or 0.0 for one in done]),
        str(len(acts)) if acts else "–",
        f"{figures.percentiles(acts)[1]:.0f}" if acts else "–",
        f"{sum(one.errors for one in done):,}",
        "yes" if all(one.exact for one in done) else "NO",
        figures.spread([one.megabytes or 0.0 for one in done]),
        figures.spread([one.cores.others for one in done if one.cores], 2),
        figures.spread([one.rate * one.worked / 1000 for one in done], 2),
        figures.spread(worked, 2),
        f"{statistics.median(worked) / before:.2f}",
    ]


def commit_of(source: Path) -> str:
    words = ("git", "-C", str(source), "rev-parse", "--short", "HEAD")
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="the folder src of the earlier code")
    parser.add_argument("--minutes", type=float, default=0.5, help="counted in each run")
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="few people, seconds, once")
    parser.add_argument("--realtime", action="store_true", help="do not wait for other programs")
    given = parser.parse_args(argv)
    source = given.source.resolve()
    if not (source / "softlabel" / "__init__.py").is_file():
        parser.error(f"{source} holds no package softlabel")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.sched_setaffinity(0, {CLIENTS})
    if given.realtime:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))  # children inherit it
    sizes, times, n = ANNOTATORS, (RAMP, READING, 60 * given.minutes), given.repetitions
    if given.quick:
        sizes, times, n = (100,), (5.0, 30.0, 15.0), 1
    made = [HEAD]
    for annotators in sizes:
        made += compare(source, annotators, times, n)
        about = (
            "`python bench/before.py SOURCE`: the annotators of [asking under load]"
            f"(#asking-under-load) in front of commit {commit_of(source)} (*before*) and of this "
            "code (*now*), by turns in one run, with the dashboard open; each run is counted for "
            f"{given.minutes:g} min. What the actions are, its docstring says. Cells are medians, "
            f"with least and most in brackets.{figures.priority(given.realtime)} "
            f"{results.circumstances()}"
        )
        if not given.quick:  # what was measured is kept, whatever happens to the next part
            results.write_section(TITLE, [about, results.table(made)])
    print("\n" + results.table(made))


if __name__ == "__main__":
    main()
