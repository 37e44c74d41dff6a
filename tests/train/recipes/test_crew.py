"""Many runs at once, and what becomes of them when their worker dies."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest

from softlabel.io import silent
from softlabel.train.recipes import crew
from softlabel.train.recipes.jobs import Job
from softlabel.train.recipes.price import price

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


class Killer:
    """Kills, once, the process that works on a run of which two epochs are done."""

    def __init__(self) -> None:
        self.victim = None

    def __call__(self, standings) -> None:
        for one in standings:
            if self.victim is None and one.run.state == "running" and len(one.run.log) >= 2:
                pid = int(re.match(r"process (\d+)", (one.run.path / "running").read_text())[1])
                assert pid != os.getpid()
                os.kill(pid, signal.SIGKILL)
                self.victim = one, pid


def same(one, two) -> None:
    np.testing.assert_array_equal(one.arrays("logits")["logits"], two.arrays("logits")["logits"])


@pytest.mark.parametrize("engine", [None, "dask"])
def test_a_dead_worker_is_reported_and_its_run_goes_on(toy, engine, monkeypatch):
    monkeypatch.setattr(crew, "PAUSE", 0.01)
    words = toy.words(settings={"epochs": 24}, deliver="sls")
    jobs = [Job(**words, seed=seed) for seed in ((0,) if engine else (0, 1))]
    standings = crew.stand(jobs, silent)
    killer = Killer()
    crew.work(standings, killer, processes=1, engine=engine)
    one, pid = killer.victim
    assert {each.state for each in standings} == {"finished"}
    if engine is None:  # Dask has workers of its own, and starts another where one died
        assert one.note == f"worker {pid} was killed by SIGKILL"
        assert one.attempts == 2
    assert (one.run.path / "environment.txt").read_text().count("begun ") == 2
    assert len(one.run.log) == 24
    quiet = replace(one.job, out=str(toy.folder / "quiet")).completed()
    same(one.run, quiet)  # killed and resumed, or undisturbed: the same bits


def test_a_run_that_kills_its_workers_is_given_up(toy, monkeypatch):
    monkeypatch.setattr(crew, "PAUSE", 0.01)
    job = Job(**toy.words(settings={"epochs": 100_000}))
    (one,) = standings = crew.stand([job], silent)
    crew.work(standings, lambda standings: Killer()(standings), processes=1)
    assert (one.state, one.attempts, one.run.state) == ("died", 2, "waiting")


def test_a_run_that_fails_does_not_stop_the_others(toy):
    bad = Job(**toy.words(settings={"lr": 1e30, "schedule": "constant"}))
    standings = crew.stand([bad, Job(**toy.words())], silent)
    crew.work(standings, lambda standings: None, processes=1)
    assert [one.state for one in standings] == ["failed", "finished"]
    assert "training diverged" in standings[0].note
    before = {path: path.stat().st_mtime_ns for path in standings[1].run.path.iterdir()}
    again = crew.stand([bad, Job(**toy.words())], silent)
    assert [one.state for one in again] == ["waiting", "finished"]
    assert price(again, 2).startswith("2 runs, 1 finished already; 1 to do, about ")
    crew.work(again[1:], lambda standings: None)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert price(again[1:], 2) == "1 run, 1 finished already: nothing to do"
