"""Who used the machine while we measured: the server, we ourselves, and everybody else."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Usage:
    """Cores in use on average; ``others`` is what disturbs."""

    server: float
    others: float


class Meter:
    """Starts when it is made."""

    def __init__(self, server: int) -> None:
        self._server = server
        self._begin = time.perf_counter(), _busy(), process(server), time.process_time()

    def read(self) -> Usage:
        then, busy, server, own = self._begin
        seconds = time.perf_counter() - then
        served = process(self._server) - server
        others = _busy() - busy - served - (time.process_time() - own)
        return Usage(served / seconds, max(0.0, others / seconds))


def process(number: int) -> float:
    """Processor seconds of a process so far, by the program and for it."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak(number: int) -> float:
    """The most memory a process has held, in megabytes."""
    status = Path(f"/proc/{number}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def _busy() -> float:
    """Processor seconds of the whole machine so far that were not idle."""
    fields = list(map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:]))
    idle, waiting = fields[3], fields[4]
    guests = sum(fields[8:])  # counted a second time as user and nice
    return (sum(fields) - idle - waiting - guests) / TICKS
