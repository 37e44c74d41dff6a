"""Messages between items and people: the kernels of kos."""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel.aggregate.compiling import kernel
from softlabel.aggregate.kin_kernels import longest, truth_of

LEVEL = 1e-9  # sums this near to 0 are 0: rounding must not decide who wins


@kernel
def step(votes: Any, message: Any, worth: Any, scale: float, heard: Any) -> Any:
    """One round of messages.  A vote's ``weight`` is here its sign; an item sends ``message`` to
    each who voted on it, and hears from each their ``worth`` without what came from itself.

    Returns the new messages and the sum of their squares, and adds to ``heard`` the new worth.
    """
    reply = np.empty(longest(votes.start))
    new = np.empty_like(message)
    power = 0.0
    for item in range(votes.start.size - 1):
        first, truth = votes.start[item], truth_of(votes, item)
        total, heard_all = 0.0, 0.0
        for vote in range(first, votes.start[item + 1]):
            sign = votes.weight[vote]
            reply[vote - first] = scale * (worth[votes.annotator[vote]] - sign * message[vote])
            total += sign * reply[vote - first]
            heard_all += abs(sign * reply[vote - first])
        for vote in range(first, votes.start[item + 1]):
            sign = votes.weight[vote]
            new[vote] = total - sign * reply[vote - first]
            if truth >= 0:  # all that it hears, in the right direction
                new[vote] = heard_all if truth == 0 else -heard_all
            heard[votes.annotator[vote]] += sign * new[vote]
            power += new[vote] ** 2
    return new, power


@kernel
def verdict(votes: Any, message: Any, worth: Any, rows: Any) -> None:
    """The sign of all replies to an item; of its votes where no reply comes or they cancel; all
    on one class, or an even split."""
    for item in range(votes.start.size - 1):
        total, size, plain = 0.0, 0.0, 0.0
        for vote in range(votes.start[item], votes.start[item + 1]):
            sign = votes.weight[vote]
            reply = sign * (worth[votes.annotator[vote]] - sign * message[vote])
            total += reply
            size += abs(reply)
            plain += sign
        truth = truth_of(votes, item)
        if truth >= 0:
            first = 1.0 * (truth == 0)
        elif abs(total) > LEVEL * size:
            first = 1.0 * (total > 0)
        else:
            first = 1.0 * (plain > 0) if abs(plain) > LEVEL else 0.5
        rows[item, 0] = first
        rows[item, 1] = 1 - first
        if votes.start[item] == votes.start[item + 1]:
            rows[item] = np.nan
