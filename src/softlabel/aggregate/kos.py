"""Karger, Oh and Shah's messages between items and people, for two classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from softlabel.aggregate import weighing
from softlabel.aggregate.base import Map
from softlabel.aggregate.em import Local, added, local
from softlabel.aggregate.gold import Gold
from softlabel.aggregate.results import TruthPosterior
from softlabel.aggregate.truth import stacked
from softlabel.aggregate.votes import Votes, ordered
from softlabel.errors import DataError
from softlabel.registry import check_parameters
from softlabel.tables import Annotations, Estimand, Floats, given_away


@dataclass(frozen=True)
class Kos:
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
    estimand: ClassVar[Estimand] = "truth"
    classes: ClassVar[int] = 2

    def __call__(
        self,
        said: Annotations,
        map: Map | None = None,
        shards: int | None = None,
        *,
        gold: Gold | None = None,
        start: TruthPosterior | None = None,
    ) -> TruthPosterior:
        check_parameters(self, n_iter=(1, math.inf), tol=(0, math.inf))
        m, _, k = said.index.shape
        if k > self.classes:
            names = ", ".join(said.index.labels[:3].tolist())
            raise DataError(
                f"kos decides between two classes and here are {k:,} ({names}, …); "
                "for more there are dawid-skene, one-coin, glad and mace"
            )
        votes = ordered(said, self.name, gold)
        with local(_signed(votes), map, shards) as engine:
            worth = self._worth(start, said)
            messages, worth, converged = self._rounds(engine, worth)
            rows = engine.map(_verdict, engine.parts, messages, [worth] * len(engine.parts))
            probs = stacked(rows, m, 2)[:, :k]
        skill = _agreement(votes, probs)
        return weighing.put_together(self, said, probs, skill=skill, converged=converged)

    def _worth(self, start: TruthPosterior | None, said: Annotations) -> Floats:
        """1 for everybody, or from an earlier result 2 skill - 1: guessing is worth nothing."""
        return 2 * weighing.skills_from(self, start, said.index, 1.0) - 1

    def _rounds(self, engine: Local, worth: Floats) -> tuple[list[Floats], Floats, bool]:
        """Messages to those who voted, part by part, and everybody's worth, after all rounds."""
        messages = [np.zeros(len(part)) for part in engine.parts]
        edges, parts = sum(len(part) for part in engine.parts), len(engine.parts)
        scale, converged = 1.0, False
        for _ in range(self.n_iter):
            results = engine.map(_round, engine.parts, messages, [worth] * parts, [scale] * parts)
            new = list(results)
            heard, power = added(sums for _, *sums in new)
            if power[0] == 0:  # nobody has heard of anybody: what came before decides
                break
            before = worth * scale
            messages, worth = [message for message, *_ in new], heard
            scale = 1 / math.sqrt(power[0] / edges)
            change = np.linalg.norm(worth * scale - before)
            converged = bool(change <= self.tol * np.linalg.norm(before))
            if converged and self.tol > 0:
                break
        return messages, worth, converged


def _signed(votes: Votes) -> Votes:
    """One vote per person and item, whose weight is the sum of their signs: + for the first class,
    - for the second."""
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


def _round(part: Votes, message: Floats, worth: Floats, scale: float) -> tuple[Any, ...]:
    """The new messages, and what is added over all parts: the worth heard, and the power sent."""
    from softlabel.aggregate import kernels, kos_kernels  # compiled: only those who pool wait

    heard = np.zeros_like(worth)
    new, power = kos_kernels.step(
        kernels.ballots(part), kernels.fixed(message), kernels.fixed(worth), scale, heard
    )
    return new, heard, np.array([power])


def _verdict(part: Votes, message: Floats, worth: Floats) -> Floats:
    from softlabel.aggregate import kernels, kos_kernels

    rows = np.empty((part.items, 2))
    kos_kernels.verdict(kernels.ballots(part), kernels.fixed(message), kernels.fixed(worth), rows)
    return rows


def _agreement(votes: Votes, probs: Floats) -> Floats:
    """The share of each person's votes that the verdict agrees with."""
    item = np.repeat(np.arange(votes.items), np.diff(votes.start))
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    right = weight * probs[item, votes.label]
    total = np.bincount(votes.annotator, weight, minlength=votes.annotators)
    hits = np.bincount(votes.annotator, right, minlength=votes.annotators)
    return weighing.asked_only(hits / np.where(total > 0, total, 1), total > 0)
