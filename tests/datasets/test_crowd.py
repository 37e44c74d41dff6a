"""The figures of the thirteen aggregation sets, row by row."""

from __future__ import annotations

import time

import numpy as np
import pytest

# name, items, workers, classes, labels, labels per item, items with gold, majority vote %, repeats
FIGURES = [
    ("dog", 807, 109, 4, 8070, 10.0, 807, 82.22, 0),
    ("trec", 19033, 762, 2, 88385, 4.64, 2275, 65.14, 0),
    ("cf", 300, 461, 5, 1720, 5.73, 300, 88.22, 0),
    ("cf_amt", 300, 110, 5, 6030, 20.1, 300, 85.33, 5),
    ("ms", 700, 44, 10, 2945, 4.21, 700, 70.42, 0),
    ("sp", 4999, 203, 2, 27746, 5.55, 4999, 88.59, 0),
    ("sp_amt", 500, 143, 2, 10000, 20.0, 500, 94.3, 0),
    ("zencrowd_all", 2040, 78, 2, 21855, 10.71, 2040, 83.19, 1730),
    ("zencrowd_in", 2040, 25, 2, 11205, 5.49, 2040, 74.09, 710),
    ("product", 8315, 176, 2, 24945, 3.0, 8315, 89.66, 0),
    ("relevance", 20232, 766, 4, 98453, 4.87, 4460, 54.11, 1570),
    ("adult", 11040, 825, 4, 92721, 8.4, 333, 75.98, 2922),
    ("fact_eval", 42624, 57, 3, 216725, 5.08, 576, 90.19, 1810),
]


@pytest.mark.parametrize("row", FIGURES, ids=[row[0] for row in FIGURES])
def test_figures(row, released, accuracy):
    name, items, workers, classes, labels, per_item, gold, majority, again = row
    data = released(f"crowd/{name}")
    said = data.annotations
    assert data.index.shape == (items, workers, classes)
    assert len(said) == labels
    assert round(said.votes_per_item().mean(), 2) == per_item
    assert (data.gold >= 0).sum() == gold
    assert round(100 * accuracy.majority(data), 2) == majority
    pairs = np.unique(np.stack([said.item, said.annotator]), axis=1).shape[1]
    assert len(said) - pairs == again
    assert any("repeat" in note for note in data.notes) == bool(again)
    assert any("Gold is known" in note for note in data.notes) == (gold != items)


def test_the_largest_loads_in_well_under_a_second(released):
    released("crowd/dog")
    start = time.process_time()
    released("crowd/fact_eval")
    assert time.process_time() - start < 1
