"""Watching a study that goes on: nothing is read twice, nothing forgotten is remembered."""

from __future__ import annotations

import threading
import time

import pytest

from softlabel.serve.monitor import Watch
from softlabel.serve.monitor.pace import Pace
from softlabel.serve.monitor.watch import COMPUTED_EVERY, COUNTED_EVERY, TRUE_FOR
from softlabel.serve.monitor.window import Window

CLASSIC = {"top": "cat", "p1": 90, "second": "dog", "p2": 10, "impossible": ["fox", "hare"]}


def read(window):
    return window.refresh(Pace())


def test_a_window_reads_on_from_where_it_was(make_world, both):
    world = make_world(db=both)
    window = Window(world.study, world.store, most=30)
    assert read(window).read == 0
    world.visit("first")
    assert read(window).read == 11
    world.visit("second")
    sample = read(window)
    assert [one.annotator for one in sample.seen] == ["first"] * 11 + ["second"] * 11
    assert sample.whole
    world.visit("third")
    sample = read(window)
    assert (sample.read, sample.stored, sample.whole) == (30, 33, False)
    assert [one.id for one in sample.seen] == [
        row.id for row in world.store.responses(world.study.name)
    ][3:]


def test_a_window_opened_late_holds_the_latest_answers(make_world, both):
    world = make_world(db=both)
    for n in range(3):
        world.visit(f"person-{n}")
    late = read(Window(world.study, world.store, most=10))
    assert [one.id for one in late.seen] == [
        row.id for row in world.store.responses(world.study.name)
    ][-10:]


def test_another_study_in_the_same_database_is_not_seen(make_world):
    world, other = make_world(), make_world(name="elsewhere")
    world.visit("mine")
    for n in range(3):
        other.visit(f"theirs-{n}")
    sample = read(Window(world.study, world.store, most=5))
    assert {one.annotator for one in sample.seen} == {"mine"}
    assert (sample.read, sample.stored) == (5, 11)


def test_whoever_is_forgotten_is_out_of_the_window(make_world):
    world = make_world()
    window = Window(world.study, world.store)
    world.visit("stays")
    world.visit("goes")
    assert len(read(window).seen) == 22
    world.store.forget(world.study.name, "goes").result()
    sample = read(window)
    assert {one.annotator for one in sample.seen} == {"stays"}
    assert (sample.read, sample.stored) == (11, 11)
    world.visit("goes", most=3)  # and comes back as somebody new
    assert len(read(window).seen) == 14


def test_an_answer_superseded_later_leaves_the_window(make_world):
    world = make_world()
    window = Window(world.study, world.store)
    who = world.enter("corrects")
    shown = world.store.lease(who.id, world.plan, world.now).result().showings[0]
    first = world.send(who, shown, CLASSIC)
    assert [one.id for one in read(window).seen] == [first]
    second = world.send(who, shown, CLASSIC, supersedes=first)
    assert [one.id for one in read(window).seen] == [second]


def test_a_watch_answers_at_once_and_computes_when_it_is_told(make_world):
    world = make_world()
    world.visit("first")
    watch = Watch(world.study, world.store, lambda: world.now)
    assert watch.overview().insight is None
    assert watch.overview().standing.stored == 11
    watch.renew()
    assert watch.overview().insight.read == 11


def test_a_watch_counts_and_computes_seldom(make_world):
    world = make_world()
    now = [world.now]
    watch = Watch(world.study, world.store, lambda: now[0])
    watch.renew()
    watch.overview()
    world.visit("first")
    assert watch.overview().standing.stored == 0, "counted a moment ago"
    now[0] += COUNTED_EVERY
    assert watch.overview().standing.stored == 11
    watch.renew()
    assert watch.overview().insight.read == 0, "computed a moment ago"
    now[0] += COMPUTED_EVERY
    watch.renew()
    first = watch.overview().insight
    assert first.read == 11
    now[0] += COMPUTED_EVERY
    watch.renew()
    assert watch.overview().insight is first, "there is nothing new"
    now[0] += TRUE_FOR
    watch.renew()
    assert watch.overview().insight is not first, "but the latest hour is another one"


def test_two_pages_do_not_compute_the_same_thing_twice(make_world, monkeypatch):
    world = make_world()
    world.visit("first")
    watch = Watch(world.study, world.store, lambda: world.now)
    refresh, inside, go_on = watch._window.refresh, threading.Event(), threading.Event()

    def slow(pace):
        inside.set()
        assert go_on.wait(10)
        return refresh(pace)

    monkeypatch.setattr(watch._window, "refresh", slow)
    thread = threading.Thread(target=watch.renew)
    thread.start()
    assert inside.wait(10)
    watch.renew()  # comes back at once; it would wait for ever if it began to compute, too
    assert watch.overview().insight is None
    go_on.set()
    thread.join()
    assert watch.overview().insight.read == 11


def test_work_beside_a_server_leaves_time_for_others():
    pace = Pace(share=0.25)
    begin, worked = time.perf_counter(), time.thread_time()
    while time.thread_time() - worked < 0.05:
        sum(range(1000))
        pace()
    wall = time.perf_counter() - begin
    assert wall >= 0.15, "a quarter of the time at most was work"


@pytest.mark.parametrize(("share", "rests"), [(1.0, False), (0.5, True)])
def test_work_alone_does_not_rest(monkeypatch, share, rests):
    rested = []
    monkeypatch.setattr("softlabel.serve.monitor.pace.time.sleep", rested.append)
    pace, worked = Pace(share), time.thread_time()
    while time.thread_time() - worked < 0.02:
        pace()
    assert bool(rested) is rests
