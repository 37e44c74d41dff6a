"""Two kinds of answers to the same items, and what a budget of seconds buys of them.

The 1,000 images of CIFAR-10S have six or seven rich answers each, and CIFAR-10H has 47 to 59 votes
on each of them.  A draw puts both in random order: the first ones may be bought, and people who are
held out judge the labels.  Rich answers came in 40 batches of 25 images; the people of a batch
answered all its images and no others, so a batch is what items and people can be resampled by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from softlabel import Annotations, Index, datasets
from softlabel.allocate import grassberger
from softlabel.construct import Clamp, Uniform
from softlabel.metrics import entropy
from softlabel.metrics.cost import Cost
from softlabel.papers.pools.votes import Replay, replay_votes
from softlabel.tables import Floats, Ints, names

Target = Literal["votes", "rich answers"]  # of the people who are held out
Side = Literal["votes", "rich", "first choices", "both"]
SPREADS = (0.1, 0.0, 0.05, 0.2, 0.3)  # of clamp; the first is that of CIFAR-10S
AS_PUBLISHED = f"clamp {SPREADS[0]:g}"
BUILD = 40  # votes of an item that may be bought; at least 7 are held out
HELD_RICH = 2  # rich answers that are held out to judge labels by rich answers
PRICE = Cost()


class Budget(NamedTuple):
    """How many votes and rich answers are bought for each item; with ``first`` only the class that
    each rich answer names first is used, as a vote."""

    votes: int = 0
    rich: int = 0
    first: bool = False

    @property
    def side(self) -> Side:
        if self.first:
            return "first choices"
        return "votes" if not self.rich else "both" if self.votes else "rich"

    @property
    def seconds(self) -> float:
        """Seconds of all people together on one item."""
        return PRICE.item("hard", self.votes) + PRICE.item("t2-clamp", self.rich)

    @property
    def words(self) -> str:
        """Return the budget in words: ``1 rich answer and 17 votes``."""
        rich = f"{self.rich} rich answer{'s' if self.rich > 1 else ''}" if self.rich else ""
        votes = f"{self.votes} vote{'s' if self.votes > 1 else ''}" if self.votes else ""
        both = " and ".join(part for part in (rich, votes) if part)
        return f"first choices of {both}" if self.first else both


@dataclass(frozen=True, eq=False)
class Answers:
    """Votes (m, k) on each item; rich answers as labels, by how they are constructed, in the same
    rows, and the class (n,) that each names first; and the batch (m,) of each item."""

    index: Index
    counts: Ints
    rich: Mapping[str, Annotations]
    first: Ints
    batch: Ints


def load() -> Answers:
    """Load the 1,000 images that have both kinds of answers."""
    said = datasets.cifar10s.load("first").statements
    votes = datasets.cifar10h.load("counts").annotations
    assert said is not None, "CIFAR-10S is statements"
    assert votes is not None, "CIFAR-10H is votes"
    rows = [int(item) for item in said.index.items.tolist()]
    counts = np.rint(votes.counts()).astype(np.int64)[rows]
    rich = {f"clamp {spread:g}": Clamp(spread=spread)(said) for spread in SPREADS}
    rich["uniform"] = Uniform()(said)
    index = Index(said.index.items, names([]), said.index.labels)
    batch = find_batches(said.item, said.annotator)
    return Answers(index, counts, rich, said.named[:, 0], batch)


def find_batches(item: Ints, annotator: Ints) -> Ints:
    """Return the batch (m,) of each item: items belong together if anybody answered both."""
    m, people = int(item.max()) + 1, int(annotator.max()) + 1
    shape = m + people, m + people
    met = coo_matrix((np.ones(len(item)), (item, m + annotator)), shape=shape)
    codes = connected_components(met, directed=False)[1][:m]
    return np.asarray(np.unique(codes, return_inverse=True)[1])


@dataclass(frozen=True, eq=False)
class Draw:
    """One random order of the answers to each item.

    ``place`` (n,) is the place of each rich answer among those to its item.  ``held`` (m, k) is the
    mean of the people held out, and ``entropies`` (m,) is what their cross-entropy to a perfect
    label would be: of votes the entropy behind all of them, without the bias of few.
    """

    answers: Answers
    made: Replay
    place: Ints
    held: Floats
    entropies: Floats

    def votes(self, number: int) -> Floats:
        """Count the first votes (m, k) of each item."""
        return self.made.votes(number)

    def rich(self, number: int, construct: str = AS_PUBLISHED) -> Annotations:
        """Return the first rich answers to each item."""
        return self.answers.rich[construct].take(self.place < number)

    def first_choices(self, number: int) -> Floats:
        """Count the classes (m, k) that the first rich answers name first."""
        few = self.place < number
        item = self.answers.rich[AS_PUBLISHED].item[few]
        counts = np.zeros(self.held.shape)
        np.add.at(counts, (item, self.answers.first[few]), 1.0)
        return counts

    @cached_property
    def build(self) -> Floats:
        """All votes (m, k) that may be bought."""
        return self.votes(self.made.order.shape[1])


def draw(answers: Answers, target: Target, seed: int, build: int = BUILD) -> Draw:
    """Put votes and answers in random order, and hold out people of the wanted kind."""
    made = replay_votes(answers.index, answers.counts, build, seed)
    each = next(iter(answers.rich.values()))
    m = len(answers.counts)
    key = np.random.default_rng([seed, 2]).random(len(each))
    order = np.lexsort((key, each.item))
    size = each.votes_per_item()
    place = np.empty(len(each), dtype=np.int64)
    place[order] = np.arange(len(each)) - np.repeat(np.cumsum(size) - size, size)
    if target == "votes":
        return Draw(answers, made, place, made.share, grassberger(answers.counts))
    last = place >= size[each.item] - HELD_RICH
    held = np.zeros((m, answers.counts.shape[1]))
    np.add.at(held, each.item[last], each.soft()[last] / HELD_RICH)
    return Draw(answers, made, place, held, entropy(held))
