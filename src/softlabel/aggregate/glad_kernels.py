"""Ability and difficulty: the kernels of glad."""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel.aggregate.compiling import kernel
from softlabel.aggregate.kin_kernels import believe, longest, room_for, truth_of, write

NEWTON = 2  # steps towards the ease of an item in every pass
HALVINGS = 6  # of a step that went too far
NO_WORSE = 1e-12  # rounding must not decide whether a step is taken


@kernel
def chance_right(x: float) -> Any:
    """sigmoid(x) and log(1 - sigmoid(x))."""
    small = np.exp(-abs(x))
    if x >= 0:
        return 1 / (1 + small), -x - np.log(1 + small)
    return small / (1 + small), -np.log(1 + small)


@kernel
def tally(votes: Any, item: int, ability: Any, scale: float, room: Any) -> Any:
    """As ``meant_tally``, where a vote is right with chance sigmoid(ability * scale)."""
    weighted = votes.weight.size > 0
    score, seen, named = room
    rest = np.log(max(score.size - 1, 1))
    common, n = 0.0, 0
    for vote in range(votes.start[item], votes.start[item + 1]):
        label = votes.label[vote]
        weight = votes.weight[vote] if weighted else 1.0
        if seen[label] != item:
            seen[label], score[label], named[n] = item, 0.0, label
            n += 1
        x = ability[votes.annotator[vote]] * scale
        common += weight * (chance_right(x)[1] - rest)
        score[label] += weight * (x + rest)
    return common, n


@kernel
def expected(ease: float, n: int, said: Any, centre: float) -> Any:
    """What its votes and its prior say of an item's log ease: value, slope, curvature of the votes.

    A vote that is right with chance p is worth p log s + (1 - p) log(1 - s) = p x + log(1 - s).
    """
    able, weight, chance = said
    value = -0.5 * (ease - centre) ** 2
    slope, bend = centre - ease, 0.0
    scale = np.exp(ease)
    for j in range(n):
        x = able[j] * scale
        s, log_wrong = chance_right(x)
        pull = weight[j] * (chance[j] - s) * x
        value += weight[j] * (chance[j] * x + log_wrong)
        slope += pull
        bend += weight[j] * s * (1 - s) * x * x - pull
    return value, slope, bend


@kernel
def eased(ease: float, n: int, said: Any, centre: float) -> float:
    """A few Newton steps up, each halved until it does not lead down."""
    value, slope, bend = expected(ease, n, said, centre)
    for _ in range(NEWTON):
        step = min(max(slope / (1 + max(bend, 0.0)), -1.0), 1.0)
        for _ in range(HALVINGS):
            there = expected(ease + step, n, said, centre)
            if there[0] >= value - NO_WORSE * (1 + abs(value)):
                ease += step
                value, slope, bend = there
                break
            step /= 2
    return ease


@kernel
def teach(votes: Any, item: int, said: Any, scale: float, sums: Any) -> None:
    """Add what an item says of the abilities of those who voted on it: the slope, and the
    curvature of a parabola that touches the expected log-likelihood from below."""
    able, weight, chance = said
    for vote in range(votes.start[item], votes.start[item + 1]):
        j = vote - votes.start[item]
        x = able[j] * scale
        s = chance_right(x)[0]
        bound = (s - 0.5) / x if abs(x) > 1e-4 else 0.25
        sums[votes.annotator[vote], 0] += weight[j] * (chance[j] - s) * scale
        sums[votes.annotator[vote], 1] += weight[j] * bound * scale * scale


@kernel
def step(votes: Any, ability: Any, ease: Any, k: int, centre: float, sums: Any) -> Any:
    """E-step, a better ease for every item (returned, after the log-likelihood), and ``sums[a]``
    for a better ability of everybody."""
    weighted = votes.weight.size > 0
    room = room_for(k)
    most = longest(votes.start)
    said = (np.empty(most), np.empty(most), np.empty(most))
    score, (able, weight, chance) = room[0], said
    better = ease.copy()
    loglik = 0.0
    for item in range(votes.start.size - 1):
        first, last = votes.start[item], votes.start[item + 1]
        if first == last:
            continue
        common, n = tally(votes, item, ability, np.exp(ease[item]), room)
        loglik += common + believe(room, n, k, truth_of(votes, item), item) - np.log(k)
        for vote in range(first, last):
            able[vote - first] = ability[votes.annotator[vote]]
            weight[vote - first] = votes.weight[vote] if weighted else 1.0
            chance[vote - first] = score[votes.label[vote]]
        better[item] = eased(ease[item], last - first, said, centre)
        teach(votes, item, said, np.exp(better[item]), sums)
    return loglik, better


@kernel
def posterior(votes: Any, ability: Any, ease: Any, rows: Any, sums: Any) -> float:
    """Which class is true of every item; returns the log-likelihood and adds to ``sums[a]`` the
    votes of each person that the model expects to be right, and all."""
    weighted = votes.weight.size > 0
    k = rows.shape[1]
    room = room_for(k)
    loglik = 0.0
    for item in range(votes.start.size - 1):
        scale = np.exp(ease[item])
        common, n = tally(votes, item, ability, scale, room)
        truth = truth_of(votes, item)
        total = believe(room, n, k, truth, item)
        loglik += common + total - np.log(k)
        write(room, n, np.exp(-total), truth, rows[item])
        for vote in range(votes.start[item], votes.start[item + 1]):
            who = votes.annotator[vote]
            weight = votes.weight[vote] if weighted else 1.0
            sums[who, 0] += weight * chance_right(ability[who] * scale)[0]
            sums[who, 1] += weight
    return loglik
