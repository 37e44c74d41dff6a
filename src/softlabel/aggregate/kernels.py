"""Beliefs about items, and what they say of confusions: the kernels of Dawid and Skene's family.

A table of chances has one row per (annotator, what they said), over the true classes: the row of
a vote is read as it lies, and a belief is a product of such rows.  Products of plain chances need
no logarithm per class; an item whose product gets too small is done again with logarithms.
Loops are written out: what numpy does in a line costs seconds to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from softlabel.aggregate.compiling import kernel
from softlabel.aggregate.votes import Votes

SAFE = 1e-250  # a product above this has lost nothing that matters to numbers below 1e-308
NEVER = -1e9  # the logarithm of zero: finite, so that of impossible classes one is the least so
TIED = 1 - 1e-9  # of the largest chance; rounding must not decide between equals

# unsigned, because a signed index is asked at every access whether it counts from the end
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class Ballots(NamedTuple):
    """Votes as the kernels are compiled for; an empty ``weight`` or ``gold`` is one not there."""

    start: npt.NDArray[Any]
    annotator: npt.NDArray[Any]
    label: npt.NDArray[Any]
    weight: npt.NDArray[Any]
    gold: npt.NDArray[Any]


def ballots(part: Votes) -> Ballots:
    weight = np.zeros(0) if part.weight is None else part.weight
    gold = np.zeros(0, np.int32) if part.gold is None else part.gold
    arrays = (part.start, part.annotator, part.label, weight, gold)
    return Ballots(*(fixed(array) for array in arrays))


def fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array in one piece and not to be written: one kernel serves wherever it came from."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def row_of(annotator: Any, label: Any, k: Any) -> Any:
    """Where the row of a vote begins in the flat table."""
    return (np.uint64(annotator) * k + np.uint64(label)) * k


@kernel
def multiply(annotator: Any, label: Any, votes: Any, prior: Any, table: Any, belief: Any) -> Any:
    """belief[j] = prior[j] times table[row of vote, j] of votes low to high; returns their sum.

    Four classes at a time stay in registers while all votes pass: one vector instruction each.
    """
    low, high = votes
    k = np.uint64(belief.size)
    total = 0.0
    j = np.uint64(0)
    while j + FOUR <= k:
        one, two, three, four = prior[j], prior[j + ONE], prior[j + TWO], prior[j + THREE]
        for vote in range(low, high):
            at = row_of(annotator[vote], label[vote], k) + j
            one *= table[at]
            two *= table[at + ONE]
            three *= table[at + TWO]
            four *= table[at + THREE]
        belief[j], belief[j + ONE], belief[j + TWO], belief[j + THREE] = one, two, three, four
        total += (one + two) + (three + four)
        j += FOUR
    while j < k:
        one = prior[j]
        for vote in range(low, high):
            one *= table[row_of(annotator[vote], label[vote], k) + j]
        belief[j] = one
        total += one
        j += ONE
    return total


@kernel
def collect(annotator: Any, label: Any, votes: Any, belief: Any, counts: Any, mass: Any) -> None:
    """counts[row of vote, j] += belief[j] for votes low to high, in the same way."""
    low, high = votes
    k = np.uint64(belief.size)
    for i in range(belief.size):
        mass[i] += belief[i]
    j = np.uint64(0)
    while j + FOUR <= k:
        one, two, three, four = belief[j], belief[j + ONE], belief[j + TWO], belief[j + THREE]
        for vote in range(low, high):
            at = row_of(annotator[vote], label[vote], k) + j
            # all are read before any is written, or they could not be one instruction
            a, b, c, d = counts[at], counts[at + ONE], counts[at + TWO], counts[at + THREE]
            counts[at], counts[at + ONE] = a + one, b + two
            counts[at + TWO], counts[at + THREE] = c + three, d + four
        j += FOUR
    while j < k:
        one = belief[j]
        for vote in range(low, high):
            counts[row_of(annotator[vote], label[vote], k) + j] += one
        j += ONE


@kernel
def collect_weighted(votes: Any, item: int, belief: Any, counts: Any, mass: Any) -> None:
    """counts[row of vote, j] += weight * belief[j] for the votes on an item."""
    k = np.uint64(belief.size)
    for i in range(belief.size):
        mass[i] += belief[i]
    for vote in range(votes.start[item], votes.start[item + 1]):
        at = row_of(votes.annotator[vote], votes.label[vote], k)
        for j in range(belief.size):
            counts[at + np.uint64(j)] += votes.weight[vote] * belief[j]


@kernel
def log_of(chance: Any) -> Any:
    return np.log(chance) if chance > 0 else NEVER


@kernel
def divide(belief: Any, total: float) -> Any:
    """Make a belief that sums to ``total`` sum to 1; returns the log of the total."""
    share = 1.0 / total
    for j in range(belief.size):
        belief[j] *= share
    return np.log(total)


@kernel
def known(votes: Any, item: int, prior: Any, table: Any, belief: Any) -> Any:
    """The belief about an item of known class, and the log-likelihood of its votes."""
    k, true = np.uint64(belief.size), np.uint64(votes.gold[item])
    for j in range(belief.size):
        belief[j] = 1.0 if j == votes.gold[item] else 0.0
    total = log_of(prior[true])
    weighted = votes.weight.size > 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        chance = table[row_of(votes.annotator[vote], votes.label[vote], k) + true]
        total += votes.weight[vote] * chance if weighted else log_of(chance)
    return total


@kernel
def by_logarithms(votes: Any, item: int, prior: Any, table: Any, belief: Any) -> Any:
    """The belief about an item, and the log-likelihood of its votes, of any number and weight."""
    if votes.gold.size > 0 and votes.gold[item] >= 0:
        return known(votes, item, prior, table, belief)
    k = np.uint64(belief.size)
    weighted = votes.weight.size > 0
    for j in range(belief.size):
        belief[j] = log_of(prior[j])
    for vote in range(votes.start[item], votes.start[item + 1]):
        at = row_of(votes.annotator[vote], votes.label[vote], k)
        for j in range(belief.size):
            chance = table[at + np.uint64(j)]
            belief[j] += votes.weight[vote] * chance if weighted else log_of(chance)
    top = belief[0]
    for j in range(1, belief.size):
        top = max(top, belief[j])
    total = 0.0
    for j in range(belief.size):
        belief[j] = np.exp(belief[j] - top)
        total += belief[j]
    return top + divide(belief, total)


@kernel
def harden(belief: Any) -> Any:
    """All belief to the likeliest class, or even parts to equals; the log of what that one had."""
    top = belief[0]
    for j in range(1, belief.size):
        top = max(top, belief[j])
    equals = 0
    for j in range(belief.size):
        equals += belief[j] >= top * TIED
    for j in range(belief.size):
        belief[j] = (1.0 / equals) if belief[j] >= top * TIED else 0.0
    return np.log(top)


@kernel
def shares(votes: Any, item: int, belief: Any) -> None:
    """What part of an item's votes each class has; all of them the class that is known."""
    for j in range(belief.size):
        belief[j] = 0.0
    if votes.gold.size > 0 and votes.gold[item] >= 0:
        belief[votes.gold[item]] = 1.0
        return
    total = 0.0
    for vote in range(votes.start[item], votes.start[item + 1]):
        weight = votes.weight[vote] if votes.weight.size else 1.0
        belief[votes.label[vote]] += weight
        total += weight
    divide(belief, total)


