"""Uma et al. 2020 on the released data: Table 1, and lessons that are what they say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import Annotations, Index
from softlabel.aggregate import Majority, Share, Softmax
from softlabel.deliver import Aggregate
from softlabel.metrics import cross_entropy, entropy
from softlabel.metrics.divergence import correlation
from softlabel.papers import uma2020
from softlabel.papers.claims import Results
from softlabel.papers.claims.claims import judge
from softlabel.papers.uma2020 import tasks
from softlabel.papers.uma2020.numbers import (
    MOST,
    accuracies,
    released_votes,
    statistics,
    votes_by_people,
)
from softlabel.train import tagging
from softlabel.train.recipes import LABELME

pytestmark = pytest.mark.usefixtures("data_folder")


FACTS = {  # ours to four digits, and whether it is what was printed
    "table1/pos/annotations per item": (5.0004, "holds"),
    "table1/pos/annotations per item and class": (0.4167, "differs"),  # of 12 tags; theirs were 17
    "table1/pos/observed agreement": (0.7062, "differs"),
    "table1/pos/mean accuracy of annotators": (0.6777, "holds"),
    "table1/pos/share of annotators at .75 or above": (0.2938, "holds"),
    "table1/labelme/annotations per item": (2.547, "differs"),
    "table1/labelme/annotations per item and class": (0.3184, "differs"),
    "table1/labelme/observed agreement": (0.7323, "holds"),
    "table1/labelme/mean accuracy of annotators": (0.6916, "holds"),
    "table1/labelme/share of annotators at .75 or above": (0.4237, "holds"),
    "table1/cifar10h/annotations per item": (51.1, "holds"),
    "table1/cifar10h/annotations per item and class": (5.11, "holds"),
    "table1/cifar10h/observed agreement": (0.9235, "differs"),
    "table1/cifar10h/mean accuracy of annotators": (0.9524, "holds"),
    "table1/pos/all/annotations per item": (16.3709, "differs"),
    "table1/pos/all/observed agreement": (0.7254, "holds"),
    "table1/pos/all/mean accuracy of annotators": (0.9259, "differs"),
    "text/labelme/annotations per item": (2.547, "holds"),
    "figure1/votes": (1, "holds"),
}


def test_table_1_is_what_the_released_votes_say():
    found = {claim.id: judge(claim, Results([])) for claim in uma2020.facts()}
    for name, (value, verdict) in FACTS.items():
        assert found[name].ours.value == pytest.approx(value, abs=5e-5), name
        assert found[name].verdict == verdict, name
    if released_votes("cifar10h")[0].anonymous:
        unknown = found["table1/cifar10h/share of annotators at .75 or above"]
        assert unknown.verdict == "untested"
        assert "do not say who voted" in unknown.reason


def test_what_we_learned_of_these_votes():
    """The numbers of the page, where Table 1 does not have them."""
    said, _ = released_votes("pos")
    count = said.votes_per_item()
    assert ((count == 177).sum(), ((count >= 130) & (count < 177)).sum()) == (939, 20)
    assert (count > MOST).sum() == 959
    strictly = [(accuracies(*votes_by_people(task)) > 0.75).mean() for task in ("labelme", "pos")]
    assert strictly == pytest.approx([0.390, 0.277], abs=5e-4)
    said, _ = released_votes("labelme")
    soft, share = (entropy(pool(said).probs) for pool in (Softmax(), Share()))
    assert [soft.mean(), share.mean()] == pytest.approx([1.507, 0.233], abs=5e-4)
    assert correlation(soft, said.votes_per_item()) == pytest.approx(-0.627, abs=5e-4)
    assert correlation(soft, share) == pytest.approx(0.619, abs=5e-4)


def test_statistics_by_hand():
    """Two votes on three items: (a a), (a b), and one vote b."""
    index = Index(["x", "y", "z"], ["p", "q"], ["a", "b"])
    said = Annotations(index, [0, 0, 1, 1, 2], [0, 1, 0, 1, 1], label=[0, 0, 0, 1, 1])
    gold = np.array([0, 1, 1])
    assert accuracies(said, gold).tolist() == [0.5, 1.0]
    assert statistics(said, gold) == pytest.approx(
        {
            "annotations per item": 5 / 3,
            "annotations per item and class": 5 / 6,
            "observed agreement": (1 + 0 + 1) / 3,
            "mean accuracy of annotators": 0.75,
            "share of annotators at .75 or above": 0.5,
        }
    )


def test_pos_sets_are_apart():
    lesson = tasks.pos("softmax")
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
    lesson = tasks.labelme("softmax")
    assert np.bincount(lesson.fold).tolist() == [112] + [111] * 8
    assert len(lesson.index.items) == 1_000 + 1_188
    row = np.flatnonzero((np.sort(lesson.teaching.each.counts(), axis=1)[:, -2:] == [1, 2]).all(1))
    whole = np.exp(2) + np.exp(1) + 6  # of (2, 1, 0, 0, 0, 0, 0, 0)
    expected = [np.exp(1) / whole, np.exp(2) / whole]
    assert np.sort(lesson.teaching.pooled[row[0]])[-2:] == pytest.approx(expected)
    gold = tasks.labelme("gold").teaching
    assert np.array_equal(gold.hard, released_votes("labelme")[1])


@pytest.mark.parametrize(
    ("name", "epochs", "keep"), [("labelme", 20, "accuracy"), ("labelme-code", 50, "last")]
)
def test_labelme_as_printed_and_as_in_the_code(name, epochs, keep):
    """20 epochs, of which the best on 500 development photographs is kept; or all of 50."""
    cell = next(cell for cell in uma2020.cells("paper") if cell.name == f"{name}/softmax")
    trainer, config, lesson, _ = cell.trainer._arguments()
    assert (config.epochs, config.keep) == (epochs, keep)
    assert trainer.name == ("u20-labelme" if name == "labelme" else "u20-labelme-code")
    assert len(lesson.validation.inputs) == len(lesson.validation.labels) == 500
    assert set(np.unique(lesson.validation.labels)) == {0, 1}
    seen = {row.tobytes() for row in np.concatenate([lesson.inputs, lesson.held])}
    assert seen.isdisjoint(row.tobytes() for row in lesson.validation.inputs)


def test_silver_labels_are_better_than_the_majority():
    gold = released_votes("labelme")[1]
    right = {
        way: float((tasks.labelme(way).teaching.hard == gold).mean())
        for way in ("majority", "dawid-skene")
    }
    assert right["dawid-skene"] > right["majority"] > 0.74
    each = tasks.labelme("majority").teaching.each
    assert np.array_equal(
        tasks.labelme("majority").teaching.hard, Majority()(each).probs.argmax(axis=1)
    )


def test_cifar10h_is_dealt_to_planted_people():
    lesson = tasks.cifar10h("shares")
    assert (len(lesson.inputs), len(lesson.held)) == (7_000, 3_000)
    each = lesson.teaching.each
    np.testing.assert_allclose(
        each.counts() / each.counts().sum(axis=1, keepdims=True), lesson.teaching.pooled
    )
    if lesson.named["people"] == "planted":
        assert len(each.index.annotators) == 2_571
        found = accuracies(each, lesson.teaching.hard)
        assert found.mean() == pytest.approx(0.95, abs=0.01)


def test_scores_are_those_of_the_paper(tmp_path):
    """A short run on LabelMe, scored again by hand."""
    lesson = tasks.labelme("shares")
    config = replace(LABELME.config, epochs=2)
    run = LABELME.complete_run(config, lesson, Aggregate(), seed=0, out=tmp_path)
    cell = next(cell for cell in uma2020.cells("paper") if cell.name == "labelme/shares")
    found = uma2020.probes(run, cell)
    said, gold = released_votes("labelme")
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
