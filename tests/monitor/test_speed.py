"""How fast answers come in, and when the last one will."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.serve.monitor.speed import MOST_STRETCHES, speed

NOW = 1_800_000_000.0
HOUR = 3600.0


def test_of_a_young_study_the_time_since_its_first_answer_counts():
    assert speed([NOW - 300 + 3 * n for n in range(100)], NOW).per_hour == pytest.approx(1200)


def test_of_an_old_study_only_the_latest_hour_counts():
    found = speed([NOW - 5 * HOUR, NOW - 4 * HOUR, NOW - 1800, NOW - 60], NOW)
    assert found.per_hour == 2
    assert found.hours_left(10) == 5


def test_when_nobody_answers_nobody_knows_when_it_ends():
    found = speed([NOW - 3 * HOUR], NOW)
    assert found.per_hour == 0
    assert math.isnan(found.hours_left(10))
    assert found.hours_left(0) == 0, "what is finished is finished"


def test_a_first_answer_a_second_ago_is_no_speed_record():
    assert speed([NOW - 1], NOW).per_hour == 60


def test_no_answers():
    found = speed([], NOW)
    assert (found.per_hour, found.stretches) == (0, ())


@given(st.lists(st.floats(0, 90 * 86400), min_size=1, max_size=50), st.booleans())
def test_every_answer_shown_is_counted_once(ages, whole):
    times = [NOW - age for age in ages]
    found = speed(times, NOW, whole)
    assert len(found.stretches) <= MOST_STRETCHES + 2
    shown = sum(n for _, n in found.stretches)
    begin = found.stretches[0][0] if found.stretches else math.inf
    assert shown == sum(at >= begin for at in times)
    if whole and max(ages) < 30 * 86400:
        assert shown == len(times)


def test_where_the_sample_cuts_a_stretch_it_is_not_shown():
    """An incomplete stretch would look like a slow one."""
    times = [NOW - 60 * n for n in range(10)]
    assert speed(times, NOW, whole=False).stretches[0][0] > times[-1]
