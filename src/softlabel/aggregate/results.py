"""What the two families return: soft labels, and what else was learned on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from softlabel.aggregate.belief import Belief
from softlabel.tables import Annotations, Floats, Index, SoftLabels, given_away

NOTHING: Floats = given_away(np.zeros(0))


@dataclass(frozen=True, eq=False)
class TruthPosterior(SoftLabels):
    """Which class is true: ``probs`` is how sure one may be of it, not how people split.

    ``skill[a]`` is how often a person is right, as the method sees it (NaN: never asked);
    ``confusion[a, j, l]`` the chance that somebody says l where j is true, for methods that
    estimate it, with ``confusion_low`` and ``confusion_high`` where the method knows how sure it
    is; ``prior[j]`` how common the classes are.  ``trace`` holds the ``objective`` after every
    step: the quantity that the method really climbs.
    """

    skill: Floats = field(default_factory=lambda: NOTHING)
    confusion: Floats | None = None
    confusion_low: Floats | None = None
    confusion_high: Floats | None = None
    prior: Floats | None = None
    trace: Floats = field(default_factory=lambda: NOTHING)
    objective: str = ""
    converged: bool = True


class Fitted(Protocol):
    """A distribution pool whose parameters are known.

    The label of an item is a function of sums over its answers.  That is why items may be worked
    on in any parts, and why new answers can be added to a finished label.
    """

    def sums(self, said: Annotations) -> Floats:
        """(m, t) sums over the answers to each item; columns that are missing at the end are 0."""

    def rows(self, sums: Floats) -> Floats:
        """(m, k) the labels."""

    def belief(self, index: Index, sums: Floats) -> Belief:
        """What else is believed about the same items."""


@dataclass(frozen=True, eq=False)
class LabelDistribution(SoftLabels):
    """How people split over the classes, and how sure one may be of that.

    ``belief`` holds what is believed about the split of each item: its intervals and the gain of
    one more vote.  ``chosen`` and ``why`` are filled by pools that choose for themselves or fit
    their parameters.  ``fitted`` is the pool with the parameters it used, ``sums`` what it made
    the labels of: with them ``update`` adds new answers.
    """

    belief: Belief | None = None
    chosen: str = ""
    why: str = ""
    fitted: Fitted | None = field(default=None, repr=False)
    sums: Floats | None = field(default=None, repr=False)
