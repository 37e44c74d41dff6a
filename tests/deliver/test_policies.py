"""Each policy does what its page says, on numbers worked by hand."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import DataError, SoftlabelError, registry
from softlabel.deliver import (
    DELIVERIES,
    P19,
    SLS,
    Aggregate,
    Control,
    Draws,
    Hard,
    Mixed,
    Multipass,
    PerAnnotator,
    Random,
    ShuffledSLS,
    Smoothing,
    SparseK,
    StaleSLS,
    Subsample,
    TrainingLabels,
    Uniform,
)
from softlabel.testing import DELIVER_CHECKS, example_teaching

RNG = Draws(2)
ALL = [pytest.param(kind(), id=name) for name, kind in DELIVERIES.items()]


def labels(policy, known, epoch=0, rng=RNG):
    return policy(known, rng).labels_for(epoch, np.arange(len(known)), rng)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("hard", Hard()),
        ("random", Random()),
        ("uniform", Uniform()),
        ("smoothing:beta=0.1", Smoothing(0.1)),
        ("aggregate", Aggregate()),
        ("per-annotator", PerAnnotator()),
        ("subsample:m=6,then=per-annotator", Subsample(6, "per-annotator")),
        ("p19", P19()),
        ("sls", SLS()),
        ("stale-sls:every=50", StaleSLS(50)),
        ("shuffled-sls", ShuffledSLS()),
        ("multipass:seed=3", Multipass(3)),
        ("control:order=sorted", Control("sorted")),
        ("sparse-k:k=5,then=sls", SparseK(5, "sls")),
        ("mixed:then=multipass", Mixed("multipass")),
    ],
)
def test_text_becomes_a_policy_and_back(text, made):
    assert registry.parse("deliver", text) == made
    assert registry.parse("deliver", registry.describe(made)) == made


# ── fixed vectors ────────────────────────────────────────────────────────────────────────────


def test_hard_is_the_given_class_or_the_most_probable_one(counted):
    known = counted([[1, 2, 0], [1, 2, 0], [2, 2, 1]], hard=[2, -1, -1])
    assert labels(Hard(), known).argmax(axis=1).tolist() == [2, 1, 0]


def test_smoothing_adds_to_every_class_its_part_of_beta(counted):
    """Ten classes, beta .05: .955 on the class and .005 on each other one."""
    found = labels(Smoothing(), counted([[1] + [0] * 9], hard=[0]))
    assert found == pytest.approx(np.array([[0.955, *[0.005] * 9]]))
    assert labels(Smoothing(0), counted([[1, 0]])).tolist() == [[1, 0]]
    with pytest.raises(SoftlabelError, match=r"beta = 1\.5 is not in 0\.\.1"):
        Smoothing(1.5)(counted([[1, 0]]), RNG)


def test_uniform_is_even(counted):
    assert (labels(Uniform(), counted([[3, 0, 0, 0]])) == 0.25).all()


def test_random_labels_are_uniform_numbers_over_their_sum(counted):
    """Nearer to even than a flat Dirichlet: of two classes, U/(U+V) has variance .0569 (by
    integration: 1 - log 2 - 1/4), an even one 1/12."""
    m = 20_000
    known = counted(np.ones((m, 2), dtype=int))
    found = labels(Random(), known)[:, 0]
    variance = 1 - np.log(2) - 0.25
    assert abs(found.mean() - 0.5) < 5 * np.sqrt(variance / m)
    spread = (found - 0.5) ** 2
    assert abs(spread.mean() - variance) < 5 * spread.std() / np.sqrt(m)
    assert (labels(Random(), known, epoch=9)[:, 0] == found).all(), "fixed over epochs"
    assert (labels(Random(), known, rng=Draws(3))[:, 0] != found).any(), "another run, others"


def test_random_of_one_class():
    known = TrainingLabels([0, 0], [[1.0], [1.0]])
    assert labels(Random(), known).tolist() == [[1], [1]]


def test_aggregate_is_the_pooled_label_and_not_the_mean_of_the_answers(counted):
    known = counted([[2, 1], [0, 3]])
    other = TrainingLabels([0, 1], [[0.9, 0.1], [0.2, 0.8]], known.each)
    assert labels(Aggregate(), other).tolist() == [[0.9, 0.1], [0.2, 0.8]]
    assert PerAnnotator()(other, RNG).expected().tolist() == known.pooled.tolist()


# ── drawn ────────────────────────────────────────────────────────────────────────────────────


def test_per_annotator_gives_whole_answers(answered):
    probs = [[0.6, 0.4], [0.1, 0.9], [1, 0]]
    known = answered([0, 0, 1], probs)
    delivery = PerAnnotator()(known, RNG)
    seen = [delivery.labels_for(e, [0], RNG)[0].tolist() for e in range(50)]
    assert {tuple(row) for row in seen} == {(0.6, 0.4), (0.1, 0.9)}


def test_a_class_without_a_chance_is_never_drawn():
    p = np.array([[0, 0.5, 0, 0.5, 0], [0, 0, 1, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    known = TrainingLabels(p.argmax(axis=1), p)
    for policy in (SLS(), P19()):
        delivery = policy(known, RNG)
        for epoch in range(300):
            assert (p[delivery.labels_for(epoch, np.arange(4), RNG) == 1] > 0).all()


def test_labels_rounded_to_below_one_are_drawn_from():
    """Published labels may sum to .9999995: the rest must not become a class that is not there."""
    known = TrainingLabels([0], [[0.5, 0.4999995]])
    delivery = SLS()(known, RNG)
    assert delivery.upto[0, -1] == 1
    assert delivery.expected() == pytest.approx(known.pooled, abs=1e-6)


@pytest.mark.parametrize("every", [1, 2, 5])
def test_stale_labels_are_kept_for_exactly_so_many_epochs(every, counted):
    known = counted(np.ones((200, 4), dtype=int))
    stale, fresh = StaleSLS(every)(known, RNG), SLS()(known, RNG)
    for epoch in range(20):
        now = stale.labels_for(epoch, np.arange(200), RNG)
        assert (now == fresh.labels_for(epoch // every, np.arange(200), RNG)).all()
        before = stale.labels_for(epoch - 1, np.arange(200), RNG) if epoch else -now
        assert (now == before).all() == (epoch % every != 0)
    with pytest.raises(SoftlabelError, match="every = 0 is not in"):
        StaleSLS(0)(known, RNG)


def test_shuffled_labels_lose_their_items_and_keep_their_mean():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.3] * 5, 400)
    known = TrainingLabels(p.argmax(axis=1), p)
    moved = ShuffledSLS()(known, RNG).expected()
    assert moved.mean(axis=0) == pytest.approx(p.mean(axis=0), abs=1e-12)
    by_row = [sorted(map(tuple, rows.round(9).tolist())) for rows in (moved, p)]
    assert by_row[0] == by_row[1], "the same labels"
    agree = (moved.argmax(axis=1) == p.argmax(axis=1)).mean()
    chance = (np.bincount(p.argmax(axis=1), minlength=5) / 400) @ (
        np.bincount(p.argmax(axis=1), minlength=5) / 400
    )
    assert abs(agree - chance) < 5 * np.sqrt(chance / 400), "no more in their place than by chance"
    assert not (ShuffledSLS()(known, Draws(9)).expected() == moved).all(), "each run its own"


# ── mixed ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("then", [name for name in DELIVERIES if name != "mixed"])
def test_mixed_leaves_the_rest_one_hot(then):
    for check in DELIVER_CHECKS if then == "per-annotator" else DELIVER_CHECKS[:-1]:
        check(Mixed(then))
    known = example_teaching()
    rest = np.flatnonzero(~known.relabelled)
    assert len(rest) == 4
    for epoch in range(3):
        found = labels(Mixed(then), known, epoch)
        assert (found[rest] == np.eye(3)[known.hard[rest]]).all()
    inner = DELIVERIES[then]()(known.only(np.flatnonzero(known.relabelled)), RNG)
    assert Mixed(then)(known, RNG).expected()[known.relabelled] == pytest.approx(inner.expected())


def test_shuffling_stays_among_the_relabelled():
    known = example_teaching(soft=True)
    moved = Mixed("shuffled-sls")(known, RNG).expected()[known.relabelled]
    assert moved.mean(axis=0) == pytest.approx(known.pooled[known.relabelled].mean(axis=0))


def test_mixed_of_all_or_none_of_the_items(counted):
    everybody, nobody = counted([[1, 2], [2, 1]]), counted([[0, 0], [0, 0]], hard=[1, 0])
    assert labels(Mixed(), everybody) == pytest.approx(labels(Aggregate(), everybody))
    for then in ("aggregate", "per-annotator", "multipass", "sls", "sparse-k", "shuffled-sls"):
        assert labels(Mixed(then), nobody).tolist() == [[0, 1], [1, 0]]
    alone = TrainingLabels([0, 1], [[0.2, 0.8], [np.nan, np.nan]])
    assert labels(Mixed("uniform"), alone).tolist() == [[0.5, 0.5], [0, 1]]


def test_mixed_does_not_go_on_with_itself(counted):
    with pytest.raises(SoftlabelError, match="then = 'mixed' must be another policy"):
        Mixed("mixed")(counted([[1, 0]]), RNG)


# ── what all have in common ──────────────────────────────────────────────────────────────────


@cache
def delivered(policy):
    return policy(example_teaching(), RNG)


@pytest.mark.parametrize("policy", ALL)
@given(
    epoch=st.integers(0, 2**31),
    indices=st.lists(st.integers(0, 39), max_size=30),
    cut=st.integers(0, 30),
)
def test_a_label_belongs_to_seed_epoch_and_item(policy, epoch, indices, cut):
    delivery = delivered(policy)
    whole = delivery.labels_for(epoch, np.array(indices, dtype=np.int64), RNG)
    parts = [delivery.labels_for(epoch, part, RNG) for part in (indices[:cut], indices[cut:])]
    assert (whole == np.concatenate(parts)).all()
    table = delivery.labels_for(epoch, np.arange(40), RNG)
    assert (whole == table[np.array(indices, dtype=np.int64)]).all()


@pytest.mark.parametrize("policy", ALL)
def test_an_item_that_nobody_was_asked_about_keeps_its_class(policy):
    """All but the controls that look at no item, or at another one."""
    known = example_teaching()
    rest = np.flatnonzero(~known.relabelled)
    found = labels(policy, known)[rest]
    kept = (found.argmax(axis=1) == known.hard[rest]).all()
    if policy.name not in ("uniform", "random", "shuffled-sls", "smoothing"):
        assert (found.max(axis=1) == 1).all()
    assert kept or policy.name in ("uniform", "random", "shuffled-sls")


NEED_NOTHING = {"uniform", "random"}
CLASS_OR_LABEL = {"hard", "smoothing", "aggregate", "sls", "p19", "stale-sls", "shuffled-sls"}


@pytest.mark.parametrize("policy", ALL)
def test_an_item_without_answers_and_class_is_named(policy, counted):
    known = counted([[1, 2], [0, 0], [2, 2]])
    if policy.name in NEED_NOTHING:
        assert labels(policy, known).shape == (3, 2)
        return
    with pytest.raises(DataError, match=r"item 'item-1' \(row 1\) has neither .* 1 of 3 items"):
        policy(known, RNG)


@pytest.mark.parametrize("policy", ALL)
def test_pooled_labels_alone(policy):
    known = TrainingLabels([0, -1], [[0.2, 0.8], [0.6, 0.4]])
    if policy.name in NEED_NOTHING | CLASS_OR_LABEL | {"mixed"}:
        assert labels(policy, known).shape == (2, 2)
        return
    with pytest.raises(DataError, match=f"{policy.name} needs the annotators' own labels"):
        policy(known, RNG)


@pytest.mark.parametrize("policy", ALL)
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([40], "item 40 is outside 0..39"),
        ([0, -1], "item -1 is outside 0..39"),
        ([True, False], "not by bool"),
        ([0.5], "not by float64"),
    ],
)
def test_items_that_are_not_there_are_refused(policy, wrong, words):
    with pytest.raises(DataError, match=words.replace(".", r"\.")):
        policy(example_teaching(), RNG).labels_for(0, wrong, RNG)


def test_other_peoples_random_numbers_do_not_matter():
    """The trap of drawing with the global generator inside workers."""
    known = example_teaching()
    before = {name: labels(kind(), known, 4) for name, kind in DELIVERIES.items()}
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    for name, kind in DELIVERIES.items():
        assert (labels(kind(), known, 4) == before[name]).all()
