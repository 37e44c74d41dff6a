"""Large things in pieces: tables block by block of annotators, parameters in runs of bytes.

With a million annotators a table of confusions is 800 MB.  In pieces it moves over many
connections at once, and no message is larger than ``LARGEST``.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from softlabel.aggregate import Sums

LARGEST = 64 * 10**6  # bytes of one message

Bytes = npt.NDArray[np.uint8]


# ── sums ─────────────────────────────────────────────────────────────────────────────────────


def blocks_of(sums: Sums, blocks: int) -> list[Sums]:
    """Each array in ``blocks`` runs of rows (of annotators, where it has a row per annotator).

    They are views: a table is not copied to be cut.
    """
    cut = [_runs(array, blocks) for array in sums]
    return [tuple(array[number] for array in cut) for number in range(blocks)]


def _runs(array: npt.NDArray[Any], blocks: int) -> list[npt.NDArray[Any]]:
    edges = np.linspace(0, len(array), blocks + 1).astype(int).tolist()
    return [array[low:high] for low, high in pairwise(edges)]


def joined(blocks: Sequence[Sums]) -> Sums:
    """The arrays that were cut, in one piece and free to be written to."""
    return tuple(np.concatenate(runs) for runs in zip(*blocks, strict=True))


def plus(left: Sums, right: Sums) -> Sums:
    """A new tuple: what a worker holds may be asked for again, so it stays as it is."""
    return tuple(one + other for one, other in zip(left, right, strict=True))


# ── parameters ───────────────────────────────────────────────────────────────────────────────


class Packed(NamedTuple):
    """Anything, as bytes: ``head`` is its pickle without the arrays, ``sizes`` are the bytes of
    each array (negative where it must not be written) and ``runs`` all of them cut to size."""

    head: bytes
    sizes: tuple[int, ...]
    runs: list[Bytes]


def packed(thing: Any, largest: int = LARGEST) -> Packed:
    """Ready to be sent; arrays that lie in one piece are not copied."""
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


def unpacked(head: bytes, sizes: Sequence[int], runs: Sequence[Bytes]) -> Any:
    """What was packed, in memory of its own."""
    left = iter(runs)
    buffers = []
    for size in sizes:
        whole = np.empty(abs(size), dtype=np.uint8)
        done = 0
        while done < len(whole):
            run = next(left)
            whole[done : done + len(run)] = run
            done += len(run)
        view = whole.data
        buffers.append(view.toreadonly() if size < 0 else view)
    return pickle.loads(head, buffers=buffers)
