"""Speed and memory of the pools beside crowd-kit's, on planted votes.

    python bench/aggregate.py [--quick] [--only small medium]

Every method runs in processes of its own, three times; wall and CPU seconds are the least, memory
is the most that the process had beyond what it held before the call.  Both sides get their votes
as a table of integer codes in memory, in random order, and make of them (m, k) chances; iteration
counts are equal.  tiny is 5 thousand votes (crowd-kit's GLAD cannot do more), small 510 thousand by
2,571 people, medium 5 million by 10,000, large 50 million by 100,000 (ours alone).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import results
from voting import limits
from voting.planted import SIZES, Size

HERE = Path(__file__).parent
TITLE = "Pools beside crowd-kit"
RUNS, LIMIT = 3, 1800.0  # seconds
HEAD = [
    *("size", "method", "steps", "who", "wall s", "CPU s", "extra MB", "process MB"),
    *("times faster", "ns per vote and pass", "accuracy"),
]


@dataclass(frozen=True)
class Race:
    """One method of ours beside one of crowd-kit's (empty: none that could), which may compute
    the same."""

    size: str
    ours: str
    theirs: str
    steps: int = 0
    same: bool = False

    def entries(self) -> list[tuple[str, str]]:
        option = f"n_iter={self.steps},tol=0" if self.steps else ""
        joint = "," if ":" in self.ours else ":"
        found = [("softlabel", self.ours + (joint + option if option else ""))]
        if self.theirs:
            steps = f":{self.steps}" if self.steps else ""
            found.append(("crowd-kit", f"{self.theirs}{steps}"))
        return found


RACES = (
    Race("tiny", "glad", "GLAD", 1),
    Race("small", "majority", "MajorityVote"),
    Race("small", "dawid-skene:smoothing=0", "DawidSkene", 20, same=True),
    Race("small", "dawid-skene", "", 20),
    Race("small", "dawid-skene:smoothing=4", "", 20),
    Race("small", "dawid-skene:dtype=float32", "", 20),
    Race("small", "fast-dawid-skene", "", 20),
    Race("small", "bayes-dawid-skene", "", 20),
    Race("small", "one-coin:smoothing=0", "OneCoinDawidSkene", 1, same=True),
    Race("small", "mace:method=em,n_restarts=1", "MACE", 5),
    Race("small", "glad", "", 20),
    Race("medium", "majority", "MajorityVote"),
    Race("medium", "dawid-skene:smoothing=0", "DawidSkene", 5, same=True),
    Race("medium", "dawid-skene", "", 5),
    Race("medium", "dawid-skene:dtype=float32", "", 5),
    Race("medium", "one-coin", "", 5),
    Race("medium", "mace:method=em,n_restarts=1", "", 5),
    Race("medium", "glad", "", 5),
    Race("large", "majority", ""),
    Race("large", "dawid-skene", "", 5),
    Race("large", "one-coin", "", 5),
)


def measured(race: Race, folder: Path, runs: int) -> dict[str, list[dict[str, float]]]:
    """All runs of both sides, in turns; a side that fails or takes too long has none."""
    done: dict[str, list[dict[str, float]]] = {who: [] for who, _ in race.entries()}
    for turn in range(runs):
        for who, method in race.entries():
            if turn and not done[who]:
                continue
            save = str(folder / f"{who}.npy") if race.same and not turn else ""
            given = {"who": who, "method": method, "size": race.size}
            words = json.dumps({**given, "folder": str(folder), "save": save})
            print(f"{race.size}: {who} {method}, run {turn + 1}", file=sys.stderr)
            found = job("voting.job", words)
            if found:
                done[who].append(json.loads(found))
    return done


def job(module: str, *words: str) -> str:
    """What a module of the benchmark prints in a process of its own; nothing if it fails."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    done = None
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            env={**os.environ, "PYTHONPATH": path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"not finished in {LIMIT:.0f} s", file=sys.stderr)
        return ""
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return ""
    return done.stdout


