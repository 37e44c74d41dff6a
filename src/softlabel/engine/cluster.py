"""The parts of a data set on a Dask cluster.

Every worker reads its parts from Parquet and keeps them.  A step sends the parameters out in
blocks and adds up what comes back as a tree, block by block of annotators.  Nothing else is kept
on the cluster: if a worker is lost, Dask reads its parts again elsewhere, and what was sent to it
is sent again.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from operator import getitem
from typing import Any, TypeVar
from uuid import uuid4

from dask.delayed import delayed
from distributed import (
    CancelledError,
    Client,
    Future,
    KilledWorker,
    Scheduler,
    SpecCluster,
    Worker,
    wait,
)
from distributed.comm.core import CommClosedError
from distributed.http.routing import RoutingApplication
from tornado.httpserver import HTTPServer

from softlabel._util.machine import cores
from softlabel.aggregate import Sums, added
from softlabel.engine.blocks import LARGEST, blocks_of, joined, packed, plus, unpacked
from softlabel.engine.partitions import Part, Partitions, Reading, read_part
from softlabel.errors import SoftlabelError

ATTEMPTS = 5  # at one step, after workers were lost
PATIENCE = 60  # seconds to find the cluster, or a worker on it
SMALL = 10**6  # bytes that are sent along with the work instead of before it
INSIDE = "inproc://"  # Dask's protocol within one process
LOST = (CancelledError, KilledWorker, CommClosedError)
NOBODY = f"all workers of the cluster were lost, and in {PATIENCE} s none came back"

Result = TypeVar("Result")


@contextmanager
def connect(address: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """A client of the cluster at ``host:port``, or of one started here, a thread per core."""
    with ExitStack() as stack:
        if address is None:
            cluster = stack.enter_context(_started(workers or cores()))
            yield stack.enter_context(Client(cluster, direct_to_workers=True))
            return
        try:
            client = stack.enter_context(Client(f"tcp://{address}", timeout=PATIENCE))
        except OSError as error:
            raise SoftlabelError(
                f"no Dask scheduler answers at {address} ({error}); start one with 'dask scheduler'"
            ) from None
        yield client


class _Unheard:
    """A part of a cluster that opens no port.  Dask starts a web server with each of them, on all
    interfaces, even if told that no dashboard is wanted; whoever reaches it sees what is done."""

    def start_http_server(self, routes: Any, *args: Any, **options: Any) -> None:
        """Make what Dask closes in the end, and listen nowhere."""
        self.http_application = RoutingApplication(routes)
        self.http_server = HTTPServer(self.http_application)


class _Scheduler(_Unheard, Scheduler):
    pass


class _Worker(_Unheard, Worker):
    pass


def _started(workers: int) -> SpecCluster:
    """Threads of this process that speak to each other in its memory: what travels over a socket
    can be read, and run, by other users of the machine.  The kernels let go of Python's lock."""
    options = {"protocol": INSIDE}
    share = {"nthreads": 1, "memory_limit": 0}  # the memory is one: nobody is restarted for it
    return SpecCluster(
        scheduler={"cls": _Scheduler, "options": options},
        workers={n: {"cls": _Worker, "options": options | share} for n in range(workers)},
        silence_logs=logging.CRITICAL,
    )


