"""Places that come back: leases that end, people who leave, answers that come too late."""

from __future__ import annotations

import pytest

from softlabel.errors import Conflict
from softlabel.store import ItemRow, Plan

HOUR = Plan(per_item=1, per_annotator=3, lease_seconds=3600)


@pytest.fixture
def ann(scene):
    """Somebody who holds all three birds until 3600."""
    scene.put(3, per_item=1)
    who = scene.enter("ann")
    assert len(scene.lease(who, HOUR, now=0)) == 3
    return who


def states(scene, who) -> list[str]:
    return [s.state for s in scene.db.showings(who.id)]


def test_what_is_held_is_nobody_elses(scene, ann):
    assert scene.lease(scene.enter("bob"), HOUR, now=3599) == ()


def test_an_expired_lease_is_given_to_the_next(scene, ann):
    scene.answer(ann, 0, now=100)
    bob = scene.enter("bob")
    assert scene.lease(bob, HOUR, now=3600) == ()  # the answer made the lease last longer
    assert len(scene.lease(bob, HOUR, now=3700)) == 2
    assert states(scene, ann) == ["answered", "released", "released"]
    assert scene.db.session("token of ann").lease_end == 0
    assert scene.held() == scene.taken()


def test_releasing_what_expired_says_how_much(scene, ann):
    assert scene.db.release_expired("birds", 3599).result() == 0
    assert scene.db.release_expired("birds", 3600).result() == 3
    assert scene.db.release_expired("birds", 9999).result() == 0
    assert set(scene.taken().values()) == {0}
    assert scene.db.missing(ann.id) == ()


def test_who_comes_back_gets_the_same_items_in_new_positions(scene, ann):
    scene.answer(ann, 0, now=100)
    scene.db.release_expired("birds", 9999).result()
    shown = scene.lease(ann, HOUR, now=10_000)
    assert [s.state for s in shown] == ["answered", "released", "released", "open", "open"]
    assert {s.item for s in shown[3:]} == {s.item for s in shown[1:3]}
    assert scene.held() == scene.taken()


def test_who_comes_back_before_anybody_noticed_goes_on_as_before(scene, ann):
    shown = scene.lease(ann, HOUR, now=9999)
    assert [s.state for s in shown] == ["open"] * 3
    assert scene.db.session("token of ann").lease_end == 9999 + 3600


def test_who_comes_back_too_late_gets_others(scene):
    scene.put(4, per_item=1)
    plan = Plan(per_item=1, per_annotator=2, lease_seconds=60)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    first = scene.lease(ann, plan, now=0)
    scene.db.release_expired("birds", 60).result()
    greedy = Plan(per_item=1, per_annotator=2, lease_seconds=60, seed=0)
    for shown in scene.lease(bob, greedy, now=61):
        scene.answer(bob, shown.position, now=62)
    theirs = {s.item for s in scene.db.showings(bob.id)}
    again = [s for s in scene.lease(ann, plan, now=63) if s.state == "open"]
    assert len(again) == 2
    assert not {s.item for s in again} & theirs
    assert {s.item for s in first} <= {s.item for s in again} | theirs
    assert scene.held() == scene.taken()


def test_who_comes_back_to_a_batch_gets_the_rest_of_it(scene):
    items = [ItemRow(f"{b}-{i}", "target", b) for b in ("a", "b") for i in range(3)]
    scene.put(items, per_item=2)
    plan = Plan(per_item=2, batches=True, lease_seconds=60)
    ann = scene.enter("ann")
    batch = scene.lease(ann, plan, now=0)[0].batch
    scene.answer(ann, 1, now=1)
    assert scene.db.release_expired("birds", 100).result() == 2
    assert sum(scene.db.taken_per_batch("birds").values()) == 0
    again = scene.lease(ann, plan, now=101)
    assert [s.batch for s in again] == [batch] * 5
    assert [s.state for s in again] == ["released", "answered", "released", "open", "open"]
    assert scene.db.taken_per_batch("birds")[batch] == 1
    assert scene.held() == scene.taken()


def test_a_finished_batch_stays_taken_when_the_lease_ends(scene):
    scene.put([ItemRow("a-0", "target", "a")], per_item=1)
    plan = Plan(per_item=1, batches=True, lease_seconds=60)
    ann = scene.enter("ann")
    scene.answer_all(ann, plan)
    scene.db.release_expired("birds", 9999).result()
    assert scene.db.taken_per_batch("birds") == {"a": 1}
    assert len(scene.lease(ann, plan, now=10_000)) == 1


