"""The machine's own limit: rows of a table read, and added to, in random order."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

VOTES = 2**22
RUNS = 3


@njit(nogil=True)
def gather(table, rows):  # type: ignore[no-untyped-def]
    k = table.shape[1]
    total = np.zeros(k)
    for row in rows:
        for j in range(k):
            total[j] += table[row, j]
    return total


@njit(nogil=True)
def scatter(table, rows, counts):  # type: ignore[no-untyped-def]
    k = table.shape[1]
    total = np.zeros(k)
    for row in rows:
        for j in range(k):
            total[j] += table[row, j]
            counts[row, j] += 1.0
    return total


def measure(rows: int, k: int, threads: int) -> tuple[float, float]:
    """Wall nanoseconds per vote to read one random row, and to read one and add to another, when
    each thread has its share of the votes and a table of counts of its own."""
    rng = np.random.default_rng(0)
    ids = np.array_split(rng.integers(0, rows, VOTES, dtype=np.int32), threads)
    table = rng.random((rows, k))
    counts = [np.zeros((rows, k)) for _ in ids]

    def both(part: int) -> None:
        scatter(table, ids[part], counts[part])

    def read(part: int) -> None:
        gather(table, ids[part])

    with ThreadPoolExecutor(threads) as pool:
        return tuple(_least(pool, job, threads) for job in (read, both))  # type: ignore[return-value]


def _least(pool: ThreadPoolExecutor, job, threads: int) -> float:  # type: ignore[no-untyped-def]
    job(0)
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        list(pool.map(job, range(threads)))
        seconds.append(time.perf_counter() - begin)
    return min(seconds) / VOTES * 1e9
