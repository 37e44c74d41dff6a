"""Many runs at once, and what becomes of them when their worker dies."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest

from softlabel.io import silent
from softlabel.train import estimate_jobs, file_job, runner

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


class Killer:
    """Kills, once, the process that works on a run of which two epochs are done."""

    def __init__(self) -> None:
        self.victim = None

    def __call__(self, states) -> None:
        for one in states:
            if self.victim is None and one.run.state == "running" and len(one.run.log) >= 2:
                pid = int(re.match(r"process (\d+)", (one.run.path / "running").read_text())[1])
                assert pid != os.getpid()
                os.kill(pid, signal.SIGKILL)
                self.victim = one, pid


def same(one, two) -> None:
    np.testing.assert_array_equal(one.arrays("logits")["logits"], two.arrays("logits")["logits"])


def test_a_dead_worker_is_reported_and_its_run_goes_on(toy, monkeypatch):
    """``dask`` without an address stands for processes of this machine, as None does."""
    monkeypatch.setattr(runner, "PAUSE", 0.01)
    words = toy.words(settings={"epochs": 24}, deliver="sls")
    states = runner.find_states([file_job(**words, seed=seed) for seed in (0, 1)], silent)
    killer = Killer()
    runner.run_jobs(states, killer, processes=1, engine="dask")
    one, pid = killer.victim
    assert {each.state for each in states} == {"finished"}
    assert one.note == f"worker {pid} was killed by SIGKILL"
    assert one.attempts == 2
    assert (one.run.path / "environment.txt").read_text().count("begun ") == 2
    assert len(one.run.log) == 24
    quiet = replace(one.job, out=str(toy.folder / "quiet")).complete_run()
    same(one.run, quiet)  # killed and resumed, or undisturbed: the same bits


def test_a_run_that_kills_its_workers_is_given_up(toy, monkeypatch):
    monkeypatch.setattr(runner, "PAUSE", 0.01)
    job = file_job(**toy.words(settings={"epochs": 100_000}))
    (one,) = states = runner.find_states([job], silent)
    runner.run_jobs(states, lambda states: Killer()(states), processes=1)
    assert (one.state, one.attempts, one.run.state) == ("died", 2, "waiting")


def test_a_run_that_fails_does_not_stop_the_others(toy):
    bad = file_job(**toy.words(settings={"lr": 1e30, "schedule": "constant"}))
    states = runner.find_states([bad, file_job(**toy.words())], silent)
    runner.run_jobs(states, lambda states: None, processes=1)
    assert [one.state for one in states] == ["failed", "finished"]
    assert "training diverged" in states[0].note
    before = {path: path.stat().st_mtime_ns for path in states[1].run.path.iterdir()}
    again = runner.find_states([bad, file_job(**toy.words())], silent)
    assert [one.state for one in again] == ["waiting", "finished"]
    assert estimate_jobs(again, 2).startswith("2 runs, 1 finished already; 1 to do, about ")
    runner.run_jobs(again[1:], lambda states: None)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert estimate_jobs(again[1:], 2) == "1 run, 1 finished already: nothing to do"
