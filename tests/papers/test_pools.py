"""The replay: its parts by hand, and the targets on the real data in a reduced form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

from softlabel import Annotations, Index
from softlabel.aggregate import Dirichlet, DirichletMixture
from softlabel.metrics import kl
from softlabel.papers.pools import pooling, votes
from softlabel.papers.pools.answers import fit_temperatures, score_answers
from softlabel.papers.pools.votes import (
    Ledger,
    cross_fit,
    grassberger,
    kl_star,
    replay_votes,
    split_folds,
)


def index_of(items, classes):
    return Index([f"i{i}" for i in range(items)], [], [f"c{j}" for j in range(classes)])


def test_votes_are_used_once():
    counts = np.array([[4, 2, 1], [0, 0, 9], [3, 3, 3]])
    made = replay_votes(index_of(3, 3), counts, 5, seed=1)
    np.testing.assert_array_equal(made.votes(5) + made.held, counts)
    np.testing.assert_array_equal(made.votes(2).sum(axis=1), 2)
    assert (made.votes(3) - made.votes(2)).min() == 0, "the third vote comes after the second"
    np.testing.assert_allclose(made.share.sum(axis=1), 1)


def test_the_order_is_by_chance():
    """The first vote is each class as often as its share."""
    counts = np.tile([6, 3, 1], (4000, 1))
    first = replay_votes(index_of(4000, 3), counts, 5, seed=2).votes(1).mean(axis=0)
    np.testing.assert_allclose(first, [0.6, 0.3, 0.1], atol=0.03)


def test_every_item_is_in_one_fold():
    tests = np.array([test for _, test in split_folds(103, 5, 7)])
    np.testing.assert_array_equal(tests.sum(axis=0), 1)
    made = cross_fit(103, 5, 7, lambda rest, test: np.full((test.sum(), 2), rest.sum()))
    assert set(made[:, 0].tolist()) <= {82, 83}


def test_grassbergers_numbers():
    """G(1) = -gamma - log 2, G(2) = G(3) = 2 - gamma - log 2, as the paper gives them."""
    first = -np.euler_gamma - np.log(2)
    for counts, sums in (([1, 1], 2 * first), ([2, 0], 2 * (2 + first)), ([3, 1], 4 * first + 6)):
        n = sum(counts)
        found = grassberger(np.array([counts]))[0]
        assert found == pytest.approx(np.log(n) - sums / n)


def test_grassbergers_entropy_has_less_bias():
    """What is left is no more than 1/(2N), that of log N instead of psi(N)."""
    for p in ([0.7, 0.2, 0.1], [0.98, 0.01, 0.01], [0.4, 0.3, 0.3]):
        counts = np.random.default_rng(0).multinomial(50, p, 20_000)
        left = grassberger(counts).mean() - entropy(p)
        assert 0 < left < 1 / 100 + 0.002
        assert left < 0.6 * abs(entropy(counts / 50, axis=1).mean() - entropy(p))


def test_kl_star_is_a_constant_on_average_for_the_truth():
    p = np.array([0.6, 0.3, 0.1])
    rng = np.random.default_rng(1)
    counts = rng.multinomial(50, p, 20_000)
    made = replay_votes(index_of(20_000, 3), counts, 25, seed=3)
    value = kl_star(made.share, np.tile(p, (20_000, 1)), grassberger(counts)).mean()
    assert value == pytest.approx(-1 / 100, abs=0.002)


def test_a_ledger_averages_splits_first():
    ledger = Ledger(("5",))
    ledger.add("a", 5, np.array([1.0, 3.0]))
    ledger.add("a", 5, np.array([3.0, 5.0]))
    ledger.add("b", 5, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(ledger.by_item("a", 5), [2, 4])
    assert ledger.value("a", 5) == 3
    assert ledger.gain("b", "a", 5)[0] == 1.5
    assert ledger.table("t").rows[0][0] == "a"


def planted(items=300, votes=60, seed=0):
    rng = np.random.default_rng(seed)
    return index_of(items, 3), rng.multinomial(votes, rng.dirichlet([1.0, 0.5, 0.2], items))


def test_intervals_of_a_right_model_cover():
    index, counts = planted(1200)
    population = votes.Population("planted", index, counts, 2, (1,), (5,))
    found = votes.measure_coverage(population, lambda step: None)
    for number in votes.COVERAGE_VOTES:
        for place in votes.PLACES:
            inside = found["one Dirichlet, same images", place, number][0]
            assert inside == pytest.approx(0.9, abs=0.04)
    for pool in votes.POOLS:
        assert votes.mean_coverage(found, f"{pool}, same images") == pytest.approx(0.9, abs=0.03)
    shown = votes.tabulate_coverage(found, "t")
    assert [row[0] for row in shown.rows] == [
        "mixture, other images",
        *(f"{pool}, same images" for pool in ("one Dirichlet", "mixture", "atoms", "auto")),
    ]
    assert shown.columns[1] == "all"


def people(temperature, seed=0):
    """Five people who know the split of 200 items; the first states it at another temperature."""
    rng = np.random.default_rng(seed)
    split = rng.dirichlet([1.0, 0.6, 0.4], 200)
    item, annotator = np.divmod(np.arange(1000), 5)
    logs = np.log(split[item] + 0.01) + rng.normal(0, 0.2, (1000, 3))
    logs[annotator == 0] *= temperature
    soft = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    index = Index([f"i{i}" for i in range(200)], [f"p{j}" for j in range(5)], ["x", "y", "z"])
    return Annotations(index, item, annotator, probs=soft)


def test_temperatures_find_who_is_too_sure():
    found = fit_temperatures(people(2.0))
    assert found.argmax() == 0
    assert found[0] > 1.4 * found[1:].max()


# ── the real data ────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def data(data_folder):
    return pooling.load(quick=True)


def test_the_mixture_beats_one_dirichlet_on_cifar10h(data):
    """A fifth of the images, one split; the target of the whole is .090."""
    population = data.all_images
    made = replay_votes(population.index, population.counts, votes.BUILD, 500)

    def score(fit):
        priors = votes.fit_others(made, votes.BUILD, population.folds, 500, fit)
        return kl(made.share, votes.label_with_priors(made.votes(5), 500, priors)).mean()

    mixture, single = score(DirichletMixture(levels=3).fit), score(Dirichlet().fit)
    assert mixture < 0.097
    assert single - mixture > 0.02


def test_six_rich_answers_stacked(data):
    alone, _ = score_answers(data.rich, data.thousand.counts, (500,), (6,), lambda step: None, ())
    assert alone.value("stack", 6) <= 0.200
    assert alone.value("linear pool, floor 1e-3", 6) == pytest.approx(0.228, abs=0.015)
    assert alone.value("stack", 6) < alone.value("mixture, w fitted", 6)


def test_chaosnli_is_no_worse_than_one_dirichlet(data):
    ledger = votes.score_nli(*data.nli, (500,), lambda step: None)
    for number in votes.NLI_VOTES[1:]:
        assert ledger.value(votes.MIXTURE, number) <= ledger.value(votes.ONE, number)


def test_coverage_on_the_images_of_cifar10s(data):
    found = votes.measure_coverage(data.thousand, lambda step: None)
    for number in votes.COVERAGE_VOTES:
        for place in ("top", "second"):
            # one split: two standard errors more than the target of .87 to .93
            assert 0.85 <= found[votes.OTHER, place, number][0] <= 0.95


def test_the_page_says_what_failed():
    good = pooling.Target("this", "<= 1", "0.5", True)
    bad = pooling.Target("that", "<= 1", "1.5", False)
    text = pooling.make_page(pooling.Outcome(True, [good, bad], []))
    assert "| this | <= 1 | 0.5 | pass |" in text
    assert "| that | <= 1 | 1.5 | FAIL |" in text
    assert "quick" in text
