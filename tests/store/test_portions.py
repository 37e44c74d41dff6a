"""A few items at a time: who is given what of a large batch, and what is kept for whom."""

from __future__ import annotations

from dataclasses import replace

import pytest

from softlabel import store
from softlabel.store import ItemRow, Plan

LARGE = Plan(per_item=3, per_annotator=90, batch_size=3000)
SEATS = Plan(per_item=1, batches=True, lease_seconds=60)


def one_batch(size: int, number: int = 1) -> list[ItemRow]:
    names = [f"b{n}" for n in range(number)]
    return [ItemRow(f"{name}-{i:03}", "target", name) for name in names for i in range(size)]


def portions(scene, who, plan, now=0.0, most=1000):
    """Answer everything, as a page does; what was said at each step."""
    told = []
    while len(told) < most:
        told.append(scene.db.lease(who.id, plan, now).result())
        waiting = [s for s in told[-1].showings if s.state == "open"]
        if not waiting:
            break
        for shown in waiting[: max(1, len(waiting) - 8)] if told[-1].more else waiting:
            scene.answer(who, shown.position, now)
    return told


@pytest.mark.parametrize("batches", [False, True])
def test_a_few_at_a_time_in_the_usual_order(scene, batches):
    extra = [ItemRow("easy", "training"), *(ItemRow(f"robin-{i}", "gold") for i in range(9))]
    scene.put([*one_batch(90), *extra], per_item=3)
    plan = replace(
        LARGE,
        batches=batches,
        repeats=4,
        repeat_positions=(5, 30, 60, 89),
        practice=("easy",),
        checks=tuple(f"robin-{i}" for i in range(9)),
    )
    ann = scene.enter("ann")
    told = portions(scene, ann, plan)
    assert len(told) > 4
    for one in told:
        assert sum(s.kind == "target" and s.state == "open" for s in one.showings) <= 25
        assert len(one.showings) <= 40
        items = [s.item for s in one.showings]
        assert len(items) == len(set(items)), "nobody sees a repeat beside its first showing"
    shown = scene.db.showings(ann.id)
    assert [s.position for s in shown] == list(range(1 + 90 + 9 + 4))
    assert shown[0].kind == "training"
    assert {s.kind for s in shown[1:-4]} == {"target", "gold"}
    targets = [s for s in shown if s.kind == "target"]
    assert len({s.item for s in targets}) == 90
    assert [s.repeat_of for s in shown[-4:]] == [targets[n].position for n in (5, 30, 60, 89)]
    gold = [s.position for s in shown if s.kind == "gold"]
    assert gold[0] < 45 < gold[-1], "checks are spread over the whole batch"
    assert (told[-1].shown, told[-1].done, told[-1].more) == (104, 104, False)
    assert scene.held() == scene.taken()


def test_how_many_will_come_is_known_from_the_first_moment(scene):
    scene.put([*one_batch(60), ItemRow("robin", "gold")], per_item=2)
    plan = Plan(per_item=2, batches=True, checks=("robin",), repeats=2, repeat_positions=(5, 10))
    told = portions(scene, scene.enter("ann"), plan)
    assert {one.shown + one.coming for one in told} == {63}
    assert [one.done for one in told] == sorted(one.done for one in told)


def test_everything_at_once_where_it_is_little(scene):
    scene.put(25)
    plan = Plan(per_item=1, per_annotator=25, repeats=2, repeat_positions=(3, 24))
    told = scene.db.lease(scene.enter("ann").id, plan, 0.0).result()
    assert (len(told.showings), told.shown, told.more) == (27, 27, False)


def test_the_same_person_gets_a_batch_in_the_same_order(scene_of, tmp_path):
    orders = []
    for name, seed in (("one.db", 1), ("two.db", 1), ("three.db", 2)):
        with store.open(tmp_path / name) as db:
            scene = scene_of(db)
            scene.put(one_batch(80), per_item=2)
            plan = replace(SEATS, per_item=2, seed=seed)
            for who in ("ann", "bob"):
                portions(scene, scene.enter(who), plan)
            orders.append([[s.item for s in db.showings(each.id)] for each in db.sessions("birds")])
    assert orders[0] == orders[1] != orders[2]
    ann, bob = orders[0]
    assert set(ann) == set(bob)
    assert ann != bob
    assert set(ann[:25]) != set(bob[:25]), "not only the order within a portion differs"


def test_the_rest_of_a_batch_is_kept_for_who_holds_it(scene):
    scene.put(one_batch(80), per_item=1)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    assert len(scene.lease(ann, SEATS, now=0)) == 25
    assert not scene.db.has_room("birds", batches=True)
    assert scene.lease(bob, SEATS, now=1) == ()
    portions(scene, ann, SEATS, now=2)
    assert len(scene.db.showings(ann.id)) == 80
    assert scene.db.taken_per_batch("birds") == {"b0": 1}
    scene.db.release_expired("birds", 9999).result()
    assert scene.db.taken_per_batch("birds") == {"b0": 1}, "it is finished"


