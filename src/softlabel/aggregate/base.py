"""What an aggregator is, and the one way in which item-wise pools are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import (
    Annotations,
    Estimand,
    Floats,
    Index,
    Ints,
    SoftLabels,
    given_away,
)

Map = Callable[..., Iterable[Any]]


class Aggregate(Protocol):
    """Pools all annotations of an item into one soft label.

    ``map`` is anything with the signature of the builtin (a process pool's, for instance);
    ``shards`` the number of parts of the items that are handed to it.  Neither changes the result.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    estimand: ClassVar[Estimand]

    def __call__(self, said: Annotations, map: Map = map, shards: int = 1) -> SoftLabels: ...


def takes(aggregate: Aggregate | type[Aggregate], option: str) -> bool:
    """True for pools that can be called with this besides the annotations: ``gold``, ``start``."""
    return option in signature(aggregate.__call__).parameters


def pool(
    pooler: Any,
    kernel: Callable[[Annotations], Floats],
    said: Annotations,
    map: Map,
    shards: int,
) -> SoftLabels:
    """Run ``kernel`` (annotations -> (m, k) rows; rows of unanswered items are ignored) on shards
    of the items and put the rows, which it gives away, together."""
    count = said.votes_per_item()
    probs = per_item(kernel, said, map, shards)
    if not count.all():
        probs = np.where(count[:, None] > 0, probs, np.nan)
    return SoftLabels(said.index, given_away(probs), count, pooler.estimand, repr(pooler))


def per_item(
    kernel: Callable[[Annotations], Floats], said: Annotations, map: Map, shards: int
) -> Floats:
    """The rows (m, any) that ``kernel`` makes of shards of the items, put together."""
    if shards < 1:
        raise DataError(f"shards = {shards}: at least one is needed")
    parts = [said] if shards == 1 else _item_shards(said, shards)
    made = [np.asarray(rows) for rows in map(kernel, parts)]
    return made[0] if len(made) == 1 else np.concatenate(made)


def _item_shards(said: Annotations, shards: int) -> list[Annotations]:
    """Consecutive ranges of items, each with its own index and its rows in their old order."""
    items = len(said.index.items)
    edges = np.linspace(0, items, min(shards, max(items, 1)) + 1).astype(int)
    parts = []
    for start, stop in pairwise(edges.tolist()):
        rows = np.flatnonzero((said.item >= start) & (said.item < stop))
        index = Index(said.index.items[start:stop], said.index.annotators, said.index.labels)
        cut: dict[str, Ints | Floats | None] = {
            "label": None if said.label is None else said.label[rows],
            "probs": None if said.probs is None else said.probs[rows],
        }
        parts.append(Annotations(index, said.item[rows] - start, said.annotator[rows], **cut))  # type: ignore[arg-type]
    return parts
