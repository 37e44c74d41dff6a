"""Small things to train on: sixty pictures whose class can be seen, and soft labels for them."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Annotations, Index
from softlabel.deliver import Teaching

CLASSES = 3


class Fixed:
    """A delivery that gives every item the same label in every epoch."""

    def __init__(self, labels):
        self.labels = np.asarray(labels, dtype=np.float64)

    def labels_for(self, epoch, indices, rng):
        return self.labels[indices]


@pytest.fixture
def pictures():
    """(60, 16, 16, 3): the colour of class c is brighter than the others."""
    rng = np.random.default_rng(5)
    images = rng.integers(0, 200, (60, 16, 16, 3))
    images[np.arange(60), :, :, np.arange(60) % CLASSES] += 55
    return images.astype(np.uint8)


@pytest.fixture
def soft():
    """(60, 3): four fifths on the class of the picture, one tenth on the others."""
    return 0.1 + 0.7 * np.eye(CLASSES)[np.arange(60) % CLASSES]


@pytest.fixture
def delivery(soft):
    return Fixed(soft)


@pytest.fixture
def teaching(soft):
    """Five annotators; each item has the votes of two or three of them."""
    rng = np.random.default_rng(6)
    item, annotator = (rng.random((60, 5)) < 0.5).nonzero()
    label = np.where(rng.random(len(item)) < 0.95, item % CLASSES, (item + 1) % CLASSES)
    index = Index([str(i) for i in range(60)], list("abcde"), list("rgb"))
    return Teaching(np.arange(60) % CLASSES, soft, Annotations(index, item, annotator, label=label))
