"""Votes weighted by trust in people: the kernels of wawa, zero-based-skill and catd."""

from __future__ import annotations

from typing import Any

from softlabel.aggregate.compiling import kernel
from softlabel.aggregate.kin_kernels import room_for, truth_of, write

LEVEL = 1e-9  # scores this near are equal: rounding must not decide who wins


@kernel
def elect(votes: Any, item: int, trust: Any, room: Any) -> int:
    """Score the classes that an item names by the trust in those who named them; how many."""
    weighted = votes.weight.size > 0
    score, seen, named = room
    n = 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        label = votes.label[vote]
        if seen[label] != item:
            seen[label], score[label], named[n] = item, 0.0, label
            n += 1
        weight = votes.weight[vote] if weighted else 1.0
        score[label] += weight * trust[votes.annotator[vote]]
    return n


@kernel
def shared(room: Any, n: int) -> None:
    """Scores become shares of the whole."""
    score, _, named = room
    total = 0.0
    for j in range(n):
        total += score[named[j]]
    for j in range(n):  # where nobody is trusted, all classes that were named are alike
        score[named[j]] = score[named[j]] / total if total > 0 else 1 / n


@kernel
def won(room: Any, n: int) -> None:
    """The best score becomes 1, or even parts of it for equals, and all others 0."""
    score, _, named = room
    best, equals = 0.0, 0
    for j in range(n):
        best = max(best, score[named[j]])
    for j in range(n):
        equals += score[named[j]] >= best * (1 - LEVEL)
    for j in range(n):
        score[named[j]] = 1 / equals if score[named[j]] >= best * (1 - LEVEL) else 0.0


@kernel
def agreement(votes: Any, trust: Any, k: int, sums: Any) -> None:
    """Add to ``sums[a]`` each person's votes for the winner of the weighted vote, and all."""
    weighted = votes.weight.size > 0
    room = room_for(k)
    score = room[0]
    for item in range(votes.start.size - 1):
        won(room, elect(votes, item, trust, room))
        truth = truth_of(votes, item)
        for vote in range(votes.start[item], votes.start[item + 1]):
            who, label = votes.annotator[vote], votes.label[vote]
            weight = votes.weight[vote] if weighted else 1.0
            agreed = score[label] if truth < 0 else 1.0 * (label == truth)
            sums[who, 0] += weight * agreed
            sums[who, 1] += weight


@kernel
def shares(votes: Any, trust: Any, rows: Any) -> None:
    """Shares of the weighted vote, of every item."""
    room = room_for(rows.shape[1])
    for item in range(votes.start.size - 1):
        n = elect(votes, item, trust, room)
        truth = truth_of(votes, item)
        shared(room, n)
        write(room, n, 0.0, truth, rows[item])
        if n > 0 and truth >= 0:
            rows[item] = 0.0
            rows[item, truth] = 1.0
