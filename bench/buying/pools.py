"""Every label that a budget can make, and its distance to people who were held out.

Two kinds of pools compete.  Some use nothing but what the budget bought for all items.  Others are
fitted to the held-out people of *other* items: a prior from their votes, weights of features.  So
that the choice among pools never sees the items it is made for, each is fitted without every pair
of folds: what is fitted without folds f and g is tried on g when a pool is chosen for f.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from buying.answers import AS_PUBLISHED, Budget, Draw

from softlabel import Annotations, aggregate
from softlabel.allocate import apply_floor, part_of
from softlabel.metrics import cross_entropy
from softlabel.sampling import votes_from_counts
from softlabel.tables import Bools, Floats, Ints

FLOORS = (0.0001, 0.0003, 0.001, 0.003, 0.01)
ADDED = (0.01, 0.03, 0.1, 0.3)  # to the count of each class
POWERS = (1.0, 1.3, 1.6)  # of log pools and of sharpened means
BELIEVED = (1.0, 2.0, 3.0, 5.0)  # votes that a rich answer counts in the prior's formula
FOLDS = 5
Labels = dict[str, Floats]


@dataclass(frozen=True, eq=False)
class Scored:
    """Distances of one pool's labels: ``values`` (floors, m) to judge it, ``rest`` (floors, folds)
    to choose it: the mean over the items outside a fold, made without that fold."""

    values: Floats
    rest: Floats


def measure(draw: Draw, label: Floats, items: Bools | None = None) -> Floats:
    """Return KL (floors, items) of the people held out to labels raised to each floor."""
    held, entropies = draw.held, draw.entropies
    if items is not None:
        held, entropies = held[items], entropies[items]
    each = [cross_entropy(held, apply_floor(label, floor)) - entropies for floor in FLOORS]
    return np.stack(each)


def score(draw: Draw, budgets: Sequence[Budget], fold: Ints) -> dict[Budget, dict[str, Scored]]:
    """Score every pool with every budget."""
    found: dict[Budget, dict[str, Scored]] = {}
    for budget in budgets:
        found[budget] = {}
        for name, label in pool_alone(draw, budget).items():
            values = measure(draw, label)
            rest = [values[:, fold != one].mean(axis=1) for one in range(FOLDS)]
            found[budget][name] = Scored(values, np.stack(rest, axis=1))
    for budget, scores in score_fitted(draw, budgets, fold).items():
        found[budget] |= scores
    return found


def score_fitted(
    draw: Draw, budgets: Sequence[Budget], fold: Ints
) -> dict[Budget, dict[str, Scored]]:
    """Score the pools that are fitted to other items."""
    m = len(fold)
    found: dict[Budget, dict[str, Scored]] = {budget: {} for budget in budgets}

    def place(budget: Budget, name: str) -> Scored:
        empty = Scored(np.zeros((len(FLOORS), m)), np.zeros((len(FLOORS), FOLDS)))
        return found[budget].setdefault(name, empty)

    for out in [*((one,) for one in range(FOLDS)), *combinations(range(FOLDS), 2)]:
        fitted = Fitted.of(draw, ~np.isin(fold, out))
        for budget in budgets:
            for name, label in fitted.pool(budget):
                values, scored = measure(draw, label), place(budget, name)
                if len(out) == 1:
                    scored.values[:, fold == out[0]] = values[:, fold == out[0]]
                    continue
                for chosen_for, tried_on in (out, out[::-1]):
                    total = values[:, fold == tried_on].sum(axis=1)
                    scored.rest[:, chosen_for] += total / (fold != chosen_for).sum()
    return found


# ── pools that use only what was bought ──────────────────────────────────────────────────────


def pool_alone(draw: Draw, budget: Budget) -> Labels:
    """Make labels from what the budget bought and nothing else."""
    if budget.side == "rich":
        return pool_rich(draw, budget.rich)
    if budget.side == "both":
        return pool_both(draw, budget)
    counts = draw.first_choices(budget.rich) if budget.first else draw.votes(budget.votes)
    return pool_votes(draw, counts)


def pool_votes(draw: Draw, counts: Floats) -> Labels:
    """Pool votes (m, k)."""
    labels = {"shares": aggregate.shares(counts)}
    labels |= {f"shares, {more:g} added": aggregate.shares(counts + more) for more in ADDED}
    labels |= {f"softmax, tau {tau:g}": aggregate.Softmax(tau).rows(counts) for tau in (0.5, 1, 2)}
    if counts.sum(axis=1).min() >= 2:  # one vote per item cannot show how much items differ
        for pool in (aggregate.Dirichlet(), aggregate.DirichletMixture()):
            prior = pool.fit(draw.made.index, counts)
            labels[pool.name] = aggregate.posterior_mean(prior, counts)
    return labels


def pool_rich(draw: Draw, number: int) -> Labels:
    """Pool rich answers."""
    labels = {}
    for construct in draw.answers.rich:
        each = draw.rich(number, construct)
        labels[f"mean, {construct}"] = aggregate.shares(each.counts())
    each, mean = draw.rich(number), labels[f"mean, {AS_PUBLISHED}"]
    for floor, power in product((0.003, 0.01, 0.03, 0.1), POWERS):
        pool = aggregate.LogPool(floor, power)
        labels[f"log pool, floor {floor:g}, power {power:g}"] = pool.rows(pool.sums(each))
    for floor, power in product((0.02, 0.05, 0.1), POWERS):
        sharpened = aggregate.simple.Sharpened(floor, power, None)
        labels[f"mean, floor {floor:g}, power {power:g}"] = sharpened.labels(mean)
    labels["extremised"] = aggregate.Extremised()(each).probs
    first = draw.first_choices(number)
    for more in ADDED:
        labels[f"first choices, {more:g} added"] = aggregate.shares(first + more)
    return labels


def pool_both(draw: Draw, budget: Budget) -> Labels:
    """Pool votes and rich answers together."""
    n, each = draw.votes(budget.votes), draw.rich(budget.rich)
    votes = votes_from_counts(draw.made.index, n.astype(np.int64))
    every = n + each.counts()
    rich = Annotations(votes.index, each.item, np.full(len(each), -1), probs=each.soft())
    labels = {"mean of all": aggregate.shares(every)}
    labels |= {f"mean of all, {more:g} added": aggregate.shares(every + more) for more in ADDED}
    for pool in (aggregate.Stack(), aggregate.DirichletMixture()):
        labels[pool.name] = pool(votes, rich=rich).probs
    return labels


# ── pools that are fitted to other items ─────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Fitted:
    """Pools fitted to the ``rest`` of the items: to their votes, and to the people held out."""

    draw: Draw
    rest: Bools
    mixture: aggregate.Prior
    atoms: aggregate.Prior

    @classmethod
    def of(cls, draw: Draw, rest: Bools) -> Fitted:
        index, votes = part_of(draw.made.index, rest), draw.build[rest]
        pools = aggregate.DirichletMixture(), aggregate.Atoms()
        return cls(draw, rest, *(pool.fit(index, votes) for pool in pools))

    def pool(self, budget: Budget) -> Iterator[tuple[str, Floats]]:
        """Yield the labels (m, k) of all items, by name."""
        k = self.draw.held.shape[1]
        n = self.draw.votes(budget.votes) if budget.votes else np.zeros(self.draw.held.shape)
        if not budget.rich or budget.first:
            n = self.draw.first_choices(budget.rich) if budget.first else n
            for name, prior in (("mixture", self.mixture), ("atoms", self.atoms)):
                yield f"{name} of other items", aggregate.posterior_mean(prior, n)
            label = aggregate.posterior_mean(self.mixture, n)
            for floor, power in product((0.01, 0.05, 0.1), (0.6, 0.8, 1.0)):
                sharp = aggregate.simple.Sharpened(floor, power, None).labels(label)
                yield f"mixture of other items, floor {floor:g}, power {power:g}", sharp
            return
        sums = aggregate.Features(True).sums(self.draw.rich(budget.rich))
        sums[:, :k] = n
        rich = sums[:, k : 2 * k]
        for weight in BELIEVED:
            label = aggregate.posterior_mean(self.mixture, n + weight * rich)
            yield f"mixture of other items, weight {weight:g}", label
        yield "stack fitted to other items", self._stack(sums)

    def _stack(self, sums: Floats) -> Floats:
        features = aggregate.Features(True).features(sums, self.mixture)
        target = self.draw.held[self.rest]
        start = np.array(aggregate.WITH_VOTES)
        weight = aggregate.fit_logit(features[self.rest], target, np.ones(len(target)), start)
        return aggregate.predict_logit(features, weight)
