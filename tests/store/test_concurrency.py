"""Many people at once, through one store or several: quotas hold and nothing is lost."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from softlabel import store
from softlabel.errors import Conflict
from softlabel.store import ItemRow, Plan

PEOPLE = 24


def work(scene, name, plan, start):
    """One person from the door to the end; every answer is sent twice."""
    start.wait(30)
    who = scene.enter(name)
    acknowledged = []
    while waiting := [s for s in scene.lease(who, plan, now=1.0) if s.state == "open"]:
        for shown in waiting:
            first = scene.answer(who, shown.position, now=1.0)
            again = scene.answer(who, shown.position, now=1.0)
            assert (first.state, again.state) == ("stored", "known")
            acknowledged.append(first.id)
    return acknowledged


def everybody(scenes, plan):
    """Everybody at once, each at one of the stores; the ids that were acknowledged."""
    start = threading.Barrier(PEOPLE)
    with ThreadPoolExecutor(PEOPLE) as pool:
        futures = [
            pool.submit(work, scenes[i % len(scenes)], f"ann-{i}", plan, start)
            for i in range(PEOPLE)
        ]
        return [each for future in futures for each in future.result()]


@pytest.fixture(params=[1, 2], ids=["one-store", "two-stores"])
def scenes(request, place, scene_of):
    """The same database behind one store or two: two writers, two pools of readers."""
    with ExitStack() as stack:
        yield [scene_of(stack.enter_context(store.open(place))) for _ in range(request.param)]


def test_items_are_answered_exactly_as_often_as_wanted(scenes):
    scene = scenes[0]
    scene.put(30, per_item=4)
    plan = Plan(per_item=4, per_annotator=10, batch_size=5, repeats=1, repeat_positions=(2,))
    acknowledged = everybody(scenes, plan)
    rows = list(scene.db.responses("birds"))
    assert sorted(acknowledged) == sorted(row.id for row in rows)
    targets = [(row.annotator, row.item) for row in rows if row.kind == "target"]
    assert len(targets) == len(set(targets))
    assert scene.taken() == scene.held() == scene.db.answers_per_item("birds")
    assert max(scene.taken().values()) <= 4
    assert sum(scene.taken().values()) == 120  # 24 people wanted 240
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)
    numbers = sorted(session.number for session in scene.db.sessions("birds"))
    assert numbers == list(range(PEOPLE))


def test_batches_stay_within_one_at_all_times(scenes):
    scene = scenes[0]
    scene.put([ItemRow(f"{b}-{i}", "target", f"b{b}") for b in range(7) for i in range(3)], 9)
    spreads, done = [], threading.Event()

    def watch():
        while not done.is_set():
            taken = scene.db.taken_per_batch("birds").values()
            spreads.append(max(taken) - min(taken))

    watcher = threading.Thread(target=watch)
    watcher.start()
    everybody(scenes, Plan(per_item=9, batches=True))
    done.set()
    watcher.join()
    assert max(spreads) <= 1
    assert sum(scene.db.taken_per_batch("birds").values()) == PEOPLE
    assert scene.taken() == scene.held()


def test_one_person_in_many_tabs_has_one_session_and_one_set_of_items(scenes):
    scenes[0].put(30, per_item=4)
    plan = Plan(per_item=4, per_annotator=10)
    start = threading.Barrier(8)

    def tab(number):
        scene = scenes[number % len(scenes)]
        start.wait(30)
        who = scene.enter("ann")
        return who.id, scene.lease(who, plan)

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(tab, range(8)))
    assert len(found) == 1
    assert len(next(iter(found))[1]) == 10


def test_of_many_answers_to_one_position_one_is_stored(scenes):
    scenes[0].put(1, per_item=1)
    who = scenes[0].enter("ann")
    scenes[0].lease(who, Plan(per_item=1))
    start = threading.Barrier(10)

    def tab(number):
        start.wait(30)
        try:
            scene = scenes[number % len(scenes)]
            return scene.answer(who, 0, id=f"answer-{number % 5}", digest=f"{number % 5}").state
        except Conflict as error:
            return error.reason

    with ThreadPoolExecutor(10) as pool:
        told = Counter(pool.map(tab, range(10)))
    assert told == {"stored": 1, "known": 1, "answered": 8}


def test_people_who_leave_while_others_come_never_cost_a_place(scenes):
    scene = scenes[0]
    scene.put(12, per_item=3)
    plan = Plan(per_item=3, per_annotator=4, lease_seconds=60)
    start = threading.Barrier(PEOPLE)

    def person(number):
        scene = scenes[number % len(scenes)]
        start.wait(30)
        who = scene.enter(f"ann-{number}")
        shown = scene.lease(who, plan, now=float(number))
        for each in shown[: number % 5]:
            scene.answer(who, each.position, now=float(number))
        if number % 3 == 0:
            scene.db.withdraw(who.id, number % 2 == 0, now=float(number)).result()
        elif number % 3 == 1:
            scene.db.release_expired("birds", 1e9).result()

    with ThreadPoolExecutor(PEOPLE) as pool:
        list(pool.map(person, range(PEOPLE)))
    assert scene.taken() == scene.held()
    assert max(scene.taken().values()) <= 3
