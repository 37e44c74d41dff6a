"""One method of one library on one data set after the other, in processes that may fail."""

from __future__ import annotations

import json
import multiprocessing
import os
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from inferring import METHODS

from softlabel import datasets

SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Outcome:
    """Accuracy in percent, or why there is none; and the seconds that it took."""

    accuracy: float | None
    seconds: float
    trouble: str = ""

    def __str__(self) -> str:
        return self.trouble or f"{self.accuracy:.2f}"


def accuracy(scores: Any, gold: Any) -> float:
    """Percent of gold items found; of an item at whose top several are level, its part."""
    known = gold >= 0
    scores, gold = scores[known], gold[known]
    best = scores >= scores.max(axis=1, keepdims=True) * (1 - 1e-9)
    hit = best[np.arange(len(gold)), gold] / best.sum(axis=1)
    return float(100 * hit.mean())


def work(method: str, who: str, names: list[str], line: Connection, log: str) -> None:
    """In a process of its own, which an error ends."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    for name in names:
        data = datasets.load(name)
        line.send("loaded")
        begin = time.perf_counter()
        found = accuracy(METHODS[method][who](data), data.gold)
        line.send((found, time.perf_counter() - begin))


def wait(line: Connection, limit: float, log: Path) -> Outcome:
    """The next outcome of a process, or what it said before it failed."""
    begin = time.perf_counter()
    try:
        line.recv()  # loading the data is nobody's merit
        begin = time.perf_counter()
        if not line.poll(limit):
            return Outcome(None, limit, f"> {limit:.0f} s")
        return Outcome(*line.recv())
    except EOFError:
        said = [text for text in log.read_text().splitlines() if text.strip()]
        last = said[-1] if said else "ended without a word (memory?)"
        return Outcome(None, time.perf_counter() - begin, last[:160])


@dataclass
class Measuring:
    """Seconds allowed for one set, and the file in which outcomes are kept, one JSON a line: with
    it a run that was interrupted goes on where it was."""

    limit: float
    keep: Path | None = None
    known: dict[tuple[str, str, str], Outcome] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.keep is not None and self.keep.exists():
            for line in self.keep.read_text("utf-8").splitlines():
                key, outcome = json.loads(line)
                self.known[key[0], key[1], key[2]] = Outcome(**outcome)

    def note(self, method: str, who: str, name: str, outcome: Outcome) -> None:
        self.known[method, who, name] = outcome
        print(f"{method:<18} {who:<32} {name:<20} {outcome} {outcome.seconds:8.2f} s", flush=True)
        if self.keep is not None:
            with self.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps([[method, who, name], asdict(outcome)]) + "\n")

    def measure(self, method: str, who: str, names: list[str]) -> dict[str, Outcome]:
        """The outcome on each set; a process that fails or takes too long is replaced."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "said.txt"
            while left := [name for name in names if (method, who, name) not in self.known]:
                here, there = multiprocessing.Pipe()
                worker = SPAWN.Process(target=work, args=(method, who, left, there, str(log)))
                worker.start()
                there.close()
                for name in left:
                    outcome = wait(here, self.limit, log)
                    self.note(method, who, name, outcome)
                    if outcome.trouble:
                        break
                worker.kill()
                worker.join()
        return {name: self.known[method, who, name] for name in names}
