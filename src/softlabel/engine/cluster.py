"""The parts of a data set on a Dask cluster.

Every worker reads its parts from Parquet and keeps them.  A step sends the parameters out in
blocks and adds up the results as a tree, block by block of annotators.  Nothing else is kept on the
cluster: if a worker is lost, Dask reads its parts elsewhere, and what was sent to it is sent again.
"""

import logging
import math
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import pairwise
from operator import getitem
from typing import Any, NamedTuple, TypeVar
from uuid import uuid4

import distributed
import numpy as np
import numpy.typing as npt
from dask.delayed import delayed
from distributed import Client, Future
from distributed.comm.core import CommClosedError
from distributed.http.routing import RoutingApplication
from distributed.utils import silence_logging_cmgr
from tornado.httpserver import HTTPServer

from softlabel._util.machine import cores
from softlabel.aggregate import em
from softlabel.engine.partitions import Part, Partitions, ReadOptions, read_part
from softlabel.errors import SoftlabelError

ATTEMPTS = 5  # at one step, after workers were lost
PATIENCE = 60  # seconds to find the cluster, or a worker on it
LARGEST = 64 * 10**6  # bytes of one message
SMALL = 10**6  # bytes that are sent along with the work instead of before it
LOST = (distributed.CancelledError, distributed.KilledWorker, CommClosedError)
NO_WORKERS = f"all workers of the cluster were lost, and in {PATIENCE} s none came back"

Bytes = npt.NDArray[np.uint8]
Result = TypeVar("Result")


