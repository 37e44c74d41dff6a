"""Recorded votes replayed: each vote once, policies against each other on a planted crowd, and the
targets on the real data in a reduced form."""

from __future__ import annotations

import json

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, datasets
from softlabel.aggregate import DirichletMixture
from softlabel.allocate import (
    FitVotes,
    Greedy,
    Recorded,
    Setting,
    Uniform,
    compare,
    draw_curves,
    grassberger,
    kl_star,
    split_folds,
)
from softlabel.allocate.replay import RAW, run_policy
from softlabel.sampling import votes_from_counts

LABELS = ["x", "y", "z", "u"]


def index_of(items):
    return Index([f"i{i}" for i in range(items)], [], LABELS)


@pytest.fixture(scope="module")
def planted():
    """Four in five items are nearly unanimous, the others anything; 40 votes each."""
    rng = np.random.default_rng(3)
    alpha = np.full((1200, 4), 0.02)
    alpha[np.arange(1200), rng.integers(0, 4, 1200)] += 10
    alpha[::5] = 1.0
    split = rng.dirichlet(np.ones(4), 1200)
    for i, row in enumerate(alpha):
        split[i] = rng.dirichlet(row)
    votes = votes_from_counts(index_of(1200), rng.multinomial(40, split))
    return Recorded("planted", votes), split


def test_votes_are_held_out_or_in_the_pool():
    counts = np.array([[4, 2, 1, 0], [0, 0, 9, 0], [3, 3, 3, 0], [1, 0, 0, 0]])
    made = Recorded("some", votes_from_counts(index_of(4), counts)).hold_out(3, seed=1)
    assert made.index.items.tolist() == ["i0", "i1", "i2"], "one vote cannot be held out and used"
    assert made.hold == 2, "a third of what the median item has"
    np.testing.assert_array_equal(made.counts, counts[:3])
    np.testing.assert_array_equal(made.size, counts[:3].sum(axis=1) - 2)
    np.testing.assert_allclose(2 * made.share + made.build(99), counts[:3])
    assert made.note == ("2 votes of each item held out; 1 item with fewer than 3 votes left out")
    taken = np.zeros((3, 4))
    for item in range(3):
        for used in range(int(made.size[item])):
            label, _ = made.answer(np.array([item]), np.array([used]))
            taken[item, label[0]] += 1
    np.testing.assert_array_equal(taken, made.build(99))
    part = made.part(np.array([True, False, True]))
    np.testing.assert_array_equal(part.build(2), made.build(2)[[0, 2]])
    np.testing.assert_array_equal(part.share, made.share[[0, 2]])


def test_a_person_counts_once():
    index = Index(["a"], ["p", "q"], LABELS)
    votes = Annotations(index, [0, 0, 0], [0, 0, 1], label=[0, 1, 2])
    recorded = Recorded("twice", votes, np.array([1.0, 2.0, 3.0]))
    assert recorded.votes.label.tolist() == [0, 2]
    assert recorded.seconds.tolist() == [1, 3]


def test_what_cannot_be_replayed_is_refused():
    index = Index(["a"], [], LABELS)
    soft = Annotations(index, [0], [-1], probs=[[0.5, 0.5, 0, 0]])
    with pytest.raises(DataError, match="soft answers; a replay needs votes"):
        Recorded("soft", soft)
    single = Recorded("single", votes_from_counts(index, np.array([[1, 0, 0, 0]])))
    with pytest.raises(DataError, match="no item has two votes"):
        single.hold_out(1, 0)
    with pytest.raises(DataError, match="hold = 0"):
        single.hold_out(0, 0)


def test_uniform_asks_what_the_pool_holds_first(planted):
    made = planted[0].hold_out(10, 0)
    rng = np.random.default_rng(0)
    points = run_policy(made, Uniform(), FitVotes(), (3.6, 9.0, 99.0), 1.8, rng)
    assert len(points) == 2, "99 seconds are more than the pool has"
    np.testing.assert_array_equal(points[0].votes, made.build(2))
    np.testing.assert_array_equal(points[1].votes, made.build(5))
    assert points[1].seconds == pytest.approx(9.0)
    fitted = DirichletMixture().fit(made.index, made.build(5))
    own = FitVotes(fitted)(made.index, made.build(5)).mean()
    np.testing.assert_allclose(points[1].labels, own)