def rows_of(race: Race, done: dict[str, list[dict[str, float]]]) -> list[list[str]]:
    least = {who: min((run["wall"] for run in runs), default=0.0) for who, runs in done.items()}
    rows = []
    for who, runs in done.items():
        name = race.ours if who == "softlabel" else race.theirs
        start = [race.size, name, str(race.steps or ""), who]
        if not runs:
            rows.append([*start, "not finished", *["–"] * 6])
            continue
        other = least.get("crowd-kit", 0.0) if who == "softlabel" else 0.0
        per_vote = 1e9 * least[who] / (SIZES[race.size].votes * (race.steps + 1))
        rows.append(
            [
                *start,
                f"{least[who]:.3f}",
                f"{min(run['cpu'] for run in runs):.3f}",
                f"{max(run['extra'] for run in runs):,.0f}",
                f"{max(run['whole'] for run in runs):,.0f}",
                f"**{other / least[who]:.0f}**" if other else "",
                f"{per_vote:.1f}",
                f"{runs[0]['accuracy']:.4f}",
            ]
        )
    return rows


def difference(folder: Path) -> float | None:
    """The largest between the two sides' chances, where both are there."""
    files = [folder / f"{who}.npy" for who in ("softlabel", "crowd-kit")]
    if not all(file.exists() for file in files):
        return None
    one, other = (np.load(file) for file in files)
    for file in files:
        file.unlink()
    return float(abs(one - other).max())


def limit_line(size: Size) -> str:
    """What the machine allows at best for a table of that size."""
    rows, k = size.annotators * size.classes, size.classes
    cores = len(os.sched_getaffinity(0))
    found = {threads: limits.measure(rows, k, threads) for threads in (1, cores)}
    cells = ", ".join(
        f"{read:.1f} and {both:.1f} ns on {threads} thread{'s' if threads > 1 else ''}"
        for threads, (read, both) in found.items()
    )
    megabytes = rows * k * 8 / 1e6
    return f"{size.name} ({megabytes:.0f} MB): {cells}"


COLD = """
import time
begin = time.perf_counter()
from softlabel.aggregate import DawidSkene
from softlabel.testing import example_votes
DawidSkene()(example_votes()[0])
print(time.perf_counter() - begin)
"""


def cold_starts() -> str:
    """The first labels of a new process, when it must compile and when one before it has."""
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": cache}
        words = [sys.executable, "-c", COLD]
        first, second = (
            float(subprocess.run(words, capture_output=True, env=env, check=True).stdout)
            for _ in range(2)
        )
    return (
        f"From a fresh process to its first `dawid-skene` labels, imports included: {first:.1f} s "
        f"when it compiles, {second:.1f} s when an earlier process has."
    )


def about(limit_lines: Sequence[str], off: dict[str, float], runs: int, load: float) -> list[str]:
    same = "; ".join(f"{name}: {value:.1e}" for name, value in off.items())
    return [
        f"`python bench/aggregate.py`: planted votes in random order, every method in processes of "
        f"its own, least of {runs} runs (memory: the most), times faster by wall. Ordering the "
        "votes is inside the clock, reading and compiling are not. Extra memory is the peak beyond "
        "what was there before the call; process, that of everything, with the tables and names. "
        "A pass is one reading of all "
        f"votes: a step each, and one for the start. Load average before it began: {load:.1f}. "
        f"{results.circumstances('numba', 'crowd-kit')}",
        "The machine's limit per vote, to read one random row of the confusion tables and to read "
        f"one and add to another: {'; '.join(limit_lines)}.",
        cold_starts(),
        f"Largest difference between our chances and crowd-kit's: {same}.",
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="tiny and small, one run, not kept")
    parser.add_argument("--only", nargs="*", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--runs", type=int, default=RUNS)
    given = parser.parse_args(argv)
    sizes = [size for size in given.only if not given.quick or size in ("tiny", "small")]
    runs = 1 if given.quick else given.runs
    made, off, load = [HEAD], {}, os.getloadavg()[0]
    for name in sizes:
        with tempfile.TemporaryDirectory() as folder:
            job("voting.planted", name, folder)
            for race in (race for race in RACES if race.size == name):
                made += rows_of(race, measured(race, Path(folder), runs))
                found = difference(Path(folder))
                if found is not None:
                    off[f"{race.ours} on {name}"] = found
    print(results.table(made))
    parts = about([limit_line(SIZES[name]) for name in sizes], off, runs, load)
    print("\n" + "\n\n".join(parts))
    if not given.quick and sizes == list(SIZES):
        results.write_section(TITLE, [parts[0], results.table(made), *parts[1:]])


if __name__ == "__main__":
    main()
