"""Votes and rich answers together, weighted by what predicts votes.

The weights are those of a conditional logit, fitted by Newton's method.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import logsumexp

from softlabel.aggregate.base import sum_by_item
from softlabel.aggregate.split.base import BayesPool, Belief, Counting, posterior_mean
from softlabel.aggregate.split.mixtures import Prior, fit_by_class, fit_dirichlet, sample_items
from softlabel.tables import Annotations, Floats, Index, given_away

FLOOR = 0.01  # added before logarithms of chances
ENOUGH = 200  # items with votes from which weights, and a prior by class, are learned
FIT_ITEMS = 20_000
# As fitted on CIFAR-10S to votes of CIFAR-10H, for data that have too few votes to learn them:
# six answers and no votes; one answer beside five votes.
RICH_ALONE = (0.41, 0.66, 2.03, 1.35, -0.59, -0.40)
WITH_VOTES = (0.97, 0.0, 0.48, 0.30, 0.16, 0.0)
RIDGE, STEPS, NEAR = 1e-4, 100, 1e-7  # of Newton's method: penalty, most steps, when to stop


def predict_logit(features: Floats, weight: Floats) -> Floats:
    """(l, k) q_k proportional to exp(b . f_k), for features (l, k, f) and weights b (f,)."""
    score = features @ weight
    return np.asarray(np.exp(score - logsumexp(score, axis=1, keepdims=True)))


def fit_logit(features: Floats, target: Floats, times: Floats, start: Floats) -> Floats:
    """(f,) the weights b with the least mean cross-entropy to ``target`` (l, k), each row counting
    ``times`` (l,), plus 1e-4 |b|^2, by Newton's method.  It is convex: there is one answer."""
    share = times / times.sum()

    def objective(weight: Floats) -> float:
        score = features @ weight
        loss = logsumexp(score, axis=1) - (target * score).sum(axis=1)
        return float(share @ loss + RIDGE * weight @ weight)

    weight, size = np.array(start, dtype=np.float64), len(start)
    value = objective(weight)
    for _ in range(STEPS):
        q = predict_logit(features, weight)
        centred = features - np.einsum("lk,lkf->lf", q, features)[:, None, :]
        gradient = np.einsum("l,lk,lkf->f", share, q - target, features) + 2 * RIDGE * weight
        heavy = (share[:, None] * q)[:, :, None] * centred
        hessian = heavy.reshape(-1, size).T @ centred.reshape(-1, size) + 2 * RIDGE * np.eye(size)
        step = np.linalg.solve(hessian, gradient)
        if abs(step).max() < NEAR:  # what is left after it is of the order of its square
            return weight - step
        scale, tried = 1.0, weight - step
        while (now := objective(tried)) > value and scale > NEAR:
            scale /= 2
            tried = weight - scale * step
        weight, value = tried, now
    return weight


@dataclass(frozen=True)
class Features(Counting):
    """Counting, with four more sums (k each) over rich answers: named first, named second, ruled
    out, and log(s + .01)."""

    def sums(self, annotations: Annotations) -> Floats:
        """(m, k) of votes, (m, 6k + 1) of rich answers."""
        plain = super().sums(annotations)
        if plain.shape[1] == len(annotations.index.labels):
            return plain
        soft = annotations.soft()
        first, second = places(soft)
        each = np.concatenate([first, second, soft == 0, np.log(soft + FLOOR)], axis=1)
        return np.concatenate([plain, sum_by_item(annotations, each)], axis=1)

    def features(self, sums: Floats, prior: Prior) -> Floats:
        """(m, k, 6) of items that have rich answers."""
        k = len(prior.labels)
        answers = sums[:, [2 * k]]
        rich = sums[:, k : 2 * k]
        bayes = np.log(posterior_mean(prior, sums[:, :k] + rich))
        means = np.split(sums[:, 2 * k + 1 :] / answers, 4, axis=1)
        return np.stack([bayes, np.log(rich / answers + FLOOR), *means], axis=2)


