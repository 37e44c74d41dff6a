"""Uma et al. 2020 on the released data: Table 1, and lessons that are what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel.aggregate import Majority
from softlabel.deliver import Aggregate
from softlabel.metrics import cross_entropy
from softlabel.recipes import folds, tagging
from softlabel.reproduce import uma2020, uma2020_facts, uma2020_tasks

pytestmark = pytest.mark.usefixtures("data_folder")


def test_pos_sets_are_apart():
    lesson = uma2020_tasks.pos("softmax")
    sizes = len(lesson.inputs), len(lesson.choosing), len(lesson.held)
    assert sum(sizes[:2]) == 13_000
    assert sizes[2] == 1_439 + 3_064
    tweets = [set(table[:, 0].tolist()) for table in (lesson.inputs, lesson.choosing)]
    assert not tweets[0] & tweets[1]
    assert len(tweets[0] | tweets[1]) == 910
    assert len(lesson.people) == 1_439
    assert (lesson.inputs[:, 1] == tagging.UNKNOWN).mean() > 0.1  # words seen once
    each = lesson.teaching.each
    assert each.index.shape[:2] == (sizes[0], 177)


def test_labelme_is_predicted_by_networks_that_have_not_seen_it():
    lesson = uma2020_tasks.labelme("softmax")
    assert np.bincount(lesson.fold).tolist() == [112] + [111] * 8
    assert len(lesson.index.items) == 1_000 + 1_188
    row = np.flatnonzero((np.sort(lesson.teaching.each.counts(), axis=1)[:, -2:] == [1, 2]).all(1))
    assert np.sort(lesson.teaching.pooled[row[0]])[-2:] == pytest.approx([0.187, 0.508], abs=5e-4)
    gold = uma2020_tasks.labelme("gold").teaching
    assert np.array_equal(gold.hard, uma2020_facts.votes("labelme")[1])


def test_silver_labels_are_better_than_the_majority():
    gold = uma2020_facts.votes("labelme")[1]
    right = {
        way: float((uma2020_tasks.labelme(way).teaching.hard == gold).mean())
        for way in ("majority", "dawid-skene")
    }
    assert right["dawid-skene"] > right["majority"] > 0.74
    each = uma2020_tasks.labelme("majority").teaching.each
    assert np.array_equal(
        uma2020_tasks.labelme("majority").teaching.hard, Majority()(each).probs.argmax(axis=1)
    )


def test_cifar10h_is_dealt_to_planted_people():
    lesson = uma2020_tasks.cifar10h("shares")
    assert (len(lesson.inputs), len(lesson.held)) == (7_000, 3_000)
    each = lesson.teaching.each
    np.testing.assert_allclose(
        each.counts() / each.counts().sum(axis=1, keepdims=True), lesson.teaching.pooled
    )
    if lesson.named["people"] == "planted":
        assert len(each.index.annotators) == 2_571
        found = uma2020_facts.accuracies(each, lesson.teaching.hard)
        assert found.mean() == pytest.approx(0.95, abs=0.01)


def test_scores_are_those_of_the_paper(tmp_path):
    """A short run on LabelMe, scored again by hand."""
    lesson = uma2020_tasks.labelme("shares")
    config = replace(folds.CONFIG, epochs=2)
    run = folds.LABELME.completed(config, lesson, Aggregate(), seed=0, out=tmp_path)
    cell = next(cell for cell in uma2020.cells("paper") if cell.name == "labelme/shares")
    found = uma2020.probes(run, cell)
    said, gold = uma2020_facts.votes("labelme")
    probs = run.predictions.probs
    assert found["held/accuracy"] == pytest.approx((probs[:1000].argmax(1) == gold).mean())
    counts = np.exp(said.counts())
    people = counts / counts.sum(axis=1, keepdims=True)
    assert found["cross-entropy"] == pytest.approx(cross_entropy(people, probs[:1000]).mean())
    assert set(found) == {
        *("accuracy", "held/accuracy", "cross-entropy", "entropy-pearson"),
        *("share/cross-entropy", "share/entropy-pearson"),
    }
    assert found["accuracy"] > 0.5
