"""Cross-fitting: whoever predicts an item has not seen it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import Index, SoftLabels
from softlabel.deliver import Aggregate, Draws, Teaching
from softlabel.errors import DataError
from softlabel.train import fit, predicting
from softlabel.train.recipes import folds
from softlabel.train.recipes.folds import LABELME, Folded

QUICK = replace(folds.CONFIG, epochs=3, batch=16)
MANY, TESTED = 30, 10


@pytest.fixture
def lesson() -> Folded:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(MANY + TESTED, 6)).astype(np.float32)
    soft = rng.dirichlet(np.ones(3), MANY)
    items = [f"i{i}" for i in range(MANY + TESTED)]
    people = SoftLabels(Index(items[:MANY], [], ["a", "b", "c"]), soft, np.full(MANY, 3))
    return Folded(
        inputs[:MANY],
        Teaching.of(people),
        inputs,
        Index(items, [], ["a", "b", "c"]),
        people,
        fold=np.arange(MANY) % 3,
    )


def test_each_fold_is_predicted_by_the_others(lesson, tmp_path):
    run = LABELME.completed(QUICK, lesson, Aggregate(), seed=2, out=tmp_path)
    logits = run.arrays("logits")["logits"]
    for fold in (0, 1, 2, None):
        rows = np.flatnonzero(lesson.fold != fold)
        known = lesson.teaching.only(rows)
        taught = Aggregate()(known, Draws(2))
        net = fit(QUICK, lesson.inputs[rows], taught, seed=2).net
        held = slice(MANY, None) if fold is None else np.flatnonzero(lesson.fold == fold)
        assert np.array_equal(logits[held], predicting.logits(net, lesson.held[held]))
    assert [line["items"] for line in run.log] == [20, 20, 20, 30]
    assert run.scores["kl"].n == MANY


def test_items_and_folds_must_match(lesson):
    with pytest.raises(DataError, match="29 folds for 30 items"):
        replace(lesson, fold=lesson.fold[1:])
    with pytest.raises(DataError, match="must be the first of those held out"):
        replace(lesson, held=lesson.held[::-1])
    other = replace(lesson, fold=lesson.fold[::-1])
    assert other.hashes != lesson.hashes
