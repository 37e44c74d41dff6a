"""The server's clock: leases and vacancies depend on it, so it cannot go back."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

# seconds that pass whatever is done to the time of day; while the machine sleeps as well, if known
if hasattr(time, "CLOCK_BOOTTIME"):
    elapsed: Callable[[], float] = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
else:
    elapsed = time.monotonic


class Clock:
    """Seconds since 1970, by the time of day at the start and by what has passed since then.

    Somebody may correct the machine's time while people are at work, or between two runs: leases
    then neither end at once nor last for hours more.  ``newest`` is the latest time that is
    written down already, and the clock does not start before it; ``behind`` says by how many
    seconds the time of day was.
    """

    def __init__(
        self,
        newest: float | None = None,
        *,
        wall: Callable[[], float] = time.time,
        ticks: Callable[[], float] = elapsed,
    ) -> None:
        start = wall()
        self.behind = max(0.0, (newest or 0.0) - start)
        self._ticks, self._zero = ticks, start + self.behind - ticks()

    def __call__(self) -> float:
        return self._zero + self._ticks()
