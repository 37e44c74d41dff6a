"""Simulated people with known faults, and the habits with which they use a browser.

Every draw belongs to a seed, a person, an item and an occasion, never to an order: the same
person says the same thing about the same item however many others answer meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from softlabel.elicit import Mode
from softlabel.registry import check_parameters
from softlabel.simulate import people as simulate
from softlabel.tables import Floats

CARELESS = 1 / 8


def keyed(seed: int, *names: object) -> np.random.Generator:
    """Randomness that belongs to these names."""
    digest = blake2b("\x1f".join(map(str, (seed, *names))).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


@dataclass(frozen=True)
class Habits:
    """How people treat their browsers: shares of answers sent twice and of requests broken off in
    the middle, of people who fail the quiz at first and of people who leave before the end;
    ``think`` is the mean time, in seconds, that they really take over each page and item."""

    duplicates: float = 0.0
    disconnects: float = 0.0
    fail_quiz: float = 0.0
    leavers: float = 0.0
    think: float = 0.0

    def __post_init__(self) -> None:
        rates = dict.fromkeys(("duplicates", "disconnects", "fail_quiz", "leavers"), (0, 1))
        check_parameters(self, **rates, think=(0, 86_400))


@dataclass(frozen=True)
class Somebody:
    """The ``number``-th simulated person of a seed."""

    number: int
    person: simulate.Person
    seed: int

    def draw(self, *occasion: object) -> np.random.Generator:
        """This person's randomness on one occasion."""
        return keyed(self.seed, self.number, *occasion)

    def says(
        self, item: str, truth: Floats, occasion: str, mode: Mode, labels: Sequence[str]
    ) -> dict[str, Any]:
        """Their answer to an item with this truth (k,).  On another occasion they hold the same
        opinion and look at the item afresh."""
        held = simulate.opinions(truth[None], [self.person], self.draw(item, "opinion"))[0, 0]
        rng = self.draw(item, occasion)
        believed, _ = simulate.look(self.person, held, rng)
        return mode.simulate(believed, labels, rng)


def crowd(annotators: int, seed: int) -> list[Somebody]:
    """So many people, one in eight of whom hardly looks."""
    persons = simulate.people(annotators, keyed(seed, "people"), CARELESS)
    return [Somebody(number, person, seed) for number, person in enumerate(persons)]
