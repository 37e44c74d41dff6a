"""Karger, Oh and Shah's messages between items and people, for two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from softlabel.aggregate.truth.base import (
    Inferred,
    Local,
    Sums,
    TruthMethod,
    TruthPosterior,
    Votes,
    add_sums,
    mask_unasked,
    read_only,
    resume_skill,
    stack_rows,
)
from softlabel.errors import DataError
from softlabel.tables import Floats, Index, given_away


@dataclass(frozen=True)
class Kos(TruthMethod):
    """Belief propagation for two classes, votes being signs A_ia = +1 or -1:

        x_(i to a) = sum over b ≠ a of A_ib y_(b to i),
        y_(a to i) = sum over j ≠ i of A_ja x_(j to a),

    ``n_iter`` rounds from y = 1; the sign of sum_a A_ia y_(a to i) decides, and 0 is an even
    split.  (The paper starts from y drawn from N(1, 1); its mean makes the result one of the votes
    alone.)  Where items were given out at random two rounds say what more would; elsewhere more
    let the busiest people drown all others.  Messages are scaled after each round.  A soft
    annotation has the sign p_1 - p_2, from -1 to 1; several votes of one person on one item are
    added.
    """

    n_iter: int = 2
    tol: float = 1e-6

    name: ClassVar[str] = "kos"
    paper: ClassVar[str] = "Karger, Oh & Shah 2011"
    classes: ClassVar[int] = 2

    def check(self, index: Index) -> None:
        """Refuse more than two classes."""
        k = len(index.labels)
        if k > self.classes:
            names = ", ".join(index.labels[:3].tolist())
            raise DataError(
                f"kos decides between two classes and here are {k:,} ({names}, …); "
                "for more there are dawid-skene, one-coin, glad and mace"
            )

    def infer(self, engine: Local, index: Index, start: TruthPosterior | None) -> Inferred:
        parts = [_sign(part) for part in engine.parts]
        edges = sum(len(part) for part in parts)
        messages = [np.zeros(len(part)) for part in parts]
        # 1 for everybody, or 2 skill - 1 from an earlier result: guessing is worth nothing
        worth = 2 * resume_skill(start, index, 1.0) - 1
        scale, converged = 1.0, False
        for _ in range(self.n_iter):
            broadcast = [worth] * len(parts), [scale] * len(parts)
            results = list(engine.map(_pass_messages, parts, messages, *broadcast))
            heard, power = add_sums(sums for _, *sums in results)
            if power[0] == 0:  # nobody has heard of anybody: what came before decides
                break
            before = worth * scale
            messages, worth = [message for message, *_ in results], heard
            scale = 1 / math.sqrt(power[0] / edges)
            change = np.linalg.norm(worth * scale - before)
            converged = bool(change <= self.tol * np.linalg.norm(before))
            if converged and self.tol > 0:
                break
        rows = list(engine.map(_decide, parts, messages, [worth] * len(parts)))
        hits, total = add_sums(map(_count_agreement, engine.parts, rows))
        skill = mask_unasked(hits / np.where(total > 0, total, 1), total)
        m, _, k = index.shape
        return stack_rows(rows, m, 2)[:, :k], {"skill": skill, "converged": converged}


def _sign(votes: Votes) -> Votes:
    """Return one vote per person and item, weighted by the sum of their signs: + for the first
    class, - for the second."""
    item = np.repeat(np.arange(votes.items), np.diff(votes.start))
    pair, which = np.unique(item * votes.annotators + votes.annotator, return_inverse=True)
    sign = np.where(votes.label == 0, 1.0, -1.0)
    if votes.weight is not None:
        sign *= votes.weight
    item, who = np.divmod(pair, max(votes.annotators, 1))
    signs: Floats = np.asarray(np.bincount(which, sign, minlength=len(pair)), dtype=np.float64)
    start = np.zeros(votes.items + 1, dtype=np.int64)
    np.cumsum(np.bincount(item, minlength=votes.items), out=start[1:])
    return replace(
        votes,
        start=given_away(start),
        annotator=given_away(who.astype(np.int32)),
        label=given_away(np.zeros(len(pair), votes.label.dtype)),
        weight=given_away(signs),
    )


def _pass_messages(part: Votes, message: Floats, worth: Floats, scale: float) -> tuple[Any, ...]:
    """Return the new messages; and to be added over parts, the worth heard and the power sent."""
    from softlabel.aggregate._kernels import skill as kernels  # loads numba

    heard = np.zeros_like(worth)
    state = read_only(message), read_only(worth)
    new, power = kernels.kos_step(part.ballots(), *state, scale, heard)
    return new, heard, np.array([power])


def _decide(part: Votes, message: Floats, worth: Floats) -> Floats:
    from softlabel.aggregate._kernels import skill as kernels

    rows = np.empty((part.items, 2))
    kernels.kos_decide(part.ballots(), read_only(message), read_only(worth), rows)
    return rows


def _count_agreement(part: Votes, rows: Floats) -> Sums:
    """Return how many of each person's votes the decisions agree with, and all."""
    item = np.repeat(np.arange(part.items), np.diff(part.start))
    weight = np.ones(len(part)) if part.weight is None else part.weight
    right = weight * rows[item, part.label]
    counts = (np.bincount(part.annotator, each, part.annotators) for each in (right, weight))
    return tuple(counts)
