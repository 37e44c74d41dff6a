"""How fast answers come in, and when the last one will."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softlabel.tables import Floats

HOUR = 3600.0
SHORTEST = 60.0  # seconds below which nothing is known about speed
UNITS = {"minute": 60.0, "10 minutes": 600.0, "hour": HOUR, "6 hours": 6 * HOUR, "day": 24 * HOUR}
MOST_STRETCHES, FEWEST_STRETCHES = 36, 9


@dataclass(frozen=True)
class Speed:
    """``per_hour`` over the latest hour (or since the first answer); ``stretches`` are the latest
    stretches of time, each as long as ``unit`` says: when it began, and how many answers came."""

    per_hour: float
    unit: str
    stretches: tuple[tuple[float, int], ...]

    def hours_left(self, missing: int) -> float:
        """Until all are there, if people go on like this; NaN if nobody does."""
        if not missing:
            return 0.0
        return missing / self.per_hour if self.per_hour > 0 else math.nan


def speed(times: Sequence[float], now: float, whole: bool = True) -> Speed:
    """Of the moments at which target answers were stored.

    ``whole`` False: there were more before the first of these.

    >>> speed([0.0, 1200.0, 2400.0], 3600.0).per_hour
    3.0
    """
    at = np.sort(np.asarray(times, dtype=np.float64))
    begin = max(float(at[0]), now - HOUR) if len(at) else now
    recent = int((at >= now - HOUR).sum())
    per_hour = recent / max(now - begin, SHORTEST) * HOUR
    unit, size = _unit(now - float(at[0]) if len(at) else 0.0)
    return Speed(per_hour, unit, _stretches(at, now, size, whole))


def _unit(span: float) -> tuple[str, float]:
    fits = [(unit, size) for unit, size in UNITS.items() if span / size <= MOST_STRETCHES]
    return fits[0] if fits else ("day", UNITS["day"])


def _stretches(at: Floats, now: float, size: float, whole: bool) -> tuple[tuple[float, int], ...]:
    """The first one is left out where it is known to be incomplete."""
    if not len(at):
        return ()
    last = math.floor(now / size)
    first = max(math.floor(float(at[0]) / size) + (not whole), last - MOST_STRETCHES)
    first = min(first, last - FEWEST_STRETCHES) if whole else first
    places = at // size - first
    count = np.bincount(places[places >= 0].astype(np.int64), minlength=last - first + 1)
    return tuple(((first + i) * size, int(n)) for i, n in enumerate(count))