def test_who_falls_silent_between_two_portions_gives_back_the_rest(scene):
    scene.put(one_batch(80), per_item=1)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    for shown in scene.lease(ann, SEATS, now=0):
        scene.answer(ann, shown.position, now=10)
    assert scene.lease(bob, SEATS, now=69) == ()
    assert scene.db.release_expired("birds", 70).result() == 0, "nothing was open"
    assert scene.db.taken_per_batch("birds") == {"b0": 0}
    assert scene.db.has_room("birds", batches=True)
    portions(scene, bob, SEATS, now=71)
    assert len(scene.db.showings(bob.id)) == 55
    assert set(scene.taken().values()) == {1}
    assert portions(scene, ann, SEATS, now=72)[-1].shown == 25, "she comes back: all is done"
    assert scene.held() == scene.taken()


def test_who_leaves_between_two_portions_gives_back_the_rest(scene):
    scene.put(one_batch(60), per_item=1)
    ann = scene.enter("ann")
    for shown in scene.lease(ann, SEATS):
        scene.answer(ann, shown.position)
    scene.db.withdraw(ann.id, False, 5.0).result()
    assert scene.db.taken_per_batch("birds") == {"b0": 0}
    assert portions(scene, scene.enter("bob"), SEATS)[-1].shown == 35


def test_who_is_forgotten_between_two_portions_gives_back_all(scene):
    scene.put(one_batch(60), per_item=1)
    ann = scene.enter("ann")
    for shown in scene.lease(ann, SEATS):
        scene.answer(ann, shown.position)
    scene.db.forget("birds", "ann").result()
    assert scene.db.taken_per_batch("birds") == {"b0": 0}
    assert portions(scene, scene.enter("bob"), SEATS)[-1].shown == 60


def test_what_others_left_undone_goes_to_the_first_and_is_kept_for_them(scene):
    """Ann did all but one; Bob is to get everything, and only that one is left for Cleo."""
    scene.put(one_batch(60), per_item=2)
    plan = replace(SEATS, per_item=2)
    ann, bob, cleo, dan = (scene.enter(name) for name in ("ann", "bob", "cleo", "dan"))
    portions(scene, ann, plan, most=2)
    left = [s for s in scene.lease(ann, plan) if s.state == "open"]
    while len(left) > 1 or len(scene.db.showings(ann.id)) < 60:
        scene.answer(ann, left[0].position)
        left = [s for s in scene.lease(ann, plan) if s.state == "open"]
    scene.db.withdraw(ann.id, False, 1.0).result()
    assert len(scene.lease(bob, plan, now=2)) == 25
    assert [s.item for s in scene.lease(cleo, plan, now=3)] == [left[0].item]
    assert scene.lease(dan, plan, now=4) == ()
    assert not scene.db.has_room("birds", batches=True)
    assert portions(scene, bob, plan, now=5)[-1].shown == 60
    assert portions(scene, cleo, plan, now=6)[-1].shown == 1
    assert set(scene.taken().values()) == {2}


def test_seats_are_spread_over_large_batches(scene):
    scene.put(one_batch(40, number=3), per_item=2)
    plan = replace(SEATS, per_item=2)
    people = [scene.enter(f"ann-{n}") for n in range(7)]
    for n, who in enumerate(people[:6]):
        assert len(scene.lease(who, plan, now=1)) == 25
        taken = scene.db.taken_per_batch("birds").values()
        assert (sum(taken), max(taken) - min(taken)) == (n + 1, (n + 1) % 3 > 0)
    assert scene.lease(people[6], plan, now=2) == ()
    for who in people[:6]:
        assert portions(scene, who, plan, now=3)[-1].shown == 40
    assert set(scene.taken().values()) == {2}


def test_a_late_answer_after_the_first_portion_rejoins_the_batch(scene):
    scene.put(one_batch(60), per_item=2)
    plan = replace(SEATS, per_item=2)
    ann = scene.enter("ann")
    first = scene.lease(ann, plan, now=0)
    scene.db.release_expired("birds", 100).result()
    for shown in first:
        scene.answer(ann, shown.position, now=101)
    assert scene.db.taken_per_batch("birds") == {"b0": 1}
    assert portions(scene, ann, plan, now=102)[-1].shown == 60
    assert scene.held() == scene.taken()


def test_an_item_that_leaves_the_study_between_two_portions(scene):
    items = one_batch(60)
    scene.put(items, per_item=1)
    ann = scene.enter("ann")
    first = scene.lease(ann, SEATS)
    for shown in first:
        scene.answer(ann, shown.position)
    seen, kept = first[3].item, {s.item for s in first}
    never = next(row.id for row in items if row.id not in kept)
    scene.put([row for row in items if row.id not in (seen, never)], per_item=1)
    told = portions(scene, ann, SEATS)
    assert (told[-1].shown, told[-1].gone, told[-1].done) == (59, 1, 59)
    assert never not in {s.item for s in scene.db.showings(ann.id)}


def test_a_database_in_which_a_whole_batch_is_open(scene):
    """As older versions leased: what is open is sent a part at a time, and nothing is added."""
    scene.put(200, per_item=1)
    whole = Plan(per_item=1, per_annotator=200, batch_size=200, ahead=200)
    ann = scene.enter("ann")
    assert len(scene.lease(ann, whole)) == 200
    plan = replace(whole, ahead=25)
    told = portions(scene, ann, plan)
    assert {len(one.showings) for one in told} <= set(range(1, 54))
    assert [s.state for s in scene.db.showings(ann.id)] == ["answered"] * 200
