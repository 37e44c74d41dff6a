"""Declared rules: the worked examples; and what each flag means."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import DataError, Index, Statements, UnknownName
from softlabel.aggregate import Mean
from softlabel.annotators import find_usual, flag_answers, get_rules, inspect, judge, lower_limit
from softlabel.annotators.rules import PRESETS, measure_rounding
from softlabel.construct import Clamp
from softlabel.elicit import Classic
from softlabel.records import stack_answers

LABELS = ["cat", "deer", "dog"]


def counts(out_of_range=0, contradictory=0, zero_first=0):
    return {
        "out-of-range": out_of_range,
        "contradictory": contradictory,
        "zero-first": zero_first,
    }


WORKED = [  # errors, accuracy, kept by paper, kept by reference
    (counts(), 0.50, True, True),
    (counts(contradictory=1), 0.74, False, False),
    (counts(contradictory=1), 0.75, True, True),
    (counts(contradictory=2), 0.90, True, False),
    (counts(contradictory=3), 0.99, False, False),
    (counts(out_of_range=1), 0.99, True, False),
    (counts(contradictory=1, zero_first=1), 0.90, True, True),
]


@pytest.mark.parametrize(("errors", "accuracy", "paper", "reference"), WORKED)
def test_worked_examples(errors, accuracy, paper, reference):
    assert (not get_rules("paper").reasons(errors, accuracy)) == paper
    assert (not get_rules("reference").reasons(errors, accuracy)) == reference


def test_reasons_name_numbers_and_limits():
    (reason,) = get_rules("paper").reasons(counts(contradictory=3), 0.99)
    assert reason == "3 errors, at most 2 allowed"
    (reason,) = get_rules("paper").reasons(counts(contradictory=1), 0.74)
    assert reason == "1 error(s) and accuracy 0.74 under 0.75"


def test_without_gold_the_accuracy_clause_excludes_nobody():
    assert get_rules("reference").reasons(counts(contradictory=1), float("nan")) == ()


def test_presets_are_named_and_versioned():
    assert {rules.name for rules in PRESETS.values()} == set(PRESETS)
    assert all(rules.version >= 1 for rules in PRESETS.values())
    with pytest.raises(UnknownName, match="did you mean 'paper'"):
        get_rules("papre")


def answers(*payloads, people=None, items=None):
    """One answer per payload, all by one person on different items unless told otherwise."""
    n = len(payloads)
    people, items = people or [0] * n, items or list(range(n))
    index = Index(
        [f"i{i}" for i in range(max(items) + 1)], [f"p{i}" for i in range(max(people) + 1)], LABELS
    )
    read = [Classic().read(payload, LABELS) for payload in payloads]
    return stack_answers(index, np.array(items), np.array(people), read)


def said(top="deer", p1=60, second=None, p2=None, impossible=("cat",)):
    return {"top": top, "p1": p1, "second": second, "p2": p2, "impossible": list(impossible)}


FLAGGED = {
    "out-of-range": said(p1=101),
    "contradictory": said(impossible=["deer"]),
    "zero-first": said(p1=0),
    "same-class-twice": said(second="deer", p2=10),
    "second-above-first": said(second="dog", p2=70),
    "sum-above-100": said(second="dog", p2=41),
    "all-ruled-out": said(impossible=LABELS),
    "none-ruled-out": said(impossible=()),
    "unit-scale": said(p1=0.6, second="dog", p2=0.4),
}


@pytest.mark.parametrize("name", FLAGGED)
def test_each_flag_marks_its_answer_and_not_a_plain_one(name):
    marked = flag_answers(answers(FLAGGED[name], said(second="dog", p2=40)))
    assert marked[name].tolist() == [True, False]


def test_a_mended_zero_still_counts_as_an_error():
    table = answers(said(p1="0"))
    assert table.percent[0, 0] == 100
    assert flag_answers(table)["zero-first"].tolist() == [True]


def test_an_alternative_ruled_out_is_a_contradiction_too():
    assert flag_answers(answers(said(second="cat", p2=10)))["contradictory"].tolist() == [True]


def test_a_class_without_a_number_is_flagged():
    index = Index(["i"], ["p"], LABELS)
    table = Statements(
        index, [0], [0], np.array([[1]]), np.array([[np.nan]]), np.ones((1, 3), bool)
    )
    assert flag_answers(table)["no-number-first"].tolist() == [True]


def test_rounding_counts_all_stated_chances():
    found = measure_rounding(answers(said(p1=100), said(p1=95), said(p1=33, second="dog", p2=50)))
    assert (found.n, found.multiple_of_5, found.multiple_of_10) == (4, 0.75, 0.5)
    assert found.exactly_100 == 0.25


def test_a_missing_chance_is_an_error_of_the_paper():
    assert get_rules("paper").reasons({"no-number-first": 3}, 0.99) == (
        "3 errors, at most 2 allowed",
    )


def test_remarks_report_and_do_not_exclude():
    page = said(impossible=())
    table = answers(*[page] * 12)
    (verdict,) = judge(table, get_rules("reference"), seconds=np.array([1.0] * 3 + [9.0] * 9))
    assert verdict.keep
    assert "never ruled anything out" in verdict.remarks
    assert "the same top class on 12 pages in a row" in verdict.remarks
    assert "3 answer(s) in under 3 s" in verdict.remarks


def test_failed_repeats_are_remarked_on():
    table = answers(said(top="deer"), said(top="dog"), said(top="dog"), items=[0, 1, 0])
    (verdict,) = judge(table, get_rules("paper"))
    assert "another top class on every repeat (1)" in verdict.remarks


def test_accuracy_counts_pages_with_known_gold():
    table = answers(said(top="deer"), said(top="dog"), said(top="dog"))
    (verdict,) = judge(table, get_rules("paper"), gold=np.array([1, 1, -1]))
    assert verdict.accuracy == 0.5


def careless_and_careful():
    wrong = said(top="cat", p1=150, impossible=["cat"])
    payloads = [said(), said(), wrong, wrong, said(second="dog", p2=40), wrong]
    return answers(*payloads, people=[0, 0, 1, 1, 2, 1], items=[0, 1, 0, 1, 0, 2])


def test_inspection_says_what_would_change():
    found = inspect(careless_and_careful(), get_rules("reference"), Clamp(), Mean())
    assert [verdict.annotator for verdict in found.out] == ["p1"]
    assert found.lost.tolist() == [2]
    without = Mean()(Clamp()(careless_and_careful().take([0, 1, 4])))
    np.testing.assert_allclose(found.after.probs, without.probs)
    assert np.isnan(found.moved[2])
    assert found.moved[0] > 0
    assert found.top_changed == 1  # on item 1 it was one against one


def test_nobody_out_nothing_changes():
    found = inspect(answers(said(), said()), get_rules("paper"), Clamp(), Mean())
    assert found.out == []
    np.testing.assert_array_equal(found.moved, [0, 0])


def test_anonymous_answers_cannot_be_judged():
    table = answers(said())
    nobody = Statements(table.index, table.item, [-1], table.named, table.percent, table.possible)
    with pytest.raises(DataError, match="do not say who gave them"):
        inspect(nobody, get_rules("paper"), Clamp(), Mean())


def test_answers_that_name_nothing_can_be_judged():
    index = Index(["i"], ["p"], LABELS)
    nothing = np.zeros((2, 0), int)
    table = Statements(
        index, [0, 0], [0, 0], nothing, nothing * 1.0, np.array([[True, False, False]] * 2)
    )
    (verdict,) = judge(table, get_rules("paper"))
    assert verdict.keep
    assert flag_answers(table)["nothing-stated"].all()


# ── beside everybody else ────────────────────────────────────────────────────────────────────


def test_far_below_by_hand():
    """Median .8, distances .0 .0 .01 .01 .02 .35: their median .01 times 1.4826, three times."""
    values = [0.80, 0.82, 0.79, 0.81, 0.80, 0.45]
    assert lower_limit(values) == pytest.approx(0.8 - 3 * 1.4826 * 0.01)
    assert [value < lower_limit(values) for value in values] == [False] * 5 + [True]
    assert lower_limit([*values, float("nan")]) == lower_limit(values)
    assert lower_limit(values[:4]) == -np.inf, "of few people nobody is unusual"


def test_the_hasty_and_the_lonely_are_flagged_with_the_limit():
    common = find_usual([4.0, 6.0, 5.0, float("nan")], [0.80, 0.82, 0.79, 0.81, 0.80, 0.45])
    assert common.seconds == 5
    assert common.flags(5, 1.6, 0.8) == ["fast: 1.6 s an answer, others 5.0 s"]
    assert common.flags(5, 5.0, 0.45) == ["agrees with the others by 0.45, under 0.76"]
    assert common.flags(4, 1.6, 0.45) == [], "four answers are too few to say"
    assert common.flags(5, float("nan"), float("nan")) == []
    assert find_usual([], []).flags(9, 0.1, 0.1) == []
