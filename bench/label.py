"""How long ``softlabel label`` takes on 5 million votes, beside only reading the file.

    python bench/label.py [VOTES]

1 million items, 5 votes each, by 10,000 annotators, 10 classes, rows shuffled.  Every run is a
fresh process; wall time is the least of three (with the spread), memory the peak of the process.
The ratio is to a bare ``polars.read_csv`` of the same file.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

RUNS = 3
PER_ITEM, ANNOTATORS, CLASSES = 5, 10_000, 10

READ = "import sys, polars; polars.read_csv(sys.argv[1])"
PANDAS = """
import sys, pandas
votes = pandas.read_csv(sys.argv[1])
counts = votes.groupby(["item", "label"]).size().unstack(fill_value=0)
counts.div(counts.sum(axis=1), axis=0).to_csv(sys.argv[2])
"""


def generate(path: Path, votes: int) -> None:
    """Votes whose items each have different annotators, in random order."""
    rng = np.random.default_rng(0)
    items = votes // PER_ITEM
    start = rng.integers(0, ANNOTATORS, (items, 1))
    step = rng.integers(1, ANNOTATORS // PER_ITEM, (items, 1))
    order = rng.permutation(items * PER_ITEM)
    codes = {
        "i": np.repeat(np.arange(items), PER_ITEM)[order],
        "w": ((start + step * np.arange(PER_ITEM)) % ANNOTATORS).ravel()[order],
        "c": rng.integers(0, CLASSES, items * PER_ITEM),
    }
    names = zip(("item", "annotator", "label"), codes.items(), strict=True)
    frame = pl.DataFrame(codes)
    frame.select(
        pl.format(f"{letter}{{}}", pl.col(letter)).alias(name) for name, (letter, _) in names
    ).write_csv(path)


def measure(words: list[str]) -> tuple[float, float]:
    """Seconds and peak megabytes of one process."""
    begin = time.perf_counter()
    process = os.posix_spawn(sys.executable, [sys.executable, *words], os.environ)
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - begin
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"failed: {' '.join(words)}")
    unit = 1 if platform.system() == "Darwin" else 1024  # ru_maxrss: bytes there, kilobytes here
    return seconds, usage.ru_maxrss * unit / 1e6


def main(votes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "votes.csv", Path(folder) / "labels.csv"
        generate(source, votes)
        label = [*("-m", "softlabel", "label", str(source), str(out), "--aggregate", "share")]
        jobs = {"polars.read_csv": ["-c", READ, str(source)], "softlabel label": label}
        if importlib.util.find_spec("pandas"):
            jobs["pandas groupby"] = ["-c", PANDAS, str(source), str(out)]
        size = source.stat().st_size / 1e6
        print(f"{votes:,} votes, {size:.0f} MB of CSV, {os.cpu_count()} cores, {RUNS} runs each\n")
        quiet = os.dup(1)
        results = {}
        for name, words in jobs.items():
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the table of each run is not wanted
            results[name] = [measure(words) for _ in range(RUNS)]
            os.dup2(quiet, 1)
    bare = min(seconds for seconds, _ in results["polars.read_csv"])
    print(f"{'':<16} {'wall s':>8} {'spread':>8} {'peak MB':>8} {'ratio':>8}")
    for name, runs in results.items():
        walls = [seconds for seconds, _ in runs]
        peak = max(megabytes for _, megabytes in runs)
        spread = max(walls) - min(walls)
        ratio = min(walls) / bare
        print(f"{name:<16} {min(walls):8.2f} {spread:8.2f} {peak:8.0f} {ratio:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)
