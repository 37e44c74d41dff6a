"""Fewer answers: one per person and item, or M people per item; and votes made of counts."""

from dataclasses import replace
from typing import Literal, TypeVar

import numpy as np

from softlabel.errors import DataError
from softlabel.registry import check_choice
from softlabel.tables import ANONYMOUS, Annotations, Bools, Index, Ints, Statements, broken

Rows = TypeVar("Rows", Annotations, Statements)


def pair_codes(said: Annotations | Statements) -> Ints:
    """(n,) one code per item and annotator: equal where a person answered an item again.

    Anonymous answers never belong together: each has a code of its own, below zero.
    """
    pair = said.item.astype(np.int64)
    pair *= max(len(said.index.annotators), 1)
    pair += said.annotator
    nobody = np.flatnonzero(said.annotator == ANONYMOUS)
    pair[nobody] = -1 - nobody
    return pair


def first_presentation(said: Annotations | Statements) -> Bools:
    """(n,) True on a person's first answer to an item; anonymous answers are all first ones."""
    pairs = pair_codes(said)
    pairs.sort()  # in place: of many answers even the order of their rows would be large
    if (pairs[1:] != pairs[:-1]).all():
        return np.ones(len(said), dtype=np.bool_)
    first = np.zeros(len(said), dtype=np.bool_)
    first[np.unique(pair_codes(said), return_index=True)[1]] = True
    return first


def last_presentation(said: Annotations | Statements) -> Bools:
    """(n,) True on a person's last answer to an item; anonymous answers are all last ones."""
    return first_presentation(said.take(np.arange(len(said))[::-1]))[::-1]


def one_per_annotator(said: Annotations, how: Literal["first", "mean"] = "first") -> Annotations:
    """One annotation per person and item: the first, or the mean of all (then soft).

    Without this a person who answered twice counts twice.  Rows are in the order of first answers.
    """
    check_choice("way to count a person once", how, ("first", "mean"))
    first = first_presentation(said)
    if how == "first" or first.all():
        return said.take(first)
    _, start, inverse, size = np.unique(
        pair_codes(said), return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(start)
    columns = [np.bincount(inverse, column) / size for column in said.soft().T]
    probs = np.stack(columns, axis=1)[order]
    return replace(said.take(start[order]), label=None, probs=probs)


def subsample(said: Rows, m: int, rng: np.random.Generator) -> Rows:
    """At most ``m`` answers per item, drawn without replacement; an item with fewer keeps all.

    Rows keep their order.  Without ``one_per_annotator`` before it a person may be drawn twice.
    """
    if m < 1:
        raise DataError(f"m = {m}: at least one annotator per item is needed")
    order = np.lexsort((rng.random(len(said)), said.item))
    items = said.item[order]
    starts = np.flatnonzero(np.r_[True, items[1:] != items[:-1]]) if len(items) else items[:0]
    rank = np.arange(len(items)) - np.repeat(starts, np.diff(np.r_[starts, len(items)]))
    return said.take(np.sort(order[rank < m]))


def votes_from_counts(index: Index, counts: Ints) -> Annotations:
    """Anonymous hard votes from a table of counts (m, k): who voted is not known any more."""
    counts = np.asarray(counts)
    if counts.shape != (len(index.items), len(index.labels)) or counts.dtype.kind not in "iu":
        raise DataError(f"counts must be whole numbers (m, k), not {counts.dtype} {counts.shape}")
    broken("counts", (counts < 0).any(axis=1), "a count is negative", counts)
    m, k = counts.shape
    item = np.repeat(np.arange(m), counts.sum(axis=1))
    label = np.repeat(np.tile(np.arange(k), m), counts.ravel())
    return Annotations(index, item, np.full(len(item), ANONYMOUS), label=label)
