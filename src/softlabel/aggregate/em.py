"""Expectation maximisation as map and sum over parts of the items.

A step has no memory: a part of the votes and the parameters go in, sums come out.  So a part may
be computed anywhere, and a lost one is computed again.
"""

from __future__ import annotations

from builtins import map as in_turn
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from softlabel._util.machine import cores
from softlabel.aggregate.base import Map
from softlabel.aggregate.votes import Votes, cut
from softlabel.errors import DataError
from softlabel.tables import Floats, Ints

Sums = tuple[Any, ...]  # arrays; the first has one element, the log-likelihood
Parameters = Any
Tell = Callable[[int, float], None]  # hears (iteration, objective)

WORTH_A_THREAD = 2**14  # votes; fewer are done sooner than handed over
PIECE = 2**20  # votes that are counted at a time


class Model(Protocol):
    """One method, picklable.  All that its steps know of the data are the votes of one part."""

    def begin(self, part: Votes, /) -> Sums:
        """Statistics of the posterior from which the method starts (vote shares; gold one-hot)."""

    def learn(self, sums: Sums, before: Parameters | None = None, /) -> Parameters:
        """M-step: the best parameters for these sums, whose arrays it may use up; or better ones
        than ``before``, those of the step that made the sums."""

    def penalty(self, parameters: Parameters, /) -> float:
        """What the objective has besides the log-likelihood: the log prior, or minus a KL."""

    def step(self, part: Votes, parameters: Parameters, /) -> Sums:
        """E-step and the statistics of its posterior, in one pass over the part."""

    def posterior(self, part: Votes, parameters: Parameters, /) -> Floats:
        """E-step alone: (items of the part, k) rows, NaN for an item without votes."""


class Engine(Protocol):
    """Where the parts are, and how a function gets to them."""

    def sum(self, function: Callable[..., Sums], /, *broadcast: Any) -> Sums:
        """``function(part, *broadcast)`` added over all parts, pairwise and in a fixed order."""

    def each(self, function: Callable[..., Any], /, *broadcast: Any) -> Iterable[Any]:
        """``function(part, *broadcast)`` of every part, in the order of the items."""


@dataclass(frozen=True)
class Local:
    """Parts in the memory of this process, and a ``map`` to run over them."""

    parts: Sequence[Votes]
    map: Map = in_turn

    def sum(self, function: Callable[..., Sums], /, *broadcast: Any) -> Sums:
        total: Sums = added(self.each(function, *broadcast))
        return total

    def each(self, function: Callable[..., Any], /, *broadcast: Any) -> Iterable[Any]:
        return self.map(partial(_call, function, broadcast), self.parts)

    def finer(self, pieces: int) -> Local:
        """The same items in about so many parts, for results that are large."""
        per_part = -(-pieces // len(self.parts))
        return Local([piece for part in self.parts for piece in cut(part, per_part)], self.map)


def _call(function: Callable[..., Any], broadcast: tuple[Any, ...], part: Votes) -> Any:
    return function(part, *broadcast)


def added(results: Iterable[Any], plus: Callable[[Any, Any], Any] | None = None) -> Any:
    """The sums of all parts, as a tree: equal neighbours are added as soon as both are there.

    Few are held at a time, and the same parts give the same rounding whoever computed them.
    ``plus`` adds what is not here but elsewhere.
    """
    plus = plus or _plus
    waiting: list[tuple[int, Any]] = []  # (how many parts are in it, their sum)
    for result in results:
        size, total = 1, result
        while waiting and waiting[-1][0] == size:
            total = plus(waiting.pop()[1], total)
            size *= 2
        waiting.append((size, total))
    total = waiting.pop()[1]
    while waiting:
        total = plus(waiting.pop()[1], total)
    return total


def _plus(left: Sums, right: Sums) -> Sums:
    """Entry by entry, into the arrays of ``left``."""
    together = []
    for one, other in zip(left, right, strict=True):
        one += other
        together.append(one)
    return tuple(together)


@contextmanager
def local(votes: Votes, map: Map | None = None, shards: int | None = None) -> Iterator[Local]:
    """The votes in ``shards`` parts (as many as cores) under ``map`` (threads)."""
    if shards is None:
        shards = min(cores(), 1 + len(votes) // WORTH_A_THREAD)
    if shards < 1:
        raise DataError(f"shards = {shards}: at least one is needed")
    parts = cut(votes, shards)
    if map is not None or len(parts) == 1:
        yield Local(parts, map or in_turn)
        return
    workers = min(len(parts), cores())
    with ThreadPoolExecutor(workers) as threads:
        yield Local(parts, partial(_few_ahead, threads, 2 * workers))


def _few_ahead(threads: ThreadPoolExecutor, most: int, function: Any, *columns: Any) -> Any:
    """``threads.map`` that begins a call when it is soon wanted: large results do not pile up."""
    begun: deque[Future[Any]] = deque()
    for arguments in zip(*columns, strict=False):  # as map does
        if len(begun) == most:
            yield begun.popleft().result()
        begun.append(threads.submit(function, *arguments))
    while begun:
        yield begun.popleft().result()


@dataclass(frozen=True)
class Fitted:
    """Parameters, the objective after every E-step, and how many votes each person gave."""

    parameters: Parameters
    trace: Floats
    converged: bool
    asked: Ints


@dataclass(frozen=True)
class Stopped:
    """Where a fit was stopped: parameters for the next step, and the objective of those made."""

    parameters: Parameters
    trace: Sequence[float]


def fit(
    model: Model,
    engine: Engine,
    *,
    n_iter: int,
    tol: float,
    start: Parameters | Stopped | None = None,
    tell: Tell | None = None,
    keep: Callable[[Parameters, int], None] | None = None,
) -> Fitted:
    """Climb the objective until a step gains less than ``tol`` per vote, or for ``n_iter`` steps.

    With ``tol=0`` exactly ``n_iter`` steps are made.  ``start`` replaces the method's own start, or
    goes on where an earlier call was ``Stopped``.  ``tell(iteration, objective)`` hears of every
    step, ``keep(parameters, iteration)`` gets what the next one will start from.
    """
    votes, asked = engine.sum(census)
    trace: list[float] = []
    if isinstance(start, Stopped):
        start, trace = start.parameters, list(start.trace)
    parameters = model.learn(engine.sum(model.begin)) if start is None else start
    tell = tell or _WATCH.get()
    converged = False
    for iteration in range(len(trace) + 1, n_iter + 1):
        sums = engine.sum(model.step, parameters)
        trace.append(float(sums[0][0]) + model.penalty(parameters))
        if tell is not None:
            tell(iteration, trace[-1])
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) < tol * float(votes[0])
        if converged or iteration == n_iter:
            break
        parameters = model.learn(sums, parameters)
        if keep is not None:
            keep(parameters, iteration)
    return Fitted(parameters, np.array(trace), converged, asked)


_WATCH: ContextVar[Tell | None] = ContextVar("watch", default=None)


@contextmanager
def watched(tell: Tell) -> Iterator[None]:
    """Fits in this block tell how far they are, for whoever calls a pool and waits for it."""
    token = _WATCH.set(tell)
    try:
        yield
    finally:
        _WATCH.reset(token)


def census(part: Votes) -> Sums:
    """How many votes there are, and of each person."""
    asked = np.zeros(part.annotators, dtype=np.int64)
    for first in range(0, len(part), PIECE):  # which are made wider on the way
        piece = part.annotator[first : first + PIECE]
        asked += np.bincount(piece, minlength=part.annotators)
    return np.array([float(len(part))]), asked
