"""What pools promise that ask which class is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from softlabel.aggregate import Aggregate, TruthPosterior, takes
from softlabel.tables import Annotations, Index, names
from softlabel.testing.examples import close, example_votes
from softlabel.testing.pools import inputs, labels_of

FALL = 1e-9  # of the objective, relative: rounding
AGAIN = 1e-2  # a fit that stopped early may move a little when it goes on
SHORT = 1e-6  # of the objective, relative: where a fit may stop before the other


def a_one_hot_annotation_is_a_vote(aggregate: Aggregate) -> None:
    if aggregate.estimand != "truth":
        return
    votes, _ = example_votes(labels=labels_of(aggregate))
    rows = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    complaint = "sure annotations (one-hot) give another label than votes"
    close(aggregate(rows).probs, aggregate(votes).probs, complaint)


def gold_items_keep_their_class(aggregate: Aggregate) -> None:
    """Even one that fewest people chose; named by code or by name."""
    if not takes(aggregate, "gold"):
        return
    for said in inputs(aggregate):
        asked = np.flatnonzero(said.votes_per_item())[:5]
        known = np.full(len(said.index.items), -1)
        known[asked] = said.counts()[asked].argmin(axis=1)
        soft = _with(aggregate, said, gold=known)
        sure = np.eye(labels_of(aggregate))[known[asked]]
        close(soft.probs[asked], sure, "an item whose class is known has another label")
        named = dict(
            zip(
                said.index.items[asked].tolist(),
                said.index.labels[known[asked]].tolist(),
                strict=True,
            )
        )
        again = _with(aggregate, said, gold=named)
        close(again.probs, soft.probs, "gold by name and gold by code differ")


def the_objective_never_falls(aggregate: Aggregate) -> None:
    for said in inputs(aggregate):
        trace = getattr(aggregate(said), "trace", np.zeros(0))
        assert np.isfinite(trace).all(), f"the objective is not a finite number: {trace}"
        fall = -np.diff(trace).min(initial=0)
        limit = FALL * max(abs(trace).max(initial=0), 1)
        assert fall <= limit, f"the objective falls by {fall:.3g} in a step"


def a_warm_start_stays(aggregate: Aggregate) -> None:
    """From its own converged result a method that iterates (``n_iter``) has nowhere to go."""
    if not takes(aggregate, "start"):
        return
    for said in inputs(aggregate):
        first = aggregate(said)
        assert isinstance(first, TruthPosterior), "a pool that takes start gives a TruthPosterior"
        again: Any = _with(aggregate, said, start=first)
        if first.converged and hasattr(aggregate, "n_iter"):
            complaint = "starting from its own result gives another label"
            close(again.probs, first.probs, complaint, tolerance=AGAIN)
        if len(first.trace) and len(again.trace):
            lost = float(first.trace[-1] - again.trace[-1])
            limit = SHORT * max(abs(float(first.trace[-1])), 1)
            assert lost <= limit, f"starting from its own result loses {lost:.3g} of the objective"


def people_are_described(aggregate: Aggregate) -> None:
    """Somebody who was never asked has no skill; rows of confusion matrices are distributions."""
    votes, _ = example_votes(labels=labels_of(aggregate))
    people = names([*votes.index.annotators.tolist(), "never asked"])
    index = Index(votes.index.items, people, votes.index.labels)
    soft = aggregate(replace(votes, index=index))
    if not isinstance(soft, TruthPosterior) or not len(soft.skill):
        return
    assert soft.skill.shape == (len(people),), "skill has one entry per annotator"
    assert np.isnan(soft.skill[-1]), "somebody who was never asked has a skill"
    assert np.isfinite(soft.skill[:-1]).all(), "somebody who was asked has no skill"
    for name in ("confusion", "prior"):
        rows = getattr(soft, name)
        if rows is not None:
            known = rows[~np.isnan(rows).any(axis=-1)]
            close(known.sum(axis=-1), np.ones(known.shape[:-1]), f"{name} does not sum to 1", 1e-9)
    if soft.confusion is not None and soft.confusion_low is not None:
        high = soft.confusion_high
        assert high is not None, "confusion_low comes with confusion_high"
        inside = (soft.confusion_low <= high) & (soft.confusion_low >= 0) & (high <= 1)
        assert inside[:-1].all(), "limits of a confusion matrix are no limits"


TRUTH_CHECKS: tuple[Callable[[Aggregate], None], ...] = (
    a_one_hot_annotation_is_a_vote,
    gold_items_keep_their_class,
    the_objective_never_falls,
    a_warm_start_stays,
    people_are_described,
)


def _with(aggregate: Any, said: Annotations, **options: Any) -> Any:
    """Called with what only some pools take."""
    return aggregate(said, **options)
