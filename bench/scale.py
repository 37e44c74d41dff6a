"""Votes by the ten million: one process, and a cluster of two workers of which one is killed.

    python bench/scale.py [file|cluster] [VOTES]

``file``: 50 million votes by 100,000 annotators with names as text, from Parquet and from CSV,
read and pooled by ``dawid-skene`` in one process; every run is a fresh process.
``cluster``: a hundredth of a billion votes and a million annotators (10 million, 10 thousand) on a
Dask cluster of two worker processes: seconds, traffic and memory per step; the same with a worker
killed in the middle; and one process beside it.  Then the same votes by all of the annotators,
whose table of confusions goes in blocks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
from distributed import Client, Worker
from results import circumstances, table, write_section

from softlabel import io as files
from softlabel.aggregate import DawidSkene
from softlabel.aggregate.truth.base import FitResult, Local
from softlabel.engine import Partitions, fit_parts, read_part, split_file
from softlabel.engine.cluster import DaskEngine, connect
from softlabel.io.large import scan_votes

PER_ITEM, CLASSES, STEPS = 5, 10, 5
METHOD = DawidSkene(n_iter=STEPS, tol=0.0)


def generate(votes: int, people: int, out: Path) -> None:
    """Shuffled votes of people of unequal skill, as text."""
    rng = np.random.default_rng(0)
    items = votes // PER_ITEM
    truth = rng.integers(0, CLASSES, items, dtype=np.int16)
    skill = rng.beta(8, 3, people).astype(np.float32)
    order = rng.permutation(votes).astype(np.int32)
    item, place = np.divmod(order, PER_ITEM)
    start, step = rng.integers(0, people, items), rng.integers(1, people // PER_ITEM, items)
    who = ((start[item] + step[item] * place) % people).astype(np.int32)
    wrong = (truth[item] + rng.integers(1, CLASSES, votes, dtype=np.int16)) % CLASSES
    label = np.where(rng.random(votes, dtype=np.float32) < skill[who], truth[item], wrong)
    codes = pl.LazyFrame({"item": item, "annotator": who, "label": label})
    names = codes.select(pl.format(f"{name}-{{}}", name).alias(name) for name in codes.columns)
    names.sink_parquet(out) if out.suffix == ".parquet" else names.sink_csv(out)


# ── one process ──────────────────────────────────────────────────────────────────────────────


def peak() -> float:
    """The most memory that this process has held, in MB; getrusage would tell its parent's."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


class Clock:
    """Seconds of wall and processor since the last lap, and the peak of memory so far."""

    def __init__(self) -> None:
        self.laps: dict[str, tuple[float, float, float]] = {}
        self.last = time.perf_counter(), time.process_time()

    def lap(self, name: str) -> None:
        now = time.perf_counter(), time.process_time()
        self.laps[name] = now[0] - self.last[0], now[1] - self.last[1], peak()
        self.last = now


def label(path: str, out: str) -> None:
    """In a process of its own: what ``softlabel label`` does, timed step by step."""
    clock = Clock()
    clock.lap("start")
    source = files.read_answers(path)
    clock.lap("read and factorise")
    source.refuse_repeats()
    clock.lap("look for repeats")
    soft = METHOD(source.answers)
    clock.lap(f"order, {STEPS} steps, posterior")
    files.write_soft_labels(soft, out)
    clock.lap("write")
    print(json.dumps(clock.laps))


