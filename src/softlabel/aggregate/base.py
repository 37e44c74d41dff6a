"""What an aggregator is, and how item-wise pools are run on shards of the items."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from inspect import signature
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from softlabel.errors import DataError
from softlabel.tables import Annotations, Estimand, Floats, SoftLabels, given_away

Map = Callable[..., Iterable[Any]]


class Aggregate(Protocol):
    """Pools all annotations of an item into one soft label.

    ``map`` is anything with the signature of the builtin (a process pool's, for instance);
    ``shards`` the number of parts of the items that are handed to it.  Neither changes the result.
    """

    name: ClassVar[str]
    paper: ClassVar[str]
    estimand: ClassVar[Estimand]

    def __call__(self, annotations: Annotations, map: Map = map, shards: int = 1) -> SoftLabels: ...


def takes(aggregate: Aggregate | type[Aggregate], option: str) -> bool:
    """Return whether a pool takes this besides the annotations: ``gold``, ``start``."""
    return option in signature(aggregate.__call__).parameters


def pool(
    pooler: Any,
    kernel: Callable[[Annotations], Floats],
    annotations: Annotations,
    map: Map,
    shards: int,
) -> SoftLabels:
    """Run ``kernel`` on shards of the items and return their labels.

    ``kernel`` turns annotations into fresh (m, k) rows; those of unanswered items are ignored.
    """
    count = annotations.votes_per_item()
    probs = map_items(kernel, annotations, map, shards)
    if not count.all():
        probs = np.where(count[:, None] > 0, probs, np.nan)
    return SoftLabels(annotations.index, given_away(probs), count, pooler.estimand, repr(pooler))


def sum_by_item(annotations: Annotations, values: Floats) -> Floats:
    """(m, c) sums over the annotations of each item, of columns of numbers (n, c)."""
    m = len(annotations.index.items)
    columns = [np.bincount(annotations.item, column, minlength=m) for column in values.T]
    return np.stack(columns, axis=1)


def map_items(
    kernel: Callable[[Annotations], Floats], annotations: Annotations, map: Map, shards: int
) -> Floats:
    """Return the rows (m, any) of ``kernel`` over consecutive ranges of items.

    Each range has its own index, and its annotations in their old order.
    """
    if shards < 1:
        raise DataError(f"shards = {shards}: at least one is needed")
    items, parts = len(annotations.index.items), [annotations]
    if shards > 1:
        parts = []
        edges = np.linspace(0, items, min(shards, max(items, 1)) + 1).astype(int)
        for start, stop in pairwise(edges.tolist()):
            part = annotations.take((annotations.item >= start) & (annotations.item < stop))
            index = replace(annotations.index, items=annotations.index.items[start:stop])
            parts.append(replace(part, index=index, item=part.item - start))
    done = [np.asarray(rows) for rows in map(kernel, parts)]
    return done[0] if len(done) == 1 else np.concatenate(done)
