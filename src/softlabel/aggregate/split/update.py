"""Adding new answers to finished labels."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from softlabel.aggregate.split.base import LabelDistribution
from softlabel.errors import DataError
from softlabel.tables import Annotations, Array, Index, Ints, Names, given_away, names


def update(labels: LabelDistribution, new: Annotations) -> LabelDistribution:
    """Add new answers to labels, under the same prior and the same fitted parameters.

    Equal to pooling all answers with that prior.  The work grows with the new answers, besides
    copying the table.  New items and people are added at the end; classes must be known.  Fit
    anew now and then: parameters learned from few votes are those of few votes.
    """
    fitted, sums = labels.fitted, labels.sums
    if fitted is None or sums is None:
        raise DataError(
            "these labels do not know what made them (they were loaded from a file, or are no "
            "label distribution): pool the answers again, then update"
        )
    items, place = join_names(labels.index.items, new.index.items)
    people, _ = join_names(labels.index.annotators, new.index.annotators)
    same = len(items) == len(labels) and len(people) == len(labels.index.annotators)
    index = labels.index if same else Index(items, people, labels.index.labels)
    touched, row = np.unique(place[new.item], return_inverse=True)
    more = fitted.sums(_encode_new(labels, new, items[touched], row))
    sums = _grow(sums, len(items), max(sums.shape[1], more.shape[1]))
    sums[touched, : more.shape[1]] += more
    probs = _grow(labels.probs, len(items), labels.probs.shape[1], empty=np.nan)
    count = _grow(labels.count, len(items))
    if len(touched):
        probs[touched] = fitted.rows(sums[touched])
        count[touched] += np.bincount(row)
    sums = given_away(sums)
    return replace(
        labels,
        index=index,
        probs=given_away(probs),
        count=given_away(count),
        belief=fitted.belief(index, sums),
        sums=sums,
    )


def _encode_new(
    labels: LabelDistribution, new: Annotations, items: Names, row: Ints
) -> Annotations:
    """Return the new answers with an index of their own items, and the classes of the labels."""
    known = {name: code for code, name in enumerate(labels.index.labels.tolist())}
    for name in new.index.labels.tolist():
        if name not in known:
            raise DataError(f"a new answer has the class {name!r}, which the labels do not know")
    code = np.array([known[name] for name in new.index.labels.tolist()])
    index = Index(items, new.index.annotators, labels.index.labels)
    if new.label is not None:
        return Annotations(index, row, new.annotator, label=code[new.label])
    probs = np.zeros((len(new), len(known)))
    probs[:, code] = new.soft()
    return Annotations(index, row, new.annotator, probs=given_away(probs))


def join_names(old: Names, new: Names) -> tuple[Names, Ints]:
    """Return both lists of names, the new ones at the end, and the place of each of ``new``."""
    if np.array_equal(old, new):
        return old, np.arange(len(old))
    known = {name: place for place, name in enumerate(old.tolist())}
    fresh = [name for name in new.tolist() if name not in known]
    known.update((name, len(old) + place) for place, name in enumerate(fresh))
    where = np.array([known[name] for name in new.tolist()], dtype=np.int64)
    return (names([*old.tolist(), *fresh]) if fresh else old), where


def _grow(array: Array, rows: int, width: int | None = None, empty: float = 0.0) -> Array:
    shape = (rows,) if width is None else (rows, width)
    larger = np.full(shape, empty, dtype=array.dtype)
    larger[tuple(slice(0, size) for size in array.shape)] = array
    return cast(Array, larger)
