"""Votes with a planted truth, the same votes in parts, and a real cluster of two processes."""

from __future__ import annotations

import logging
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from softlabel import Annotations, Index
from softlabel.engine import split_table

sys.path.insert(0, str(Path(__file__).parent))  # workers import mortal.py; they get this path

ITEMS, PEOPLE, CLASSES, EACH = 400, 30, 4, 6


@pytest.fixture(scope="session")
def votes() -> Annotations:
    """400 items with 6 votes each, by 30 people of unequal skill."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, CLASSES, ITEMS)
    skill = rng.beta(6, 3, PEOPLE)
    who = np.concatenate([rng.permutation(PEOPLE)[:EACH] for _ in range(ITEMS)])
    item = np.repeat(np.arange(ITEMS), EACH)
    wrong = (truth[item] + rng.integers(1, CLASSES, len(item))) % CLASSES
    label = np.where(rng.random(len(item)) < skill[who], truth[item], wrong)
    order = rng.permutation(len(item))
    index = Index(
        [f"item {i}" for i in range(ITEMS)],
        [f"person {a}" for a in range(PEOPLE)],
        [f"c{j}" for j in range(CLASSES)],
    )
    return Annotations(index, item[order], who[order], label=label[order])


@pytest.fixture(scope="session")
def soft_votes(votes) -> Annotations:
    """The same opinions, each with some doubt; many zeros."""
    rng = np.random.default_rng(8)
    doubt = rng.dirichlet(np.full(CLASSES, 0.3), len(votes)) * (rng.random((len(votes), 1)) < 0.5)
    mixed = 0.75 * votes.soft() + 0.25 * doubt
    probs = np.where(mixed < 0.01, 0, mixed)
    return Annotations(
        votes.index, votes.item, votes.annotator, probs=probs / probs.sum(axis=1, keepdims=True)
    )


@pytest.fixture(scope="session")
def partitions(votes, tmp_path_factory):
    """The votes in five parts."""
    return split_table(votes, tmp_path_factory.mktemp("parts"), 5)


@pytest.fixture(scope="session")
def soft_partitions(soft_votes, tmp_path_factory):
    return split_table(soft_votes, tmp_path_factory.mktemp("soft"), 3)


@pytest.fixture(scope="module")
def cluster_client():
    """Two worker processes of this module's own, which can be killed; idle ones are not free."""
    from distributed import LocalCluster

    from softlabel.engine.cluster import connect

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(**options, silence_logs=logging.CRITICAL))
        address = cluster.scheduler_address.removeprefix("tcp://")
        yield stack.enter_context(connect(address))


@pytest.fixture
def write_votes():
    """Votes to a CSV or Parquet file of names."""

    def write(said: Annotations, path: Path) -> Path:
        who = {
            "item": said.index.items[said.item].tolist(),
            "annotator": said.index.annotators[said.annotator].tolist(),
        }
        labels = said.index.labels.tolist()
        soft = {label: said.soft()[:, j] for j, label in enumerate(labels)}
        hard = {"label": [] if said.label is None else said.index.labels[said.label].tolist()}
        frame = pl.DataFrame(who | (hard if said.hard else soft))
        if path.suffix == ".csv":
            frame.write_csv(path)
        else:
            frame.write_parquet(path)
        return path

    return write
