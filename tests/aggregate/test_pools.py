"""The simple pools: worked examples, loop-by-loop references, edges; and what all pools share."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from softlabel import Annotations, EstimandWarning, Index, SoftlabelError
from softlabel.aggregate import (
    AGGREGATORS,
    LabelDistribution,
    LogPool,
    Majority,
    Mean,
    Share,
    Softmax,
    TruthPosterior,
)
from softlabel.sampling import votes_from_counts
from softlabel.testing import example_soft, example_votes


def counted(*rows):
    """Anonymous votes with these counts per item."""
    counts = np.array(rows)
    index = Index(
        [f"i{i}" for i in range(len(counts))], [], [f"c{j}" for j in range(counts.shape[1])]
    )
    return votes_from_counts(index, counts)


def soft(*rows):
    index = Index(
        ["one"], [f"p{i}" for i in range(len(rows))], [f"c{j}" for j in range(len(rows[0]))]
    )
    return Annotations(index, np.zeros(len(rows), int), np.arange(len(rows)), probs=np.array(rows))


def test_mean_of_two_people():
    np.testing.assert_array_equal(Mean()(soft([1, 0], [0.5, 0.5])).probs, [[0.75, 0.25]])


def test_shares_of_uma_figure_1():
    np.testing.assert_allclose(Share()(counted([33, 13, 4])).probs, [[0.66, 0.26, 0.08]])


def test_softmax_of_counts():
    few = Softmax()(counted([2, 1, 0, 0])).probs[0]
    np.testing.assert_allclose(few, [0.610296, 0.224515, 0.082595, 0.082595], atol=1e-6)
    many = Softmax()(counted([33, 13, 4])).probs[0]
    np.testing.assert_allclose(many, [1 - 2.06e-9, 2.06e-9, 2.5e-13], rtol=3e-2, atol=1e-13)


def test_softmax_temperature_goes_from_hard_to_even():
    votes = counted([3, 1, 0])
    assert Softmax(tau=0.01)(votes).probs[0][0] == pytest.approx(1)
    np.testing.assert_allclose(Softmax(tau=1e6)(votes).probs[0], 1 / 3, atol=1e-5)
    with pytest.raises(SoftlabelError, match="tau = 0 is not in"):
        Softmax(tau=0)(votes)


def test_softmax_of_many_votes_does_not_overflow():
    np.testing.assert_array_equal(Softmax()(counted([5000, 0])).probs, [[1, 0]])


def test_three_tie_rules():
    votes = counted([2, 2, 1], [0, 3, 3], [1, 0, 0])
    np.testing.assert_array_equal(Majority()(votes).probs.argmax(axis=1), [0, 1, 0])
    np.testing.assert_array_equal(
        Majority("split")(votes).probs, [[0.5, 0.5, 0], [0, 0.5, 0.5], [1, 0, 0]]
    )
    drawn = Majority("random", seed=1)(votes).probs
    assert drawn.sum() == 3
    assert drawn[0][2] == drawn[1][0] == 0
    assert drawn[2][0] == 1


def test_random_ties_are_fair_seeded_and_belong_to_the_item():
    votes = counted(*[[2, 2, 0]] * 2000)
    once = Majority("random", seed=3)(votes).probs
    np.testing.assert_array_equal(once, Majority("random", seed=3)(votes).probs)
    assert abs(once[:, 0].mean() - 0.5) < 0.05
    assert not np.array_equal(once, Majority("random", seed=4)(votes).probs)


def test_fractional_votes_can_tie():
    """.1 + .2 and .3 + 0 are equal votes, although .1 + .2 is not the float .3."""
    tied = soft([0.1, 0.3, 0.6], [0.2, 0.0, 0.8], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0])
    np.testing.assert_array_equal(Majority("split")(tied).probs, [[0.5, 0.5, 0]])


def test_ties_go_to_the_rarer_class_or_to_the_people_who_agree():
    # items w, x, y are clear; on z Ann (always with the vote) says 1 and Bob (never) says 0
    ann, bob, eve = [0, 0, 0, 1], [1, 2, 1, 0], [0, 0, 0]
    index = Index(list("wxyz"), ["ann", "bob", "eve"], list("abc"))
    item, who = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2], [0] * 4 + [1] * 4 + [2] * 3
    votes = Annotations(index, np.array(item), np.array(who), label=np.array(ann + bob + eve))
    assert Majority("rare")(votes).probs[3].tolist() == [0, 1, 0]
    assert Majority("trusted")(votes).probs[3].tolist() == [0, 1, 0]
    assert Majority("first")(votes).probs[3].tolist() == [1, 0, 0]
    for rule in ("rare", "trusted"):
        whole = Majority(rule)(votes).probs
        np.testing.assert_array_equal(whole[:3], [[1, 0, 0]] * 3)
        np.testing.assert_array_equal(whole, Majority(rule)(votes, shards=3).probs)


def log_pool_by_loops(rows, floor):
    k = len(rows[0])
    weights = [1.0] * k
    for row in rows:
        for j in range(k):
            weights[j] *= (row[j] + floor) ** (1 / len(rows))
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize("floor", [0.01, 1e-6, 1.0])
def test_log_pool_is_the_geometric_mean(floor):
    rows = [[0.7, 0.2, 0.1], [0.4, 0.6, 0.0], [1.0, 0.0, 0.0]]
    np.testing.assert_allclose(
        LogPool(floor)(soft(*rows)).probs[0], log_pool_by_loops(rows, floor), atol=1e-12
    )


def test_log_pool_of_votes_equals_log_pool_of_one_hot_rows():
    votes, _ = example_votes()
    rows = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    np.testing.assert_allclose(LogPool()(votes).probs, LogPool()(rows).probs, atol=1e-12)


def test_log_pool_needs_a_floor():
    with pytest.raises(SoftlabelError, match="floor = 0"):
        LogPool(0)(counted([1, 1]))


def test_one_annotator_keeps_their_label_in_the_mean():
    np.testing.assert_array_equal(Mean()(soft([0.2, 0.8])).probs, [[0.2, 0.8]])


EVERY = [pytest.param(kind(), id=name) for name, kind in AGGREGATORS.items()]


def asked(pooler):
    """Votes on as many classes as the pool can tell apart."""
    return example_votes(labels=getattr(pooler, "classes", 3))[0]


def asked_softly(pooler):
    return example_soft(labels=getattr(pooler, "classes", 3))


@pytest.mark.parametrize("pooler", EVERY)
def test_votes_and_one_hot_rows_pool_alike(pooler):
    votes = asked(pooler)
    rows = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    np.testing.assert_allclose(pooler(votes).probs, pooler(rows).probs, atol=1e-12)


@pytest.mark.parametrize("pooler", EVERY)
def test_a_pool_of_threads_gives_the_same(pooler):
    said = asked_softly(pooler)
    with ThreadPoolExecutor(2) as threads:
        spread = pooler(said, map=threads.map, shards=5).probs
    np.testing.assert_allclose(spread, pooler(said).probs, atol=1e-12)


def test_a_pool_of_processes_gives_the_same():
    said = example_soft()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        for pooler in (Mean(), Softmax(2.0), LogPool()):
            spread = pooler(said, map=processes.map, shards=3).probs
            np.testing.assert_array_equal(spread, pooler(said).probs)


@pytest.mark.parametrize("pooler", EVERY)
def test_the_label_says_what_made_it_and_what_it_estimates(pooler):
    made = pooler(asked_softly(pooler))
    assert made.made_by == repr(pooler)
    assert made.estimand == pooler.estimand


TRUTHS = {"majority", "dawid-skene", "one-coin", "fast-dawid-skene", "glad", "mace", "wawa"}
TRUTHS |= {"zero-based-skill", "zencrowd", "catd", "kos", "bayes-dawid-skene"}
SPLITS = {"mean", "share", "softmax", "log-pool", "extremised", "weighted", "dirichlet"}
SPLITS |= {"dirichlet-mixture", "atoms", "stack", "judged", "auto", "ordinal"}


def test_the_two_families_are_all_there_and_each_says_what_it_estimates():
    families = {"truth": TRUTHS, "distribution": SPLITS}
    for estimand, members in families.items():
        assert {name for name, kind in AGGREGATORS.items() if kind.estimand == estimand} == members


@pytest.mark.parametrize("pooler", EVERY)
def test_the_entropy_of_every_pool_warns_when_read_as_the_other(pooler):
    made = pooler(asked(pooler))
    other = "truth" if made.estimand == "distribution" else "distribution"
    with pytest.warns(EstimandWarning, match="estimate"):
        made.entropy(other)
    assert (made.entropy(made.estimand)[made.answered] >= 0).all()


@pytest.mark.parametrize("pooler", EVERY)
def test_every_pool_survives_being_sent_to_another_process(pooler):
    assert pickle.loads(pickle.dumps(pooler)) == pooler


@pytest.mark.parametrize("pooler", EVERY)
def test_splits_come_with_a_belief_and_truths_with_what_was_learned_of_people(pooler):
    made = pooler(asked(pooler))
    if pooler.estimand == "distribution":
        assert isinstance(made, LabelDistribution)
        assert made.belief is not None
    elif pooler.name != "majority":
        assert isinstance(made, TruthPosterior)
        assert made.skill.shape == (len(made.index.annotators),)


def test_mean_by_loops():
    said = example_soft()
    found = Mean()(said).probs
    for i in range(len(said.index.items)):
        rows = [said.probs[n] for n in range(len(said)) if said.item[n] == i]
        np.testing.assert_allclose(found[i], sum(rows) / len(rows), atol=1e-12)


def test_no_shards_is_refused():
    with pytest.raises(SoftlabelError, match="shards = 0"):
        Mean()(example_soft(), shards=0)
