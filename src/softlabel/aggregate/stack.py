"""Votes and rich answers together, weighed by what foretells votes."""

from __future__ import annotations

from builtins import map as in_turn
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from softlabel.aggregate import climbing, logit
from softlabel.aggregate.base import Map, per_item
from softlabel.aggregate.bayes import Counting, tables
from softlabel.aggregate.belief import Belief, posterior_mean
from softlabel.aggregate.evidence import drawn
from softlabel.aggregate.fitting import one_hot
from softlabel.aggregate.prior import Prior
from softlabel.aggregate.results import LabelDistribution
from softlabel.aggregate.splitting import added, finished
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Estimand, Floats, Index, given_away

FLOOR = 0.01  # added before logarithms of chances
ENOUGH = 200  # items with votes from which weights, and a prior by class, are learned
FIT_ITEMS = 20_000
# As fitted on CIFAR-10S to votes of CIFAR-10H, for data that have too few votes to learn them:
# six answers and no votes; one answer beside five votes.
RICH_ALONE = (0.41, 0.66, 2.03, 1.35, -0.59, -0.40)
WITH_VOTES = (0.97, 0.0, 0.48, 0.30, 0.16, 0.0)


@dataclass(frozen=True)
class Stack:
    """q proportional to exp(b . f): six features of each class, weights b fitted to votes.

    f = log of the Bayesian label (answers counting one vote each), log(lin + .01), the share of
    answers naming the class first, naming it second, ruling it out, and the mean of log(s + .01).
    Votes come first, rich answers as ``rich``; a single table of soft annotations is rich answers
    without votes.  Weights are learned where at least 200 items have both: each vote is foretold
    without itself.  With fewer those measured on CIFAR-10S are used.  Items without a rich answer
    keep the Bayesian label.
    """

    levels: Literal["auto", 1, 3] = "auto"

    name: ClassVar[str] = "stack"
    paper: ClassVar[str] = "Wolpert 1992"
    estimand: ClassVar[Estimand] = "distribution"

    def __call__(
        self,
        said: Annotations,
        map: Map = in_turn,
        shards: int = 1,
        *,
        rich: Annotations | None = None,
        prior: Prior | None = None,
    ) -> LabelDistribution:
        check_parameters(self)
        some, parts = tables(said, rich)
        counting = Features(some)
        sums = added([per_item(counting.sums, part, map, shards) for part in parts])
        count = np.sum([part.votes_per_item() for part in parts], axis=0)
        found = prior.among(said.index.labels) if prior else self._prior(said.index, counting, sums)
        weight, why = _weights(said.index, counting, sums, found)
        fitted = Stacked(counting, found, given_away(weight))
        return finished(self, fitted, said.index, sums, count, why)

    def _prior(self, index: Index, counting: Features, sums: Floats) -> Prior:
        """Of votes and rich answers; one Dirichlet for few items."""
        evidence = counting.teaching(sums, len(index.labels))
        if (evidence.sum(axis=1) > 0).sum() < ENOUGH:
            return climbing.one_alpha(index, evidence)
        levels = None if self.levels == "auto" else self.levels
        return climbing.by_class(index, evidence, levels, 50)


@dataclass(frozen=True)
class Features(Counting):
    """Counting, with four more sums (k each) over rich answers: named first, named second, ruled
    out, and log(s + .01)."""

    def sums(self, said: Annotations) -> Floats:
        """(m, k) of votes, (m, 6k + 1) of rich answers."""
        plain = super().sums(said)
        m, _, k = said.index.shape
        if plain.shape[1] == k:
            return plain
        soft = said.soft()
        first, second = places(soft)
        each = np.concatenate([first, second, soft == 0, np.log(soft + FLOOR)], axis=1)
        more = [np.bincount(said.item, column, minlength=m) for column in each.T]
        return np.concatenate([plain, np.stack(more, axis=1)], axis=1)

    def features(self, sums: Floats, prior: Prior) -> Floats:
        """(m, k, 6) of items that have rich answers."""
        k = len(prior.labels)
        answers = sums[:, [2 * k]]
        rich = sums[:, k : 2 * k]
        bayes = np.log(posterior_mean(prior, sums[:, :k] + rich))
        means = np.split(sums[:, 2 * k + 1 :] / answers, 4, axis=1)
        return np.stack([bayes, np.log(rich / answers + FLOOR), *means], axis=2)


def places(soft: Floats) -> tuple[Floats, Floats]:
    """(n, k) who was named first and (n, k) second, as the label shows it.

    Two classes that share the first place are half first and half second each; a second place
    that is shared is no second place: it is the rest, spread evenly.
    """
    top = soft.max(axis=1, keepdims=True)
    first = soft >= top - 1e-9
    number = first.sum(axis=1, keepdims=True)
    below = np.where(first, -1.0, soft)
    second = (below >= below.max(axis=1, keepdims=True) - 1e-9) & (below > 0)
    alone = (second.sum(axis=1, keepdims=True) == 1) & (number == 1)
    return first / number, np.where(number == 2, first / 2, second & alone)


@dataclass(frozen=True, eq=False)
class Stacked:
    """The pool with its prior and weights."""

    counting: Features
    prior: Prior
    weight: Floats

    def sums(self, said: Annotations) -> Floats:
        return self.counting.sums(said)

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels; without a rich answer the Bayesian one."""
        k = len(self.prior.labels)
        probs = posterior_mean(self.prior, sums[:, :k])
        if sums.shape[1] > k:
            rich = np.flatnonzero(sums[:, 2 * k] > 0)
            features = self.counting.features(sums[rich], self.prior)
            probs[rich] = logit.predicted(features, self.weight)
        return probs

    def belief(self, index: Index, sums: Floats) -> Belief:
        """Under the same prior, of votes and rich answers; its mean is not this label."""
        return Belief(index, self.counting.evidence(sums, len(index.labels)), self.prior)


def _weights(index: Index, counting: Features, sums: Floats, prior: Prior) -> tuple[Floats, str]:
    """(6,) and where they come from."""
    k = len(index.labels)
    if sums.shape[1] == k:
        return np.array(WITH_VOTES), "there are no rich answers: this is the Bayesian label"
    both = (sums[:, :k].sum(axis=1) > 0) & (sums[:, 2 * k] > 0)
    if both.sum() < ENOUGH:
        used = RICH_ALONE if not both.any() else WITH_VOTES
        why = f"weights as measured on CIFAR-10S: {both.sum()} items have votes and rich answers"
        return np.array(used), f"{why}, too few to learn from"
    few = drawn(index.items, FIT_ITEMS)
    rows = sums[few[both[few]]]
    row, label = np.nonzero(rows[:, :k])
    target = one_hot(label, k)
    left = rows[row]
    times = left[np.arange(len(row)), label]
    left[:, :k] -= target
    weight = logit.fit(counting.features(left, prior), target, times, np.array(WITH_VOTES))
    shown = ", ".join(f"{value:.2f}" for value in weight)
    return weight, f"weights {shown}, learned from the votes of {int(both.sum()):,} items"
