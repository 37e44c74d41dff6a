"""Released data are never in this repository: tests that need them look in $SOFTLABEL_DATA."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from softlabel import datasets
from softlabel.datasets import MissingData


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """No test sees or fills the cache of whoever runs it."""
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def released(data_folder):
    """Load a data set, or skip the test if it is not in the folder."""

    def get(name):
        try:
            return datasets.load(name)
        except MissingData as error:
            pytest.skip(str(error))

    return get


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """An empty folder in the place of the released data."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("SOFTLABEL_DATA", str(folder))
    return folder


@pytest.fixture(scope="session")
def accuracy():
    """Three ways to compare votes with gold, each written out plainly."""

    def of_labels(data):
        """Share of votes that equal gold."""
        said = data.annotations
        return (said.label == data.gold[said.item]).mean()

    def of_annotators(data):
        """Mean over annotators of the share of their votes that equal gold."""
        said = data.annotations
        right = np.bincount(said.annotator, said.label == data.gold[said.item])
        return (right / np.bincount(said.annotator)).mean()

    def of_majority(data):
        """How often the class with most votes is gold; k classes that tie count 1/k each."""
        known = data.gold >= 0
        counts = data.annotations.counts()[known]
        best = counts == counts.max(axis=1, keepdims=True)
        return (best[np.arange(len(best)), data.gold[known]] / best.sum(axis=1)).mean()

    return SimpleNamespace(labels=of_labels, annotators=of_annotators, majority=of_majority)
