"""How often each method finds the gold label: ours beside crowd-kit, peerannot and cleanlab.

    python bench/accuracy.py [METHOD ...] [--limit SECONDS] [--write]

On the 13 sets of ``crowd``, RTE, sentiment, LabelMe and POS, read from ``$SOFTLABEL_DATA``; all
methods, or those named.  An item at whose top classes are level counts in part.  A peer that is
not installed is said to be missing; one that fails or takes longer than the limit (for one set)
is marked, with what it said.  ``--write`` puts the tables into RESULTS.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import tempfile
import time
import warnings
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from inferring import METHODS, OURS, PACKAGES
from results import circumstances, table, write_section

from softlabel import datasets

SETS = [
    *(f"crowd/{part}" for part in datasets.crowd.INFO.parts),
    *("rte", "sentiment", "labelme", "pos"),
]
ALLOWED = 0.3  # points that ours may be below the best of the same method
SPAWN = multiprocessing.get_context("spawn")
TITLE = "Accuracy of truth methods"

# (method, library): why its answer is not that of the method
WRONG = {
    ("mace", "crowd-kit"): "adds up counts in sorted order of names and applies them in order of "
    "appearance, so that its answer depends on names; where people and classes are renamed so that "
    "both orders agree (next column) it finds what ours finds. Its restarts are all the same",
}


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
    """In a process of its own, which an error ends: one method of one library, set after set."""
    warnings.simplefilter("ignore")
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    for name in names:
        data = datasets.load(name)
        line.send("loaded")
        begin = time.perf_counter()
        found = accuracy(METHODS[method][who](data), data.gold)
        line.send((found, time.perf_counter() - begin))


def sets_for(method: str) -> list[str]:
    """Two classes for kos, features for crowdlab, and all sets for the others."""
    if method == "crowdlab":
        return ["labelme"]
    if method == "kos":
        return [name for name in SETS if len(datasets.load(name).index.labels) == 2]
    return SETS


def measure(method: str, who: str, names: list[str], limit: float) -> dict[str, Outcome]:
    """Outcomes of one method of one library; a process that fails or takes too long is replaced."""
    done: dict[str, Outcome] = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "said.txt"
        while left := [name for name in names if name not in done]:
            here, there = multiprocessing.Pipe()
            worker = SPAWN.Process(target=work, args=(method, who, left, there, str(log)))
            worker.start()
            there.close()
            for name in left:
                done[name] = outcome = _wait(here, limit, log)
                print(f"{method:<18} {who:<24} {name:<20} {outcome} {outcome.seconds:8.2f} s")
                if outcome.trouble:
                    break
            worker.kill()
            worker.join()
    return done


def _wait(line: Connection, limit: float, log: Path) -> Outcome:
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
        return Outcome(None, time.perf_counter() - begin, last[:90])


def is_missing(who: str) -> bool:
    needed = [package for name, package in PACKAGES.items() if name in who]
    return any(importlib.util.find_spec(package) is None for package in needed)


def section(method: str, limit: float) -> list[str]:
    """The table of one method, and what is to be said about it."""
    there = [who for who in METHODS[method] if not is_missing(who)]
    missing = [who for who in METHODS[method] if is_missing(who)]
    names = sets_for(method)
    results = {who: measure(method, who, names, limit) for who in there}
    said: dict[str, str] = {}
    rows = [["set", *there]]
    for name in names:
        rows.append([name, *(_cell(results[who][name], said) for who in there)])
    rows.append(["mean of the sets all did", *_means(results)])
    rows.append(
        ["seconds", *(f"{sum(o.seconds for o in results[who].values()):.0f}" for who in there)]
    )
    parts = [f"### {method}", table(rows)]
    notes = [f"{mark}: {text}" for text, mark in said.items()]
    notes += [f"{who} is not installed." for who in missing]
    wrong = {who: WRONG[method, who] for who in there if (method, who) in WRONG}
    notes += [f"{who} is wrong: it {reason}." for who, reason in wrong.items()]
    if OURS in results and len(results) > 1:
        notes += _behind(results, set(wrong))
    return [*parts, *(["\n".join(f"- {note}" for note in notes)] if notes else [])]


def _cell(outcome: Outcome, said: dict[str, str]) -> str:
    """The accuracy, or a mark that the notes explain."""
    if outcome.accuracy is not None or outcome.trouble.startswith(">"):
        return str(outcome)
    return said.setdefault(outcome.trouble, f"fails {chr(ord('a') + len(said))}")


def _means(results: dict[str, dict[str, Outcome]]) -> list[str]:
    names = next(iter(results.values()))
    shared = [
        name for name in names if all(done[name].accuracy is not None for done in results.values())
    ]
    if not shared:
        return ["–"] * len(results)
    return [f"{np.mean([done[name].accuracy for name in shared]):.2f}" for done in results.values()]


def _behind(results: dict[str, dict[str, Outcome]], wrong: set[str]) -> list[str]:
    """Where ours is more than the allowed points below a peer."""
    notes = []
    for name, own in results[OURS].items():
        for who, done in results.items():
            gap = (done[name].accuracy or 0.0) - (own.accuracy or 0.0)
            if gap > ALLOWED and not who.startswith(OURS):
                luck = ", which is wrong" if who in wrong else ""
                notes.append(f"{name}: ours is {gap:.2f} points below {who}{luck}.")
    return notes


def versions() -> str:
    found = []
    for package in ("crowd-kit", "peerannot", "cleanlab", "scikit-learn"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"{package} missing")
    return ", ".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--limit", type=float, default=300, help="seconds for one set")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    options = parser.parse_args()
    parts = [
        f"`python bench/accuracy.py --limit {options.limit:.0f} --write`: percent of the gold "
        "labels found, every library as it is shipped; items whose top classes are level count in "
        f"part. {versions()}. {circumstances()}"
    ]
    for method in options.methods or list(METHODS):
        parts += section(method, options.limit)
    print("\n\n".join(parts))
    if options.write:
        write_section(TITLE, parts)


if __name__ == "__main__":
    main()
