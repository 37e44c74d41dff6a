"""Shared by all tests: a small table of names, and real data where the user has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from softlabel import Index

# no wall-clock judgements on shared machines; the same examples in every run
settings.register_profile(
    "steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("steady")

CIFAR = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets; tests that need it are skipped, and counted, without it."""
    folder = os.environ.get("SOFTLABEL_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("SOFTLABEL_DATA names no folder: real-data test not run")
    return Path(folder)


@pytest.fixture
def birds() -> Index:
    """Twelve items, four annotators, three classes."""
    return Index(
        [f"bird-{i}" for i in range(12)],
        ["ann", "bob", "cleo", "dan"],
        ["sparrow", "wren", "finch"],
    )


@pytest.fixture(scope="session")
def cifar() -> Index:
    """One image, one person, the ten classes of CIFAR-10."""
    return Index(["405"], ["someone"], CIFAR)
