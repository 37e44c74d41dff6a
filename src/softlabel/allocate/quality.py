"""How good labels are now: the expected distance to the splits, what the next answers will buy, and
how many equal votes would do as well.

The splits are not known, so they are drawn from the belief; KL(split || label) of each draw is then
known.  The numbers hold as far as the belief does.
"""

import heapq
from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from softlabel.aggregate import Belief
from softlabel.allocate.allocation import Allocation
from softlabel.metrics import kl
from softlabel.tables import Floats, Ints, Score

NEXT = 100  # answers
DRAWS = 40
SOME = 500  # items: enough for a mean
ENOUGH = 2_000  # draws of an item, of all items together, for a curve without bumps
LEVEL = 0.9
VOTES = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64)  # per item


@dataclass(frozen=True)
class Quality:
    """``kl`` is the expected KL(split || label) per item, ``gain`` by how much the next answers are
    expected to lower it; both with an interval over draws.

    ``curve`` is the KL at equally many votes for every item, pooled in the same way; ``equal`` is
    how many of them reach ``kl`` (NaN beyond the curve).
    """

    kl: Score
    gain: Score
    equal: float
    curve: tuple[tuple[int, float], ...]


def measure_quality(state: Allocation, n: int = NEXT, seed: int = 0) -> Quality:
    """Measure the labels of a study as it is, and what ``n`` more answers will buy."""
    rng = np.random.default_rng(seed)
    belief, m = state.belief, len(state.answers)
    some = np.arange(m) if m <= SOME else np.sort(rng.choice(m, SOME, replace=False))
    part = belief.take(some)
    label = part.mean()
    lost = _middle(np.array([kl(part.draw(rng), label).mean() for _ in range(DRAWS)]))
    curve = tuple(_measure_equal(part, rng))
    return Quality(lost, _measure_next(state, belief, n, rng), find_equal(curve, lost.value), curve)


def _measure_equal(part: Belief, rng: np.random.Generator) -> list[tuple[int, float]]:
    """Return the mean KL at so many votes for each item, for items such as these."""
    lost = np.zeros(len(VOTES))
    draws = min(DRAWS // 2, max(2, ENOUGH // len(part.evidence)))
    for _ in range(draws):
        split, votes, before = part.draw(rng), np.zeros_like(part.evidence), 0
        for place, now in enumerate(VOTES):
            votes, before = votes + _vote(now - before, split, rng), now
            label = replace(part, evidence=votes, given=part.prior).mean()
            lost[place] += kl(split, label).mean() / draws
    falling = np.minimum.accumulate(lost)
    return list(zip(VOTES, falling.tolist(), strict=True))


def find_equal(curve: tuple[tuple[int, float], ...], aim: float) -> float:
    """Return how many equal votes reach the KL ``aim``, between the points of the curve on
    logarithmic axes; fewer than one count as one, and more than the last are not known.

    >>> find_equal(((1, 0.4), (2, 0.2), (4, 0.1)), 0.2), find_equal(((1, 0.4),), 0.1)
    (2.0, nan)
    """
    if curve[0][1] <= aim:
        return float(curve[0][0])
    for (low, before), (high, after) in pairwise(curve):
        if after <= aim:
            share = (np.log(before) - np.log(aim)) / (np.log(before) - np.log(after))
            return round(float(np.exp(np.log(low) + share * (np.log(high) - np.log(low)))), 9)
    return float("nan")


def _measure_next(state: Allocation, belief: Belief, n: int, rng: np.random.Generator) -> Score:
    """Return what the next ``n`` answers will buy, in nats per item, if they go where they are
    worth most."""
    items, times = plan_next(state, n)
    if not len(items):
        return Score(0.0, 0.0, 0.0, DRAWS)
    part = belief.take(items)
    before, gains = part.mean(), []
    for _ in range(DRAWS):
        split = part.draw(rng)
        after = part.update(np.arange(len(items)), _vote(times, split, rng)).mean()
        gains.append((kl(split, before) - kl(split, after)).sum() / len(state.answers))
    return _middle(np.array(gains))


def plan_next(state: Allocation, n: int) -> tuple[Ints, Ints]:
    """Return the items (j,) that the next ``n`` answers go to, and how many each of them gets."""
    weight, have = state.weigh(), state.answers.copy()
    open_ = np.flatnonzero(weight > 0)
    few = have < state.least
    queue = [(-(1e12 if few[i] else weight[i]) / (have[i] + 1) ** 2, int(i)) for i in open_]
    heapq.heapify(queue)
    got: Counter[int] = Counter()
    while queue and got.total() < n:
        _, item = heapq.heappop(queue)
        got[item] += 1
        have[item] += 1
        if have[item] < state.policy.most:
            worth = 1e12 if have[item] < state.least else weight[item]
            heapq.heappush(queue, (-worth / (have[item] + 1) ** 2, item))
    items = np.array(sorted(got), dtype=np.int64)
    return items, np.array([got[item] for item in items.tolist()], dtype=np.int64)


def _vote(votes: int | Ints, split: Floats, rng: np.random.Generator) -> Floats:
    """(j, k) so many votes by each split."""
    safe = split / split.sum(axis=1, keepdims=True)
    return rng.multinomial(votes, safe).astype(np.float64)


def _middle(values: Floats) -> Score:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Score(float(values.mean()), float(low), float(high), len(values))
