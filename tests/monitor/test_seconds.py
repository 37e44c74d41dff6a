"""Seconds per answer and per field."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.metrics.cost import Spread, spread
from softlabel.serve.monitor import words
from softlabel.serve.monitor.seconds import by_mode, steps

TIMES = st.floats(0, 1e7, allow_nan=False)


@given(st.dictionaries(st.text(max_size=5), TIMES, max_size=6), TIMES | st.none())
def test_the_steps_of_an_answer_add_up_to_its_last_moment(fields, submit):
    found = steps(fields, submit)
    last = max([*fields.values(), submit or 0.0], default=0.0)
    assert sum(seconds for _, seconds in found) == pytest.approx(last / 1000, abs=0.01)
    assert all(seconds >= 0 for _, seconds in found)
    assert len(found) == len(fields) + (submit is not None)


def test_a_field_left_after_another_counts_from_it():
    """Fields are timed when they were left last, in whatever order they are asked."""
    assert steps({"certainty": 900, "top": 2500}, 3000) == (
        ("certainty", 0.9),
        ("top", 1.6),
        ("submit", 0.5),
    )


def test_moments_of_another_day_have_a_date():
    noon = 1_800_014_400.0 - 1_800_014_400.0 % 86_400 + 43_200
    assert words.moment(noon - 60, noon) == "11:59:00"
    assert words.moment(noon - 86_400, noon).endswith(" 12:00")


def test_no_times_are_no_steps():
    assert steps({}, None) == ()
    assert spread([math.nan]).n == 0
    assert math.isnan(spread([]).median)


def test_modes_are_kept_apart_and_steps_are_in_the_order_of_asking():
    answers = [
        ("quick", 2.0, 1.0, (("rest", 0.5), ("top", 1.0), ("submit", 0.5), ("mystery", 0.1))),
        ("quick", 4.0, math.nan, ()),
        ("classic", 30.0, 3.0, (("submit", 30.0),)),
    ]
    quick, classic = by_mode(answers)
    assert (quick.mode, classic.mode) == ("quick", "classic"), "most answers first"
    assert quick.answer == Spread(2, 2.2, 3.0, 3.8)
    assert quick.first.n == 1, "a wait that is not known is left out"
    assert list(quick.steps) == ["top", "rest", "mystery", "submit"]
    assert classic.answer.median == 30.0


def test_a_mode_that_is_no_longer_known_is_shown_all_the_same():
    (gone,) = by_mode([("of-somebody-else", 1.0, 1.0, (("b", 0.5), ("a", 0.5)))])
    assert list(gone.steps) == ["a", "b"]
