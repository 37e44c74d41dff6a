"""The state of asking: what is known about each item, and what to ask next.

    state = Allocation(index, Greedy(stop=1e-3))       # or fit=FitVotes(prior), prices, budget
    chosen = state.choose(25, eligible, pending, rng)  # items, modes, propensities: under 5 ms
    state.record(items, labels=labels)                 # as answers arrive; only these are computed
    if state.due: state.refit()                        # learn the prior again, from time to time

* ``choose`` decides.  ``eligible`` (m,) or (m, modes) says what this person may be asked;
  ``pending`` (m,) how many answers to each item are out with other people.  It changes nothing:
  what was chosen is pending until it is recorded or given up, and whoever asks keeps count.
* ``record`` adds votes (codes of labels) or soft answers, and what they cost.
* ``done`` (m,) tells which items need no more answers, ``finished`` whether nothing is left to ask.
* ``expected(n)`` is what the next n answers are expected to buy, in nats per item.
* ``belief`` is what is believed of all items now; ``gain`` (m,) what one more vote would teach.
* To refit beside a running server: ``kept = state.snapshot()`` under the lock,
  ``belief = state.fit(state.index, kept)`` in another thread, ``state.adopt(belief, kept)`` under
  the lock again.  Answers that came in the meantime are kept.

Nothing here is thread-safe: one lock guards one ``Allocation``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from softlabel.aggregate import Belief
from softlabel.allocate.policies import (
    Fit,
    FitVotes,
    Policy,
    Price,
    check_prices,
    measure_doubt,
    settle,
)
from softlabel.errors import DataError
from softlabel.tables import Bools, Floats, Index, Ints, broken, check_simplex

FIRST_REFIT = 2  # answers per item, on average
GROWTH = 1.25  # from one refit to the next
LEAST_WEIGHT = 1e-12  # of an item that is not done
SEED_FIRST = 1e12  # the score of items that have too few answers for a score


@dataclass(frozen=True, eq=False)
class Chosen:
    """What to ask, in this order: ``items`` (j,) and ``modes`` (j,) are codes, ``propensity`` (j,)
    the chance that each had at its turn, given the ones before it."""

    items: Ints
    modes: Ints
    propensity: Floats

    def __len__(self) -> int:
        return len(self.items)


class Allocation:
    """The answers to some items so far, the belief made of them, and the policy that asks on."""

    def __init__(
        self,
        index: Index,
        policy: Policy,
        *,
        fit: Fit | None = None,
        prices: Sequence[Price] = (Price(),),
        budget: float = math.inf,
        evidence: Floats | None = None,
        answers: Ints | None = None,
    ) -> None:
        """Start with no answers, or with ``evidence`` (m, k) from ``answers`` (m,) of each item.
        ``budget`` is in seconds of people's time."""
        m, _, k = index.shape
        self.index, self.budget = index, budget
        self.fit: Fit = fit or FitVotes()
        self.policy = settle(policy, self.fit)
        self.prices = check_prices(prices)
        self.spent = 0.0
        start = np.zeros((m, k)) if evidence is None else np.array(evidence, dtype=np.float64)
        if start.shape != (m, k):
            raise DataError(f"Allocation: evidence has shape {start.shape}, expected {(m, k)}")
        if answers is None:
            answers = np.ceil(start.sum(axis=1) - 1e-9).astype(np.int64)
        if np.shape(answers) != (m,):
            raise DataError(f"Allocation: answers have shape {np.shape(answers)}, expected {(m,)}")
        self.answers = np.array(answers, dtype=np.int64)
        self.evidence = start
        self._rates = np.array([price.rate for price in self.prices])
        self._seconds = np.array([price.seconds for price in self.prices])
        self._base: Belief
        self._added: Floats
        self._gain: Floats
        self._score: Floats
        self._doubt: Floats
        self.refits = 0
        self.next_refit = FIRST_REFIT
        self.refit()

    # ── what is known ────────────────────────────────────────────────────────────────────────

    @property
    def least(self) -> int:
        """How many answers every item gets before the policy looks at it."""
        return self.policy.least or 0

    @property
    def belief(self) -> Belief:
        """What is believed of all items now, with the prior of the last fit."""
        return self._base.update(np.arange(len(self.answers)), self._added)

    @property
    def gain(self) -> Floats:
        """(m,) what one more vote about each item is expected to teach, in nats."""
        if not len(self._gain):
            self._gain = self.belief.gain()
        return self._gain

    @property
    def done(self) -> Bools:
        """(m,) whether an item needs no more answers: it has ``most``, or a further one would gain
        less than ``stop`` nats per second in every mode."""
        done = self.answers >= self.policy.most
        if self.policy.stop > 0:
            done |= (self.answers >= self.least) & (
                self.gain * self._rates.max() < self.policy.stop
            )
        return np.asarray(done)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to ask: every item is done, or the budget is spent."""
        cheapest = float(self._seconds.min())
        return self.spent + cheapest > self.budget * (1 + 1e-12) or bool(self.done.all())

    @property
    def evenness(self) -> float:
        """mean(H)^2 / mean(H^2) of the labels: 1 if all items are equally uncertain."""
        return float(self._doubt.mean() ** 2 / max(np.mean(self._doubt**2), 1e-300))

    @property
    def is_even(self) -> bool:
        """Whether items differ so little that all are asked equally often."""
        limit = self.policy.even or 0.0
        return not self.policy.looks or (limit < 1 and self.evenness > limit)

    def expected(self, n: int) -> float:
        """Return by how many nats per item the next ``n`` answers are expected to bring labels
        closer to the splits, in KL.

        The gain of the j-th further answer to an item with m answers is taken to fall like
        1 / (m + j)^2, as it does for a Dirichlet; ``allocate.forecast`` simulates instead.
        """
        if n < 1:
            raise DataError(f"n = {n}: at least one answer is needed")
        open_ = np.flatnonzero(~self.done)
        if not len(open_):
            return 0.0
        have = self.answers[open_] + 1.0
        deep = int(min(n, 4 * math.ceil(n / len(open_)) + 16))
        further = np.arange(deep)
        each = self.gain[open_, None] * (have[:, None] / (have[:, None] + further)) ** 2
        room = self.answers[open_, None] + further < self.policy.most
        each = np.where(room, each, 0).ravel()
        best = each if n >= len(each) else np.partition(each, len(each) - n)[-n:]
        return float(best.sum() / len(self.answers))

    # ── deciding ─────────────────────────────────────────────────────────────────────────────

    def choose(
        self,
        n: int = 1,
        eligible: Bools | None = None,
        pending: Ints | None = None,
        rng: np.random.Generator | None = None,
    ) -> Chosen:
        """Choose up to ``n`` different items, and the mode for each; fewer if fewer are open."""
        rng = rng or np.random.default_rng()
        m = len(self.answers)
        allowed = self._check_eligible(eligible)
        mode, rate = self._best_modes(allowed)
        open_ = ~self.done & (rate > 0)
        room = (self.budget - self.spent) / float(self._seconds.min()) * (1 + 1e-12)
        if math.isfinite(room):
            n = min(n, math.floor(room))
        even = self.is_even
        score: Floats = self._score * (rate / self._rates.max())
        if even:
            score = -self.answers.astype(np.float64)
        have = self.answers
        if pending is not None:
            waits = np.asarray(pending)
            if waits.shape != (m,) or (waits < 0).any():
                raise DataError(f"pending has shape {waits.shape} or numbers below 0; expected {m}")
            have = self.answers + waits
            open_ &= have < self.policy.most
            if even:
                score -= waits
            else:  # the gain of the answer after those that are out
                score *= ((self.answers + 1) / (have + 1)) ** 2
        few = have < self.least
        score[few] = SEED_FIRST - have[few]
        # first answers, and all answers while items are even, go to items at random as it is
        spread = (few & open_).any() or (even and self.policy.looks)
        explore = 0.0 if spread else self.policy.explore
        items, propensity = _draw(score, np.flatnonzero(open_), n, explore, rng)
        return Chosen(items, mode[items], propensity)

    def _check_eligible(self, eligible: Bools | None) -> Bools:
        """(m, modes) what may be asked."""
        shape = (len(self.answers), len(self.prices))
        if eligible is None:
            return np.ones(shape, dtype=np.bool_)
        mask = np.asarray(eligible)
        if mask.dtype != np.bool_ or mask.shape not in (shape, shape[:1]):
            raise DataError(
                f"eligible is {mask.dtype} of shape {mask.shape}, expected bool {shape[:1]} or "
                f"{shape}"
            )
        return np.broadcast_to(mask.reshape(shape[0], -1), shape)

    def _best_modes(self, allowed: Bools) -> tuple[Ints, Floats]:
        """(m,) the mode that buys most votes per second, and how many; 0 where none is allowed."""
        if len(self.prices) == 1:
            return np.zeros(len(allowed), dtype=np.int64), allowed[:, 0] * self._rates[0]
        rates = allowed * self._rates
        best = rates.argmax(axis=1)
        return best, rates[np.arange(len(best)), best]

    # ── hearing ──────────────────────────────────────────────────────────────────────────────

    def record(
        self,
        items: Ints,
        labels: Ints | None = None,
        soft: Floats | None = None,
        *,
        modes: Ints | None = None,
        seconds: Floats | None = None,
    ) -> None:
        """Add answers to ``items`` (j,): votes (codes of ``labels``) or ``soft`` answers (j, k).

        A soft answer counts as many votes as its mode is worth.  ``seconds`` are what the answers
        took; without them their prices.
        """
        items = np.asarray(items)
        m, k = self.evidence.shape
        broken("record", (items < 0) | (items >= m), f"item code outside 0..{m - 1}", items)
        if (labels is None) == (soft is None):
            raise DataError("record: give labels (codes) or soft answers, one of the two")
        mode = np.zeros(len(items), dtype=np.int64) if modes is None else np.asarray(modes)
        last = len(self.prices) - 1
        broken("record", (mode < 0) | (mode > last), f"mode code outside 0..{last}", mode)
        if labels is not None:
            label = np.asarray(labels)
            broken("record", (label < 0) | (label >= k), f"label code outside 0..{k - 1}", label)
            new = np.zeros((len(items), k))
            new[np.arange(len(items)), label] = 1
        else:
            rows = np.asarray(soft, dtype=np.float64).reshape(len(items), k)
            check_simplex("record", rows)
            new = rows * np.array([price.worth for price in self.prices])[mode, None]
        for table in (self.evidence, self._added):
            np.add.at(table, items, new)
        np.add.at(self.answers, items, 1)
        self.spent += float((self._seconds[mode] if seconds is None else np.asarray(seconds)).sum())
        self._look_again(np.unique(items))

    def correct(self, evidence: Floats, answers: Ints) -> Ints:
        """Go on with other evidence (m, k) from ``answers`` (m,), same prior: somebody has changed
        or withdrawn an answer; return the items (j,) that it changes."""
        broken("correct", np.asarray(evidence) < 0, "evidence below 0", np.asarray(evidence))
        moved = (evidence != self.evidence).any(axis=1) | (answers != self.answers)
        items = np.flatnonzero(moved)
        self._added[items] += evidence[items] - self.evidence[items]
        self.evidence[items], self.answers[items] = evidence[items], answers[items]
        if len(items):
            self._look_again(items)
        return items

    def weigh(self) -> Floats:
        """Return (m,) weights by which items can be ordered elsewhere: of items with n answers
        there or on their way, ``choose`` takes the largest weight / (n + 1)^2.  0: it is done."""
        weight: Floats = np.ones(len(self.answers))
        if not self.is_even:
            weight = np.maximum(self._score * (self.answers + 1) ** 2, LEAST_WEIGHT)
        return np.where(self.done, 0.0, weight)

    def _look_again(self, items: Ints) -> None:
        """Compute gain and score of the items that were touched."""
        belief = self._base
        if self.policy.looks or len(self._gain):
            belief = belief.take(items).update(np.arange(len(items)), self._added[items])
        rate = np.full(len(items), self._rates.max())
        self._score[items] = self.policy(belief, self.answers[items], rate)
        if self.policy.looks:
            self._doubt[items] = measure_doubt(belief)
        if len(self._gain):
            self._gain[items] = belief.gain()

    # ── learning ─────────────────────────────────────────────────────────────────────────────

    @property
    def due(self) -> bool:
        """Whether the prior should be learned again: at 2, 3, 4, 5, 6, 8, 10, 13, ... answers per
        item on average."""
        return bool(self.answers.mean() >= self.next_refit)

    def snapshot(self) -> Floats:
        """Return a copy of the evidence, to fit beside the asking."""
        return self.evidence.copy()

    def refit(self) -> None:
        """Make the belief again from all evidence."""
        kept = self.snapshot()
        self.adopt(self.fit(self.index, kept), kept)

    def adopt(self, belief: Belief, kept: Floats) -> None:
        """Go on with a belief fitted to ``kept``, a snapshot; answers since then are added."""
        self._base, self._added = belief, self.evidence - kept
        now = belief if not self._added.any() else self.belief
        rate = np.full(len(self.answers), self._rates.max())
        needs_gain = self.policy.stop > 0
        self._gain = now.gain() if needs_gain else np.zeros(0)
        self._score = self.policy(now, self.answers, rate)
        self._doubt = measure_doubt(now) if self.policy.looks else np.ones(len(self.answers))
        self.refits += 1
        while self.answers.mean() >= self.next_refit:
            grown = math.floor(GROWTH * self.next_refit + 0.5)
            self.next_refit = max(self.next_refit + 1, grown)


def _draw(
    score: Floats, open_: Ints, n: int, explore: float, rng: np.random.Generator
) -> tuple[Ints, Floats]:
    """Draw up to ``n`` of the open items, and return the chance of each at its turn.

    At each turn the chance ``explore`` is shared by all that are left, and the rest by those with
    the highest score: equal scores are drawn at random.
    """
    n = min(n, len(open_))
    if n <= 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    values = score[open_]
    order = _highest(values, n, rng)
    tied = {value: int((values == value).sum()) for value in set(values[order].tolist())}
    queue, left = order.tolist(), len(open_)
    chosen: list[int] = []
    taken: set[int] = set()
    chances: list[float] = []
    explores = rng.random(n) < explore
    for turn in range(n):
        while queue and queue[0] in taken:
            queue.pop(0)
        top = float(values[queue[0]])
        one = _any_but(taken, len(open_), rng) if explores[turn] else queue[0]
        at_top = values[one] == top
        chance = explore / left + ((1 - explore) / tied[top] if at_top else 0.0)
        taken.add(one)
        chosen.append(one)
        chances.append(chance)
        left -= 1
        if float(values[one]) in tied:
            tied[float(values[one])] -= 1
    return open_[np.array(chosen)], np.array(chances)


def _highest(values: Floats, n: int, rng: np.random.Generator) -> Ints:
    """Return the places of the ``n`` highest values, highest first, equal ones in random order."""
    least = values.max() if n == 1 else np.partition(values, len(values) - n)[-n]
    above, level = np.flatnonzero(values > least), np.flatnonzero(values == least)
    if len(level) > n - len(above):
        level = rng.choice(level, n - len(above), replace=False)
    both = np.concatenate([above, level])
    return np.asarray(both[np.lexsort((rng.random(len(both)), -values[both]))])


def _any_but(taken: set[int], size: int, rng: np.random.Generator) -> int:
    while (one := int(rng.integers(size))) in taken:
        pass
    return one
