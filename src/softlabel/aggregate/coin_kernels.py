"""Beliefs about items when of each person one number is known: kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel.aggregate.compiling import kernel
from softlabel.aggregate.kernels import shares

TINY = 1e-300  # a chance of zero that a logarithm is taken of


@kernel
def settle(votes: Any, item: int, belief: Any, right: Any, asked: Any, mass: Any) -> None:
    """Add what the belief about an item says of those who voted on it."""
    for j in range(belief.size):
        mass[j] += belief[j]
    for vote in range(votes.start[item], votes.start[item + 1]):
        weight = votes.weight[vote] if votes.weight.size else 1.0
        asked[votes.annotator[vote]] += weight
        right[votes.annotator[vote]] += weight * belief[votes.label[vote]]


@kernel
def begin(votes: Any, right: Any, asked: Any, mass: Any) -> None:
    """The statistics of vote shares."""
    belief = np.empty(mass.size)
    for item in range(votes.start.size - 1):
        if votes.start[item] == votes.start[item + 1]:
            continue
        shares(votes, item, belief)
        settle(votes, item, belief, right, asked, mass)


@kernel
def believe(votes: Any, item: int, prior: Any, right: Any, wrong: Any, belief: Any) -> Any:
    """The belief about an item, and the log-likelihood of its votes.

    A vote for l adds the logarithm ``wrong`` to every class and ``right - wrong`` to l, so only l
    is touched, and classes that nobody named have one exponential together.
    """
    all_wrong = 0.0
    for j in range(belief.size):
        belief[j] = 0.0
    for vote in range(votes.start[item], votes.start[item + 1]):
        who = votes.annotator[vote]
        weight = votes.weight[vote] if votes.weight.size else 1.0
        all_wrong += weight * wrong[who]
        belief[votes.label[vote]] += weight * (right[who] - wrong[who])
    if votes.gold.size > 0 and votes.gold[item] >= 0:
        true = votes.gold[item]
        gained = belief[true] + np.log(max(prior[true], TINY))
        for j in range(belief.size):
            belief[j] = 1.0 if j == true else 0.0
        return all_wrong + gained
    top = -np.inf
    for j in range(belief.size):
        if prior[j] > 0 and belief[j] > top:
            top = belief[j]
    return all_wrong + top + np.log(weigh(prior, top, belief))


@kernel
def weigh(prior: Any, top: float, belief: Any) -> Any:
    """prior times exp(belief - top), made to sum to 1; returns the sum it had."""
    unnamed = np.exp(-top)
    total = 0.0
    for j in range(belief.size):
        if prior[j] > 0:
            belief[j] = prior[j] * (np.exp(belief[j] - top) if belief[j] != 0 else unnamed)
        else:
            belief[j] = 0.0
        total += belief[j]
    share = 1.0 / total
    for j in range(belief.size):
        belief[j] *= share
    return total


@kernel
def expect(votes: Any, prior: Any, chances: Any, sums: Any, rows: Any) -> Any:
    """Beliefs about all items; returns the log-likelihood of the votes.

    ``chances`` are the logarithms of being right and of saying one certain wrong class, a person's
    each.  Statistics are added to ``sums`` (right, asked, mass of the classes), unless these are
    empty; beliefs are written to ``rows``, unless that is.
    """
    right, wrong = chances
    to_right, asked, mass = sums
    belief = np.empty(prior.size)
    total = 0.0
    for item in range(votes.start.size - 1):
        if votes.start[item] == votes.start[item + 1]:
            continue
        total += believe(votes, item, prior, right, wrong, belief)
        if mass.size:
            settle(votes, item, belief, to_right, asked, mass)
        for j in range(rows.shape[1]):
            rows[item, j] = belief[j]
    return total