def test_who_answered_nothing_of_a_lost_batch_gets_another(scene):
    items = [ItemRow(f"{b}-{i}", "target", b) for b in ("a", "b") for i in range(2)]
    scene.put(items, per_item=1)
    plan = Plan(per_item=1, batches=True, lease_seconds=60)
    ann, bob, cleo = (scene.enter(name) for name in ("ann", "bob", "cleo"))
    lost = scene.lease(ann, plan, now=0)[0].batch
    kept = scene.lease(bob, plan, now=50)[0].batch
    assert scene.lease(cleo, plan, now=60)[0].batch == lost
    scene.db.withdraw(bob.id, False, 61).result()
    assert [s.batch for s in scene.lease(ann, plan, now=62)][2:] == [kept, kept]


def test_unfinished_practice_and_checks_come_again(scene):
    items = [ItemRow("bird-0"), ItemRow("easy", "training"), ItemRow("robin", "gold")]
    scene.put(items, per_item=1)
    plan = Plan(
        per_item=1,
        practice=("easy",),
        checks=("robin",),
        repeats=1,
        repeat_positions=(0,),
        lease_seconds=60,
    )
    ann = scene.enter("ann")
    assert len(scene.lease(ann, plan, now=0)) == 4
    scene.db.release_expired("birds", 60).result()
    again = scene.lease(ann, plan, now=61)[4:]
    assert [s.kind for s in again][::3] == ["training", "repeat"]
    assert {s.kind for s in again} == {"training", "target", "gold", "repeat"}
    assert again[-1].repeat_of == next(s.position for s in again if s.kind == "target")


@pytest.mark.parametrize("stage", ["withdrawn", "screened-out", "no-consent", "done"])
def test_whoever_leaves_gives_back_at_once(scene, ann, stage):
    scene.answer(ann, 1, now=5)
    scene.db.set_stage(ann.id, stage, event="left", detail={"why": stage}, now=6).result()
    assert states(scene, ann) == ["released", "answered", "released"]
    assert sorted(scene.taken().values()) == [0, 0, 1]
    assert [(e.name, e.detail) for e in scene.db.events("birds")] == [("left", {"why": stage})]


def test_finishing_and_withdrawing_give_back_and_keep_what_was_said(scene, ann):
    scene.answer(ann, 1, now=5)
    assert scene.db.finish(ann.id, 6).result().stage == "done"
    assert scene.db.withdraw(ann.id, False, 7).result().stage == "withdrawn"
    assert [r.position for r in scene.db.responses("birds")] == [1]
    assert sorted(scene.taken().values()) == [0, 0, 1]


def test_after_withdrawing_nothing_more_is_stored(scene, ann):
    scene.db.withdraw(ann.id, False, 5).result()
    with pytest.raises(Conflict, match="was withdrawn") as caught:
        scene.answer(ann, 0, now=6)
    assert caught.value.reason == "withdrawn"
    assert list(scene.db.responses("birds")) == []


@pytest.mark.parametrize("stage", ["closed", "screened-out", "no-consent", "full", "done"])
@pytest.mark.parametrize("others", [0, 2])  # alone, or among many that are stored together
def test_of_who_left_nothing_new_is_stored(scene, ann, together, stage, others):
    scene.answer(ann, 1, now=5)
    bob = scene.enter("bob")
    scene.put(5, per_item=1)
    scene.lease(bob, HOUR, now=5)
    scene.db.set_stage(ann.id, stage, event="left", detail={}, now=6).result()
    new = [
        scene.response(ann, 0),
        scene.response(ann, 1, id="again", supersedes="ann-1"),
    ]
    with together(scene.db):
        for place in range(others):
            scene.db.answer(bob.id, scene.response(bob, place), 7)
        refused = [scene.db.answer(ann.id, each, 7) for each in new]
        known = scene.db.answer(ann.id, scene.response(ann, 1), 7)
    assert [future.exception().reason for future in refused] == ["left", "left"]
    assert known.result().state == "known"
    assert [row.id for row in scene.db.responses("birds") if row.session == ann.id] == ["ann-1"]
    assert scene.held() == scene.taken()


def test_after_the_gate_answers_are_still_stored(scene, ann):
    scene.db.set_stage(ann.id, "debrief", event="answered-all", detail={}, now=5).result()
    assert scene.answer(ann, 0, now=6).state == "stored"
    revised = scene.answer(ann, 0, now=7, id="again", supersedes="ann-0")
    assert revised.state == "stored"


