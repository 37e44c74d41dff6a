"""GLAD: able people, difficult items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from softlabel.aggregate import warm
from softlabel.aggregate.base import Map
from softlabel.aggregate.em import Local, added, census, local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import NOTHING, TruthPosterior
from softlabel.aggregate.truth import stacked
from softlabel.aggregate.votes import Votes, ordered
from softlabel.errors import DataError
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Bools, Estimand, Floats, Index, Names, given_away

CENTRE = 1.0  # mean of the priors of ability and log ease; both have variance 1
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class GladPosterior(TruthPosterior):
    """What GLAD knows besides: ``ability[a]`` (0: guesses, below 0: knows and misleads) and
    ``difficulty[m]`` (0: everybody with any ability is right; large: nobody knows)."""

    ability: Floats = field(default_factory=lambda: NOTHING)
    difficulty: Floats = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True)
class Glad:
    """A vote is right with a chance that grows with ability a and falls with difficulty d:

        P(right) = sigmoid(a / d),   and each wrong class has (1 - P(right)) / (K - 1),

    all classes being equally common, with priors a ~ N(1, 1) and log(1 / d) ~ N(1, 1).  EM finds
    the mode of their posterior: each step does an E-step, two Newton steps for the difficulty of
    every item, and for every ability the step to the top of a parabola that lies below the
    objective (Jaakkola & Jordan 2000), all in one pass over the votes.
    """

    n_iter: int = 100
    tol: float = 1e-6

    name: ClassVar[str] = "glad"
    paper: ClassVar[str] = "Whitehill, Ruvolo, Wu, Bergsma & Movellan 2009"
    estimand: ClassVar[Estimand] = "truth"

    def __call__(
        self,
        said: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> GladPosterior:
        check_parameters(self, n_iter=(1, math.inf), tol=(0, math.inf))
        m, _, k = said.index.shape
        votes = ordered(said, self.name, gold)
        answered = np.diff(votes.start) > 0
        ability, ease = self._begun(start, said.index)
        with local(votes, map, shards) as engine:
            asked = engine.sum(census)[1] > 0
            climb = _Climb(engine, ability, ease, asked, answered)
            trace, converged = climb.run(self.n_iter, self.tol * len(votes))
            loglik, right, probs = climb.judged(m, k)
        trace.append(loglik + climb.log_prior())
        return GladPosterior(
            index=said.index,
            probs=given_away(probs),
            count=said.votes_per_item(),
            estimand="truth",
            made_by=repr(self),
            skill=given_away(np.where(asked, right, np.nan)),
            trace=given_away(np.array(trace)),
            objective="log posterior density",
            converged=converged,
            ability=given_away(np.where(asked, climb.ability, np.nan)),
            difficulty=given_away(np.where(answered, np.exp(-climb.ease), np.nan)),
        )

    def _begun(self, start: TruthPosterior | None, index: Index) -> tuple[Floats, Floats]:
        """Abilities and log eases: those of the prior, or of an earlier result."""
        m, a, _ = index.shape
        ability, ease = np.full(a, CENTRE), np.full(m, CENTRE)
        if start is not None:
            warm.check_same_method(self, start)
            if not isinstance(start, GladPosterior) or not len(start.ability):
                raise DataError("the result of glad to start from has no abilities")
            _take(ability, index.annotators, start.ability, start.index.annotators)
            _take(ease, index.items, -np.log(start.difficulty), start.index.items)
        return ability, ease


def _take(values: Floats, names: Names, earlier: Floats, there: Names) -> None:
    """Earlier values, where there are some under the same name."""
    known = dict(zip(there.tolist(), earlier.tolist(), strict=True))
    for code, name in enumerate(names.tolist()):
        value = known.get(name, math.nan)
        if not math.isnan(value):
            values[code] = value


class _Climb:
    """The parameters on their way up; each part of the items has its own eases."""

    def __init__(
        self, engine: Local, ability: Floats, ease: Floats, asked: Bools, answered: Bools
    ) -> None:
        self.engine, self.ability, self.asked, self.answered = engine, ability, asked, answered
        edges = np.cumsum([part.items for part in engine.parts])[:-1]
        self.eases = np.split(ease, edges)

    @property
    def ease(self) -> Floats:
        return np.concatenate(self.eases)

    def run(self, n_iter: int, enough: float) -> tuple[list[float], bool]:
        """The objective before every step, and whether the last one gained less than enough."""
        trace: list[float] = []
        for _ in range(n_iter):
            trace.append(self._step())
            if len(trace) > 1 and abs(trace[-1] - trace[-2]) < enough:
                return trace, True
        return trace, False

    def _step(self) -> float:
        prior = self.log_prior()
        results = list(self._over(_step))
        self.eases = [ease for ease, *_ in results]
        loglik, sums = added(tuple(rest) for _, *rest in results)
        slope, curve = sums.T
        self.ability = self.ability + (slope + CENTRE - self.ability) / (curve + 1)
        return float(loglik[0]) + prior

    def judged(self, m: int, k: int) -> tuple[float, Floats, Floats]:
        """Log-likelihood, the share of votes expected to be right of each person, posterior."""
        results = list(self._over(_judge))
        probs = stacked((rows for rows, *_ in results), m, k)
        loglik, sums = added(tuple(rest) for _, *rest in results)
        return float(loglik[0]), sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1), probs

    def log_prior(self) -> float:
        """Of the abilities of all who were asked and the eases of all items answered."""
        known = np.concatenate([self.ability[self.asked], self.ease[self.answered]])
        return float(-0.5 * ((known - CENTRE) ** 2).sum() - HALF_LOG_2PI * len(known))

    def _over(self, function: Any) -> Any:
        parts = self.engine.parts
        return self.engine.map(function, parts, [self.ability] * len(parts), self.eases)


def _step(part: Votes, ability: Floats, ease: Floats) -> tuple[Any, ...]:
    """New eases; and to be added over parts, log-likelihood and what the abilities learn."""
    from softlabel.aggregate import glad_kernels, kernels  # compiled: only those who pool wait

    sums = np.zeros((len(ability), 2))
    votes = kernels.ballots(part)
    fixed = kernels.fixed(ability), kernels.fixed(ease)
    loglik, better = glad_kernels.step(votes, *fixed, part.labels, CENTRE, sums)
    return better, np.array([loglik]), sums


def _judge(part: Votes, ability: Floats, ease: Floats) -> tuple[Any, ...]:
    """Posterior; and to be added over parts, log-likelihood and votes expected right, of all."""
    from softlabel.aggregate import glad_kernels, kernels

    rows, sums = np.empty((part.items, part.labels)), np.zeros((len(ability), 2))
    votes = kernels.ballots(part)
    fixed = kernels.fixed(ability), kernels.fixed(ease)
    loglik = glad_kernels.posterior(votes, *fixed, rows, sums)
    return rows, np.array([loglik]), sums
