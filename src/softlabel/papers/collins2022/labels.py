"""The labels that are compared: each kind as a lesson on the same pictures.

All but one are made from first answers alone, with the strict reading of contradictions; what the
release counts twice is ``released``, bug for bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np

from softlabel.aggregate import Mean
from softlabel.construct import Clamp, Select, Uniform, labelled, percents
from softlabel.deliver import Teaching
from softlabel.errors import UnknownName
from softlabel.metrics import one_hot
from softlabel.papers.collins2022.names import BETAS, SPREADS
from softlabel.papers.collins2022.settings import Setting, nameless, setting
from softlabel.tables import Annotations, Index, Statements, names
from softlabel.train import Known, Lesson


@dataclass(frozen=True)
class Unspread:
    """A trap of the released training code: its loader names the redistribution as the function
    that makes it does not know it, so that nothing is spread.  One class named is a hard label."""

    top: int

    def __call__(self, said: Statements) -> Annotations:
        percent = percents(said, 2 if self.top == 2 else 1, "strict")
        return labelled(said, percent / percent.sum(axis=1, keepdims=True))


Kind = Callable[[Setting], Annotations]
KINDS: Mapping[str, Kind] = {
    "10h": lambda given: given.votes,
    "t2-clamp": lambda given: Clamp(top=2)(given.said),
    "t2-unif": lambda given: Uniform(top=2)(given.said),
    "t1-clamp": lambda given: Clamp(top=1)(given.said),
    "t1-unif": lambda given: Uniform(top=1)(given.said),
    "select": lambda given: Select()(given.said),
    "t2-none": lambda given: Unspread(2)(given.said),
    "t1-none": lambda given: Unspread(1)(given.said),
    "released": lambda given: nameless(Clamp(top=2, mode="reference")(given.again)),
} | {f"t2-clamp {spread}": lambda given, s=spread: Clamp(2, s)(given.said) for spread in SPREADS}
SMOOTHED = {f"smoothing {beta}": beta for beta in BETAS}


@lru_cache(maxsize=4)
def lesson(where: str, labels: str) -> Lesson:
    """The lesson of these labels in this setting; only the relabelled items differ."""
    given, plain = setting(where), _plain(where)
    named = {**plain.named, "labels": labels}
    if labels in SMOOTHED:
        return replace(plain, teaching=_smoothed(given, SMOOTHED[labels]), named=named)
    if labels not in KINDS:
        raise UnknownName("kind of labels", labels, (*KINDS, *SMOOTHED))
    return replace(plain, teaching=taught(given.known, KINDS[labels](given)), named=named)


@cache
def _plain(where: str) -> Lesson:
    """Pictures once for all lessons, taught by their given classes."""
    known = setting(where).known
    place = {item: row for row, item in enumerate(known.items.tolist())}
    learn, held = (
        np.array([place[item] for item in items.tolist()]) for items in (known.learn, known.held)
    )
    classes = known.people.index.labels
    return Lesson(
        known.images[learn],
        Teaching(known.gold, one_hot(known.gold, len(classes))),
        known.images[held],
        Index(known.held, names([]), classes),
        known.people,
        {"images": known.name},
    )


def taught(known: Known, said: Annotations) -> Teaching:
    """What was said of the items to learn from; the others are at their given class."""
    place = {item: row for row, item in enumerate(known.learn.tolist())}
    row = np.array([place.get(item, -1) for item in said.index.items.tolist()], dtype=np.int64)
    kept = said.take(row[said.item] >= 0)
    index = Index(known.learn, said.index.annotators, said.index.labels)
    each = Annotations(index, row[kept.item], kept.annotator, kept.label, kept.probs)
    asked = each.votes_per_item() > 0
    soft = one_hot(known.gold, len(said.index.labels))
    soft[asked] = Mean()(each).probs[asked]
    return Teaching(known.gold, soft, each)


def _smoothed(given: Setting, beta: float) -> Teaching:
    """Only relabelled items are smoothed, as published."""
    relabelled = given.said.index.items[np.unique(given.said.item)]
    asked = np.isin(given.known.learn, relabelled)
    k = len(given.said.index.labels)
    soft = one_hot(given.known.gold, k)
    soft[asked] = (1 - beta) * soft[asked] + beta / k
    return Teaching(given.known.gold, soft)
