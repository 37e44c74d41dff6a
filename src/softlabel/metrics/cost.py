"""What answers cost: seconds and money, for rich answers and for plain votes."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from softlabel.errors import UnknownName
from softlabel.tables import Floats

# How many of the five inputs of the classic form each label needs.
INPUTS = {
    "t1-unif": 2,  # class, chance
    "t1-clamp": 3,  # and what is ruled out
    "t2-unif": 4,  # two classes, two chances
    "t2-clamp": 5,
    "select-top-2": 2,  # two classes
}


@dataclass(frozen=True)
class Cost:
    """Seconds per input and per vote, a fixed time per session, pay and fee.

    The defaults are those of Collins et al. 2022: 32 s for five inputs, split equally (an
    assumption of the authors; per-input times were not recorded), and 1.8 s for a CIFAR-10H vote
    (a median; the mean is 2.52 s).
    """

    seconds_per_input: float = 6.4
    seconds_per_vote: float = 1.8
    overhead_seconds: float = 0.0  # instructions and quiz, per session
    pay_per_hour: float = 8.0
    fee: float = 0.0  # the platform's share on top of pay

    def answer(self, label: str) -> float:
        """Seconds of one annotator on one item for this label; ``"hard"`` is a plain vote.

        >>> Cost().answer("t2-clamp"), Cost().answer("hard")
        (32.0, 1.8)
        """
        if label == "hard":
            return self.seconds_per_vote
        if label not in INPUTS:
            raise UnknownName("label with a known cost", label, ["hard", *INPUTS])
        return INPUTS[label] * self.seconds_per_input

    def item(self, label: str, annotators: int) -> float:
        """Seconds of all annotators on one item: M * t_per."""
        return annotators * self.answer(label)

    def votes_for_the_time_of(self, label: str, annotators: int = 1) -> float:
        """How many plain votes the same time would buy."""
        return self.item(label, annotators) / self.seconds_per_vote

    def session(self, label: str, items: int) -> float:
        """Seconds of one annotator's whole session."""
        return self.overhead_seconds + items * self.answer(label)

    def money(self, seconds: float) -> float:
        """What this much of people's time costs, fee included."""
        return seconds / 3600 * self.pay_per_hour * (1 + self.fee)


@dataclass(frozen=True)
class Spread:
    """How long something takes: the middle answer, and the tenth from either end."""

    n: int
    p10: float
    median: float
    p90: float


UNTIMED = Spread(0, math.nan, math.nan, math.nan)


def spread(values: Iterable[float]) -> Spread:
    """Of the finite values; NaN if there are none.

    >>> spread([1.0, 2.0, 3.0, math.nan])
    Spread(n=3, p10=1.2, median=2.0, p90=2.8)
    """
    found: Floats = np.fromiter((v for v in values if math.isfinite(v)), dtype=np.float64)
    if not len(found):
        return UNTIMED
    low, middle, high = np.percentile(found, [10, 50, 90])
    return Spread(len(found), float(low), float(middle), float(high))