def fresh(*words: object) -> dict[str, list[float]]:
    """What a fresh process of this script measured."""
    command = [sys.executable, __file__, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def one_process(votes: int, folder: Path) -> None:
    rows = [["", "wall s", "CPU s", "peak MB so far"]]
    for kind in ("parquet", "csv"):
        path = folder / f"votes.{kind}"
        fresh("generate", votes, votes // 500, path)
        measured = fresh("label", path, folder / "labels.parquet")
        size = path.stat().st_size / 1e6
        rows.append([f"**{kind}**, {size:,.0f} MB", "", "", ""])
        for name, (wall, cpu, most) in list(measured.items())[1:]:
            rows.append([name, f"{wall:.1f}", f"{cpu:.1f}", f"{most:,.0f}"])
        path.unlink()
    print(table(rows))
    write_section(
        f"{votes / 1e6:.0f} million votes in one process",
        [
            f"`python bench/scale.py file`: {votes:,} votes on {votes // PER_ITEM:,} items by "
            f"{votes // 500:,} annotators, {CLASSES} classes, names as text, rows shuffled; "
            f"`dawid-skene` for {STEPS} steps in float64; a fresh process each, one run. The "
            f"limit is 4,000 MB. {circumstances('numpy', 'polars', 'numba')}",
            table(rows),
        ],
    )


# ── a cluster ────────────────────────────────────────────────────────────────────────────────


class Watch:
    """What every step of a fit took: seconds, and megabytes that workers sent; may kill one."""

    def __init__(self, client: Client | None = None, kill_at: int = 0) -> None:
        self.client, self.kill_at = client, kill_at
        self.steps: list[tuple[float, float]] = []
        self.last = time.perf_counter(), self._sent()

    def __call__(self, step: str, done: int = 0, total: int | None = None) -> None:
        now = time.perf_counter(), self._sent()
        self.steps.append((now[0] - self.last[0], (now[1] - self.last[1]) / 1e6))
        if self.client is not None and done == self.kill_at:
            os.kill(min(self.client.run(os.getpid).values()), signal.SIGKILL)
        self.last = time.perf_counter(), now[1]

    def _sent(self) -> int:
        """By all workers, to one another and to the driver."""
        return 0 if self.client is None else sum(self.client.run(_sent_by).values())

    def middle(self) -> tuple[float, float]:
        """Of the steps but the first, which compiles and waits for the parts."""
        seconds, traffic = zip(*self.steps[1:], strict=True)
        return float(np.median(seconds)), float(np.median(traffic))


def _sent_by(dask_worker: Worker) -> int:
    return dask_worker.transfer_outgoing_bytes_total


def cluster(votes: int, folder: Path) -> None:
    """A hundredth of everything, and then a hundredth of the votes with all of the annotators."""
    rows = [["", "s per step", "MB per step", "peak MB of a worker", "off by"]]
    for people in (votes // 1000, votes // 10):
        rows += _compared(votes, people, folder / str(people))
        print(table(rows))
    write_section(
        "A hundredth of a billion votes on a cluster",
        [
            f"`python bench/scale.py cluster`: {votes:,} votes on {votes // PER_ITEM:,} items, "
            f"{CLASSES} classes, `dawid-skene` for {STEPS} steps in two parts, on a Dask cluster "
            "of two worker processes; beside it the same parts in two threads of one process. "
            "Seconds and traffic (all that the driver and the workers send) are the median of "
            "the steps after the first; where a worker is killed, the seconds of every step. Off "
            "by: largest difference of a confusion from that of the one process. "
            f"{circumstances('dask', 'polars', 'numba')}",
            table(rows),
        ],
    )


def _compared(votes: int, people: int, folder: Path) -> list[list[str]]:
    folder.mkdir()
    fresh("generate", votes, people, folder / "votes.parquet")
    begun = time.perf_counter()
    partitions = split_file(scan_votes(folder / "votes.parquet", "parquet"), folder / "parts", 2)
    split = time.perf_counter() - begun
    whole, alone = _alone(partitions)
    size = f"{partitions.table_bytes / 1e6:,.0f}"
    rows = [
        [f"**{people:,} annotators**, confusions of {size} MB, split in {split:.1f} s", *[""] * 4],
        ["one process, two threads", f"{alone:.2f}", "", f"{peak():,.0f}", ""],
    ]
    with connect(workers=2) as client:
        for name, kill in (("two workers", 0), ("two workers, one killed after step 2", 2)):
            engine, watch = DaskEngine(client, partitions), Watch(client, kill)
            found = fit_parts(METHOD, engine, votes, progress=watch)
            seconds, traffic = watch.middle()
            off = float(abs(found.parameters.table - whole.parameters.table).max())
            memory = max(client.run(peak).values())
            took = ", ".join(f"{s:.1f}" for s, _ in watch.steps) if kill else f"{seconds:.2f}"
            traffic += partitions.table_bytes / 1e6  # what the driver sent
            rows.append([name, took, f"{traffic:,.0f}", f"{memory:,.0f}", f"{off:.0e}"])
            del engine
    return rows


def _alone(partitions: Partitions) -> tuple[FitResult, float]:
    """The same parts in the threads of this process."""
    with ThreadPoolExecutor(2) as threads:
        parts = [read_part(partitions, number) for number in range(len(partitions))]
        watch = Watch(None)
        found = fit_parts(METHOD, Local(parts, threads.map), partitions.votes, progress=watch)
    return found, watch.middle()[0]


def main(words: list[str]) -> None:
    if words[:1] == ["generate"]:
        generate(int(words[1]), int(words[2]), Path(words[3]))
        print("{}")
    elif words[:1] == ["label"]:
        label(words[1], words[2])
    else:
        with tempfile.TemporaryDirectory() as folder:
            if not words or words[0] == "file":
                one_process(int(words[1]) if len(words) > 1 else 50_000_000, Path(folder))
            if not words or words[0] == "cluster":
                cluster(int(words[1]) if len(words) > 1 else 10_000_000, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])