def test_many_votes_of_other_items_are_a_prior_to_trust(planted):
    made = planted[0].hold_out(10, 0)
    rest, test = next(split_folds(1200, 2, 0))
    few, many = made.part(rest).fit_others(10), made.part(rest).fit_others(37)
    assert (few.trusted, many.trusted) == (False, True)
    part, split = made.part(test), planted[1][test]
    votes = part.build(2)
    losses = [kl_star(split, fit(part.index, votes).mean(), np.zeros(600)) for fit in (few, many)]
    alone = kl_star(split, FitVotes()(part.index, votes).mean(), np.zeros(600))
    assert losses[1].mean() < losses[0].mean() < alone.mean()


def test_choosing_pays_on_a_planted_crowd(planted):
    """Easy and hard items: hard ones are asked more, and labels come closer to the true splits."""
    recorded, split = planted
    found = compare(recorded, [Greedy()], Setting(goals=(9.0,), seeds=(1,)))
    row = found.row("greedy", 9.0)
    assert row.below_uniform.value > 0
    assert row.below_raw.low > 0
    assert row.seconds == pytest.approx(9.0)
    assert found.row(RAW, 9.0).kl.value > found.row("uniform", 9.0).kl.value
    made, hard = recorded.hold_out(10, 1), np.arange(1200) % 5 == 0
    losses = {}
    for policy in (Greedy(), Uniform()):
        point = run_policy(made, policy, FitVotes(), (9.0,), 1.8, np.random.default_rng([1, 5]))[0]
        losses[policy.name] = kl_star(split, point.labels, np.zeros(len(split))).mean()
        more = point.answers[hard].mean() / point.answers[~hard].mean()
        assert more > 1.5 if policy.looks else more == 1
    assert losses["greedy"] < losses["uniform"] - 0.003


def test_recorded_times_are_the_price(planted):
    votes = planted[0].votes
    few = votes.take(np.flatnonzero(votes.item < 200))
    seconds = np.where(few.label == 0, 1.0, 3.0)
    found = compare(Recorded("timed", few, seconds), [], Setting(goals=(10.0,)))
    assert found.price == pytest.approx(seconds.mean())
    assert found.row("uniform", 10.0).seconds == pytest.approx(10.0, abs=0.05)


def test_a_comparison_is_plain_data_and_a_figure(planted):
    votes = planted[0].votes
    few = votes.take(np.flatnonzero(votes.item < 200))
    found = compare(Recorded("few", few), [Greedy(blend=0)], Setting(goals=(3.6, 5.4), hold=9))
    stored = json.loads(json.dumps(found.to_dict()))
    assert [row["policy"] for row in stored["rows"][:2]] == ["greedy (blend=0)"] * 2
    assert (
        stored["note"]
        == "9 votes of each item held out; 1,000 items with fewer than 10 votes left out"
    )
    drawn = draw_curves(found)
    assert "seconds per item" in drawn
    assert "greedy (blend=0), 3.6 s: 0." in drawn


# ── real data, reduced ───────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def thousand(data_folder):
    """Votes of CIFAR-10H on 1,000 images, the natural mix."""
    votes = datasets.cifar10h.load("counts")
    rows = np.arange(0, 10_000, 10)
    index = Index(votes.index.items[rows], [], votes.index.labels)
    return Recorded("a tenth", votes_from_counts(index, votes.arrays["counts"][rows]))


def test_greedy_saves_time_on_pictures(thousand):
    """The whole replay is in docs/allocate.md: .052 and .039; a tenth of the images is noisier."""
    found = compare(thousand, [Greedy()], Setting(calibrate=37, goals=(5.4, 9.0)))
    assert found.row("greedy", 5.4).kl.value < 0.07
    assert found.row("greedy", 9.0).kl.value < 0.052
    assert found.row("greedy", 9.0).below_uniform.low > 0
    assert found.row("greedy", 5.4).kl.value < found.row(RAW, 9.0).kl.value


def test_greedy_does_no_harm_where_all_items_are_ambiguous(data_folder):
    nli = datasets.load("chaosnli/mnli")
    rows = np.flatnonzero(nli.annotations.item < 400)
    found = compare(Recorded("nli", nli.annotations.take(rows)), [Greedy()], Setting(goals=(5.4,)))
    assert found.row("greedy", 5.4).below_uniform.value >= -0.001


def test_the_entropy_of_all_votes_is_the_constant(planted):
    made = planted[0].hold_out(10, 2)
    half = np.full(made.share.shape, 0.25)
    values = kl_star(made.share, half, grassberger(made.counts))
    np.testing.assert_allclose(values, np.log(4) - grassberger(made.counts))
