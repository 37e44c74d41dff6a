"""From annotations to a truth posterior, by any method that climbs an objective."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Protocol

import numpy as np

from softlabel.aggregate.base import Map
from softlabel.aggregate.em import Fitted, Model, Parameters, Sums, fit, local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.votes import ordered
from softlabel.aggregate.warm import check_same_method
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Floats, Index, given_away

NUMBERS = 2**18  # in a piece of a posterior on its way into the whole: 2 MB


class TruthMethod(Model, Protocol):
    """A strategy that is its own model."""

    name: ClassVar[str]
    limits: ClassVar[dict[str, tuple[float, float]]]
    result: ClassVar[type[TruthPosterior]]

    @property
    def n_iter(self) -> int: ...
    @property
    def tol(self) -> float: ...
    @property
    def objective(self) -> str:
        """What the trace holds."""

    def parts(self, said: Annotations, shards: int | None) -> int | None: ...

    def resume(self, sums: Sums, start: TruthPosterior, index: Index, /) -> Parameters:
        """The parameters of an earlier result, and for new people those of ``begin``'s sums."""

    def described(self, fitted: Fitted, /) -> dict[str, Any]:
        """Skills, confusions and prior, as fields of the result."""


class Climber:
    """A truth method that is its own model: a call looks at the parameters and climbs."""

    limits: ClassVar[dict[str, tuple[float, float]]]  # of its parameters, beside these two
    result: ClassVar[type[TruthPosterior]] = TruthPosterior

    def __call__(
        self: TruthMethod,
        said: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> TruthPosterior:
        check_parameters(self, **self.limits, n_iter=(1, math.inf), tol=(0, math.inf))
        return climb(self, said, map, self.parts(said, shards), gold, start)

    def parts(self, said: Annotations, shards: int | None) -> int | None:
        """Into how many parts the votes are cut, if it is not for the caller to say."""
        return shards


def climb(
    method: TruthMethod,
    said: Annotations,
    map: Map | None,
    shards: int | None,
    gold: Gold | None,
    start: TruthPosterior | None,
) -> TruthPosterior:
    """Fit the method in this process and put its result together."""
    votes = ordered(said, method.name, gold)
    m, _, k = said.index.shape
    with local(votes, map, shards) as engine:
        begun = None
        if start is not None:
            check_same_method(method, start)
            begun = method.resume(engine.sum(method.begin), start, said.index)
        fitted = fit(method, engine, n_iter=method.n_iter, tol=method.tol, start=begun)
        pieces = engine.finer(m * k // NUMBERS)
        probs = stacked(pieces.each(method.posterior, fitted.parameters), m, k)
    return method.result(
        index=said.index,
        probs=given_away(probs),
        count=np.diff(votes.start) if said.hard else said.votes_per_item(),
        estimand="truth",
        made_by=repr(method),
        trace=given_away(fitted.trace),
        objective=method.objective,
        converged=fitted.converged,
        **method.described(fitted),
    )


def stacked(parts: Iterable[Floats], m: int, k: int) -> Floats:
    """The rows of all parts, each let go as soon as it is copied; one part is not copied."""
    rows = np.empty((m, k))
    done = 0
    for part in parts:
        if len(part) == m:
            return part
        rows[done : done + len(part)] = part
        done += len(part)
    return rows
