"""What is known, from tables of counts or from answers written out."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Annotations, Index
from softlabel.deliver import NO_CLASS, TrainingLabels
from softlabel.sampling import votes_from_counts


def names_of(m, a, k):
    return Index(
        [f"item-{i}" for i in range(m)],
        [f"person-{i}" for i in range(a)],
        [f"class-{i}" for i in range(k)],
    )


def means_of(each):
    """(m, k) the mean answer, NaN where nobody was asked."""
    size = each.votes_per_item()[:, None]
    return np.where(size > 0, each.counts() / np.maximum(size, 1), np.nan)


@pytest.fixture(scope="session")
def counted():
    """Votes without authors, their shares, and given classes: ``counted([[2, 1]], hard=[0])``."""

    def known(counts, hard=None):
        counts = np.asarray(counts)
        m, k = counts.shape
        each = votes_from_counts(names_of(m, 0, k), counts)
        return TrainingLabels(np.full(m, NO_CLASS) if hard is None else hard, means_of(each), each)

    return known


@pytest.fixture(scope="session")
def answered():
    """Soft answers: ``answered([0, 0, 1], [[1, 0], [0.5, 0.5], [0, 1]])``."""

    def known(item, probs, hard=None, items=None, annotator=None):
        m = items or max(item) + 1
        who = np.arange(len(item)) if annotator is None else annotator
        index = names_of(m, int(np.max(who, initial=0)) + 1, len(probs[0]))
        each = Annotations(index, np.asarray(item), np.asarray(who), probs=np.asarray(probs))
        return TrainingLabels(np.full(m, NO_CLASS) if hard is None else hard, means_of(each), each)

    return known
