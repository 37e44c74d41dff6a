"""Report cards: by loops, by hand, against planted faults, and on real people."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import beta

from softlabel import Annotations, DataError, Index, datasets
from softlabel.aggregate import Majority, Mean, TruthPosterior
from softlabel.annotators import compare_with_others, judge, make_cards, measure_repeats
from softlabel.annotators.calibration import EDGES, calibration_curve, fit_temperature
from softlabel.annotators.cards import card_row, cards_document
from softlabel.annotators.rules import PRESETS
from softlabel.construct import Clamp
from softlabel.elicit import Classic
from softlabel.sampling import one_per_annotator, votes_from_counts
from softlabel.simulate.people import (
    Person,
    plan_showings,
    read_responses,
    simulate_answers,
)
from softlabel.testing import example_soft, example_statements, example_votes


def by_name(found):
    return {card.annotator: card for card in found.people}


# ── temperature ──────────────────────────────────────────────────────────────────────────────


def cost(u, own, others, usual):
    """Minus the log posterior of log t, term by term."""
    total = 0.0 if usual is None else (u - math.log(usual)) ** 2 / (2 * 0.5**2)
    for row, target in zip(own, others, strict=True):
        power = [(s + 0.01) ** math.exp(-u) for s in row]
        total -= sum(c * math.log(p / sum(power)) for c, p in zip(target, power, strict=True))
    return total


@pytest.mark.parametrize("usual", [None, 1.0, 1.3, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_temperature_is_the_minimum_of_its_definition(seed, usual):
    rng = np.random.default_rng(seed)
    own, others = rng.dirichlet([0.4] * 4, 12), rng.dirichlet([0.7] * 4, 12)
    best = minimize_scalar(cost, args=(own, others, usual), bounds=(-3, 3), method="bounded")
    # the flatter of two places would cost less than this
    found = math.log(fit_temperature(own, others, usual))
    assert cost(found, own, others, usual) <= best.fun + 1e-8
    assert found == pytest.approx(best.x, abs=1e-3)


@pytest.mark.parametrize("sharp", [0.6, 1.0, 1.7])
def test_somebody_who_says_too_much_by_a_known_power_is_found_out(sharp):
    others = np.random.default_rng(0).dirichlet([8.0] * 3, 3000)  # no chance near the floor
    own = others**sharp / (others**sharp).sum(axis=1, keepdims=True)
    assert fit_temperature(own, others) == pytest.approx(sharp, rel=0.05)


def test_few_answers_stay_near_what_is_usual_and_many_do_not():
    own, others = np.array([[0.98, 0.02]]), np.array([[0.5, 0.5]])
    few, many = (
        fit_temperature(np.repeat(own, n, 0), np.repeat(others, n, 0), 1.2) for n in (1, 1000)
    )
    assert 1.2 < few < many
    assert fit_temperature(own[:0], others[:0], 1.2) != fit_temperature(own[:0], others[:0], 1.2)


@given(st.permutations(range(4)))
def test_temperature_does_not_know_the_order_of_classes(order):
    rng = np.random.default_rng(5)
    own, others = rng.dirichlet([0.4] * 4, 9), rng.dirichlet([0.4] * 4, 9)
    moved = fit_temperature(own[:, order], others[:, order], 1.1)
    assert moved == pytest.approx(fit_temperature(own, others, 1.1), abs=1e-9)


def test_sure_people_who_agree_do_not_break_it():
    sure = np.eye(3)[[0, 1, 2, 0]]
    assert 0 < fit_temperature(sure, sure) < 1
    assert math.isfinite(fit_temperature(sure, np.roll(sure, 1, axis=1)))


# ── calibration ──────────────────────────────────────────────────────────────────────────────


def test_calibration_by_loops():
    rng = np.random.default_rng(1)
    own, others = rng.dirichlet([0.3] * 3, 50), rng.dirichlet([0.3] * 3, 50)
    own[0], own[1] = [1, 0, 0], [0.3, 0.7, 0]  # edges belong to the bin above, 1 to the last
    bins = {}
    for row, rest in zip(own, others, strict=True):
        for said, met in zip(row, rest, strict=True):
            for low, high in pairwise(EDGES):
                if low <= said < high or said == high == 1:
                    bins.setdefault(low, []).append((said, met))
    found = calibration_curve(own, others)
    assert [b.low for b in found] == sorted(bins)
    for b in found:
        said, met = zip(*bins[b.low], strict=True)
        assert (b.n, b.stated, b.others) == (
            len(said),
            pytest.approx(np.mean(said)),
            pytest.approx(np.mean(met)),
        )


def test_plain_votes_have_no_calibration():
    votes, _ = example_votes()
    found = make_cards(votes)
    assert math.isnan(found.temperature)
    assert all(math.isnan(card.temperature) and card.curve == () for card in found.people)


# ── confusion and reliability ────────────────────────────────────────────────────────────────


def confusion_by_loops(said, person, reference):
    """``reference(row)`` is a distribution, or None where it is not known."""
    k = len(said.index.labels)
    counts = np.zeros((k, k))
    for row in np.flatnonzero(said.annotator == person):
        target = reference(row)
        if target is not None:
            for j in range(k):
                for heard in range(k):
                    counts[j, heard] += target[j] * said.soft()[row, heard]
    return counts


def consensus_by_loops(said, row):
    others = [
        said.soft()[other]
        for other in range(len(said))
        if said.item[other] == said.item[row] and other != row
    ]
    return sum(others) / len(others) if others else None


@pytest.mark.parametrize("said", [example_soft(items=12), example_votes(items=12)[0]])
def test_without_more_people_are_held_against_the_others(said):
    found = make_cards(said)
    assert "leave-one-out consensus" in found.reference
    for a, name in enumerate(said.index.annotators.tolist()):
        counts = confusion_by_loops(said, a, lambda row: consensus_by_loops(said, row))
        card = by_name(found)[name]
        np.testing.assert_allclose(card.confusion, counts, atol=1e-12)
        n = counts.sum()
        hits = np.trace(counts)
        assert card.reliability.value == pytest.approx(hits / n)
        ends = beta(hits + 0.5, n - hits + 0.5).ppf([0.025, 0.975])
        assert (card.reliability.low, card.reliability.high) == pytest.approx(tuple(ends))


def test_with_gold_they_are_held_against_gold_where_it_is_known():
    votes, truth = example_votes(items=20)
    gold = np.where(np.arange(20) < 12, truth, -1)
    found = make_cards(votes, gold=gold)
    assert found.reference == "gold (12 items)"
    for a, name in enumerate(votes.index.annotators.tolist()):
        rows = np.flatnonzero((votes.annotator == a) & (votes.item < 12))
        right = votes.label[rows] == truth[votes.item[rows]]
        card = by_name(found)[name]
        assert card.reliability.n == len(rows)
        assert card.reliability.value == pytest.approx(right.mean())
        counts = confusion_by_loops(
            votes, a, lambda row: np.eye(3)[gold[votes.item[row]]] if votes.item[row] < 12 else None
        )
        np.testing.assert_allclose(card.confusion, counts, atol=1e-12)


def test_with_a_truth_posterior_they_are_held_against_it():
    votes, _ = example_votes(items=15)
    plain = Majority("split")(votes)
    skill = np.linspace(0.5, 0.9, 7)
    pooled = TruthPosterior(
        plain.index, plain.probs, plain.count, "truth", "Planted()", skill=skill
    )
    found = make_cards(votes, pooled=pooled)
    assert found.reference == "the truth posterior of Planted(), own answers included"
    for a, name in enumerate(votes.index.annotators.tolist()):
        counts = confusion_by_loops(votes, a, lambda row: plain.probs[votes.item[row]])
        np.testing.assert_allclose(by_name(found)[name].confusion, counts, atol=1e-12)
        assert by_name(found)[name].skill == skill[a]


def test_a_split_is_no_truth_to_be_held_against():
    votes, _ = example_votes()
    with pytest.raises(DataError, match=r"Mean\(\): it estimates how people split"):
        make_cards(votes, pooled=Mean()(votes))


def test_too_many_classes_for_matrices_leave_the_rest():
    k = 4000
    index = Index(["i", "j"], [f"p{i}" for i in range(4)], [f"c{i}" for i in range(k)])
    item, who = np.repeat([0, 1], 4), np.tile(np.arange(4), 2)
    votes = Annotations(index, item, who, label=np.array([0, 0, 0, 1, 2, 2, 3, 2]))
    found = make_cards(votes)
    assert all(card.confusion is None for card in found.people)
    assert by_name(found)["p0"].reliability.value == pytest.approx((2 / 3 + 2 / 3) / 2)


# ── whole cards ──────────────────────────────────────────────────────────────────────────────


def test_agreement_and_sharpness_are_those_of_agree():
    said = example_soft()
    found = by_name(make_cards(said))
    for card in compare_with_others(said):
        assert found[card.annotator].agreement == card.agreement
        assert found[card.annotator].sharpness == card.sharpness


def repeated():
    """Everybody answers all items, and the first two again."""
    rng = np.random.default_rng(3)
    truth = rng.dirichlet([0.5] * 4, 30)
    persons = [Person(noise=0.3) for _ in range(7)] + [Person(carelessness=1.0)]
    labels = ["ant", "bee", "cat", "dog"]
    index = Index([f"i{i}" for i in range(30)], [f"p{i}" for i in range(8)], labels)
    shown = plan_showings(30, 8, rng, repeats=2)
    return read_responses(
        index, Classic(), simulate_answers(truth, persons, Classic(), labels, rng, showings=shown)
    )


def test_repeats_count_as_answers_and_as_stability_only():
    said = repeated()
    each = Clamp()(said)
    found = make_cards(each, said)
    once = make_cards(one_per_annotator(each))
    assert found.repeats == measure_repeats(each, said)[0]
    assert found.repeats.pairs == 16
    for name, card in by_name(found).items():
        assert (card.answers, card.items, card.repeats.pairs) == (32, 30, 2)
        assert card.agreement == by_name(once)[name].agreement
        assert card.temperature == pytest.approx(by_name(once)[name].temperature)
        np.testing.assert_allclose(card.confusion, by_name(once)[name].confusion)


def test_somebody_who_does_not_look_comes_first_and_is_flagged():
    said = repeated()
    found = make_cards(Clamp()(said), said)
    first = found.people[0]
    assert first.annotator == "p7"
    assert any("agrees with the others by" in flag for flag in first.flags)
    assert first.reliability.value < min(card.reliability.value for card in found.people[1:])


def test_the_rules_of_quality_flag_and_remark():
    said = example_statements(items=20)
    found = make_cards(Clamp()(said), said, rules=PRESETS["reference"])
    for verdict in judge(said, PRESETS["reference"]):
        card = by_name(found)[verdict.annotator]
        assert card.flags[: len(verdict.reasons)] == verdict.reasons
        assert card.remarks == verdict.remarks
    flags = [len(card.flags) for card in found.people]
    assert flags == sorted(flags, reverse=True)


def test_haste_is_flagged_where_times_are_known():
    votes, _ = example_votes()
    seconds = np.where(votes.annotator == 2, 0.5, 4.0)
    found = by_name(make_cards(votes, seconds=seconds))
    assert any("fast: 0.5 s" in flag for flag in found["person-2"].flags)
    assert not any("fast" in flag for flag in found["person-1"].flags)
    assert found["person-1"].seconds.median == 4
    assert math.isnan(by_name(make_cards(votes))["person-1"].seconds.median)
    with pytest.raises(DataError, match="seconds has 3 entries"):
        make_cards(votes, seconds=seconds[:3])


def test_people_without_answers_and_items_without_others():
    index = Index(["i", "j"], ["ann", "bob", "idle"], ["x", "y"])
    said = Annotations(index, np.array([0, 0, 1]), np.array([0, 1, 0]), label=np.array([0, 1, 1]))
    found = by_name(make_cards(said))
    assert list(found) == ["ann", "bob"]
    assert found["ann"].reliability.n == 1  # nobody else answered j
    alone = make_cards(said.take(said.annotator == 0))
    assert math.isnan(alone.people[0].agreement)
    assert math.isnan(alone.people[0].reliability.value)
    assert make_cards(said.take(np.zeros(0, int))).people == ()


def test_anonymous_people_have_no_cards():
    votes = votes_from_counts(Index(["a"], [], ["x", "y"]), np.array([[2, 1]]))
    with pytest.raises(DataError, match="do not say who gave them"):
        make_cards(votes)


def test_the_document_holds_everything_and_survives_json():
    said = repeated()
    found = make_cards(Clamp()(said), said, seconds=np.full(len(said), 2.0))
    made = cards_document(found)
    text = json.dumps(made)
    assert json.dumps(json.loads(text)) == text
    person = made["annotators"][0]
    card = found.people[0]
    assert np.array_equal(person["confusion"], card.confusion)
    assert [b["n"] for b in person["calibration"]] == [b.n for b in card.curve]
    assert person["seconds"]["median"] == 2.0
    row = card_row(card)
    assert (row["annotator"], row["temperature"]) == (card.annotator, card.temperature)
    assert all(isinstance(value, str | int | float) for value in row.values())


def test_real_people_are_over_confident(data_folder):
    """They say too much, and differ modestly: four of five between 1.00 and 1.41."""
    said = datasets.cifar10s.load().statements
    found = make_cards(Clamp()(said), said)
    assert found.temperature == pytest.approx(1.21, abs=0.01)
    low, middle, high = np.percentile([card.temperature for card in found.people], [10, 50, 90])
    assert (low, middle, high) == pytest.approx((1.00, 1.19, 1.41), abs=0.01)


# ── skips ────────────────────────────────────────────────────────────────────────────────────


def test_skips_stand_on_the_card_and_change_nothing_else():
    votes, truth = example_votes()
    plain = by_name(make_cards(votes, gold=truth))
    who = next(iter(plain))
    skips = {who: {"cannot_judge": 2, "not_in_list": 1}, "silent": {"media_broken": 4}}
    found = by_name(make_cards(votes, gold=truth, skips=skips))
    assert found.keys() == plain.keys() | {"silent"}
    assert (found[who].skipped, found[who].skips) == (3, skips[who])
    assert (found[who].answers, found[who].agreement) == (plain[who].answers, plain[who].agreement)
    assert (found["silent"].answers, found["silent"].skipped, found["silent"].flags) == (0, 4, ())
    assert card_row(found["silent"])["skips"] == 4
