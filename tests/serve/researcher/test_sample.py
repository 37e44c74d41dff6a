"""The latest answers of a running study: nothing is read twice, nothing forgotten is kept."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.metrics import spread
from softlabel.serve.researcher.sample import LatestAnswers, Throttle, split_steps

CLASSIC = {"top": "cat", "p1": 90, "second": "dog", "p2": 10, "impossible": ["fox", "hare"]}


def read(latest):
    return latest.refresh(Throttle())


def test_a_window_reads_on_from_where_it_was(make_world, both):
    world = make_world(db=both)
    latest = LatestAnswers(world.study, world.store, most=30)
    assert read(latest).read == 0
    world.visit("first")
    assert read(latest).read == 11
    world.visit("second")
    sample = read(latest)
    assert [one.annotator for one in sample.seen] == ["first"] * 11 + ["second"] * 11
    assert sample.whole
    world.visit("third")
    sample = read(latest)
    assert (sample.read, sample.stored, sample.whole) == (30, 33, False)
    assert [one.id for one in sample.seen] == [
        row.id for row in world.store.responses(world.study.name)
    ][3:]


def test_a_window_opened_late_holds_the_latest_answers(make_world, both):
    world = make_world(db=both)
    for n in range(3):
        world.visit(f"person-{n}")
    late = read(LatestAnswers(world.study, world.store, most=10))
    assert [one.id for one in late.seen] == [
        row.id for row in world.store.responses(world.study.name)
    ][-10:]


def test_another_study_in_the_same_database_is_not_seen(make_world):
    world, other = make_world(), make_world(name="elsewhere")
    world.visit("mine")
    for n in range(3):
        other.visit(f"theirs-{n}")
    sample = read(LatestAnswers(world.study, world.store, most=5))
    assert {one.annotator for one in sample.seen} == {"mine"}
    assert (sample.read, sample.stored) == (5, 11)


def test_whoever_is_forgotten_is_out_of_the_window(make_world):
    world = make_world()
    latest = LatestAnswers(world.study, world.store)
    world.visit("stays")
    world.visit("goes")
    assert len(read(latest).seen) == 22
    world.store.forget(world.study.name, "goes").result()
    sample = read(latest)
    assert {one.annotator for one in sample.seen} == {"stays"}
    assert (sample.read, sample.stored) == (11, 11)
    world.visit("goes", most=3)  # and comes back as somebody new
    assert len(read(latest).seen) == 14


def test_an_answer_superseded_later_leaves_the_window(make_world):
    world = make_world()
    latest = LatestAnswers(world.study, world.store)
    who = world.enter("corrects")
    shown = world.store.lease(who.id, world.plan, world.now).result().showings[0]
    first = world.send(who, shown, CLASSIC)
    assert [one.id for one in read(latest).seen] == [first]
    second = world.send(who, shown, CLASSIC, supersedes=first)
    assert [one.id for one in read(latest).seen] == [second]


def test_work_beside_a_server_leaves_time_for_others():
    throttle = Throttle(share=0.25)
    begin, worked = time.perf_counter(), time.thread_time()
    while time.thread_time() - worked < 0.05:
        sum(range(1000))
        throttle()
    wall = time.perf_counter() - begin
    assert wall >= 0.15, "a quarter of the time at most was work"


@pytest.mark.parametrize(("share", "rests"), [(1.0, False), (0.5, True)])
def test_work_alone_does_not_rest(monkeypatch, share, rests):
    rested = []
    monkeypatch.setattr("softlabel.serve.researcher.sample.time.sleep", rested.append)
    throttle, worked = Throttle(share), time.thread_time()
    while time.thread_time() - worked < 0.02:
        throttle()
    assert bool(rested) is rests


TIMES = st.floats(0, 1e7, allow_nan=False)


@given(st.dictionaries(st.text(max_size=5), TIMES, max_size=6), TIMES | st.none())
def test_the_steps_of_an_answer_add_up_to_its_last_moment(fields, submit):
    found = split_steps(fields, submit)
    last = max([*fields.values(), submit or 0.0], default=0.0)
    assert sum(seconds for _, seconds in found) == pytest.approx(last / 1000, abs=0.01)
    assert all(seconds >= 0 for _, seconds in found)
    assert len(found) == len(fields) + (submit is not None)


def test_a_field_left_after_another_counts_from_it():
    """Fields are timed when they were left last, in whatever order they are asked."""
    assert split_steps({"certainty": 900, "top": 2500}, 3000) == (
        ("certainty", 0.9),
        ("top", 1.6),
        ("submit", 0.5),
    )


def test_no_times_are_no_steps():
    assert split_steps({}, None) == ()
    assert spread([math.nan]).n == 0
    assert math.isnan(spread([]).median)
