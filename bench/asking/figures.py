"""Numbers of several runs as cells of a table: the middle one, and from where to where."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent.parent / "RESULTS.md"


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


def table(rows: Sequence[Sequence[str]]) -> str:
    """Markdown, the first row being the heading."""
    head, *body = rows
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def about(minutes: float, realtime: bool) -> str:
    """What was done, when, on what, and by which code."""
    priority = (
        " All of it ran at real-time priority, because other programs used the machine too."
        if realtime
        else ""
    )
    today = datetime.datetime.now(datetime.UTC).date()
    words = ("git", "-C", str(RESULTS.parent), "rev-parse", "--short", "HEAD")
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    commit = found.stdout.strip() or "unknown"
    return (
        "`python bench/server.py`: the server on one core, the annotators on the other, 8 s of "
        "thought on average, faults and dashboard as its docstring says; each run is counted for "
        f"{minutes:g} min after everybody has arrived. Cells are medians, with least and most in "
        f"brackets.{priority} {today}, {os.cpu_count()} cores ({platform.machine()}), Python "
        f"{platform.python_version()}, commit {commit}."
    )


def write_section(title: str, parts: Iterable[str]) -> None:
    """Put a section into RESULTS.md, in place of the one of the same title."""
    text = RESULTS.read_text("utf-8")
    head = f"## {title}\n"
    new = head + "\n" + "\n\n".join(parts) + "\n"
    before, found, rest = text.partition(head)
    after = rest.partition("\n## ")[2] if found else ""
    text = before.rstrip("\n") + "\n\n" + new + (f"\n## {after}" if after else "")
    RESULTS.write_text(text, "utf-8", newline="\n")
