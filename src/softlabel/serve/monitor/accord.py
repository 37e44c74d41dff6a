"""How far people agree with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from softlabel.annotators import (
    alpha_score,
    compare_with_others,
    observed_agreement,
    pairwise_variation,
)
from softlabel.serve.researcher.sample import Sample
from softlabel.tables import Annotations, Score

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


def agreement(sample: Sample) -> Agreement | None:
    """None while no item has two answers."""
    each = sample.once
    shared = each.votes_per_item() > 1
    if not shared.any():
        return None
    close = [card.agreement for card in compare_with_others(each)]
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
