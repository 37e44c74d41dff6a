"""Many runs at once: on this machine's cores, a process each, or on the workers of a Dask cluster.

All that is known of a run stands in its folder, so whoever watches reads it there, and whatever
stops a crew (Ctrl-C, a lost worker, the power) leaves runs that go on from their checkpoints.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, Protocol, Self

import torch

from softlabel._util.machine import cores
from softlabel.engine import connected
from softlabel.io import Tell
from softlabel.train import Config
from softlabel.train.recipes import worker
from softlabel.train.runs import Run

State = Literal["waiting", "running", "finished", "failed", "died"]
ENDED = ("finished", "failed", "died")
HERE = (None, "dask")  # engines that are processes of this machine
ATTEMPTS = 2  # at a run whose worker dies; it may be the run that kills them
PAUSE = 0.25  # seconds between two looks


class Work(Protocol):
    """One run to be made; ``softlabel.train.recipes.jobs.Job`` is one."""

    @property
    def config(self) -> Config: ...

    @property
    def takes(self) -> float | None:
        """Seconds, where they are known without a trial."""
        ...

    def size(self) -> tuple[tuple[int, ...], int]:
        """The shape of all inputs, and the number of classes."""
        ...

    def begun(self, tell: Tell) -> Run: ...

    def completed(self, tell: Tell) -> Run: ...

    def text(self) -> str:
        """What a worker is sent."""
        ...

    def anywhere(self) -> Self: ...


@dataclass
class Standing:
    """How far one job is.  ``note`` says what went wrong; ``left`` is in seconds."""

    job: Work
    run: Run
    state: State = "waiting"
    note: str = ""
    attempts: int = 0
    epoch: int = 0
    loss: float = float("nan")
    left: float = float("nan")

    @property
    def epochs(self) -> int:
        """How many there will be."""
        return int(self.run.config["epochs"])

    def look(self) -> None:
        """Read the log of a run that is being made."""
        lines = [line for line in self.run.log if "loss" in line]
        if lines:
            self.epoch, self.loss = lines[-1]["epoch"] + 1, lines[-1]["loss"]
            self.left = lines[-1].get("seconds", float("nan")) * (self.epochs - self.epoch)

    def hear(self, told: Mapping[str, Any]) -> None:
        """How it ended, as its worker says."""
        self.state, self.note = told["state"], told["note"] or self.note
        if told.get("name", self.run.name) != self.run.name:
            self.state, self.note = "failed", "its images or labels changed meanwhile; start again"
        self.look()


Hear = Callable[[Sequence[Standing]], None]


def stand(jobs: Sequence[Work], tell: Tell) -> list[Standing]:
    """Where each job stands before anything is done; its folder is made if there was none."""
    found = []
    for number, job in enumerate(jobs):
        tell("looking for finished runs", number, len(jobs))
        run = job.begun(tell)
        found.append(Standing(job, run, "finished" if run.finished else "waiting"))
        found[-1].look()
    return found


def places() -> int:
    """How many runs this machine makes at once: one per GPU or, without any, one per core."""
    return torch.cuda.device_count() or cores()


def work(
    standings: Sequence[Standing],
    hear: Hear,
    *,
    processes: int = 2,
    engine: str | None = None,
    by: ModuleType = worker,
) -> None:
    """Make every run that is not finished; ``hear`` is called a few times a second.

    ``by`` is the module that understands these jobs: run as a process, or its ``done``.  A cluster
    of this machine alone would be the same processes with a network between them, so that ``dask``
    without an address is not one.
    """
    waiting = [one for one in standings if one.state not in ENDED]
    if not waiting:
        return
    crew: _Cores | _Cluster = (
        _Cores(waiting, processes, by) if engine in HERE else _Cluster(waiting, engine, by)
    )
    try:
        while crew.busy():
            for one in waiting:
                if one.state == "running":
                    one.look()
            hear(standings)
            time.sleep(PAUSE)
    finally:
        crew.dismiss()
    hear(standings)


# ── this machine ─────────────────────────────────────────────────────────────────────────────


class _Cores:
    """A few processes, each with one thread, that take one job after the other."""

    def __init__(self, waiting: Sequence[Standing], processes: int, by: ModuleType) -> None:
        self.by = by.__name__
        self.jobs: queue.SimpleQueue[Standing] = queue.SimpleQueue()
        for one in waiting:
            self.jobs.put(one)
        self.over = threading.Event()
        self.processes: set[subprocess.Popen[str]] = set()
        count = min(processes, len(waiting))
        self.threads = [
            threading.Thread(target=self._serve, args=(lane,), daemon=True) for lane in range(count)
        ]
        for thread in self.threads:
            thread.start()

    def busy(self) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def dismiss(self) -> None:
        """Stop at once; what was being done goes on from its checkpoint next time."""
        self.over.set()
        for process in list(self.processes):
            process.terminate()
        for thread in self.threads:
            thread.join()

    def _serve(self, lane: int) -> None:
        """One worker process after the other, for as long as there are jobs."""
        while not self.over.is_set() and not self.jobs.empty():
            with tempfile.TemporaryFile("w+") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-m", self.by],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=os.environ | worker.ONE_THREAD | _gpu(lane),
                )
                self.processes.add(process)
                try:
                    self._feed(process, errors)
                finally:
                    self.processes.discard(process)
                    process.terminate()
                    process.communicate()

    def _feed(self, process: subprocess.Popen[str], errors: Any) -> None:
        """Hand it jobs until there are none, or it is dead."""
        assert process.stdin is not None, "it was opened"
        assert process.stdout is not None, "it was opened"
        while not self.over.is_set():
            try:
                one = self.jobs.get_nowait()
            except queue.Empty:
                return
            one.state, one.attempts = "running", one.attempts + 1
            try:
                process.stdin.write(one.job.text() + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if not answer:
                self._bury(process, one, errors)
                return
            one.hear(json.loads(answer))

    def _bury(self, process: subprocess.Popen[str], one: Standing, errors: Any) -> None:
        """Its worker is dead: say so, and let another go on with the run."""
        if self.over.is_set():
            one.state = "waiting"
            return
        code = process.wait()
        errors.seek(0)
        last = (errors.read().strip().splitlines() or [""])[-1]
        one.note = f"worker {process.pid} {_ended(code)}{last and f' ({last})'}"
        if one.attempts < ATTEMPTS:
            one.state = "waiting"
            self.jobs.put(one)
        else:
            one.state = "died"


def _gpu(lane: int) -> dict[str, str]:
    """Each process sees a GPU of its own, where there are any."""
    count = torch.cuda.device_count()
    return {"CUDA_VISIBLE_DEVICES": str(lane % count)} if count > 1 else {}


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended with code {code}"
    return f"was killed by {signal.Signals(-code).name}"


# ── a cluster ────────────────────────────────────────────────────────────────────────────────


class _Cluster:
    """Dask workers; a lost one's run goes on elsewhere, if they see the same folder."""

    def __init__(self, waiting: Sequence[Standing], where: str, by: ModuleType) -> None:
        self.opened = connected(where)
        self.client = self.opened.__enter__()
        self.futures = [
            (one, self.client.submit(by.done, one.job.anywhere().text(), pure=False))
            for one in waiting
        ]

    def busy(self) -> bool:
        for one, future in self.futures:
            if one.state in ENDED:
                continue
            if future.status == "finished":
                one.hear(future.result())
            elif future.status in ("error", "lost", "cancelled"):
                why = future.exception() if future.status == "error" else future.status
                one.state, one.note = "died", f"its worker was lost or failed ({why})"
            elif one.run.state == "running":
                one.state = "running"
        return any(one.state not in ENDED for one, _ in self.futures)

    def dismiss(self) -> None:
        for one, future in self.futures:
            if one.state not in ENDED:
                future.cancel()
        self.opened.__exit__(None, None, None)
