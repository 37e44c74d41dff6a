"""From recorded answers to ``Statements``: the mode reads each, this room stacks them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softlabel.elicit import Answer
from softlabel.tables import Annotations, Index, Ints, Statements


def stack(index: Index, item: Ints, annotator: Ints, answers: Sequence[Answer]) -> Statements:
    """One row per answer; which rows were repaired, and how, is kept beside them."""
    width = max((len(answer.named) for answer in answers), default=0)
    named = np.full((len(answers), width), -1)
    percent = np.full((len(answers), width), np.nan)
    repairs: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
    for row, answer in enumerate(answers):
        named[row, : len(answer.named)] = answer.named
        percent[row, : len(answer.percent)] = answer.percent
        for repair in answer.repairs:
            repairs.setdefault(repair, np.zeros(len(answers), dtype=np.bool_))[row] = True
    possible = np.array([answer.possible for answer in answers], dtype=np.bool_)
    possible = possible.reshape(len(answers), len(index.labels))
    mended = dict(sorted(repairs.items()))
    return Statements(index, item, annotator, named, percent, possible, mended)


def statements_of_votes(votes: Annotations) -> Statements:
    """Hard votes as statements: the class was named with 100 %, nothing was ruled out."""
    assert votes.label is not None, "only hard votes say one class"
    n, k = len(votes), len(votes.index.labels)
    return Statements(
        votes.index,
        votes.item,
        votes.annotator,
        votes.label[:, None],
        np.full((n, 1), 100.0),
        np.ones((n, k), dtype=np.bool_),
    )
