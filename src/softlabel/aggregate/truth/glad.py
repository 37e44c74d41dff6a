"""GLAD: able people, difficult items."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from softlabel.aggregate.truth.base import (
    NOTHING,
    Inferred,
    Local,
    TruthMethod,
    TruthPosterior,
    Votes,
    add_sums,
    count_votes,
    mask_unasked,
    read_only,
    stack_rows,
)
from softlabel.errors import DataError
from softlabel.tables import Floats, Index, Names, given_away

CENTRE = 1.0  # mean of the priors of ability and log ease; both have variance 1
HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class GladPosterior(TruthPosterior):
    """What GLAD knows besides: ``ability[a]`` (0: guesses, below 0: knows and misleads) and
    ``difficulty[m]`` (0: everybody with any ability is right; large: nobody knows)."""

    ability: Floats = field(default_factory=lambda: NOTHING)
    difficulty: Floats = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True)
class Glad(TruthMethod):
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
    result: ClassVar[type[TruthPosterior]] = GladPosterior

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        m, a, k = index.shape
        ability, ease = np.full(a, CENTRE), np.full(m, CENTRE)  # ease: log(1 / difficulty)
        if start is not None:
            if not isinstance(start, GladPosterior) or not len(start.ability):
                raise DataError("the result of glad to start from has no abilities")
            _copy_known(ability, index.annotators, start.ability, start.index.annotators)
            _copy_known(ease, index.items, -np.log(start.difficulty), start.index.items)
        (total,), given = engine.sum(count_votes)
        asked = given > 0
        answered = np.concatenate([np.diff(part.start) > 0 for part in engine.parts])
        eases = np.split(ease, np.cumsum([part.items for part in engine.parts])[:-1])

        def over_parts(function: Any) -> tuple[list[Any], float, Floats]:
            """Return what each part keeps, the log-likelihood, and the sums over all parts."""
            everybody = [ability] * len(engine.parts)
            results = list(engine.map(function, engine.parts, everybody, eases))
            loglik, sums = add_sums(tuple(rest) for _, *rest in results)
            return [own for own, *_ in results], float(loglik[0]), sums

        def log_prior() -> float:
            known = np.concatenate([ability[asked], np.concatenate(eases)[answered]])
            return float(-0.5 * ((known - CENTRE) ** 2).sum() - HALF_LOG_2PI * len(known))

        trace: list[float] = []
        converged = False
        for _ in range(self.n_iter):
            before = log_prior()
            eases, loglik, sums = over_parts(_step)
            slope, curve = sums.T
            ability = ability + (slope + CENTRE - ability) / (curve + 1)
            trace.append(loglik + before)
            converged = len(trace) > 1 and bool(abs(trace[-1] - trace[-2]) < self.tol * total)
            if converged:
                break
        rows, loglik, sums = over_parts(_infer)
        trace.append(loglik + log_prior())
        right = sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1)
        difficulty = np.where(answered, np.exp(-np.concatenate(eases)), np.nan)
        return stack_rows(rows, m, k), {
            "skill": mask_unasked(right, asked),
            "trace": given_away(np.array(trace)),
            "objective": "log posterior density",
            "converged": converged,
            "ability": mask_unasked(ability, asked),
            "difficulty": given_away(difficulty),
        }


def _copy_known(values: Floats, names: Names, earlier: Floats, earlier_names: Names) -> None:
    """Overwrite values by earlier ones under the same name."""
    known = dict(zip(earlier_names.tolist(), earlier.tolist(), strict=True))
    for code, name in enumerate(names.tolist()):
        value = known.get(name, math.nan)
        if not math.isnan(value):
            values[code] = value


def _step(part: Votes, ability: Floats, ease: Floats) -> tuple[Any, ...]:
    """Return new eases; and to be added over parts, log-likelihood and what abilities learn."""
    from softlabel.aggregate._kernels import skill as kernels  # loads numba

    sums = np.zeros((len(ability), 2))
    known = read_only(ability), read_only(ease)
    loglik, better = kernels.glad_step(part.ballots(), *known, part.labels, CENTRE, sums)
    return better, np.array([loglik]), sums


def _infer(part: Votes, ability: Floats, ease: Floats) -> tuple[Any, ...]:
    """Return posteriors; and to be added over parts, log-likelihood and votes right, and all."""
    from softlabel.aggregate._kernels import skill as kernels

    rows, sums = np.empty((part.items, part.labels)), np.zeros((len(ability), 2))
    known = read_only(ability), read_only(ease)
    loglik = kernels.glad_infer(part.ballots(), *known, rows, sums)
    return rows, np.array([loglik]), sums
