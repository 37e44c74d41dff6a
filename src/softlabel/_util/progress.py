"""How long work tells whoever waits for it how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol


class Tell(Protocol):
    """Called with what is being done and, where that is known, how much of how much is done."""

    def __call__(self, step: str, done: int = 0, total: int | None = None) -> None: ...


def silent(step: str, done: int = 0, total: int | None = None) -> None:
    """For callers who do not want to know."""


def count(votes: float) -> str:
    """A number of votes as people say it.

    >>> count(950), count(12_300), count(48_000_000)
    ('950', '12 k', '48.0 M')
    """
    if votes < 1e4:
        return f"{votes:.0f}"
    return f"{votes / 1e3:.0f} k" if votes < 1e6 else f"{votes / 1e6:.1f} M"


def steps(method: Any, votes: int, tell: Tell) -> Callable[[int, float], None]:
    """For ``softlabel.aggregate.em.fit`` to call after every step: tells which of how many at most
    it was, and how many votes a second it worked through."""
    before = [time.perf_counter()]

    def hear(iteration: int, objective: float) -> None:
        now = time.perf_counter()
        speed = count(votes / max(now - before[0], 1e-9))
        before[0] = now
        doing = f"{method.name}: step {iteration} of at most {method.n_iter}"
        tell(f"{doing}, {speed} votes/s", iteration, method.n_iter)

    return hear
