"""Report the progress of long work to whoever waits for it."""

import time
from collections.abc import Callable
from typing import Any, Protocol


class Progress(Protocol):
    """A function called with the current step and, where known, how much of how much is done."""

    def __call__(self, step: str, done: int = 0, total: int | None = None) -> None: ...


def silent(step: str, done: int = 0, total: int | None = None) -> None:
    """Report nothing: the default ``Progress``."""


def abbreviate(number: float) -> str:
    """Write a large number briefly.

    >>> abbreviate(950), abbreviate(12_300), abbreviate(48_000_000)
    ('950', '12 k', '48.0 M')
    """
    if number < 1e4:
        return f"{number:.0f}"
    return f"{number / 1e3:.0f} k" if number < 1e6 else f"{number / 1e6:.1f} M"


def report_steps(method: Any, votes: int, progress: Progress) -> Callable[[int, float], None]:
    """Make the function that ``softlabel.aggregate`` calls after every step of a fit.

    It reports the step, the largest number of steps and the votes worked through per second.
    """
    before = [time.perf_counter()]

    def report(iteration: int, objective: float) -> None:
        now = time.perf_counter()
        speed = abbreviate(votes / max(now - before[0], 1e-9))
        before[0] = now
        step = f"{method.name}: step {iteration} of at most {method.n_iter}"
        progress(f"{step}, {speed} votes/s", iteration, method.n_iter)

    return report