def test_a_late_answer_takes_up_its_place_in_the_batch_again(scene):
    items = [ItemRow(f"{b}-{i}", "target", b) for b in ("a", "b") for i in range(3)]
    scene.put(items, per_item=2)
    plan = Plan(per_item=2, batches=True, lease_seconds=60)
    ann = scene.enter("ann")
    batch = scene.lease(ann, plan, now=0)[0].batch
    scene.db.release_expired("birds", 100).result()
    assert scene.db.taken_per_batch("birds")[batch] == 0
    for place in (0, 2):
        scene.answer(ann, place, now=101)
        assert scene.db.taken_per_batch("birds")[batch] == 1
    assert scene.held() == scene.taken()
    again = scene.lease(ann, plan, now=102)
    assert [s.item for s in again if s.state == "open"] == [again[1].item], "what is left of it"
    assert scene.db.taken_per_batch("birds")[batch] == 1
    scene.answer(ann, again[-1].position, now=103)
    assert scene.lease(ann, plan, now=104)[: len(again) - 1] == again[:-1]
    scene.db.forget("birds", "ann").result()
    assert set(scene.db.taken_per_batch("birds").values()) == {0}


def test_a_late_answer_to_an_earlier_batch_leaves_the_one_that_is_held(scene):
    items = [ItemRow(f"{b}-{i}", "target", b) for b in ("a", "b") for i in range(2)]
    scene.put(items, per_item=2)
    plan = Plan(per_item=1, batches=True, lease_seconds=60)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    lost = scene.lease(ann, plan, now=0)[0].batch
    assert scene.lease(bob, plan, now=1)[0].batch != lost
    scene.db.release_expired("birds", 61).result()
    assert scene.lease(bob, plan, now=62)[-1].batch != lost
    cleo = scene.enter("cleo")
    assert scene.lease(cleo, plan, now=63)[0].batch == lost
    scene.db.withdraw(bob.id, False, 64).result()
    kept = scene.lease(ann, plan, now=65)[-1].batch
    assert kept != lost
    scene.answer(ann, 0, now=66)
    assert scene.db.taken_per_batch("birds") == {lost: 1, kept: 1}
    assert scene.held() == scene.taken()


def test_a_late_answer_is_kept_and_counted_if_there_is_room(scene, ann):
    scene.db.release_expired("birds", 9999).result()
    assert scene.answer(ann, 0, now=10_000).state == "stored"
    (stored,) = scene.db.responses("birds")
    assert stored.late
    assert states(scene, ann) == ["answered", "released", "released"]
    assert scene.held() == scene.taken()
    assert scene.db.session("token of ann").answered == 1


def test_a_late_answer_without_room_is_kept_and_not_counted(scene, ann):
    bob = scene.enter("bob")
    scene.lease(bob, HOUR, now=9999)
    scene.answer(ann, 0, now=10_000)
    (stored,) = scene.db.responses("birds")
    assert (stored.late, stored.superseded) == (True, False)
    assert states(scene, ann) == ["released"] * 3
    assert set(scene.taken().values()) == {1}
    assert (scene.db.progress("birds").late, scene.db.progress("birds").answered) == (1, 0)
    with pytest.raises(Conflict, match="is answered by ann-0"):
        scene.answer(ann, 0, id="other", now=10_001)
    scene.db.withdraw(bob.id, True, 10_002).result()  # and now there is room
    assert {s.item for s in scene.lease(ann, HOUR, now=10_003)[3:]} == {
        s.item for s in scene.db.showings(ann.id)[1:3]
    }  # what was answered late is not asked again


def test_a_late_answer_answers_the_item_that_was_given_again(scene, ann):
    scene.db.release_expired("birds", 9999).result()
    again = scene.lease(ann, HOUR, now=10_000)
    scene.answer(ann, 0, now=10_001)
    twin = next(s for s in again[3:] if s.item == again[0].item)
    assert scene.db.showings(ann.id)[0].state == "answered"
    assert scene.db.showings(ann.id)[twin.position].state == "released"
    assert twin.position not in scene.db.missing(ann.id)
    assert scene.held() == scene.taken()


def test_a_late_answer_to_what_was_answered_again_is_kept_beside_it(scene, ann):
    scene.db.release_expired("birds", 9999).result()
    again = scene.lease(ann, HOUR, now=10_000)
    twin = next(s for s in again[3:] if s.item == again[0].item)
    scene.answer(ann, twin.position, now=10_001)
    scene.answer(ann, 0, now=10_002)
    assert [(r.position, r.late) for r in scene.db.responses("birds")] == [
        (twin.position, False),
        (0, True),
    ]
    assert scene.db.showings(ann.id)[0].state == "released"
    assert scene.held() == scene.taken()


def test_of_two_who_move_a_session_on_at_once_one_is_refused(scene, ann):
    def move(to):
        return scene.db.set_stage(ann.id, to, event="went", detail={}, now=5, leaves="consent")

    assert move("instructions").result().stage == "instructions"
    with pytest.raises(Conflict, match="no longer at 'consent'") as refused:
        move("quiz").result()
    assert refused.value.reason == "stage"
    assert scene.db.session("token of ann").stage == "instructions"
