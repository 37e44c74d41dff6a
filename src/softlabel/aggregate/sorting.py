"""The counting sort that puts annotations in the order of the items: kernels.

``came`` is (item, annotator, label, probs), rows in the order in which they came; ``probs`` is
empty for hard votes.
"""

from __future__ import annotations

from typing import Any

from softlabel.aggregate.compiling import kernel


@kernel
def tally(came: Any, votes: Any) -> None:
    """Add to ``votes[i]`` how many there are on item i."""
    item, _, _, probs = came
    soft = probs.size > 0
    for row in range(item.size):
        if soft:
            for j in range(probs.shape[1]):
                votes[item[row]] += probs[row, j] > 0
        else:
            votes[item[row]] += 1


@kernel
def place(came: Any, free: Any, annotator: Any, label: Any, weight: Any) -> None:
    """Write every vote to the next free place of its item."""
    item, who, said, probs = came
    soft = probs.size > 0
    for row in range(item.size):
        at = free[item[row]]
        if soft:
            for j in range(probs.shape[1]):
                if probs[row, j] > 0:
                    annotator[at], label[at], weight[at] = who[row], j, probs[row, j]
                    at += 1
        else:
            annotator[at], label[at] = who[row], said[row]
            at += 1
        free[item[row]] = at
