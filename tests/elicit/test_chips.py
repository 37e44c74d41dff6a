"""Chips: counts are chances, and the sum is kept."""

from __future__ import annotations

import numpy as np
import pytest

from softlabel import SoftlabelError
from softlabel.elicit import Chips
from softlabel.errors import ResponseError

LABELS = ["cat", "deer", "dog", "fish"]


def answer(**fields):
    return {"n": 20, "chips": {"cat": 6, "dog": 14}, "unallocated": 0} | fields


def test_a_chip_of_twenty_is_five_percent():
    read = Chips().read(answer(excluded=["fish"], rest="unsaid"), LABELS)
    assert (read.named, read.percent) == ((2, 0), (70, 30)), "the most chips come first"
    assert read.possible.tolist() == [True, True, True, False]


def test_the_rest_may_be_ruled_out():
    read = Chips().read(answer(rest="ruled_out"), LABELS)
    assert read.possible.tolist() == [True, False, True, False]
    assert Chips().read(answer(rest="possible"), LABELS).possible.all()


def test_equal_classes_come_as_they_were_recorded():
    for chips in ({"dog": 10, "cat": 10}, {"cat": 10, "dog": 10}):
        first = Chips().read(answer(chips=chips), LABELS).named[0]
        assert LABELS[first] == next(iter(chips))


def test_a_class_without_chips_is_not_named():
    read = Chips().read(answer(chips={"cat": 20, "dog": 0}), LABELS)
    assert (read.named, read.percent) == ((0,), (100,))


@pytest.mark.parametrize("n", [10, 20, 50, 100])
def test_every_number_of_chips_sums_to_exactly_a_hundred(n):
    chips = {"cat": n - 3, "deer": 1, "dog": 1, "fish": 1}
    read = Chips(n).read({"n": n, "chips": chips}, LABELS)
    assert sum(read.percent) == 100
    assert Chips(n).rules() == {"n": n, "allow_unallocated": False}


def test_chips_in_the_hand_are_left_unstated():
    some = Chips(allow_unallocated=True)
    said = answer(chips={"dog": 14}, unallocated=6, excluded=["fish"])
    read = some.read(said, LABELS)
    assert (read.named, read.percent) == ((2,), (70,))
    assert read.possible.tolist() == [True, True, True, False]
    with pytest.raises(ResponseError, match="exactly 20 chips must lie on the classes, not 14"):
        Chips().read(said, LABELS)


REFUSED = [
    ("n", 10, "must be a whole number, 20"),
    ("n", None, "must be a whole number, 20"),
    ("chips", None, "must be answered"),
    ("chips", ["cat"], "must map classes to numbers of chips"),
    ("chips", {"unicorn": 20}, "no such class"),
    ("chips", {"cat": 19}, "exactly 20 chips must lie on the classes, not 19"),
    ("chips", {"cat": 19, "dog": 2}, "not 21"),
    ("chips", {"cat": 21}, "from 0 to 20"),
    ("chips", {"cat": 21, "dog": -1}, "from 0 to 20"),
    ("chips", {"cat": 20.0}, "whole number"),
    ("chips", {"cat": True, "dog": 19}, "whole number"),
    ("chips", {}, "not 0"),
    ("unallocated", 1, "must be a whole number, 0"),
    ("excluded", ["dog"], "holds chips cannot be ruled out"),
    ("excluded", ["fish", "fish"], "twice"),
    ("rest", "no", "must be one of"),
    ("top", "cat", "no such field"),
]


@pytest.mark.parametrize(("field", "value", "reason"), REFUSED)
def test_what_cannot_be_is_refused_with_field_and_reason(field, value, reason):
    with pytest.raises(ResponseError, match=reason) as error:
        Chips().read(answer(**{field: value}), LABELS)
    assert error.value.field == field


IN_HAND = [
    ({"chips": {"cat": 15, "dog": 6}, "unallocated": 0}, "chips", "at most 20 chips.* not 21"),
    ({"chips": {}, "unallocated": 20}, "chips", "at least 1 and at most 20"),
    ({"chips": {"cat": 14}, "unallocated": 5}, "unallocated", "must be a whole number, 6"),
    ({"chips": {"cat": 14}, "unallocated": None}, "unallocated", "must be a whole number, 6"),
    ({"chips": {"cat": 14}, "unallocated": 6, "rest": "ruled_out"}, "rest", "left in the hand"),
    (
        {"chips": {"cat": 14}, "unallocated": 6, "excluded": ["deer", "dog", "fish"]},
        "rest",
        "left in the hand",
    ),
]


@pytest.mark.parametrize(("fields", "field", "reason"), IN_HAND)
def test_chips_in_the_hand_must_be_for_something(fields, field, reason):
    with pytest.raises(ResponseError, match=reason) as error:
        Chips(allow_unallocated=True).read(answer(**fields), LABELS)
    assert error.value.field == field


def test_other_numbers_of_chips_are_refused():
    for doing in (Chips(7).rules, lambda: Chips(7).read(answer(), LABELS)):
        with pytest.raises(SoftlabelError, match="no n of Chips called '7'"):
            doing()


def test_the_same_class_twice_is_refused():
    """Not possible in JSON, but for a program that calls the mode itself."""
    with pytest.raises(ResponseError, match="occurs twice"):
        Chips().read(answer(chips={1: 10, "1": 10}), ["1", "2"])


def test_a_simulated_person_says_what_they_believe():
    rng = np.random.default_rng(0)
    sent = Chips().simulate(np.array([0.7, 0.06, 0.24, 0.0]), LABELS, rng)
    assert sent["chips"] == {"cat": 14, "deer": 1, "dog": 5}
    assert sent["rest"] == "ruled_out"


def test_well_separated_beliefs_come_back_within_half_a_chip():
    """That is, beliefs whose rounded chips are 20 chips: no chip has to be found or given up."""
    rng, seen = np.random.default_rng(0), 0
    for belief in rng.dirichlet([1.0] * len(LABELS), 400):
        if np.round(20 * belief).sum() != 20:
            continue
        read = Chips().read(Chips().simulate(belief, LABELS, rng), LABELS)
        back = np.zeros(len(LABELS))
        back[list(read.named)] = np.array(read.percent) / 100
        assert abs(back - belief).max() <= 1 / 40 + 1e-12
        seen += 1
    assert seen > 100


@pytest.mark.parametrize("k", [1, 2, 500])
def test_a_simulated_person_keeps_the_sum_however_many_classes(k):
    labels, rng = [f"c{i}" for i in range(k)], np.random.default_rng(0)
    for mode in (Chips(), Chips(50, allow_unallocated=True)):
        for belief in (np.full(k, 1 / k), *rng.dirichlet([0.1] * k, 20)):
            mode.read(mode.simulate(belief, labels, rng), labels)
