"""Votes in the order in which kernels read them: item by item."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel._util.machine import cores
from softlabel.aggregate.gold import Gold, gold_codes
from softlabel.errors import DataError
from softlabel.tables import Annotations, Floats, Ints, given_away

MANY = 2**19  # votes; fewer are ordered before threads have started, and counted before compiling


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes on item i are ``start[i]:start[i + 1]``.

    A soft annotation is several votes of one person, one for each class it gives a chance to, with
    that chance as its ``weight``; of hard votes ``weight`` is None: each counts 1.  Two votes of
    one person on one item are two votes.  ``gold[i]`` is the class of an item where it is known,
    else -1; None where no item's is.
    """

    start: Ints  # (m + 1,) int64
    annotator: Ints  # (n,) int32
    label: Ints  # (n,) int16, or int32 where there are more classes
    weight: Floats | None  # (n,)
    items: int
    annotators: int
    labels: int
    gold: Ints | None = None  # (m,) int32

    def __len__(self) -> int:
        return len(self.annotator)


def ordered(said: Annotations, method: str, gold: Gold | None = None) -> Votes:
    """The annotations by item; within an item they stay in their order.

    ``method`` needs to know who said what: anonymous votes are refused in its name.
    """
    if said.anonymous:
        raise DataError(
            f"{method} weighs people, but some votes have no annotator; pools that do not: mean, "
            "share, majority, dirichlet, dirichlet-mixture"
        )
    m, a, k = said.index.shape
    start, annotator, label, weight = _sorted(said)
    return Votes(
        start=given_away(start),
        annotator=given_away(annotator),
        label=given_away(label),
        weight=None if said.hard else given_away(weight),
        items=m,
        annotators=a,
        labels=k,
        gold=gold_codes(gold, said.index),
    )


def _sorted(said: Annotations) -> tuple[npt.NDArray[Any], ...]:
    """A counting sort in which each thread has a range of the rows: it counts them, learns from the
    others' counts where its votes on each item begin, and puts them there."""
    from softlabel.aggregate import sorting  # compiled: only those who pool wait for it

    came = _columns(said)
    k = len(said.index.labels)
    rows = [tuple(column[low:high] for column in came) for low, high in _edges(len(said))]
    most = len(said) * (1 if said.hard else k)
    free = np.zeros((len(rows), len(said.index.items)), np.int32 if most < 2**31 else np.int64)
    _in_threads(sorting.tally, zip(rows, free, strict=True))
    start = np.zeros(free.shape[1] + 1, dtype=np.int64)
    for part in free:
        start[1:] += part
    np.cumsum(start, out=start)
    begins = start[:-1]
    for part in free:
        begins, part[:] = begins + part, begins
    n = int(start[-1])
    out = (
        np.empty(n, dtype=np.int32),
        np.empty(n, dtype=np.int16 if k <= 2**15 else np.int32),
        np.empty(0 if said.hard else n),
    )
    _in_threads(sorting.place, ((part, to, *out) for part, to in zip(rows, free, strict=True)))
    return start, *out


def class_counts(said: Annotations) -> Floats:
    """``said.counts()``, compiled where there are many votes."""
    if len(said) < MANY:
        return said.counts()
    from softlabel.aggregate import counting

    item, _, label, probs = _columns(said)
    counts = np.zeros((len(said.index.items), len(said.index.labels)))
    counting.count(item, label, probs, counts)
    return counts


def _columns(said: Annotations) -> tuple[npt.NDArray[Any], ...]:
    """Item, annotator, label and probs, of which one is empty."""
    from softlabel.aggregate.kernels import fixed

    label = np.zeros(0, np.int16) if said.label is None else said.label
    probs = np.zeros((0, 0)) if said.probs is None else said.probs
    return tuple(fixed(column) for column in (said.item, said.annotator, label, probs))


def _edges(rows: int) -> list[tuple[int, int]]:
    """Ranges of so many rows, one per thread that they are worth."""
    threads = min(cores(), 4) if rows >= MANY else 1
    return list(pairwise(np.linspace(0, rows, threads + 1).astype(np.int64).tolist()))


def _in_threads(function: Any, calls: Iterable[tuple[Any, ...]]) -> None:
    """``function(*arguments)`` of all, each in a thread of its own."""
    first, *others = calls
    with ThreadPoolExecutor(max(len(others), 1)) as pool:  # starts no thread without work
        jobs = [pool.submit(function, *arguments) for arguments in others]
        function(*first)
        for job in jobs:
            job.result()


def cut(votes: Votes, shards: int) -> list[Votes]:
    """At most ``shards`` ranges of items with about equally many votes; votes are not copied."""
    wanted = np.linspace(0, len(votes), shards + 1)[1:-1]
    edges = np.unique([0, *np.searchsorted(votes.start, wanted), votes.items]).tolist()
    if len(edges) <= 2:
        return [votes]
    return [_between(votes, low, high) for low, high in pairwise(edges)]


def _between(votes: Votes, low: int, high: int) -> Votes:
    first, last = votes.start[low], votes.start[high]
    return replace(
        votes,
        start=given_away(votes.start[low : high + 1] - first),
        annotator=votes.annotator[first:last],
        label=votes.label[first:last],
        weight=None if votes.weight is None else votes.weight[first:last],
        items=high - low,
        gold=None if votes.gold is None else votes.gold[low:high],
    )