@kernel
def begin(votes: Any, hard: bool, counts: Any, mass: Any) -> None:
    """Add the statistics of vote shares to the flat table ``counts`` and to ``mass`` (k,)."""
    start, annotator, label, weight, _ = votes
    belief = np.empty(mass.size)
    for item in range(start.size - 1):
        low, high = start[item], start[item + 1]
        if low == high:
            continue
        shares(votes, item, belief)
        if hard:
            harden(belief)
        if weight.size:
            collect_weighted(votes, item, belief, counts, mass)
        else:
            collect(annotator, label, (low, high), belief, counts, mass)


@kernel
def expect(
    votes: Any, prior: Any, table: Any, hard: bool, counts: Any, mass: Any, rows: Any
) -> Any:
    """Beliefs about all items that have votes; returns the log-likelihood of the votes.

    ``table`` is flat: chances, or their logarithms where votes have weights.  Statistics are added
    to the flat ``counts`` and to ``mass``, beliefs written to ``rows``, where these are not empty.
    """
    # taken apart once: a tuple handed on has the references to its arrays counted every time
    start, annotator, label, weight, gold = votes
    belief = np.empty(prior.size)
    loglik = 0.0
    for item in range(start.size - 1):
        low, high = start[item], start[item + 1]
        if low == high:
            continue
        total = 0.0
        if weight.size == 0 and (gold.size == 0 or gold[item] < 0):
            total = multiply(annotator, label, (low, high), prior, table, belief)
        if total > SAFE:
            loglik += divide(belief, total)
        else:
            loglik += by_logarithms(votes, item, prior, table, belief)
        if hard:
            loglik += harden(belief)
        for j in range(rows.shape[1]):
            rows[item, j] = belief[j]
        if counts.size and weight.size:
            collect_weighted(votes, item, belief, counts, mass)
        elif counts.size:
            collect(annotator, label, (low, high), belief, counts, mass)
    return loglik


@kernel
def normalise(counts: Any, extra: Any) -> None:
    """Chances in place of counts[annotator, said, true]: with ``extra[said, true]`` added, what
    each annotator says of each true class sums to 1, or stays 0 where nothing is known."""
    people, k, _ = counts.shape
    total = np.empty(k)
    for who in range(people):
        for true in range(k):
            total[true] = 0.0
        for said in range(k):
            for true in range(k):
                counts[who, said, true] += extra[said, true]
                total[true] += counts[who, said, true]
        for true in range(k):
            total[true] = total[true] if total[true] > 0 else 1.0
        for said in range(k):
            for true in range(k):
                counts[who, said, true] /= total[true]
