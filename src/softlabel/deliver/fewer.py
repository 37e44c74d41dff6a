"""Fewer answers per item, drawn once per run, and what the rest of the run then knows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softlabel.deliver.base import DELIVERIES, Deliver, Teaching
from softlabel.errors import SoftlabelError, UnknownName
from softlabel.tables import Annotations, Bools, Floats, Ints


def smallest(item: Ints, draw: Floats, limit: int) -> Bools:
    """(n,) True where the draw is one of the ``limit`` smallest of its item; equal ones count once.

    >>> smallest(np.array([0, 0, 0, 1]), np.array([0.2, 0.9, 0.2, 0.5]), 1).tolist()
    [True, False, True, True]
    """
    order = np.lexsort((draw, item))
    items, draws = item[order], draw[order]
    fresh = np.ones(len(item), dtype=np.bool_)
    fresh[1:] = (items[1:] != items[:-1]) | (draws[1:] != draws[:-1])
    number = np.cumsum(fresh)
    kept = np.empty(len(item), dtype=np.bool_)
    kept[order] = number - number[np.searchsorted(items, items)] < limit
    return kept


def with_answers(known: Teaching, each: Annotations, kept: Bools) -> Teaching:
    """The same with some answers only; pooled labels are the means of those that are left."""
    left = each.take(kept)
    size = left.votes_per_item()
    means = left.counts() / np.maximum(size, 1)[:, None]
    return replace(known, each=left, pooled=np.where(size[:, None] > 0, means, known.pooled))


def going_on(policy: Deliver, then: str) -> Deliver:
    """The policy that ``then`` names, with its defaults."""
    if then not in DELIVERIES:
        raise UnknownName("deliver", then, DELIVERIES)
    if then == policy.name:
        raise SoftlabelError(f"{policy.name}: then = {then!r} must be another policy")
    return DELIVERIES[then]()
