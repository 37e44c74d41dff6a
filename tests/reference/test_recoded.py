"""What the people of CIFAR-10S would have said through other modes: how much of it survives.

Each of their 6,723 labels is given to a simulated person as a belief.  This shows what a mode can
carry, not how people behave in front of it.
"""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import datasets, metrics
from softlabel.aggregate import Mean, Share
from softlabel.construct import Clamp
from softlabel.elicit import Chips, Quick, Search
from softlabel.records import stack_answers


@pytest.fixture(scope="module")
def everything(data_folder):
    return datasets.cifar10s.load(presentations="all")


@pytest.fixture(scope="module")
def beliefs(everything):
    return Clamp(mode="reference")(everything.statements).soft()


@pytest.fixture(scope="module")
def people(everything):
    """CIFAR-10H shares of the 1,000 images."""
    soft = Share()(datasets.cifar10h.load("counts").annotations)
    return soft.probs[[int(name) for name in everything.index.items.tolist()]]


# total variation of the labels of images from the published ones, and from CIFAR-10H (the
# published ones: .160)
SURVIVES = [
    (Chips(20), 0.0090, 0.1622),
    (Chips(10), 0.0233, 0.1677),
    (Search(), 0.0118, 0.1609),
    (Quick(), 0.0202, 0.1592),
]


@pytest.mark.parametrize(("mode", "published", "crowd"), SURVIVES)
def test_labels_from_recoded_answers(everything, beliefs, people, mode, published, crowd):
    said, rng = everything.statements, np.random.default_rng(0)
    labels = said.index.labels.tolist()
    read = [mode.read(mode.simulate(belief, labels, rng), labels) for belief in beliefs]
    recoded = stack_answers(said.index, said.item, said.annotator, read)
    assert not recoded.contradictory.any()
    ours = Mean()(Clamp()(recoded)).probs
    theirs = Mean()(Clamp(mode="reference")(said)).probs
    assert metrics.total_variation(theirs, ours).mean() == pytest.approx(published, abs=5e-4)
    assert metrics.total_variation(people, ours).mean() == pytest.approx(crowd, abs=5e-4)
