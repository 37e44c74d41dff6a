"""Small tables with every odd case in them, and how close two results must be."""

from dataclasses import replace
from typing import Any

import numpy as np

from softlabel.tables import AXES, Annotations, Floats, Index, Ints, Statements, names

EXACT = 1e-12


def example_statements(seed: int = 0, items: int = 12, annotators: int = 5) -> Statements:
    """Return random answers of every odd kind: no alternative, no number, contradictions, sums
    over and under 100, everything ruled out, the same class twice."""
    rng = np.random.default_rng(seed)
    index = _index(items, annotators, 4)
    item = np.repeat(np.arange(items), annotators)
    n = len(item)
    named = rng.integers(0, 4, (n, 2))
    named[rng.random(n) < 0.3, 1] = -1
    percent = rng.choice([0.0, 5.0, 20.0, 35.0, 50.0, 80.0, 100.0], (n, 2))
    percent[rng.random((n, 2)) < 0.1] = np.nan
    percent[named < 0] = np.nan
    possible = rng.random((n, 4)) < 0.5
    possible[rng.random(n) < 0.1] = False
    annotator = np.tile(np.arange(annotators), items)
    return Statements(index, item, annotator, named, percent, possible)


def example_votes(
    seed: int = 0,
    items: int = 40,
    annotators: int = 7,
    right: float | Floats = 0.7,
    labels: int = 3,
) -> tuple[Annotations, Ints]:
    """Return hard votes with unequal counts, and their planted truth, which everybody names with
    chance ``right`` (one for all, or one each)."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, items)
    asked = rng.random((items, annotators)) < 0.8
    item, annotator = np.nonzero(asked)
    other = (truth[item] + rng.integers(1, labels, len(item))) % labels
    skill = np.broadcast_to(right, annotators)[annotator]
    label = np.where(rng.random(len(item)) < skill, truth[item], other)
    return Annotations(_index(items, annotators, labels), item, annotator, label=label), truth


def example_soft(
    seed: int = 0, items: int = 40, annotators: int = 7, labels: int = 3
) -> Annotations:
    """Return soft annotations, some of them with zeros."""
    votes, _ = example_votes(seed, items, annotators, labels=labels)
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([0.5] * labels, len(votes))
    probs[rng.random(probs.shape) < 0.2] = 0
    probs[probs.sum(axis=1) == 0] = 1
    probs /= probs.sum(axis=1, keepdims=True)
    return Annotations(votes.index, votes.item, votes.annotator, probs=probs)


def _index(items: int, annotators: int, labels: int) -> Index:
    return Index(
        names([f"item-{i}" for i in range(items)]),
        names([f"person-{i}" for i in range(annotators)]),
        names([f"class-{i}" for i in range(labels)]),
    )


def reindex(annotations: Annotations, which: str, order: Ints) -> Annotations:
    """Return the same data with items, annotators or labels renumbered: old code ``order[new]``."""
    new = np.argsort(order)
    index = replace(annotations.index, **{which: getattr(annotations.index, which)[order]})
    if which == "items":
        return replace(annotations, index=index, item=new[annotations.item])
    if which == "annotators":
        return replace(annotations, index=index, annotator=new[annotations.annotator])
    if annotations.label is not None:
        return replace(annotations, index=index, label=new[annotations.label])
    assert annotations.probs is not None, "soft annotations have probabilities"
    return replace(annotations, index=index, probs=annotations.probs[:, order])


def rename(annotations: Annotations) -> Annotations:
    """Return the same data under other names, in the reverse alphabetical order."""
    turned = (
        names([f"{10**6 - place} of {which}" for place in range(len(annotations.index.ids(which)))])
        for which in AXES
    )
    items, people, labels = turned
    return replace(
        annotations, index=Index(items, people, labels, ordered=annotations.index.ordered)
    )


def agree(
    actual: Any, expected: Any, complaint: str, tolerance: float = EXACT, exact: bool = False
) -> None:
    """Fail if two results differ by more than rounding."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    same = np.isnan(actual) & np.isnan(expected)
    off = float(np.where(same, 0, abs(actual - expected)).max(initial=0))
    assert off <= (0 if exact else tolerance), f"{complaint} (by {off:.3g})"
