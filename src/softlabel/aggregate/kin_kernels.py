"""Compiled passes over the votes, for methods that know few numbers of each person.

``votes`` are everywhere ``Ballots``.  All the models here say of a vote for l where t is true

    log P(l | t) = miss + [l = t] gain,

so a pass looks at the classes that somebody named and at no others: its cost does not grow with
the number of classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel.aggregate.compiling import kernel


@kernel
def truth_of(votes: Any, item: int) -> int:
    """The known class of an item, or -1."""
    return votes.gold[item] if votes.gold.size > 0 else -1


@kernel
def room_for(k: int) -> Any:
    """Room for one item: a score per class, the item that last named it, the classes named."""
    return np.zeros(k), np.full(k, -1, np.int64), np.zeros(k, np.int64)


@kernel
def log_total(room: Any, n: int, k: int) -> Any:
    """log of the sum of exp(score) over all k classes; those that were not named score 0."""
    score, _, named = room
    top = score[named[0]] if n == k else 0.0
    for j in range(n):
        top = max(top, score[named[j]])
    total = (k - n) * np.exp(-top) if n < k else 0.0
    for j in range(n):
        total += np.exp(score[named[j]] - top)
    return top + np.log(total)


@kernel
def believe(room: Any, n: int, k: int, truth: int, item: int) -> Any:
    """Scores of the named classes become chances; returns the log of what they had together.

    Where the truth is known the chances are 1 and 0.
    """
    score, seen, named = room
    if truth >= 0:
        alone = score[truth] if seen[truth] == item else 0.0
        for j in range(n):
            score[named[j]] = 1.0 if named[j] == truth else 0.0
        return alone
    total = log_total(room, n, k)
    for j in range(n):
        score[named[j]] = np.exp(score[named[j]] - total)
    return total


@kernel
def write(room: Any, n: int, rest: float, truth: int, row: Any) -> None:
    """One row of a posterior: named classes have their chance, the others ``rest`` each."""
    score, _, named = room
    if n == 0:
        row[:] = np.nan
        return
    row[:] = rest if truth < 0 else 0.0
    for j in range(n):
        row[named[j]] = score[named[j]]
    if truth >= 0:
        row[truth] = 1.0


@kernel
def longest(start: Any) -> int:
    """The most votes that an item has."""
    most = 0
    for item in range(start.size - 1):
        most = max(most, start[item + 1] - start[item])
    return most


@kernel
def meant_tally(votes: Any, item: int, table: Any, room: Any) -> Any:
    """Score the classes an item names; returns the part common to all classes, and how many."""
    weighted = votes.weight.size > 0
    score, seen, named = room
    last = table.shape[1] - 1
    common, n = 0.0, 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        who, label = votes.annotator[vote], votes.label[vote]
        if seen[label] != item:
            seen[label], score[label], named[n] = item, 0.0, label
            n += 1
        weight = votes.weight[vote] if weighted else 1.0
        column = min(label, last)
        common += weight * table[who, column, 0]
        score[label] += weight * table[who, column, 1]
    return common, n


@kernel
def meant_step(votes: Any, table: Any, k: int, counts: Any) -> float:
    """E-step: returns the log-likelihood and adds to ``counts[a, l]`` votes meant, and all others.

    ``table[a, l]`` holds miss, gain and the chance that a right vote for l was meant; where these
    are the same for all l, one column stands for all.
    """
    weighted = votes.weight.size > 0
    room = room_for(k)
    score, last = room[0], table.shape[1] - 1
    loglik = 0.0
    for item in range(votes.start.size - 1):
        common, n = meant_tally(votes, item, table, room)
        loglik += common + believe(room, n, k, truth_of(votes, item), item) - np.log(k)
        for vote in range(votes.start[item], votes.start[item + 1]):
            who, label = votes.annotator[vote], votes.label[vote]
            weight = votes.weight[vote] if weighted else 1.0
            column = min(label, last)
            meant = weight * score[label] * table[who, column, 2]
            counts[who, column, 0] += meant
            counts[who, column, 1] += weight - meant
    return loglik


@kernel
def meant_posterior(votes: Any, table: Any, k: int, rows: Any) -> None:
    """Which class is true, of every item."""
    room = room_for(k)
    for item in range(votes.start.size - 1):
        _, n = meant_tally(votes, item, table, room)
        truth = truth_of(votes, item)
        total = believe(room, n, k, truth, item)
        write(room, n, np.exp(-total), truth, rows[item])
