"""Many runs at once: on this machine's cores, a process each, or on the workers of a Dask cluster.

All that is known of a run is in its folder, so that is where its progress is read.  Whatever stops
the runner (Ctrl-C, a lost worker, the power) leaves runs that resume from their checkpoints.
"""

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
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import torch

from softlabel._util.machine import cores
from softlabel.engine import connect_cluster
from softlabel.io import Progress
from softlabel.train import worker
from softlabel.train.jobs import Job
from softlabel.train.runs import Run

State = Literal["waiting", "running", "finished", "failed", "died"]
ENDED = ("finished", "failed", "died")
HERE = (None, "dask")  # engines that are processes of this machine
ATTEMPTS = 2  # at a run whose worker dies; it may be the run that kills them
PAUSE = 0.25  # seconds between two looks


@dataclass
class JobState:
    """How far one job is.  ``note`` is what went wrong; ``left`` is in seconds."""

    job: Job
    run: Run
    state: State = "waiting"
    note: str = ""
    attempts: int = 0
    epoch: int = 0
    loss: float = float("nan")
    left: float = float("nan")

    @property
    def epochs(self) -> int:
        """The number of epochs in all."""
        return int(self.run.config["epochs"])

    def read_log(self) -> None:
        """Read the progress of the run from its log."""
        lines = [line for line in self.run.log if "loss" in line]
        if lines:
            self.epoch, self.loss = lines[-1]["epoch"] + 1, lines[-1]["loss"]
            self.left = lines[-1].get("seconds", float("nan")) * (self.epochs - self.epoch)

    def end(self, outcome: Mapping[str, Any]) -> None:
        """Take over how the run ended, as its worker reports."""
        self.state, self.note = outcome["state"], outcome["note"] or self.note
        if outcome.get("name", self.run.name) != self.run.name:
            self.state = "failed"
            self.note = "its images, labels or code changed meanwhile; start again"
        self.read_log()


Watch = Callable[[Sequence[JobState]], None]


def find_states(jobs: Sequence[Job], tell: Progress) -> list[JobState]:
    """Return the state of each job before anything is done; make its folder if there is none."""
    states = []
    for number, job in enumerate(jobs):
        tell("looking for finished runs", number, len(jobs))
        run = job.start_run(tell)
        states.append(JobState(job, run, "finished" if job.is_complete(run) else "waiting"))
        states[-1].read_log()
    return states


def count_slots() -> int:
    """Return how many runs this machine makes at once: one per GPU or else one per core."""
    return torch.cuda.device_count() or cores()


def run_jobs(
    states: Sequence[JobState], watch: Watch, *, processes: int = 2, engine: str | None = None
) -> None:
    """Make every run that is not finished; call ``watch`` a few times a second.

    A cluster of this machine alone would be the same processes with a network between them, so
    ``dask`` without an address stands for processes too.  With 0 ``processes`` the runs are made in
    this one, for runs that take less time than a process takes to start.
    """
    waiting = [one for one in states if one.state not in ENDED]
    if not waiting:
        return
    workers: _Inside | _Processes | _Cluster
    if engine not in HERE:
        workers = _Cluster(waiting, engine)
    else:
        workers = _Processes(waiting, processes) if processes else _Inside(waiting)
    try:
        while workers.busy():
            for one in waiting:
                if one.state == "running":
                    one.read_log()
            watch(states)
            time.sleep(PAUSE)
    finally:
        workers.stop()
    watch(states)


# ── this machine ─────────────────────────────────────────────────────────────────────────────


class _Inside:
    """This process, which makes one run after the other."""

    def __init__(self, waiting: Sequence[JobState]) -> None:
        self.over = threading.Event()
        self.thread = ThreadPoolExecutor(1)
        self.work = self.thread.submit(self._complete, waiting)

    def busy(self) -> bool:
        return not self.work.done()

    def stop(self) -> None:
        """Stop after the run that is being made."""
        self.over.set()
        self.work.result()
        self.thread.shutdown()

    def _complete(self, waiting: Sequence[JobState]) -> None:
        for state in waiting:
            if not self.over.is_set():
                state.state, state.attempts = "running", state.attempts + 1
                state.end(worker.complete_job(state.job.to_json()))


class _Processes:
    """A few processes, each with one thread, that take one job after the other."""

    def __init__(self, waiting: Sequence[JobState], processes: int) -> None:
        self.jobs: queue.SimpleQueue[JobState] = queue.SimpleQueue()
        for state in waiting:
            self.jobs.put(state)
        self.over = threading.Event()
        self.processes: set[subprocess.Popen[str]] = set()
        lanes = range(min(processes, len(waiting)))
        self.threads = [threading.Thread(target=self._serve, args=(n,), daemon=True) for n in lanes]
        for thread in self.threads:
            thread.start()

    def busy(self) -> bool:
        return any(thread.is_alive() for thread in self.threads)

    def stop(self) -> None:
        """Stop at once; what was being done resumes from its checkpoint next time."""
        self.over.set()
        for process in list(self.processes):
            process.terminate()
        for thread in self.threads:
            thread.join()

    def _serve(self, lane: int) -> None:
        """Start one worker process after the other, for as long as there are jobs; each lane has a
        GPU of its own, where there are several."""
        gpus = torch.cuda.device_count()
        gpu = {"CUDA_VISIBLE_DEVICES": str(lane % gpus)} if gpus > 1 else {}
        while not self.over.is_set() and not self.jobs.empty():
            with tempfile.TemporaryFile("w+") as errors:
                process = subprocess.Popen(
                    [sys.executable, "-m", worker.__name__],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                    env=worker.make_environment(os.environ) | gpu,
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
                state = self.jobs.get_nowait()
            except queue.Empty:
                return
            state.state, state.attempts = "running", state.attempts + 1
            try:
                process.stdin.write(state.job.to_json() + "\n")
                process.stdin.flush()
                answer = process.stdout.readline()
            except BrokenPipeError:
                answer = ""
            if answer:
                state.end(json.loads(answer))
                continue
            state.state = "waiting"
            if not self.over.is_set():  # the worker is dead: let another one go on with its run
                code = process.wait()
                errors.seek(0)
                last = (errors.read().strip().splitlines() or [""])[-1]
                how = f"ended with code {code}"
                if code < 0:
                    how = f"was killed by {signal.Signals(-code).name}"
                state.note = f"worker {process.pid} {how}{last and f' ({last})'}"
                if state.attempts < ATTEMPTS:
                    self.jobs.put(state)
                else:
                    state.state = "died"
            return


# ── a cluster ────────────────────────────────────────────────────────────────────────────────


class _Cluster:
    """Dask workers; the run of a lost one goes on elsewhere, if they see the same folder."""

    def __init__(self, waiting: Sequence[JobState], where: str) -> None:
        self.opened = connect_cluster(where)
        self.client = self.opened.__enter__()
        self.futures = [
            (one, self.client.submit(worker.complete_job, job, pure=False))
            for one, job in ((one, one.job.resolve().to_json()) for one in waiting)
        ]

    def busy(self) -> bool:
        for one, future in self.futures:
            if one.state in ENDED:
                continue
            if future.status == "finished":
                one.end(future.result())
            elif future.status in ("error", "lost", "cancelled"):
                why = future.exception() if future.status == "error" else future.status
                one.state, one.note = "died", f"its worker was lost or failed ({why})"
            elif one.run.state == "running":
                one.state = "running"
        return any(one.state not in ENDED for one, _ in self.futures)

    def stop(self) -> None:
        for one, future in self.futures:
            if one.state not in ENDED:
                future.cancel()
        self.opened.__exit__(None, None, None)
