"""One card per annotator: what their answers look like beside everybody else's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softlabel.metrics import entropy, total_variation
from softlabel.sampling import one_per_annotator
from softlabel.tables import Annotations, Bools, Floats, Ints


@dataclass(frozen=True)
class Card:
    """What one annotator's answers look like beside everybody else's."""

    annotator: str
    answers: int
    agreement: float  # mean over shared items of 1 - TV(own label, mean of the others)
    entropy: float  # mean entropy of own labels in nats: small is sharp
    accuracy: float  # share of answers whose top class is gold; NaN without gold


def cards(said: Annotations, gold: Ints | None = None) -> list[Card]:
    """One card per annotator of the index, in its order; without answers all figures are NaN.

    A person who answered an item more than once is compared by the mean of these answers.
    """
    people = len(said.index.annotators)
    answers = np.bincount(said.annotator[said.annotator >= 0], minlength=people)
    said = one_per_annotator(said, "mean")
    count = said.votes_per_item()[said.item]
    if said.label is not None:  # a vote is as close to the others as the share that chose it too
        top, doubt = said.label, np.zeros(len(said))
        close = (said.counts()[said.item, said.label] - 1) / np.maximum(count - 1, 1)
    else:
        soft = said.soft()
        top, doubt = soft.argmax(axis=1), entropy(soft)
        rest = others(soft, said.counts()[said.item])
        close = np.full(len(said), np.nan)  # with nobody else to compare with
        close[count > 1] = 1 - total_variation(rest[count > 1], soft[count > 1])
    right = np.full(len(said), np.nan)
    if gold is not None:
        known = np.asarray(gold)[said.item]
        right = np.where(known >= 0, top == known, np.nan)
    figures = [np.where(count > 1, close, np.nan), doubt, right]
    means = [_mean_by(said.annotator, values, people) for values in figures]
    return [
        Card(name, int(answers[a]), *(float(column[a]) for column in means))
        for a, name in enumerate(said.index.annotators.tolist())
    ]


def others(own: Floats, counts: Floats) -> Floats:
    """(r, k) the leave-one-out consensus: the mean of all other labels of the same items.

    ``own`` (r, k) are some people's labels, ``counts`` (r, k) the mass that all answers to these
    items give to each class.  A row whose item has no other answer is zero.
    """
    rest = np.maximum(counts - own, 0)  # rounding alone can take it below
    total = rest.sum(axis=1, keepdims=True)
    return np.asarray(rest / np.where(total > 0.5, total, 1))


def _mean_by(owner: Ints, values: Floats, owners: int) -> Floats:
    use: Bools = ~np.isnan(values) & (owner >= 0)
    size = np.bincount(owner[use], minlength=owners)
    sums = np.bincount(owner[use], values[use], minlength=owners)
    return np.where(size > 0, sums / np.maximum(size, 1), np.nan)
