"""The demo's study: made-up people say what they see in made-up pictures, in two ways."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softlabel import sampling
from softlabel.aggregate import Aggregate, LogPool, Majority, Mean, Share, Softmax
from softlabel.construct import Clamp, Construct, Hard, Select, Smooth, Uniform
from softlabel.simulate import people as simulate
from softlabel.study import shapes
from softlabel.tables import Bools, Floats, Index, Statements

ITEMS, PEOPLE, PER_ITEM, REPEATS, CARELESS = 120, 24, 10, 4, 3


@dataclass(frozen=True)
class Recipe:
    """One way from answers to labels: which answers, how a label is built, and pooled."""

    arm: str  # "rich": the whole form; "votes": one click
    construct: Construct
    aggregate: Aggregate
    words: str

    @property
    def name(self) -> str:
        return f"{self.arm}: {self.steps}"

    @property
    def steps(self) -> str:
        return f"{self.construct.name} → {self.aggregate.name}"


RECIPES = (
    Recipe(
        "rich", Clamp(), Mean(), "both chances; what is left goes to shapes not ruled out; averaged"
    ),
    Recipe("rich", Clamp(), LogPool(), "as clamp → mean, but averaged on the log scale"),
    Recipe(
        "rich", Uniform(), Mean(), "both chances; what is left goes to all other shapes; averaged"
    ),
    Recipe("rich", Select(), Mean(), "only which two shapes were named, half each; averaged"),
    Recipe("rich", Hard(), Share(), "only the shape named first, counted"),
    Recipe("votes", Hard(), Share(), "votes counted: the share of each shape"),
    Recipe("votes", Smooth(), Mean(), "votes with 5 % spread over all shapes (label smoothing)"),
    Recipe(
        "votes",
        Hard(),
        Softmax(),
        "counts raised to powers of e (softmax): the largest weighs most",
    ),
    Recipe("votes", Hard(), Majority(), "the shape with most votes takes all"),
)


@dataclass(frozen=True, eq=False)
class Study:
    """Everything that was drawn: pictures with their truth, people, and what they said."""

    index: Index
    pictures: list[shapes.Pixels]
    truth: Floats
    persons: list[simulate.Person]
    rich: Statements  # answers to the whole form, person by person, repeats included
    votes: Statements  # one click on every picture by everybody

    @property
    def looking(self) -> Bools:
        """(a,) True for people who were not made to click through most of their pages."""
        return np.array([person.carelessness < 0.5 for person in self.persons])

    def first(self, arm: str) -> Statements:
        """First answers of the ten people who were asked about each picture."""
        asked = self.rich.take(sampling.first_presentation(self.rich))
        if arm == "rich":
            return asked
        chosen = np.isin(sampling.pair_codes(self.votes), sampling.pair_codes(asked))
        return self.votes.take(chosen)
