"""Learning rate schedules: a factor for every step of a run."""

import math
from dataclasses import dataclass

from softlabel.errors import UnknownName


@dataclass(frozen=True)
class Schedule:
    """The same learning rate throughout; other schedules are frozen dataclasses of parameters."""

    def factor(self, epoch: int, part: float, epochs: int) -> float:
        """Return what to multiply the learning rate by, ``part`` (0 to 1) through this epoch."""
        return 1.0

    def resets(self, epoch: int, epochs: int) -> bool:
        """Return True if momentum is reset when this epoch starts."""
        return False


@dataclass(frozen=True)
class Steps(Schedule):
    """Times ``by`` from each epoch of ``at`` on, in a run of ``of`` epochs; in runs of another
    length at the same fractions.  ``fresh``: a new optimiser, without momentum, at each."""

    at: tuple[int, ...] = (51, 56)
    of: int = 65
    by: float = 0.1
    fresh: bool = False

    def factor(self, epoch: int, part: float, epochs: int) -> float:
        return self.by ** sum(epoch >= start for start in self.starts(epochs))

    def resets(self, epoch: int, epochs: int) -> bool:
        return self.fresh and epoch in self.starts(epochs)

    def starts(self, epochs: int) -> tuple[int, ...]:
        """Return the first epoch of every lower rate."""
        return tuple(round(start * epochs / self.of) for start in self.at)


@dataclass(frozen=True)
class Cosine(Schedule):
    """Half a cosine, from 1 to 0 (Loshchilov & Hutter 2017), step by step."""

    def factor(self, epoch: int, part: float, epochs: int) -> float:
        return (1 + math.cos(math.pi * (epoch + part) / epochs)) / 2


@dataclass(frozen=True)
class Triangle(Schedule):
    """Up in a straight line for ``warm_up`` of the run, then down to 0 (one cycle: Smith 2018)."""

    warm_up: float = 0.2

    def factor(self, epoch: int, part: float, epochs: int) -> float:
        done = (epoch + part) / epochs
        return done / self.warm_up if done < self.warm_up else (1 - done) / (1 - self.warm_up)


SCHEDULES: dict[str, Schedule] = {
    "constant": Schedule(),
    "c22": Steps(),  # the code's: the rate changes after the epochs with index 50 and 55
    "u20": Steps(at=(50, 55), fresh=True),  # 50 + 5 + 10 epochs, a new optimiser for each
    "paper-literal": Steps(at=(50, 55), by=1e-4),  # as printed: hardly anything moves from 50 on
    "cosine": Cosine(),
    "one-cycle": Triangle(),
    "linear": Triangle(warm_up=0.0),
}


def find_schedule(name: str) -> Schedule:
    """Return the schedule of this name.

    >>> c22 = find_schedule("c22")
    >>> [round(0.1 * c22.factor(epoch, 0, 65), 9) for epoch in (49, 50, 51, 55, 56)]
    [0.1, 0.1, 0.01, 0.01, 0.001]
    """
    if name not in SCHEDULES:
        raise UnknownName("schedule", name, SCHEDULES)
    return SCHEDULES[name]