class DaskEngine:
    """Parts on the workers of a cluster; see ``softlabel.aggregate.em.Engine``."""

    def __init__(
        self,
        client: Client,
        partitions: Partitions,
        reading: Reading | None = None,
        largest: int = LARGEST,
    ) -> None:
        self.client, self.largest = client, largest
        self.blocks = max(1, math.ceil(partitions.table_bytes / largest))
        self.parts: list[Future] = [
            client.submit(read_part, partitions, number, reading, pure=False)
            for number in range(len(partitions))
        ]

    def sum(self, function: Callable[..., Sums], /, *broadcast: Any) -> Sums:
        """``function(part, *broadcast)`` added over all parts, pairwise and in a fixed order."""
        return self._tried(lambda: self._sum(function, broadcast))

    def each(self, function: Callable[..., Any], /, *broadcast: Any) -> Iterator[Any]:
        """``function(part, *broadcast)`` of every part in turn; as many are under way as there are
        threads on the cluster, and one is here."""
        ahead = max(1, sum(self.client.nthreads().values()))
        for low in range(0, len(self.parts), ahead):
            parts = self.parts[low : low + ahead]
            under_way = self._started(function, broadcast, parts)
            for part, future in zip(parts, under_way, strict=True):
                yield self._fetched(future, function, broadcast, part)

    # ── underneath ───────────────────────────────────────────────────────────────────────────

    def _sum(self, function: Callable[..., Sums], broadcast: tuple[Any, ...]) -> Sums:
        """The whole step as one graph: a call per part, and a tree of additions per block."""
        results = self._calls(function, broadcast, self.parts, self.blocks)
        roots = [added(_block(results, number), _plus) for number in range(self.blocks)]
        under_way = self.client.compute(roots)
        return joined([self._result(root) for root in under_way])  # one message each

    def _started(
        self, function: Callable[..., Any], broadcast: tuple[Any, ...], parts: Sequence[Future]
    ) -> list[Future]:
        return self._tried(
            lambda: self.client.compute(self._calls(function, broadcast, parts, None))
        )

    def _calls(
        self,
        function: Callable[..., Any],
        broadcast: tuple[Any, ...],
        parts: Sequence[Future],
        blocks: int | None,
    ) -> list[Any]:
        """``function`` on each of the parts, its sums cut to ``blocks``.

        What is broadcast lies on one worker each, in runs, and they fetch it from one another.
        """
        sent = packed(broadcast, self.largest)
        runs: list[Any] = sent.runs
        if sum(run.nbytes for run in runs) > SMALL:
            runs = [self.client.scatter(run, hash=False) for run in runs]
        call = delayed(_Call(function, sent.head, sent.sizes, blocks), pure=False, traverse=False)
        return [call(part, *runs) for part in parts]

    def _fetched(
        self,
        future: Future,
        function: Callable[..., Any],
        broadcast: tuple[Any, ...],
        part: Future,
    ) -> Any:
        """A result that is under way; if it was lost, it is asked for again."""
        try:
            return self._result(future)
        except LOST:
            return self._tried(lambda: self._result(self._started(function, broadcast, [part])[0]))

    def _result(self, future: Future) -> Any:
        """What comes of it, however long that takes; but without workers it will never come."""
        while True:
            try:
                wait([future], timeout=PATIENCE)
                return self.client.gather(future)
            except TimeoutError:
                if not self.client.nthreads():
                    raise SoftlabelError(NOBODY) from None

    def _tried(self, job: Callable[[], Result]) -> Result:
        """What was sent to a worker is lost with it, so the whole step is done again."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return job()
            except LOST as error:
                if attempt == ATTEMPTS:
                    raise SoftlabelError(
                        f"a step failed {ATTEMPTS} times because workers were lost "
                        f"({type(error).__name__}: {error}); they may have too little memory"
                    ) from error
        raise AssertionError("the last attempt returns or raises")


class _Call:
    """A function of a part and of things that arrive in runs of bytes."""

    def __init__(
        self, function: Callable[..., Any], head: bytes, sizes: tuple[int, ...], blocks: int | None
    ) -> None:
        self.function, self.head, self.sizes, self.blocks = function, head, sizes, blocks

    def __call__(self, part: Part, *runs: Any) -> Any:
        result = self.function(part, *unpacked(self.head, self.sizes, runs))
        return result if self.blocks is None else blocks_of(result, self.blocks)


def _block(results: Sequence[Any], number: int) -> list[Any]:
    """That block of each of the results, taken where the result is.

    Each has a name of its own: Dask takes many tasks of one name that need few others for the roots
    of a graph, and spreads them over the workers, whatever has to be sent there for it.
    """
    pick = delayed(getitem, pure=False, traverse=False)
    names = (f"pick_{part}_{number}-{uuid4().hex}" for part in range(len(results)))
    return [
        pick(result, number, dask_key_name=name)
        for result, name in zip(results, names, strict=True)
    ]


def _plus(left: Any, right: Any) -> Any:
    return delayed(plus, pure=False, traverse=False)(left, right)
