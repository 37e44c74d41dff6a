"""What models said, turned into what people will say: one calibrated prediction per item.

A multinomial logit predicts people's votes from the answers of all models.  Two kinds of features
say what is known of such answers beforehand.  A model that names a class raises that class: one
weight per model, for all classes alike.  And a model may mean something else by a class than
people do: a weight for each model, class that it names and class that people vote for, held near 0
by a penalty.  Of ordered classes, neighbours share their weights.  Each item is predicted by a fit
to the votes of *other* items, so that its own votes are not counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from softlabel.errors import DataError
from softlabel.randomness import name_keys, uniform
from softlabel.tables import Annotations, Floats, Index, Ints

# Chosen by leaving out one data set at a time (bench/judged.py, docs/pools/judged.md).
NEAR = 0.7  # how far a step of an ordered scale shares the weights of the next one
MATCH_PENALTY = 3.0  # on the weight of a model for the class that it names
PENALTIES = (100.0, 30.0, 10.0, 3.0, 1.0)  # on the others; chosen by the votes of other items
INTERCEPT_PENALTY = 2e-3
SURE = 0.02  # answers of models are compared on a logarithmic scale above this chance
FIT_ITEMS = 20_000  # with votes: a few hundred weights need no more
MOST_WEIGHTS = 50_000  # beyond, a model only raises the class that it names
STEPS, PRECISION = 300, 1e-7  # of L-BFGS
LEAST_GAIN = 2.0  # nats of all votes, below which predictions are no better than none
LEAST = 1e-4  # chance of a class: nothing that models say rules it out


@dataclass(frozen=True, eq=False)
class Calibrated:
    """``probs`` (m, k) predict the votes of each item.  ``gains`` (m,) is by how much the log
    likelihood of its votes is above that of the overall shares, in nats; ``penalty`` was chosen."""

    probs: Floats
    gains: Floats
    penalty: float

    @property
    def useful(self) -> bool:
        """Whether the predictions are better than none beyond chance: by two standard errors."""
        gained = float(self.gains.sum())
        error = float(self.gains.std()) * float(np.sqrt(len(self.gains)))
        return gained > max(LEAST_GAIN, 2 * error)

    @property
    def explained(self) -> float:
        """The part of the variance of votes that the predictions explain, 0 to 1."""
        mean = self.probs.mean(axis=0)
        return float(self.probs.var(axis=0).sum() / max((mean * (1 - mean)).sum(), 1e-12))


def collect_answers(judges: Annotations, index: Index) -> Floats:
    """(m, J, k) what each model said of each item, as chances; a row of 0 where it said nothing.

    Several answers of a model to an item are averaged.
    """
    for name in ("items", "labels"):
        if getattr(judges.index, name).tolist() != getattr(index, name).tolist():
            raise DataError(f"people and models must have the same {name}, in the same order")
    if judges.anonymous:
        raise DataError("judges: an answer without the name of its model; every row needs one")
    m, models, k = judges.index.shape
    cell = judges.item.astype(np.int64) * models + judges.annotator
    times = np.bincount(cell, minlength=m * models)
    total = np.zeros((m * models, k))
    np.add.at(total, cell, judges.soft())
    said = total / np.maximum(times, 1)[:, None]
    answered = times.reshape(m, models).any(axis=0)  # a model without answers adds nothing
    return np.asarray(said.reshape(m, models, k)[:, answered])


def calibrate(said: Floats, votes: Floats, index: Index, folds: int) -> Calibrated:
    """Predict the votes (m, k) of each item from what models ``said`` of it (m, J, k), by fits to
    the votes of the items of other folds."""
    fold = _assign_folds(index, folds)
    design = Design.of(said, index.ordered)
    some = np.flatnonzero(votes.sum(axis=1) > 0)
    if len(some) > FIT_ITEMS:
        key = uniform(1, name_keys(index.items[some]))
        some = np.sort(some[np.argpartition(key, FIT_ITEMS)[:FIT_ITEMS]])
    best: tuple[float, Floats, list[Floats]] | None = None
    weights = [design.start(votes[some[fold[some] != one]]) for one in range(folds)]
    for penalty in PENALTIES:
        gains = np.zeros(len(votes))
        for one in range(folds):
            fit, test = some[fold[some] != one], some[fold[some] == one]
            weights[one] = design.fit(fit, votes[fit], penalty, weights[one])
            usual = _shares(votes[fit])
            predicted = design.predict(test, weights[one])
            gains[test] = (votes[test] * np.log(predicted / usual)).sum(axis=1)
        if best is None or gains.sum() > best[1].sum():
            best = penalty, gains, list(weights)
        if not design.wide.size:
            break  # the penalty is on weights that there are not
    assert best is not None, "some penalty is tried"
    probs = np.zeros_like(votes)
    for one in range(folds):
        test = np.flatnonzero(fold == one)
        probs[test] = design.predict(test, best[2][one])
    return Calibrated(probs, best[1][some], best[0])


def _assign_folds(index: Index, folds: int) -> Ints:
    """(m,) the fold of each item, by its name: equal folds, the same in any order."""
    rank = np.argsort(np.argsort(uniform(0, name_keys(index.items)), kind="stable"))
    return np.asarray(rank % folds)


def _shares(votes: Floats) -> Floats:
    """(k,) overall shares, half a vote added to each class."""
    total = votes.sum(axis=0) + 0.5
    return np.asarray(total / total.sum())


@dataclass(frozen=True, eq=False)
class Design:
    """The features of all items: ``match`` (m, k, J), for each class of each model; ``wide``
    (m, J * k), of each model and class that it names, or (m, 0); ``mix`` (k, k), by which the
    weights of ``wide`` for neighbouring classes are shared."""

    match: Floats
    wide: Floats
    mix: Floats

    @classmethod
    def of(cls, said: Floats, ordered: bool) -> Design:
        """Make the features of what models said (m, J, k)."""
        m, models, k = said.shape
        steps = np.arange(k, dtype=np.float64)
        apart = abs(np.subtract.outer(steps, steps))
        near: Floats = np.asarray(NEAR**apart if ordered else apart == 0, dtype=np.float64)
        # 0 and 1 stay as they are; between them chances count by their logarithm
        scaled = np.log1p(said / SURE) / np.log1p(1 / SURE)
        match = scaled @ near
        match = np.ascontiguousarray((match - match.mean(axis=2, keepdims=True)).swapaxes(1, 2))
        root: Floats = np.asarray(np.linalg.cholesky(near), dtype=np.float64)
        wide = (scaled @ root).reshape(m, models * k)
        return cls(match, wide if models * k * k <= MOST_WEIGHTS else wide[:, :0], root)

    def start(self, votes: Floats) -> Floats:
        """Return weights that predict the overall shares of these votes."""
        size = self.match.shape[2] + self.wide.shape[1] * len(self.mix)
        return np.concatenate([np.log(_shares(votes)), np.zeros(size)])

    def predict(self, items: Ints, weights: Floats) -> Floats:
        """(b, k) the predictions for some items."""
        scores = self._scores(self.match[items], self.wide[items], *self._split(weights))
        probs = np.maximum(softmax(scores, axis=1), LEAST)
        return np.asarray(probs / probs.sum(axis=1, keepdims=True))

    def fit(self, items: Ints, votes: Floats, penalty: float, start: Floats) -> Floats:
        """Return the weights with the greatest penalised likelihood of the votes (b, k)."""
        from scipy.optimize import minimize  # takes a tenth of a second to load

        match, wide = self.match[items], self.wide[items]
        flat = match.reshape(-1, match.shape[2])  # (b * k, J)
        total = votes.sum(axis=1, keepdims=True)

        def objective(weights: Floats) -> tuple[float, Floats]:
            base, each, full = self._split(weights)
            scores = self._scores(match, wide, base, each, full)
            most = scores.max(axis=1, keepdims=True)
            powers = np.exp(scores - most)
            sums = powers.sum(axis=1, keepdims=True)
            loss = float((total * (most + np.log(sums))).sum() - (votes * scores).sum())
            loss += INTERCEPT_PENALTY / 2 * float(base @ base)
            loss += MATCH_PENALTY / 2 * float(each @ each) + penalty / 2 * float((full**2).sum())
            away = total / sums * powers - votes
            slope = (
                away.sum(axis=0) + INTERCEPT_PENALTY * base,
                flat.T @ away.ravel() + MATCH_PENALTY * each,
                ((wide.T @ away) @ self.mix + penalty * full).ravel(),
            )
            return loss, np.concatenate(slope)

        options: Any = {"maxiter": STEPS, "ftol": PRECISION}
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(found.x)

    def _split(self, weights: Floats) -> tuple[Floats, Floats, Floats]:
        """Return intercepts (k,), weights of ``match`` (J,) and of ``wide`` (J * k, k)."""
        k, models = len(self.mix), self.match.shape[2]
        return weights[:k], weights[k : k + models], weights[k + models :].reshape(-1, k)

    def _scores(
        self, match: Floats, wide: Floats, base: Floats, each: Floats, full: Floats
    ) -> Floats:
        """(b, k) logits."""
        scores = base + match @ each
        return np.asarray(scores + wide @ (full @ self.mix.T)) if wide.size else scores
