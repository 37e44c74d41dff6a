"""Agreement against a published example, brute force over pairs, and by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from softlabel import Annotations, DataError, Index, Statements, UnknownName
from softlabel.annotators import (
    alpha,
    alpha_score,
    compare_with_others,
    measure_agreement,
    measure_repeats,
    observed_agreement,
    repeat_distance,
)
from softlabel.annotators.agreement import pairwise_variation
from softlabel.annotators.cards import mean_of_others
from softlabel.annotators.repeats import measure_stability
from softlabel.metrics.intervals import resampled
from softlabel.sampling import votes_from_counts
from softlabel.testing import example_soft, example_votes

DISTANCES = {
    "brier": lambda p, q: ((p - q) ** 2).sum() / 2,
    "total-variation": lambda p, q: abs(p - q).sum() / 2,
    "hellinger": lambda p, q: 1 - np.sqrt(p * q).sum(),
}

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011), example C: four observers,
# twelve units, nominal data, missing values; alpha = 0.743.
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def krippendorff_votes():
    cells = [
        (unit, observer, value - 1)
        for observer, row in enumerate(KRIPPENDORFF)
        for unit, value in enumerate(row)
        if value is not None
    ]
    item, annotator, label = np.array(cells).T
    index = Index([f"u{i}" for i in range(12)], list("ABCD"), list("12345"))
    return Annotations(index, item, annotator, label=label)


@pytest.mark.parametrize("distance", DISTANCES)
def test_one_hot_alpha_is_the_published_nominal_alpha(distance):
    assert alpha(krippendorff_votes(), distance) == pytest.approx(0.743, abs=5e-4)


# The ordinal and interval alpha of the same example are 0.815 and 0.849 (Krippendorff 2011).  The
# other values are those of the Python package krippendorff 0.9.0 (GPL-3, by Santiago Castro):
# alpha(reliability_data, level_of_measurement=..., value_domain=...).
SCALES = {
    "published": (
        KRIPPENDORFF,
        [1, 2, 3, 4, 5],
        (0.743421052631579, 0.8153875037548814, 0.8491071428571428),
    ),
    "uneven steps": (
        [
            [1, -5, -5, None, -5, 1, None, 1, -5, None],
            [4, -5, -2, -2, None, 4, 4, 0, -5, -2],
            [4, -2, None, -5, -5, 4, None, 1, -2, -5],
            [4, -5, -5, 0, None, None, 1, -2, -5, -2],
        ],
        [-5, -2, 0, 1, 4],
        (0.1771105308964317, 0.7461931181626467, 0.7615995898487568),
    ),
    "three steps": (
        [
            [3, 1, 1, 3, 2, 2, 3, None, 3, None],
            [2, 1, 1, 2, None, 1, None, 2, 3, 3],
            [2, 1, 1, 2, 2, None, 2, 3, 3, 3],
            [3, 2, 1, 2, 3, 1, 3, 3, 3, 1],
        ],
        [1, 2, 3],
        (0.2986798679867988, 0.511869992441421, 0.5323624595469256),
    ),
}


def rated(rows, values):
    cells = [
        (unit, person, values.index(value))
        for person, row in enumerate(rows)
        for unit, value in enumerate(row)
        if value is not None
    ]
    item, annotator, label = np.array(cells).T
    units, people = (range(len(side)) for side in (rows[0], rows))
    index = Index([f"u{i}" for i in units], [f"p{i}" for i in people], [str(v) for v in values])
    return Annotations(replace(index, ordered=True), item, annotator, label=label)


@pytest.mark.parametrize("name", SCALES)
def test_alpha_on_a_scale_equals_published_values(name):
    rows, values, expected = SCALES[name]
    votes = rated(rows, values)
    found = [alpha(votes, distance) for distance in ("brier", "ordinal", "interval")]
    assert found == pytest.approx(expected, abs=1e-12)
    soft = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    assert alpha(soft, "ordinal") == pytest.approx(expected[1], abs=1e-12)
    assert alpha(soft, "interval") == pytest.approx(expected[2], abs=1e-12)
    turned = replace(
        votes,
        index=replace(votes.index, labels=votes.index.labels[::-1]),
        label=len(values) - 1 - votes.label,
    )
    assert alpha(turned, "ordinal") == pytest.approx(expected[1], abs=1e-12)


def test_classes_that_are_no_numbers_are_rated_by_their_places():
    rows, _, expected = SCALES["three steps"]
    votes = rated(rows, [1, 2, 3])
    named = replace(votes, index=replace(votes.index, labels=["low", "middle", "high"]))
    assert alpha(named, "interval") == pytest.approx(expected[2], abs=1e-12)


def test_both_scales_stand_beside_alpha_for_ordered_classes():
    votes = rated(*SCALES["published"][:2])
    result = measure_agreement(votes, draws=40)
    assert result.scales["ordinal"].value == pytest.approx(0.815, abs=5e-4)
    assert result.scales["ordinal"].low < 0.815 < result.scales["ordinal"].high
    assert result.scales["interval"].value == pytest.approx(0.849, abs=5e-4)
    nominal = replace(votes, index=replace(votes.index, ordered=False))
    assert measure_agreement(nominal, draws=4).scales == {}


def alpha_by_pairs(said, distance):
    """Straight from the definition, over all ordered pairs."""
    soft, d = said.soft(), DISTANCES[distance]
    units = {}
    for row, item in enumerate(said.item):
        units.setdefault(int(item), []).append(soft[row])
    units = [rows for rows in units.values() if len(rows) > 1]
    values = [row for rows in units for row in rows]
    n = len(values)
    observed = sum(
        d(a, b) / (len(rows) - 1) for rows in units for a, b in itertools.permutations(rows, 2)
    )
    expected = sum(d(a, b) for a, b in itertools.permutations(values, 2)) / (n - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("distance", DISTANCES)
def test_alpha_equals_its_definition_on_soft_labels(distance):
    said = example_soft(items=12)
    assert alpha(said, distance) == pytest.approx(alpha_by_pairs(said, distance), abs=1e-12)


@pytest.mark.parametrize("distance", DISTANCES)
def test_resampling_moments_equals_resampling_the_table(distance):
    """The interval from per-item sums is that of rebuilding the table for every draw."""
    for said in (example_soft(items=15), example_votes(items=15)[0]):
        fast = alpha_score(said, distance, draws=50)
        slow = resampled(said, lambda cut: alpha(cut, distance), draws=50)
        assert (fast.value, fast.low, fast.high) == pytest.approx((slow.value, slow.low, slow.high))


def test_alpha_at_its_edges():
    perfect, _ = example_votes(right=1.0)
    assert alpha(perfect) == pytest.approx(1)
    random, _ = example_votes(items=3000, right=1 / 3)
    assert abs(alpha(random)) < 0.02
    one_each = perfect.take(np.unique(perfect.item, return_index=True)[1])
    assert np.isnan(alpha(one_each))
    same = votes_from_counts(Index(["a", "b"], [], ["x", "y"]), np.array([[3, 0], [2, 0]]))
    assert np.isnan(alpha(same))
    with pytest.raises(UnknownName, match="no distance called 'euclid'"):
        alpha(perfect, "euclid")


@pytest.mark.parametrize("over", ["items", "annotators"])
def test_the_interval_of_alpha_holds_it_and_shrinks(over):
    small, large = (
        alpha_score(example_votes(items=items)[0], over=over, draws=200) for items in (40, 640)
    )
    for score in (small, large):
        assert score.low < score.value < score.high
    assert large.high - large.low < small.high - small.low


def test_observed_agreement():
    votes = votes_from_counts(
        Index(["a", "b", "c", "d"], [], ["x", "y", "z"]),
        np.array([[33, 13, 4], [1, 0, 0], [0, 0, 0], [2, 0, 0]]),
    )
    np.testing.assert_allclose(observed_agreement(votes), [0.499592, 1, np.nan, 1], atol=1e-6)


def test_observed_agreement_of_soft_labels_by_pairs():
    said = example_soft(items=10)
    found = observed_agreement(said)
    for item in range(10):
        rows = said.probs[said.item == item]
        pairs = [a @ b for a, b in itertools.permutations(rows, 2)]
        assert found[item] == pytest.approx(np.mean(pairs) if pairs else 1)


def test_pairwise_variation_by_pairs():
    said = example_soft()
    found = pairwise_variation(said)
    for item in range(len(said.index.items)):
        rows = said.soft()[said.item == item]
        pairs = [abs(a - b).sum() / 2 for a, b in itertools.combinations(rows, 2)]
        assert found[item] == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)


def test_pairwise_variation_of_votes_is_the_chance_to_differ():
    votes, _ = example_votes()
    hot = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    np.testing.assert_allclose(pairwise_variation(votes), pairwise_variation(hot))
    shared = votes.votes_per_item() > 1
    expected = 1 - observed_agreement(votes)[shared]
    np.testing.assert_allclose(pairwise_variation(votes)[shared], expected)


def repeated(*rows):
    """(item, top, chance) of one person, in order."""
    index = Index(["i0", "i1"], ["someone"], ["deer", "horse"])
    item, top, percent = zip(*rows, strict=True)
    n = len(rows)
    return Statements(
        index,
        np.array(item),
        np.zeros(n, int),
        np.array(top)[:, None],
        np.array(percent, float)[:, None],
        np.ones((n, 2), bool),
    )


def test_stability_example():
    said = repeated((0, 0, 90), (1, 0, 70), (0, 0, 80), (1, 1, 70))
    found = measure_stability(said)
    assert (found.pairs, found.changed, found.change_rate, found.mean_points) == (2, 1, 0.5, 10)


def test_stability_compares_the_first_two_answers():
    found = measure_stability(repeated((0, 0, 90), (0, 0, 80), (0, 1, 10)))
    assert (found.pairs, found.changed, found.mean_points) == (1, 0, 10)


def test_nobody_repeated_anything():
    found = measure_stability(repeated((0, 0, 90), (1, 0, 80)))
    assert found.pairs == 0
    assert np.isnan(found.change_rate)
    assert np.isnan(found.mean_points)


def test_repeat_distance_is_total_variation():
    index = Index(["i"], ["p", "q"], ["x", "y"])
    probs = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]])
    each = Annotations(index, np.zeros(3, int), np.array([0, 1, 0]), probs=probs)
    np.testing.assert_allclose(repeat_distance(each), [0.4])


def test_steadiness_of_everybody_and_of_each():
    index = Index(["i", "j"], ["p", "q", "r"], ["x", "y"])
    rows = [
        (0, 0, 0.9),
        (1, 0, 0.6),
        (0, 0, 0.3),
        (1, 0, 0.8),
        (0, 1, 0.5),
        (0, 1, 0.6),
        (1, 2, 1.0),
    ]
    item, person, chance = (np.array(column) for column in zip(*rows, strict=True))
    probs = np.stack([chance, 1 - chance], axis=1)
    everybody, each = measure_repeats(Annotations(index, item, person, probs=probs))
    assert (everybody.pairs, everybody.changed) == (3, 1)
    assert everybody.variation == pytest.approx((0.6 + 0.2 + 0.1) / 3)
    assert set(each) == {"p", "q"}
    assert (each["p"].pairs, each["p"].change_rate) == (2, 0.5)
    assert each["q"].variation == pytest.approx(0.1)


def test_the_first_class_named_counts_even_where_another_has_more_mass():
    said = repeated((0, 0, 40), (0, 1, 40))
    probs = np.array([[0.4, 0.6], [0.4, 0.6]])
    each = Annotations(said.index, said.item, said.annotator, probs=probs)
    assert measure_repeats(each)[0].changed == 0
    assert measure_repeats(each, said)[0].changed == 1
    assert measure_repeats(each.take([0]))[0].pairs == 0


def test_the_consensus_of_the_others_by_loops():
    said = example_soft(items=8)
    soft = said.soft()
    found = mean_of_others(soft, said.counts()[said.item])
    for row in range(len(said)):
        rest = [soft[n] for n in range(len(said)) if said.item[n] == said.item[row] and n != row]
        np.testing.assert_allclose(found[row], np.mean(rest, axis=0) if rest else 0, atol=1e-12)


def test_cards_by_hand():
    index = Index(["i", "j"], ["ann", "bob", "idle"], ["x", "y"])
    probs = np.array([[1.0, 0], [0.5, 0.5], [0.2, 0.8]])
    each = Annotations(index, np.array([0, 0, 1]), np.array([0, 1, 0]), probs=probs)
    ann, bob, idle = compare_with_others(each, gold=np.array([0, 0]))
    assert (ann.answers, bob.answers, idle.answers) == (2, 1, 0)
    assert ann.agreement == pytest.approx(0.5)  # item j has nobody to agree with
    assert bob.sharpness == pytest.approx(np.log(2))
    assert ann.accuracy == 0.5
    assert np.isnan(idle.agreement)
    assert np.isnan(compare_with_others(each)[0].accuracy)


def test_cards_of_votes_equal_cards_of_one_hot_labels():
    votes, truth = example_votes()
    rows = Annotations(votes.index, votes.item, votes.annotator, probs=votes.soft())
    for vote, row in zip(
        compare_with_others(votes, truth), compare_with_others(rows, truth), strict=True
    ):
        assert vote.agreement == pytest.approx(row.agreement)
        assert (vote.sharpness, vote.accuracy) == (row.sharpness, row.accuracy)


def test_a_persons_own_repeat_is_not_the_others():
    index = Index(["i"], ["x", "y"], ["c", "d"])
    votes = Annotations(index, np.zeros(3, int), np.array([0, 0, 1]), label=np.array([0, 0, 1]))
    x, y = compare_with_others(votes)
    assert (x.answers, x.agreement, y.agreement) == (2, 0, 0)


def test_the_jackknife_over_annotators_covers_the_value_of_many():
    """People of different skill; the truth is alpha of 400 of them."""
    rng = np.random.default_rng(0)

    def crowd(people):
        index = Index(
            [f"i{i}" for i in range(40)], [f"p{i}" for i in range(people)], ["a", "b", "c"]
        )
        truth = np.arange(40) % 3
        item, who = (grid.ravel() for grid in np.meshgrid(np.arange(40), np.arange(people)))
        skill = rng.uniform(0.3, 1, people)[who]
        label = np.where(rng.random(len(item)) < skill, truth[item], rng.integers(0, 3, len(item)))
        return Annotations(index, item, who, label=label)

    target = alpha(crowd(400))
    scores = [alpha_score(crowd(10), over="annotators") for _ in range(200)]
    covered = np.mean([score.low <= target <= score.high for score in scores])
    assert 0.88 <= covered <= 0.99


def test_nobody_can_be_left_out_of_anonymous_votes():
    votes = votes_from_counts(Index(["a", "b"], [], ["x", "y"]), np.array([[3, 1], [2, 2]]))
    with pytest.raises(DataError, match="anonymous"):
        alpha_score(votes, over="annotators")
    with pytest.raises(UnknownName, match="no unit to resample called 'item'"):
        alpha_score(votes, over="item")


def test_the_interval_counts_the_items_it_is_about():
    votes, _ = example_votes(items=40)
    few = votes.take(votes.item < 3)
    assert alpha_score(few, draws=20).n == 3
    soft = Annotations(few.index, few.item, few.annotator, probs=few.soft())
    assert alpha_score(soft, "total-variation", draws=20).n == 3
