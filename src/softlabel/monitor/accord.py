"""How far people agree with each other, and with themselves on what they were shown twice."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.agree import (
    alpha_score,
    cards,
    observed_agreement,
    pairwise_variation,
    repeats,
)
from softlabel.metrics import total_variation
from softlabel.monitor.sample import Sample
from softlabel.tables import Annotations, Floats, Score

DRAWS = 100  # of the bootstrap: enough for a live page; ``softlabel agree`` draws five times more


@dataclass(frozen=True, eq=False)
class Agreement:
    """Over the items that two people or more have answered.

    ``alpha`` is Krippendorff's with the Brier distance, ``observed`` the chance that two people
    name the same class, ``variation`` the mean total variation between two people's labels,
    ``others`` the mean over people of 1 - the total variation to the mean of the others.
    """

    shared: int
    alpha: Score
    observed: float
    variation: float
    others: float


@dataclass(frozen=True)
class Repeats:
    """Of the items shown twice: how often the top class changed, and how far the label moved."""

    pairs: int
    changed: int
    variation: float

    @property
    def change_rate(self) -> float:
        return self.changed / self.pairs if self.pairs else math.nan


def agreement(sample: Sample) -> Agreement | None:
    """None while no item has two answers."""
    each = sample.once
    shared = each.votes_per_item() > 1
    if not shared.any():
        return None
    close = [card.agreement for card in cards(each)]
    return Agreement(
        shared=int(shared.sum()),
        alpha=alpha_score(each, draws=DRAWS),
        observed=float(observed_agreement(each)[shared].mean()),
        variation=float(pairwise_variation(each)[shared].mean()),
        others=float(np.nanmean(close)),
    )


def disagreement(each: Annotations) -> Mapping[str, float]:
    """Mean total variation between two people, for every item that two have answered."""
    apart = pairwise_variation(each)
    named = zip(each.index.items.tolist(), apart.tolist(), strict=True)
    return {item: value for item, value in named if math.isfinite(value)}


def steadiness(sample: Sample) -> tuple[Repeats, Mapping[str, Repeats]]:
    """Of everybody, and of each annotator who was shown something twice on purpose."""
    first, second = repeats(sample.each)
    asked = sample.is_repeat[second]  # an answer may also come late, after its item was shown anew
    first, second = first[asked], second[asked]
    if not len(first):
        return Repeats(0, 0, math.nan), {}
    soft = sample.each.soft()
    apart = total_variation(soft[first], soft[second])
    named = sample.said.named
    changed = named[first, 0] != named[second, 0]  # as ``softlabel inspect`` counts
    owner = sample.each.annotator[first]
    people = sample.each.index.annotators
    each = {
        str(people[a]): _repeats(changed[owner == a], apart[owner == a]) for a in np.unique(owner)
    }
    return _repeats(changed, apart), each


def _repeats(changed: np.ndarray[tuple[int], np.dtype[np.bool_]], apart: Floats) -> Repeats:
    return Repeats(len(apart), int(changed.sum()), float(apart.mean()))
