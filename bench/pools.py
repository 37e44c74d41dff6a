"""Every pool on every data set: how near to how others split, and how often right.

    python bench/pools.py [POOL ...] [--write]

Read from ``$SOFTLABEL_DATA``; a data set that is not there is left out and named.  Where a set has
many votes per item a few are pooled and the others are the reference; CIFAR-10S is held against
the votes of other people on the same images (CIFAR-10H).  Each pool runs twice and the second run
is timed.  ``--write`` puts the tables into RESULTS.md and into docs/pools/README.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from held_against import Task, cifar10s, tasks
from results import circumstances, table, write_block, write_section

from softlabel import Annotations, SoftLabels, registry
from softlabel.aggregate import Mean
from softlabel.annotators import make_cards
from softlabel.annotators.calibration import FLOOR
from softlabel.construct import Clamp
from softlabel.errors import DataError
from softlabel.metrics import correlation, entropy, intervals, kl, total_variation
from softlabel.sampling import subsample
from softlabel.tables import Floats

LEAST = 1e-3  # a smaller chance counts as this in KL; else one confident miss would be infinite
PAGE = Path(__file__).parent.parent / "docs" / "pools" / "README.md"
TITLE = "Pools on all data sets"


@dataclass(frozen=True)
class Result:
    """One pool on one task; NaN where there is nothing to hold it against."""

    accuracy: float
    kl: float
    tv: float
    entropy_r: float
    seconds: float


Results = dict[tuple[str, str], Result | None]  # by task and pool


def measure(task: Task, pool: Any) -> Result | None:
    """None where the pool refuses the data by name."""
    try:
        pool(task.said)
    except DataError as error:
        print(f"{task.name:<18} {pool.name:<18} refused: {error}")
        return None
    begin = time.perf_counter()
    made = pool(task.said)
    seconds = time.perf_counter() - begin
    result = Result(_accuracy(task, made), *_distances(task, made), seconds)
    print(f"{task.name:<18} {pool.name:<18} {result}", flush=True)
    return result


def _accuracy(task: Task, made: SoftLabels) -> float:
    """Share of gold items found; of an item at whose top several are level, its part."""
    if task.gold is None:
        return np.nan
    rows = np.flatnonzero(made.answered & (task.gold >= 0))
    probs = made.probs[rows]
    best = probs >= probs.max(axis=1, keepdims=True) - 1e-9
    return float((best[np.arange(len(rows)), task.gold[rows]] / best.sum(axis=1)).mean())


def _distances(task: Task, made: SoftLabels) -> tuple[float, float, float]:
    if task.split is None:
        return np.nan, np.nan, np.nan
    rows = made.answered & ~np.isnan(task.split[:, 0])
    true, probs = task.split[rows], made.probs[rows]
    doubt = made.entropy(made.estimand)[rows]  # of truths too: the table says what it is not
    return (
        float(kl(true, probs, floor=LEAST).mean()),
        float(total_variation(true, probs).mean()),
        correlation(entropy(true), doubt),
    )


# ── recalibrating people ─────────────────────────────────────────────────────────────────────


def flattened(each: Annotations, t: Floats) -> Annotations:
    """Labels (s + .01)^(1/t), with one temperature per annotator."""
    rows = (each.soft() + FLOOR) ** (1 / t[each.annotator][:, None])
    probs = rows / rows.sum(axis=1, keepdims=True)
    return Annotations(each.index, each.item, each.annotator, probs=probs)


def recalibration() -> str:
    """What making every person calibrated does to the mean of their answers, in KL."""
    said, split, _ = cifar10s()
    each = Clamp()(said)
    fitted = {card.annotator: card.temperature for card in make_cards(each).people}
    t = np.array([fitted[name] for name in each.index.annotators.tolist()])
    both = (flattened(each, np.ones_like(t)), flattened(each, t))  # nothing else differs
    rows = [["answers per image", "mean", "mean of people recalibrated", "change"]]
    for m in (1, 2, 3, 6):
        few = [Mean()(subsample(one, m, np.random.default_rng(0))).probs for one in both]
        before, after = (kl(split, probs, floor=LEAST) for probs in few)
        change = intervals.paired(after, before)
        shown = f"{change.value:+.3f} [{change.low:+.3f}, {change.high:+.3f}]"
        rows.append([str(m), f"{before.mean():.3f}", f"{after.mean():.3f}", shown])
    return table(rows)


# ── showing ──────────────────────────────────────────────────────────────────────────────────


def described(done: list[Task]) -> str:
    """What the names of the columns stand for."""
    rows = [["data", "items", "answers pooled", "annotators", "classes", "held against"]]
    for task in done:
        m, a, k = task.said.index.shape
        against = [name for name in ("split", "gold") if getattr(task, name) is not None]
        people = "unknown" if task.said.anonymous else f"{a:,}"
        size = f"{len(task.said):,}"
        rows.append([task.name, f"{m:,}", size, people, str(k), " and ".join(against)])
    return table(rows)


def splits(found: Results, names: list[str], done: list[Task]) -> str:
    """KL, total variation and correlation of entropies, pool by pool."""
    asked = [task for task in done if task.split is not None]
    rows = [["pool", *(task.name for task in asked)]]
    for name in names:
        mark = " †" if registry.get("aggregate", name).estimand == "truth" else ""
        rows.append([f"`{name}`{mark}", *(_distance(found[task.name, name]) for task in asked)])
    return table(rows)


def _distance(result: Result | None) -> str:
    if result is None:
        return "–"
    r = "–" if np.isnan(result.entropy_r) else f"{result.entropy_r:.2f}"
    return f"{result.kl:.3f} / {result.tv:.3f} / {r}"


def truths(found: Results, names: list[str], done: list[Task]) -> str:
    """Accuracy in percent and milliseconds, pool by pool."""
    asked = [task for task in done if task.gold is not None]
    rows = [["pool", *(task.name for task in asked)]]
    for name in names:
        rows.append([f"`{name}`", *(_hits(found[task.name, name]) for task in asked)])
    return table(rows)


def _hits(result: Result | None) -> str:
    if result is None:
        return "–"
    ms = 1000 * result.seconds
    return f"{100 * result.accuracy:.1f} ({ms:,.{1 if ms < 10 else 0}f} ms)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pools", nargs="*", help="all, unless named")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md and the page")
    options = parser.parse_args()
    names = options.pools or list(registry.members("aggregate"))
    done = tasks()
    found: Results = {
        (task.name, name): measure(task, registry.make("aggregate", name))
        for task in done
        for name in names
    }
    blocks = {
        "data": described(done),
        "splits": splits(found, names, done),
        "truths": truths(found, names, done),
        "recalibration": recalibration(),
    }
    print("\n\n".join(blocks.values()))
    if options.write:
        told = "`python bench/pools.py --write`: every pool with its defaults, on every data set; "
        told += "what the tables mean is said in [docs/pools](../docs/pools/README.md). "
        write_section(TITLE, [told + circumstances("numpy", "scipy", "numba"), *blocks.values()])
        for name, text in blocks.items():
            write_block(PAGE, "pools", name, text)


if __name__ == "__main__":
    main()
