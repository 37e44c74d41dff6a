"""Policies that start from what models said."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import DataError, Index
from softlabel.aggregate import JudgedBelief
from softlabel.allocate import FitJudged, FitVotes, Greedy, Recorded, Setting, compare
from softlabel.tables import Annotations, names

LABELS = names(["cat", "dog", "fox"])
ITEMS = 240


def make_votes(seed=0, per_item=9):
    """Return votes on items of which half are easy, and what two models say of them."""
    rng = np.random.default_rng(seed)
    sure = np.eye(3)[np.arange(ITEMS) % 3] * 0.94 + 0.02
    truth = np.where((np.arange(ITEMS) % 2)[:, None], rng.dirichlet(np.ones(3), ITEMS), sure)
    item = np.repeat(np.arange(ITEMS), per_item)
    label = (truth[item].cumsum(axis=1) < rng.random((len(item), 1))).sum(axis=1)
    people = Index(
        names([f"i{i}" for i in range(ITEMS)]), names([str(i) for i in range(len(item))]), LABELS
    )
    votes = Annotations(people, item, np.arange(len(item)), label=label)
    models = Index(people.items, names(["a", "b"]), LABELS)
    said = (truth.cumsum(axis=1) < rng.random((ITEMS, 1))).sum(axis=1)
    both = np.concatenate([truth.argmax(axis=1), said])
    who = np.repeat([0, 1], ITEMS)
    return votes, Annotations(models, np.tile(np.arange(ITEMS), 2), who, label=both)


def test_models_are_matched_by_the_names_of_items():
    votes, judges = make_votes()
    fit = FitJudged(judges)
    some = np.array([5, 200, 3, *range(50, 150)])
    index = Index(votes.index.items[some], names([]), LABELS)
    belief = fit(index, votes.counts()[some])
    assert isinstance(belief, JudgedBelief)
    assert "2 models calibrated on the votes of 103 items" in fit.why
    reverse = Index(index.items[::-1], names([]), LABELS)
    again = fit(reverse, votes.counts()[some[::-1]])
    np.testing.assert_allclose(again.mean()[::-1], belief.mean(), atol=1e-3)


def test_models_make_few_votes_go_further():
    votes, judges = make_votes(per_item=12)
    recorded = Recorded("votes", votes)
    goals = (1.8, 3.6)
    alone = compare(recorded, [Greedy()], Setting(hold=4, goals=goals))
    led = compare(recorded, [Greedy()], Setting(hold=4, goals=goals, judges=judges))
    assert led.prior == "same votes and 2 models"
    for goal in goals:
        assert led.row("greedy", goal).kl.value < alone.row("greedy", goal).kl.value


def test_models_and_a_calibration_set_exclude_each_other():
    _, judges = make_votes()
    with pytest.raises(DataError, match="give one of the two"):
        Setting(calibrate=5, judges=judges)


def test_without_useful_models_it_is_the_pool_of_votes():
    votes, judges = make_votes()
    order = np.random.default_rng(1).permutation(ITEMS)
    shuffled = Annotations(judges.index, order[judges.item], judges.annotator, label=judges.label)
    index, counts = Index(votes.index.items, names([]), LABELS), votes.counts()
    np.testing.assert_allclose(
        FitJudged(shuffled)(index, counts).mean(), FitVotes()(index, counts).mean(), atol=2e-3
    )
