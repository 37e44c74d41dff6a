"""What the methods share that weigh votes by trust in people: wawa, zero-based-skill, catd."""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel.aggregate import warm
from softlabel.aggregate.em import Engine, Local, Sums
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import NUMBERS, stacked
from softlabel.aggregate.votes import Votes
from softlabel.errors import DataError
from softlabel.tables import Annotations, Bools, Floats, Index, given_away


def agreement(part: Votes, trust: Floats) -> Sums:
    """(a, 2) each person's votes for the winner of the weighted vote, and all their votes.

    Winners that are level count in even parts: which class stands first decides nothing.
    """
    from softlabel.aggregate import kernels, weighing_kernels  # compiled: only those who pool wait

    sums = np.zeros((part.annotators, 2))
    weighing_kernels.agreement(kernels.ballots(part), kernels.fixed(trust), part.labels, sums)
    return (sums,)


def shares(part: Votes, trust: Floats) -> Floats:
    """(m, k) shares of the weighted vote."""
    from softlabel.aggregate import kernels, weighing_kernels

    rows = np.empty((part.items, part.labels))
    weighing_kernels.shares(kernels.ballots(part), kernels.fixed(trust), rows)
    return rows


def agreed(engine: Engine, trust: Floats) -> tuple[Floats, Floats]:
    """The share of each person's votes that agrees with the weighted vote, and their votes."""
    right, said = engine.sum(agreement, trust)[0].T
    return right / np.where(said > 0, said, 1), said


def skills_from(method: Any, start: TruthPosterior | None, index: Index, otherwise: Any) -> Floats:
    """(a,) what an earlier result says of those who are in it, and ``otherwise`` of the others."""
    skill = np.array(np.broadcast_to(otherwise, len(index.annotators)), dtype=np.float64)
    if start is None:
        return skill
    warm.check_same_method(method, start)
    if len(start.skill) != len(start.index.annotators):
        raise DataError("the result to start from says nothing of the annotators' skills")
    here, there = warm.people(start, index)
    earlier = start.skill[there]
    skill[here] = np.where(np.isnan(earlier), skill[here], earlier)
    return skill


def rows_of(engine: Local, said: Annotations, function: Any, numbers: Floats) -> Floats:
    """(m, k) rows that ``function(part, numbers)`` makes of every part, in pieces of a few MB."""
    m, _, k = said.index.shape
    return stacked(engine.finer(m * k // NUMBERS).each(function, numbers), m, k)


def asked_only(values: Floats, asked: Bools) -> Floats:
    """NaN for people who were never asked."""
    return given_away(np.where(asked, values, np.nan))


def put_together(method: Any, said: Annotations, probs: Floats, **learned: Any) -> TruthPosterior:
    """The result of a method: its rows, and whatever else it learned."""
    return TruthPosterior(
        index=said.index,
        probs=given_away(probs),
        count=said.votes_per_item(),
        estimand="truth",
        made_by=repr(method),
        **learned,
    )