@contextmanager
def connect(address: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Connect to the cluster at ``host:port``, or start one here with a thread per core."""
    with ExitStack() as stack:
        if address is None:
            # Threads of this process that communicate in its memory: what travels over a socket
            # can be read, and run, by other users of the machine.  The kernels release Python's
            # lock.  They share one memory: nobody is restarted for it.
            # Its log is of no use to anybody, and it logs until its last thread has ended: later
            # than ``silence_logs`` of the cluster lasts.
            stack.enter_context(silence_logging_cmgr(logging.CRITICAL))
            inside = {"protocol": "inproc://"}
            worker = {"cls": _Worker, "options": inside | {"nthreads": 1, "memory_limit": 0}}
            cluster = distributed.SpecCluster(
                scheduler={"cls": _Scheduler, "options": inside},
                workers=dict.fromkeys(range(workers or cores()), worker),
            )
            client = Client(stack.enter_context(cluster), direct_to_workers=True)
            yield stack.enter_context(client)
            return
        try:
            client = stack.enter_context(Client(f"tcp://{address}", timeout=PATIENCE))
        except OSError as error:
            raise SoftlabelError(
                f"no Dask scheduler answers at {address} ({error}); start one with 'dask scheduler'"
            ) from None
        yield client


class _WithoutPort:
    """A part of a cluster that opens no port.  Dask starts a web server with each of them, on all
    interfaces, even without a dashboard; whoever reaches it sees the work."""

    def start_http_server(self, routes: Any, *args: Any, **options: Any) -> None:
        """Make what Dask closes in the end, and listen nowhere."""
        self.http_application = RoutingApplication(routes)
        self.http_server = HTTPServer(self.http_application)


class _Scheduler(_WithoutPort, distributed.Scheduler): ...


class _Worker(_WithoutPort, distributed.Worker): ...


class DaskEngine:
    """Parts on the workers of a cluster; see ``softlabel.aggregate.em.Engine``."""

    def __init__(
        self,
        client: Client,
        partitions: Partitions,
        options: ReadOptions | None = None,
        largest: int = LARGEST,
    ) -> None:
        self.client, self.largest = client, largest
        self.blocks = max(1, math.ceil(partitions.table_bytes / largest))
        self.parts: list[Future] = [
            client.submit(read_part, partitions, number, options, pure=False)
            for number in range(len(partitions))
        ]

    def sum(self, function: Callable[..., em.Sums], /, *broadcast: Any) -> em.Sums:
        """Add ``function(part, *broadcast)`` over all parts, pairwise and in a fixed order.

        The step is one graph: a call per part, and a tree of additions per block.
        """

        add = delayed(add_pair, pure=False, traverse=False)

        def step() -> em.Sums:
            results = self._calls(function, broadcast, self.parts, self.blocks)
            roots = [em.add_sums(_pick_block(results, n), add) for n in range(self.blocks)]
            return join_blocks([self._result(root) for root in self.client.compute(roots)])

        return self._retry(step)

    def each(self, function: Callable[..., Any], /, *broadcast: Any) -> Iterator[Any]:
        """Yield ``function(part, *broadcast)`` of every part in turn; at most one result is here,
        and as many are under way as the cluster has threads."""

        def start(parts: Sequence[Future]) -> list[Future]:
            calls = partial(self._calls, function, broadcast, parts, None)
            return self._retry(lambda: self.client.compute(calls()))

        ahead = max(1, sum(self.client.nthreads().values()))
        for low in range(0, len(self.parts), ahead):
            parts = self.parts[low : low + ahead]
            for part, future in zip(parts, start(parts), strict=True):
                try:
                    result = self._result(future)
                except LOST:  # ask for it again
                    result = self._retry(partial(lambda lost: self._result(start(lost)[0]), [part]))
                yield result

    def _calls(
        self,
        function: Callable[..., Any],
        broadcast: tuple[Any, ...],
        parts: Sequence[Future],
        blocks: int | None,
    ) -> list[Any]:
        """Make a call of ``function`` on each of the parts, its sums cut into ``blocks``.

        Each run of what is broadcast goes to one worker, and workers fetch it from one another.
        """
        sent = pack(broadcast, self.largest)
        runs: list[Any] = sent.runs
        if sum(run.nbytes for run in runs) > SMALL:
            runs = [self.client.scatter(run, hash=False) for run in runs]
        call = delayed(_Call(function, sent.head, sent.sizes, blocks), pure=False, traverse=False)
        return [call(part, *runs) for part in parts]

    def _result(self, future: Future) -> Any:
        """Wait for a result as long as it takes; but without workers it will never come."""
        while True:
            try:
                distributed.wait([future], timeout=PATIENCE)
                return self.client.gather(future)
            except TimeoutError:
                if not self.client.nthreads():
                    raise SoftlabelError(NO_WORKERS) from None

    def _retry(self, step: Callable[[], Result]) -> Result:
        """Do a whole step again if a worker is lost: what was sent to it is lost with it."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return step()
            except LOST as error:
                if attempt == ATTEMPTS:
                    raise SoftlabelError(
                        f"a step failed {ATTEMPTS} times because workers were lost "
                        f"({type(error).__name__}: {error}); they may have too little memory"
                    ) from error
        raise AssertionError("the last attempt returns or raises")


class _Call(NamedTuple):
    """A function of a part and of arguments that arrive in runs of bytes."""

    function: Callable[..., Any]
    head: bytes
    sizes: tuple[int, ...]
    blocks: int | None

    def __call__(self, part: Part, *runs: Any) -> Any:
        result = self.function(part, *unpack(self.head, self.sizes, runs))
        return result if self.blocks is None else cut_blocks(result, self.blocks)


def _pick_block(results: Sequence[Any], number: int) -> list[Any]:
    """Take that block of each of the results, where the result is.

    Each task has a name of its own: Dask takes many tasks of one name that need few others for the
    roots of a graph, and spreads them over the workers, whatever has to be sent there for it.
    """
    pick = delayed(getitem, pure=False, traverse=False)
    return [
        pick(result, number, dask_key_name=f"pick_{part}_{number}-{uuid4().hex}")
        for part, result in enumerate(results)
    ]


# ── large things in pieces ───────────────────────────────────────────────────────────────────
# With a million annotators a table of confusions is 800 MB.  In pieces it moves over many
# connections at once, and no message is larger than ``LARGEST``.


def cut_blocks(sums: em.Sums, blocks: int) -> list[em.Sums]:
    """Cut each array into ``blocks`` runs of rows (of annotators, where it has a row for each).

    They are views: a table is not copied to be cut.
    """
    cut = []
    for array in sums:
        edges = np.linspace(0, len(array), blocks + 1).astype(int).tolist()
        cut.append([array[low:high] for low, high in pairwise(edges)])
    return list(zip(*cut, strict=True))


def join_blocks(blocks: Sequence[em.Sums]) -> em.Sums:
    """Join arrays that were cut, as new arrays that may be written to."""
    return tuple(np.concatenate(runs) for runs in zip(*blocks, strict=True))


def add_pair(left: em.Sums, right: em.Sums) -> em.Sums:
    """Add into a new tuple: a worker may be asked again for what it holds, so that must stay."""
    return tuple(one + other for one, other in zip(left, right, strict=True))


class Packed(NamedTuple):
    """Any object as bytes: ``head`` is its pickle without the arrays, ``sizes`` are the bytes of
    each array (negative where it is read-only) and ``runs`` all of them cut to size."""

    head: bytes
    sizes: tuple[int, ...]
    runs: list[Bytes]


def pack(thing: Any, largest: int = LARGEST) -> Packed:
    """Make an object ready to be sent; contiguous arrays are not copied."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    sizes = tuple(-view.nbytes if view.readonly else view.nbytes for view in views)
    runs = [
        np.frombuffer(view[low : low + largest], dtype=np.uint8)
        for view in views
        for low in range(0, view.nbytes, largest)
    ]
    return Packed(head, sizes, runs)


def unpack(head: bytes, sizes: Sequence[int], runs: Sequence[Bytes]) -> Any:
    """Return what was packed, in memory of its own."""
    remaining = iter(runs)
    buffers = []
    for size in sizes:
        whole = np.empty(abs(size), dtype=np.uint8)
        done = 0
        while done < len(whole):
            run = next(remaining)
            whole[done : done + len(run)] = run
            done += len(run)
        buffers.append(whole.data.toreadonly() if size < 0 else whole.data)
    return pickle.loads(head, buffers=buffers)
