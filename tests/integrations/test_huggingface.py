"""The column of labels, where the package is installed."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import Index
from softlabel.deliver import SLS, Aggregate, Draws, TrainingLabels
from softlabel.errors import DataError

datasets = pytest.importorskip("datasets", reason="datasets is large and not installed")

TEACHING = TrainingLabels(np.array([0, 2]), np.array([[0.7, 0.2, 0.1], [0.0, 0.25, 0.75]]))


def test_the_column_is_the_delivered_label_and_survives_a_file(tmp_path):
    from softlabel.integrations import to_huggingface

    data = to_huggingface({"text": ["a", "b"]}, TEACHING, Aggregate())
    data.to_parquet(tmp_path / "labelled.parquet")
    back = datasets.Dataset.from_parquet(str(tmp_path / "labelled.parquet"))
    assert back["text"][:] == ["a", "b"]
    np.testing.assert_allclose(back["labels"][:], TEACHING.pooled, atol=1e-7)
    assert data.with_format("torch")[0]["labels"].dtype.is_floating_point


def test_each_epoch_has_its_own_draws():
    from softlabel.integrations import to_huggingface

    rows = datasets.Dataset.from_dict({"text": ["a", "b"]})
    draws = Draws(3)
    for epoch in range(4):
        data = to_huggingface(rows, TEACHING, SLS(), seed=3, epoch=epoch, column="soft")
        wanted = SLS()(TEACHING, draws).labels_for(epoch, np.arange(2), draws)
        np.testing.assert_array_equal(data["soft"][:], wanted)


def test_mistakes_are_named():
    from softlabel.integrations import to_huggingface

    with pytest.raises(DataError, match="3 rows and labels of 2 items"):
        to_huggingface({"text": ["a", "b", "c"]}, TEACHING, Aggregate())
    with pytest.raises(DataError, match="'labels' already"):
        to_huggingface({"labels": [0, 2]}, TEACHING, Aggregate())


def test_class_names_survive_and_the_order_of_items_is_checked(tmp_path):
    from softlabel.integrations import to_huggingface

    index = Index(["x", "y"], [], ["cat", "dog", "fox"])
    known = TrainingLabels(TEACHING.hard, TEACHING.pooled, index=index)
    data = to_huggingface({"item": ["x", "y"]}, known, Aggregate())
    data.save_to_disk(tmp_path / "data")
    back = datasets.load_from_disk(str(tmp_path / "data"))
    assert back.features["top_label"].names == ["cat", "dog", "fox"]
    assert back["top_label"][:] == [0, 2]
    with pytest.raises(DataError, match="row 0 is item 'y', and its label is that of item 'x'"):
        to_huggingface({"item": ["y", "x"]}, known, Aggregate())
