"""Votes per item and class, and who has most of them: kernels."""

from __future__ import annotations

from typing import Any

from softlabel.aggregate.compiling import kernel


@kernel
def count(item: Any, label: Any, probs: Any, counts: Any) -> None:
    """Add to ``counts[i, j]`` the votes on item i for class j, soft annotations as fractions of a
    vote; ``probs`` is empty for hard votes."""
    soft = probs.size > 0
    for row in range(item.size):
        if soft:
            for j in range(probs.shape[1]):
                counts[item[row], j] += probs[row, j]
        else:
            counts[item[row], label[row]] += 1.0


@kernel
def elect(counts: Any, near: float, split: bool) -> None:
    """1 in place of the first count that is ``near`` the most, or even parts for all of these."""
    for i in range(counts.shape[0]):
        most = counts[i, 0]
        for j in range(1, counts.shape[1]):
            most = max(most, counts[i, j])
        level, first = 0, -1
        for j in range(counts.shape[1]):
            if counts[i, j] >= most - near:
                level += 1
                first = j if first < 0 else first
        for j in range(counts.shape[1]):
            won = counts[i, j] >= most - near if split else j == first
            counts[i, j] = (1.0 / level if split else 1.0) if won else 0.0
