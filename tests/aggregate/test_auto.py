"""What ``auto`` chooses, and that it says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from softlabel import Annotations, Index, datasets, registry
from softlabel.aggregate import (
    Atoms,
    Auto,
    Dirichlet,
    DirichletMixture,
    Extremised,
    Ordinal,
    Stack,
    choose_for_others,
)
from softlabel.sampling import subsample, votes_from_counts


def votes(items, each, seed=0):
    rng = np.random.default_rng(seed)
    split = rng.dirichlet([1.0, 0.4, 0.2], items)
    index = Index([f"i{i}" for i in range(items)], [], ["x", "y", "z"])
    return votes_from_counts(index, rng.multinomial(each, split))


def rich(index, seed=0):
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet([1.0, 0.4, 0.2], 2 * len(index.items))
    item = np.tile(np.arange(len(index.items)), 2)
    return Annotations(index, item, np.full(len(item), -1), probs=probs)


@pytest.mark.parametrize(
    ("items", "each", "pool", "because"),
    [
        (199, 5, Dirichlet(), "fewer than 200 items"),
        (200, 1, Dirichlet(), "fewer than 2 cannot tell"),
        (200, 2, DirichletMixture(), "no prior from other items"),
        (2100, 12, DirichletMixture(), "2,100 items with 12 votes each"),
    ],
)
def test_votes_alone(items, each, pool, because):
    said = votes(items, each)
    made = Auto()(said)
    assert made.chosen == pool.name
    assert because in made.why
    assert made.made_by == "Auto()"
    np.testing.assert_allclose(made.probs, pool(said).probs, atol=1e-12)


@pytest.mark.parametrize(
    ("items", "each", "pool"),
    [
        (30, 1, Ordinal()),
        (99, 2, Dirichlet()),
        (100, 2, Ordinal()),
        (300, 1, Ordinal()),
        (300, 12, Ordinal()),
    ],
)
def test_steps_of_a_scale(items, each, pool):
    """As measured in bench/ordinal.py.  Two classes have no order, and a prior is used."""
    said = votes(items, each)
    ordered = replace(said, index=replace(said.index, ordered=True))
    made = Auto()(ordered)
    assert made.chosen == pool.name
    if pool == Ordinal():
        assert f"{each} votes each, and 3 classes that are steps of a scale" in made.why
    np.testing.assert_allclose(made.probs, pool(ordered).probs, atol=1e-12)
    prior = DirichletMixture()(votes(400, 5, seed=1)).belief.prior
    with_prior = Auto()(ordered, prior=prior).chosen
    assert with_prior == ("dirichlet-mixture" if each <= 10 else "atoms")
    two = Index(said.index.items, [], ["no", "yes"], ordered=True)
    yes_or_no = votes_from_counts(two, np.full((items, 2), 2))
    assert Auto()(yes_or_no).chosen == ("dirichlet" if items < 200 else "dirichlet-mixture")


@pytest.mark.parametrize("part", ["popquorn/offensiveness", "lewidi2025/paraphrase"])
def test_published_ratings_are_known_to_be_ordered(data_folder, part):
    assert Auto()(datasets.load(part).annotations).chosen == "ordinal"


def test_many_classes_need_many_items():
    """One prior per class is not learned from a few items of each."""
    rng = np.random.default_rng(0)
    for items, chosen in ((499, "dirichlet"), (500, "dirichlet-mixture")):
        index = Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(10)])
        split = rng.dirichlet(np.full(10, 0.2), items)
        made = Auto()(votes_from_counts(index, rng.multinomial(3, split)))
        assert made.chosen == chosen
    assert "50 items for each of 10 classes" in Auto()(made_for(300, 10)).why


def made_for(items, classes):
    index = Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])
    return votes_from_counts(index, np.ones((items, classes), dtype=int))


def test_five_votes_of_chaosnli_make_a_mixture(data_folder):
    data = datasets.load("chaosnli/snli")
    few = subsample(data.annotations, 5, np.random.default_rng(0))
    assert Auto()(few).chosen == "dirichlet-mixture"
    assert Auto()(few.take(few.item < 150)).chosen == "dirichlet"
    one = subsample(data.annotations, 1, np.random.default_rng(0))
    assert Auto()(one).chosen == "dirichlet"


@pytest.mark.parametrize(("each", "pool"), [(3, DirichletMixture()), (12, Atoms())])
def test_votes_with_a_prior_of_other_items(each, pool):
    prior = DirichletMixture()(votes(300, 20, seed=1)).belief.prior
    said = votes(50, each)
    made = Auto()(said, prior=prior)
    assert made.chosen == pool.name
    np.testing.assert_allclose(made.probs, pool(said, prior=prior).probs, atol=1e-12)


def test_a_prior_for_other_items_is_made_of_atoms_if_there_are_many_votes():
    pools = {each: choose_for_others(np.array([0, each, each])).name for each in (0, 10, 11)}
    assert pools == {0: "dirichlet-mixture", 10: "dirichlet-mixture", 11: "atoms"}


def test_rich_answers_beside_many_votes_are_stacked():
    said = votes(250, 3)
    answers = rich(said.index)
    made = Auto()(said, rich=answers)
    assert made.chosen == "stack"
    assert "250 items have votes" in made.why
    np.testing.assert_allclose(made.probs, Stack()(said, rich=answers).probs, atol=1e-12)


def test_rich_answers_alone_are_extremised():
    answers = rich(votes(250, 3).index)
    made = Auto()(answers)
    assert made.chosen == "extremised"
    assert "0 items with votes (200 are needed)" in made.why
    np.testing.assert_allclose(made.probs, Extremised()(answers).probs, atol=1e-12)


def test_a_few_votes_beside_rich_answers_are_not_lost():
    said = votes(100, 3)
    answers = rich(said.index).take(np.arange(0, 100))  # the second hundred is about no items
    some = said.take(said.item < 60)
    made = Auto()(some, rich=answers.take(answers.item >= 40))
    assert made.chosen == "extremised"
    assert made.answered.all()
    assert (made.count[:40] == 3).all()


def test_everything_has_intervals_and_a_gain():
    for said in (votes(250, 3), votes(20, 3), rich(votes(50, 1).index)):
        belief = Auto()(said).belief
        low, high = belief.interval()
        assert (low <= high).all()
        assert (belief.gain() >= 0).all()


def test_it_is_registered():
    assert registry.parse("aggregate", "auto") == Auto()
