"""Running a study from outside: states, quota, cap, left-out people, added items, the audit log."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from softlabel import store
from softlabel.errors import Conflict, StoreError
from softlabel.store import Act, Filters, ItemRow, Plan

PLAN = Plan(per_item=2, per_annotator=4, batch_size=2, ahead=2)
BOSS = Act("birds", "dora", 50.0)


def waiting(scene: Any, who: Any, plan: Plan = PLAN, now: float = 0.0) -> list[int]:
    return [s.position for s in scene.lease(who, plan, now) if s.state == "open"]


def counted(scene: Any) -> dict[str, int]:
    """What the counters should be, without people who were left out."""
    out = {s.id for s in scene.db.sessions("birds") if s.excluded_at is not None}
    held = dict.fromkeys(scene.taken(), 0)
    for session in scene.db.sessions("birds"):
        for shown in scene.db.showings(session.id):
            if shown.kind == "target" and shown.state in ("open", "answered"):
                held[shown.item] += session.id not in out
    return held


def test_states_change_only_as_they_may(scene):
    scene.put(3)
    assert scene.db.control("birds") == ("open", 0, 2, None, None)
    for action, state in (
        ("pause", "paused"),
        ("resume", "open"),
        ("pause", "paused"),
        ("close", "closed"),
        ("reopen", "open"),
        ("close", "closed"),
    ):
        assert scene.db.move_study(BOSS, action).result().state == state
    assert scene.db.control("birds").revision == 6
    for action in ("pause", "resume", "close"):
        with pytest.raises(Conflict, match=f"is closed; {action} needs"):
            scene.db.move_study(BOSS, action).result()
    assert scene.db.control("birds").revision == 6, "what was refused is not logged"
    assert [one.action for one in scene.db.audit("birds")][::-1] == [
        *("pause", "resume", "pause", "close", "reopen", "close")
    ]


def test_paused_gives_nothing_new_and_lets_people_finish_what_they_hold(scene):
    scene.put(8)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    first = waiting(scene, ann)
    assert len(first) == 2
    scene.db.move_study(BOSS, "pause").result()
    with pytest.raises(Conflict, match="paused"):
        scene.db.lease(bob.id, PLAN, 1).result()
    scene.answer(ann, first[0])
    portion = scene.db.lease(ann.id, PLAN, 1).result()
    assert [s.position for s in portion.showings if s.state == "open"] == first[1:]
    assert portion.more, "there will be more"
    scene.answer(ann, first[1])
    with pytest.raises(Conflict, match="paused") as refused:
        scene.db.lease(ann.id, PLAN, 1).result()
    assert refused.value.reason == "paused"
    assert scene.taken() == counted(scene)
    scene.db.move_study(BOSS, "resume").result()
    assert len(waiting(scene, ann)) == 2
    assert len(waiting(scene, bob)) == 2


def test_whoever_has_done_everything_is_not_kept_waiting_by_a_pause(scene):
    scene.put(2)
    ann = scene.enter("ann")
    for place in waiting(scene, ann):
        scene.answer(ann, place)
    scene.db.move_study(BOSS, "pause").result()
    portion = scene.db.lease(ann.id, PLAN, 1).result()
    assert (portion.shown, portion.done, portion.more) == (2, 2, False)


def test_closed_ends_the_list_of_whoever_holds_items(scene):
    scene.put(8)
    plan = Plan(
        per_item=2, per_annotator=4, batch_size=2, ahead=2, repeats=1, repeat_positions=(0,)
    )
    ann, bob = scene.enter("ann"), scene.enter("bob")
    first = waiting(scene, ann, plan)
    scene.db.move_study(BOSS, "close").result()
    portion = scene.db.lease(ann.id, plan, 1).result()
    assert not portion.more
    for place in first:
        scene.answer(ann, place)
    portion = scene.db.lease(ann.id, plan, 1).result()
    assert (portion.shown, portion.done, portion.more) == (2, 2, False), "no repeats either"
    with pytest.raises(Conflict, match="closed"):
        scene.db.lease(bob.id, plan, 1).result()


def test_a_seat_is_kept_through_a_pause_until_the_lease_ends(scene):
    items = [ItemRow(f"{b}-{i}", "target", b) for b in ("a", "b") for i in range(4)]
    scene.put(items, per_item=1)
    plan = Plan(per_item=1, batches=True, ahead=2, lease_seconds=60)
    ann = scene.enter("ann")
    first = waiting(scene, ann, plan)
    mine = scene.db.showings(ann.id)[0].batch
    scene.db.move_study(BOSS, "pause").result()
    for place in first:
        scene.answer(ann, place, now=10)
    with pytest.raises(Conflict, match="paused"):
        scene.db.lease(ann.id, plan, 20).result()
    assert scene.db.taken_per_batch("birds")[mine] == 1
    scene.db.release_expired("birds", 71).result()
    assert scene.db.taken_per_batch("birds")[mine] == 0
    scene.db.move_study(BOSS, "resume").result()
    again = [s for s in scene.lease(ann, plan, 80) if s.state == "open"]
    assert {s.batch for s in again} == {mine}
    assert scene.db.taken_per_batch("birds")[mine] == 1


def test_the_number_of_answers_per_item_can_be_set_and_unset(scene):
    scene.put(2, per_item=1)
    plan = Plan(per_item=1)
    scene.answer_all(scene.enter("ann"), plan)
    assert not scene.db.has_room("birds", batches=False)
    assert scene.db.set_per_item(BOSS, 3).result().per_item == 3
    assert scene.db.has_room("birds", batches=False)
    assert scene.db.progress("birds").wanted == 6
    scene.answer_all(scene.enter("bob"), plan)
    assert set(scene.taken().values()) == {2}
    assert scene.db.set_per_item(BOSS, 2).result().per_item == 2
    assert scene.lease(scene.enter("cleo"), plan) == ()
    scene.put(2, per_item=5)  # a changed file does not undo what was set by hand
    assert scene.db.control("birds").per_item == 2
    assert scene.db.set_per_item(BOSS, None).result().per_item == 5
    with pytest.raises(Conflict, match="already"):
        scene.db.set_per_item(BOSS, None).result()


def test_a_cap_counts_people_with_items_and_not_those_left_out(scene):
    scene.put(8)
    ann, bob, cleo = map(scene.enter, ("ann", "bob", "cleo"))
    waiting(scene, ann)
    scene.db.set_people_cap(BOSS, 2).result()
    assert scene.db.has_room("birds", batches=False)
    assert len(waiting(scene, bob)) == 2
    assert not scene.db.has_room("birds", batches=False)
    assert scene.db.lease(cleo.id, PLAN, 0).result().shown == 0
    for place in waiting(scene, bob):
        scene.answer(bob, place)
    assert len(waiting(scene, bob)) == 2, "whoever is in stays in"
    scene.db.exclude(BOSS, "ann", "asked to").result()
    assert len(waiting(scene, cleo)) == 2
    scene.db.set_people_cap(BOSS, None).result()
    assert scene.db.has_room("birds", batches=False)


def test_leaving_somebody_out_frees_their_places_and_marks_their_answers(scene):
    scene.put(4, per_item=1)
    plan = Plan(per_item=1, ahead=3, batch_size=3)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    held = waiting(scene, ann, plan)
    for place in held[:2]:
        scene.answer(ann, place)
    scene.skip(ann, held[2])
    waiting(scene, ann, plan)
    assert scene.db.exclude(BOSS, "ann", "random clicks").result() == 2
    assert set(scene.taken().values()) == {0}
    me = scene.db.session_of("birds", "ann")
    assert (me.stage, me.excluded_because, me.excluded_at) == ("closed", "random clicks", 50.0)
    with pytest.raises(Conflict, match="closed"):
        scene.db.lease(ann.id, plan, 60).result()
    assert {row.excluded for row in scene.db.responses("birds")} == {"random clicks"}
    progress = scene.db.progress("birds")
    assert (progress.answered, progress.skips, progress.responses) == (0, {}, 3)
    assert set(scene.db.answers_per_item("birds").values()) == {0}
    assert {s.item for s in scene.answer_all(bob, plan)} == set(scene.taken()), "all refilled"
    with pytest.raises(Conflict, match="already: random clicks"):
        scene.db.exclude(BOSS, "ann", "again").result()

    assert scene.db.include(BOSS, "ann").result() == 2
    assert sorted(scene.taken().values()) == [1, 1, 2, 2], "more than wanted"
    assert scene.taken() == counted(scene)
    assert {row.excluded for row in scene.db.responses("birds")} == {None}
    assert scene.db.session_of("birds", "ann").stage == "consent", "where it was"
    with pytest.raises(Conflict, match="not left out"):
        scene.db.include(BOSS, "ann").result()


@pytest.mark.parametrize("done", [True, False])
def test_a_batch_seat_is_freed_and_taken_again(scene, done):
    items = [ItemRow(f"{b}-{i}", "target", b) for b in ("a", "b") for i in range(2)]
    scene.put(items, per_item=1)
    plan = Plan(per_item=1, batches=True, lease_seconds=60)
    ann = scene.enter("ann")
    held = waiting(scene, ann, plan)
    mine = scene.db.showings(ann.id)[0].batch
    for place in held if done else held[:1]:
        scene.answer(ann, place)
    if done:
        scene.lease(ann, plan)
        scene.db.finish(ann.id, 5).result()
    scene.db.exclude(BOSS, "ann", "no").result()
    assert scene.db.taken_per_batch("birds")[mine] == 0
    assert set(scene.taken().values()) == {0}
    scene.db.include(BOSS, "ann").result()
    assert scene.db.taken_per_batch("birds")[mine] == int(done), "a given-up seat stays given up"
    assert scene.taken() == counted(scene)


@pytest.mark.parametrize("again", [True, False])
def test_a_person_who_was_left_out_can_be_forgotten(scene, again):
    items = [ItemRow(f"a-{i}", "target", "a") for i in range(2)]
    scene.put(items, per_item=2)
    plan = Plan(per_item=2, batches=True)
    scene.answer_all(scene.enter("ann"), plan)
    scene.answer_all(scene.enter("bob"), plan)
    scene.db.exclude(BOSS, "ann", "no").result()
    if again:
        scene.db.include(BOSS, "ann").result()
    scene.db.forget("birds", "ann").result()
    assert set(scene.taken().values()) == {1}
    assert scene.db.taken_per_batch("birds") == {"a": 1}


def test_an_item_that_leaves_the_study_counts_only_people_who_count(scene):
    scene.put(2)
    scene.answer_all(scene.enter("ann"), PLAN)
    scene.answer_all(scene.enter("bob"), PLAN)
    scene.db.exclude(BOSS, "ann", "no").result()
    scene.put(1)
    scene.put(2)
    assert scene.taken() == {"bird-0": 1, "bird-1": 1}


def test_ending_a_session_keeps_its_answers(scene):
    scene.put(4, per_item=1)
    ann = scene.enter("ann")
    held = waiting(scene, ann)
    scene.answer(ann, held[0])
    assert scene.db.end_session(BOSS, "ann").result().stage == "closed"
    assert sum(scene.taken().values()) == 1
    assert scene.db.progress("birds").answered == 1
    with pytest.raises(Conflict, match="has ended already: it is closed"):
        scene.db.end_session(BOSS, "ann").result()
    scene.db.exclude(BOSS, "ann", "no").result()
    scene.db.include(BOSS, "ann").result()
    assert scene.db.session_of("birds", "ann").stage == "closed", "it was ended before"


def test_items_are_added_with_their_batches_and_never_twice(scene):
    scene.put(2)
    scene.db.add_items(BOSS, [ItemRow("new", "target", "z", "digest")], "0001-more.csv").result()
    assert scene.taken() == {"bird-0": 0, "bird-1": 0, "new": 0}
    assert scene.db.taken_per_batch("birds") == {"z": 0}
    with pytest.raises(Conflict, match="'new' is in it; give the new one another id"):
        scene.db.add_items(BOSS, [ItemRow("x"), ItemRow("new")], "0002.csv").result()
    assert "x" not in scene.taken(), "all or nothing"
    scene.answer_all(scene.enter("ann"), PLAN)
    scene.put(2)
    with pytest.raises(Conflict, match="'new' was in the study before"):
        scene.db.add_items(BOSS, [ItemRow("new")], "0002.csv").result()


def test_the_audit_log_says_who_did_what_and_cannot_be_changed(scene):
    scene.put(2)
    scene.enter("ann")
    scene.db.set_people_cap(Act("birds", "dora", 10.0), 5).result()
    scene.db.exclude(Act("birds", "émile", 11.0), "ann", "spam").result()
    scene.db.set_per_item(Act("birds", "dora", 12.0), 4).result()
    entries = scene.db.audit("birds")
    assert [entry[1:] for entry in entries] == [
        (12.0, "dora", "quota", {"from": 2, "to": 4, "set": 4}),
        (11.0, "émile", "exclude", {"annotator": "ann", "reason": "spam", "freed": 0}),
        (10.0, "dora", "cap", {"from": None, "to": 5}),
    ]
    assert scene.db.audit("birds", before=entries[0].seq, most=1) == entries[1:2]
    assert scene.db.control("birds").revision == 3
    for text in ("UPDATE audit SET actor = 'nobody'", "DELETE FROM audit"):
        with pytest.raises(StoreError, match="append-only"):
            scene.db._write(
                lambda connection, text=text: connection.execute(sa.text(text))
            ).result()
    assert scene.db.audit("birds") == entries


def test_another_process_sees_an_action_at_once(place, scene):
    scene.put(4)
    ann = scene.enter("ann")
    with store.open(place) as other:
        other.move_study(BOSS, "pause").result()
        with pytest.raises(Conflict, match="paused"):
            scene.db.lease(ann.id, PLAN, 0).result()
        other.move_study(BOSS, "resume").result()
        other.set_per_item(BOSS, 1).result()
    assert len(waiting(scene, ann)) == 2
    scene.db.end_session(BOSS, "ann").result()
    assert scene.db.control("birds").per_item == 1


def test_responses_are_found_by_every_filter(scene):
    scene.put(6)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    for who, at in ((ann, 100.0), (bob, 200.0)):
        for place in waiting(scene, who, now=at):
            scene.answer(who, place, now=at, answer_json='{"top": "wr\\u00e9n"}')
    scene.answer(ann, 0, now=300.0, id="second", supersedes="ann-0", digest="finch")
    scene.skip(ann, waiting(scene, ann)[0], now=400.0)
    scene.db.exclude(BOSS, "bob", "no").result()

    def found(**filters: Any) -> list[str]:
        return [row.id for row in scene.db.find_responses("birds", Filters(**filters))]

    everything = found()
    assert everything == ["ann-2", "second", "bob-1", "bob-0", "ann-1", "ann-0"]
    assert found(annotator="bob") == ["bob-1", "bob-0"]
    assert found(mentions="wrén") == ["bob-1", "bob-0", "ann-1", "ann-0"]
    assert found(mentions="wren") == ["second"]
    assert found(mentions="w%") == []
    assert found(flag="replaced") == ["ann-0"]
    assert found(flag="excluded") == ["bob-1", "bob-0"]
    assert found(flag="skipped") == ["ann-2"]
    assert found(flag="late") == found(flag="repeat") == []
    assert found(since=200.0, until=300.0) == ["bob-1", "bob-0"]
    item = scene.db.showings(ann.id)[1].item
    assert found(item=item, annotator="ann") == ["ann-1"]
    rows = scene.db.find_responses("birds", Filters(), most=2)
    more = scene.db.find_responses("birds", Filters(), before=rows[-1].seq, most=2)
    assert [row.id for row in (*rows, *more)] == everything[:4]


def test_minutes_and_comments_are_read(scene):
    scene.put(6)
    ann = scene.enter("ann", now=60.0)
    first, second = waiting(scene, ann)
    timing = store.Timing(active_ms=30_000.0)
    scene.answer(ann, first, now=90.0, timing=timing, payload='{"comment": "blurred"}')
    scene.answer(ann, second, now=180.0, timing=timing, payload='{"comment":null}')
    assert scene.db.minutes("birds") == {"ann": (2.0, 1.0)}
    assert [row.id for row in scene.db.commented("birds")] == ["ann-0"]
