"""How long one decision takes: what to ask next, right after an answer has arrived.

    python bench/allocate.py [--write]

10,000 items, 10 classes, a mixture of 30 Dirichlets, five votes each.  An answer is recorded and
the next item is chosen, 2,000 times; the limit is 5 ms for both together, on one core.  Beside it
in the same run: computing the gain of all items again after every answer, which is what recording
avoids, and the mere search for the largest of 10,000 numbers, below which nothing can go.  Times
are CPU seconds of this thread, because other programs use the machine too.  On a virtual machine
some of its host's time is counted as ours; so the same decisions are taken three times, and each
counts with its least time.  Work of the program itself, such as collecting garbage, comes back at
the same decision and stays in.
"""

from __future__ import annotations

import argparse
import os

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import time
from collections.abc import Callable

import numpy as np
from results import circumstances, table, write_section

from softlabel import Index
from softlabel.allocate import Allocation, Entropy, Greedy, Uniform

ITEMS, CLASSES, VOTES, DECISIONS = 10_000, 10, 5, 2_000
LIMIT = 5.0  # ms
REPEATS = 3
TITLE = "Deciding what to ask"


def crowd(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Splits with a confusion for each class, and votes by them."""
    alpha = 0.1 * rng.random((ITEMS, CLASSES))
    first = rng.integers(0, CLASSES, ITEMS)
    alpha[np.arange(ITEMS), first] += 4
    alpha[np.arange(ITEMS), first ^ 1] += rng.random(ITEMS)
    split = rng.standard_gamma(alpha) + 1e-12
    split /= split.sum(axis=1, keepdims=True)
    return split, rng.multinomial(VOTES, split).astype(np.float64)


def clock(function: Callable[[], object], times: int) -> np.ndarray:
    took = []
    for _ in range(times):
        start = time.thread_time()
        function()
        took.append(1e3 * (time.thread_time() - start))
    return np.array(took)


def decider(index: Index, policy, votes: np.ndarray, split: np.ndarray) -> Callable[[], None]:
    """Return what records an answer and decides, the same sequence each time it is made."""
    rng = np.random.default_rng(1)
    state = Allocation(index, policy, evidence=votes)
    people = {"asked": state.choose(1, rng=rng)}

    def decide() -> None:
        asked = people["asked"].items
        state.record(asked, [rng.choice(CLASSES, p=split[asked[0]])])
        people["asked"] = state.choose(1, rng=rng)

    return decide


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    split, votes = crowd(rng)
    index = Index([f"i{i}" for i in range(ITEMS)], [], [f"c{j}" for j in range(CLASSES)])
    rows = [["", "median ms", "99 % ms", "longest ms", "of the limit, median"]]

    def line(name: str, took: np.ndarray) -> None:
        middle = float(np.median(took))
        ends = f"{np.quantile(took, 0.99):.2f}", f"{took.max():.2f}"
        rows.append([name, f"{middle:.2f}", *ends, f"{middle / LIMIT:.2f}"])

    for policy in (Greedy(), Greedy(stop=1e-4), Entropy(), Uniform()):
        took = [clock(decider(index, policy, votes, split), DECISIONS) for _ in range(REPEATS)]
        stop = f", stop={policy.stop:g}" if policy.stop else ""
        line(f"**answer and decision, `{policy.name}`{stop}**", np.min(took, axis=0))
    state = Allocation(index, Greedy(), evidence=votes)
    line("a person's 25 items at once, `greedy`", clock(lambda: state.choose(25, rng=rng), 200))
    belief = state.belief
    line("the gain of all items again", clock(lambda: belief.update([0], split[:1]).gain(), 10))
    score = rng.random(ITEMS)
    line("limit below: the largest of 10,000 numbers", clock(score.argmax, DECISIONS))
    print(table(rows))
    if given.write:
        intro = (
            f"`python bench/allocate.py --write`: {ITEMS:,} items, {CLASSES} classes, a mixture of "
            f"30 Dirichlets, {VOTES} votes each; {DECISIONS:,} times an answer is recorded and the "
            f"next item chosen. The limit is {LIMIT:g} ms for both together. CPU time of one "
            f"thread, while other programs used the machine; each decision is taken {REPEATS} "
            f"times, and its least time counts. {circumstances('numpy', 'scipy')}"
        )
        write_section(TITLE, [intro, table(rows)])


if __name__ == "__main__":
    main()
