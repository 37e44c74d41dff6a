"""Numbers of several runs as cells of a table: the middle one, and from where to where."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np
from results import circumstances


def spread(values: Sequence[float], digits: int = 0) -> str:
    """The median, and least and most if there are several."""
    middle = f"{statistics.median(values):,.{digits}f}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f}–{max(values):,.{digits}f})"


def ratio(values: Sequence[float], of: Sequence[float]) -> str:
    """How the best of some compares with the best of others: noise only ever takes away."""
    return f"{max(values) / max(of):.2f}"


def percentiles(seconds: Sequence[float]) -> tuple[float, float, float, float]:
    """50th, 95th and 99th percentile and the largest, in milliseconds."""
    if not seconds:
        return (float("nan"),) * 4
    ms = 1000 * np.asarray(seconds)
    p50, p95, p99 = np.percentile(ms, [50, 95, 99]).tolist()
    return p50, p95, p99, float(ms.max())


def about(minutes: float, realtime: bool) -> str:
    """What was done, when, on what, and by which code."""
    return (
        "`python bench/server.py`: the server on one core, the annotators on the other, 8 s of "
        "thought on average, faults and dashboard as its docstring says; each run is counted for "
        f"{minutes:g} min after everybody has arrived. Cells are medians, with least and most in "
        f"brackets.{priority(realtime)} {circumstances()}"
    )


def priority(realtime: bool) -> str:
    """A sentence about it, if it was an unusual one."""
    if not realtime:
        return ""
    return " All of it ran at real-time priority, because other programs used the machine too."
