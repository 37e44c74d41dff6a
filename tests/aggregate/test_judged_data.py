"""Models as annotators on published data, at reduced size (bench/judged.py runs all)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from softlabel import datasets
from softlabel.aggregate import Auto, Judged
from softlabel.tables import Annotations, names

# set: whether its classes are steps of a scale, and what one vote and models reached before
SETS = {
    "wax": (False, 2.199),
    "mtbench": (False, 0.867),
    "lgbteen": (False, 0.720),
    "cebab_stars": (True, 1.075),
}


@cache
def divide(name, votes, seed=0):
    """Return so many votes of each item, what models said of it, and one vote held out."""
    try:
        data = datasets.load(f"alttest/{name}")
    except datasets.MissingData:
        pytest.skip("SOFTLABEL_DATA has no alttest")
    people, said = data.annotations, data.machines
    order = np.lexsort((np.random.default_rng(seed).random(len(people)), people.item))
    item, label, size = people.item[order], people.label[order], people.votes_per_item()
    place = np.arange(len(item)) - (np.cumsum(size) - size)[item]
    kept = size > votes
    code = np.cumsum(kept) - 1
    index = replace(data.index, items=data.index.items[kept], ordered=SETS[name][0])
    used, held = (kept[item] & (place < votes), kept[item] & (place == votes))
    answers = Annotations(
        replace(index, annotators=names(["somebody"])),
        code[item[used]],
        np.zeros(used.sum(), int),
        label=label[used],
    )
    mine = kept[said.item]
    models = replace(index, annotators=said.index.annotators)
    judges = Annotations(
        models, code[said.item[mine]], said.annotator[mine], label=said.label[mine]
    )
    out = np.zeros(kept.sum(), int)
    out[code[item[held]]] = label[held]
    return answers, judges, out


@cache
def judge(name, votes, seed=0):
    """Return the labels of so many votes and the models, and one vote held out."""
    answers, judges, held = divide(name, votes, seed)
    return Judged()(answers, judges=judges), held


@cache
def pool(name, votes, seed=0):
    """Return the labels of so many votes alone, and one vote held out."""
    answers, _, held = divide(name, votes, seed)
    return Auto()(answers), held


def loss(labels, held):
    return float(-np.log(labels.probs[np.arange(len(held)), held]).mean())


@pytest.mark.parametrize("name", SETS)
def test_one_vote_and_models_beat_one_vote_and_the_published_figure(name):
    found = []
    for seed in range(2):
        found.append([loss(*judge(name, 1, seed)), loss(*pool(name, 1, seed))])
    both, alone = np.mean(found, axis=0)
    assert both < alone
    assert both <= SETS[name][1]


@pytest.mark.parametrize("name", ["wax", "cebab_stars"])
def test_one_vote_and_models_are_as_good_as_two_votes(name):
    found = []
    for seed in range(3):
        found.append([loss(*judge(name, 1, seed)), loss(*pool(name, 2, seed))])
    both, two_votes = np.mean(found, axis=0)
    assert both <= two_votes


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("wrong", ["shuffled", "rarest class"])
def test_useless_models_cost_nothing(name, wrong):
    votes, judges, held = divide(name, 1)
    if wrong == "shuffled":
        order = np.random.default_rng(7).permutation(len(held))
        judges = replace(judges, item=order[judges.item])
    else:
        rarest = votes.counts().sum(axis=0).argmin()
        judges = replace(judges, label=np.full(len(judges), rarest))
    assert loss(Judged()(votes, judges=judges), held) <= loss(*pool(name, 1)) + 0.005


@pytest.mark.parametrize(("name", "number"), [("lgbteen", 1), ("lgbteen", 2), ("cebab_stars", 2)])
def test_intervals_cover(name, number):
    inside = []
    for seed in range(3):
        labels, held = judge(name, number, seed)
        belief = labels.belief
        top = belief.mean().argmax(axis=1)
        count = (held == top).astype(int)
        below, at_most = belief.predictive_cdf(top, count, np.ones_like(count))
        drawn = below + np.random.default_rng(seed).random(len(top)) * (at_most - below)
        inside.append((drawn > 0.05) & (drawn < 0.95))
    assert 0.87 <= np.mean(np.concatenate(inside)) <= 0.93