def places(soft: Floats) -> tuple[Floats, Floats]:
    """(n, k) the class named first and (n, k) second, as the label shows it.

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
class FittedStack:
    """The pool with its prior and weights."""

    counting: Features
    prior: Prior
    weight: Floats

    def sums(self, annotations: Annotations) -> Floats:
        return self.counting.sums(annotations)

    def rows(self, sums: Floats) -> Floats:
        """(m, k) labels; without a rich answer the Bayesian one."""
        k = len(self.prior.labels)
        probs = posterior_mean(self.prior, sums[:, :k])
        if sums.shape[1] > k:
            rich = np.flatnonzero(sums[:, 2 * k] > 0)
            features = self.counting.features(sums[rich], self.prior)
            probs[rich] = predict_logit(features, self.weight)
        return probs

    def belief(self, index: Index, sums: Floats) -> Belief:
        """Return the belief under the same prior, from all answers; its mean is not this label."""
        return Belief(index, self.counting.evidence(sums, len(index.labels)), self.prior)


@dataclass(frozen=True)
class Stack(BayesPool):
    """q proportional to exp(b . f): six features of each class, weights b fitted to votes.

    f = log of the Bayesian label (answers counting one vote each), log(lin + .01), the share of
    answers naming the class first, naming it second, ruling it out, and the mean of log(s + .01).
    Votes come first, rich answers as ``rich``; a single table of soft annotations is rich answers
    without votes.  Weights are learned where at least 200 items have both: each vote is predicted
    without itself.  With fewer those measured on CIFAR-10S are used.  Items without a rich answer
    keep the Bayesian label.
    """

    levels: Literal["auto", 1, 3] = "auto"

    name: ClassVar[str] = "stack"
    paper: ClassVar[str] = "Wolpert 1992"

    def counting(self, rich: bool) -> Features:
        return Features(rich)

    def fit_sums(
        self, index: Index, counting: Features, sums: Floats, prior: Prior | None
    ) -> tuple[FittedStack, str]:
        if prior is not None:
            prior = prior.among(index.labels)
        else:
            evidence = counting.prior_evidence(sums, len(index.labels))
            if (evidence.sum(axis=1) > 0).sum() < ENOUGH:
                prior = fit_dirichlet(index, evidence)
            else:
                levels = None if self.levels == "auto" else self.levels
                prior = fit_by_class(index, evidence, levels, 50)
        weight, why = fit_weights(index, counting, sums, prior)
        return FittedStack(counting, prior, given_away(weight)), why


def fit_weights(index: Index, counting: Features, sums: Floats, prior: Prior) -> tuple[Floats, str]:
    """Return the weights (6,) and where they come from."""
    k = len(index.labels)
    if sums.shape[1] == k:
        return np.array(WITH_VOTES), "there are no rich answers: this is the Bayesian label"
    both = (sums[:, :k].sum(axis=1) > 0) & (sums[:, 2 * k] > 0)
    if both.sum() < ENOUGH:
        used = RICH_ALONE if not both.any() else WITH_VOTES
        why = f"weights as measured on CIFAR-10S: {both.sum()} items have votes and rich answers"
        return np.array(used), f"{why}, too few to learn from"
    few = sample_items(index.items, FIT_ITEMS)
    rows = sums[few[both[few]]]
    row, label = np.nonzero(rows[:, :k])
    left, target = rows[row], np.zeros((len(label), k))
    target[np.arange(len(label)), label] = 1
    times = left[np.arange(len(row)), label]
    left[:, :k] -= target
    weight = fit_logit(counting.features(left, prior), target, times, np.array(WITH_VOTES))
    shown = ", ".join(f"{value:.2f}" for value in weight)
    return weight, f"weights {shown}, learned from the votes of {int(both.sum()):,} items"
