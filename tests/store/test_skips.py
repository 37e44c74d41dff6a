"""Skips: kept for ever, never counted as answers, and their items go to somebody else."""

from __future__ import annotations

import pytest

from softlabel.errors import Conflict
from softlabel.store import ItemRow, Plan

ONE = Plan(per_item=1, per_annotator=3, lease_seconds=60)


@pytest.fixture
def ann(scene):
    """Somebody who holds the only places of three birds."""
    scene.put(3, per_item=1)
    who = scene.enter("ann")
    assert len(scene.lease(who, ONE)) == 3
    return who


def me(scene, who):
    return scene.db.session(f"token of {who.annotator}")


def test_the_place_of_a_skipped_item_is_somebody_elses_at_once(scene, ann):
    skipped = scene.db.showings(ann.id)[1].item
    scene.skip(ann, 1)
    assert (
        scene.taken()
        == scene.held()
        == {f"bird-{i}": int(f"bird-{i}" != skipped) for i in range(3)}
    )
    bob = scene.enter("bob")
    assert [s.item for s in scene.lease(bob, ONE)] == [skipped]
    scene.answer_all(bob, ONE)
    assert scene.db.answers_per_item("birds")[skipped] == 1


def test_nobody_is_given_again_what_they_skipped(scene, ann):
    for position in range(3):
        scene.skip(ann, position)
    assert [s.state for s in scene.lease(ann, ONE, now=1000)] == ["skipped"] * 3
    assert scene.db.missing(ann.id) == ()
    assert set(scene.taken().values()) == {0}


def test_a_skipped_item_is_not_shown_again_at_the_end(scene):
    scene.put(3, per_item=1)
    plan = Plan(per_item=1, batch_size=2, repeats=2, repeat_positions=(0, 1))
    ann = scene.enter("ann")
    items = [s.item for s in scene.lease(ann, plan)]
    scene.skip(ann, 0)
    again = [s.item for s in scene.answer_all(ann, plan) if s.kind == "repeat"]
    assert again == [items[1]]


def test_a_skip_revised_into_an_answer_takes_its_place_again(scene, ann):
    scene.skip(ann, 0)
    scene.answer(ann, 0, id="after all", supersedes="ann-0")
    assert scene.db.showings(ann.id)[0].state == "answered"
    assert (me(scene, ann).answered, me(scene, ann).skipped) == (1, 0)
    assert set(scene.taken().values()) == {1}
    assert not list(scene.db.responses("birds"))[-1].late


def test_an_answer_revised_into_a_skip_gives_its_place_back(scene, ann):
    scene.answer(ann, 0)
    scene.skip(ann, 0, id="not at all", supersedes="ann-0")
    assert scene.db.showings(ann.id)[0].state == "skipped"
    assert (me(scene, ann).answered, me(scene, ann).skipped) == (0, 1)
    assert scene.taken() == scene.held()
    assert scene.db.progress("birds").taken == 2


def test_a_skip_revised_when_somebody_else_has_the_place_is_kept_and_not_counted(scene, ann):
    item = scene.db.showings(ann.id)[0].item
    scene.skip(ann, 0)
    bob = scene.enter("bob")
    scene.answer_all(bob, ONE)
    scene.answer(ann, 0, id="after all", supersedes="ann-0")
    assert [(r.id, r.late, r.superseded) for r in scene.db.responses_to("birds", item)] == [
        ("ann-0", False, True),
        ("bob-0", False, False),
        ("after all", True, False),
    ]
    assert scene.db.showings(ann.id)[0].state == "released"
    assert (me(scene, ann).answered, me(scene, ann).skipped) == (1, 0)
    assert (scene.db.progress("birds").late, scene.db.answers_per_item("birds")[item]) == (1, 1)
    assert scene.taken() == scene.held()


def test_a_late_skip_gives_back_what_was_given_again(scene, ann):
    scene.db.release_expired("birds", 100).result()
    again = scene.lease(ann, ONE, now=101)
    scene.skip(ann, 0, now=102)
    twin = next(s for s in again[3:] if s.item == again[0].item)
    shown = scene.db.showings(ann.id)
    assert (shown[0].state, shown[twin.position].state) == ("skipped", "released")
    assert scene.taken() == scene.held()
    assert scene.taken()[twin.item] == 0


def test_a_late_skip_of_what_was_answered_again_changes_nothing(scene, ann):
    scene.db.release_expired("birds", 100).result()
    again = scene.lease(ann, ONE, now=101)
    twin = next(s for s in again[3:] if s.item == again[0].item)
    scene.answer(ann, twin.position, now=102)
    scene.skip(ann, 0, now=103, most_skips=0)
    assert scene.db.showings(ann.id)[0].state == "released"
    assert (me(scene, ann).answered, me(scene, ann).skipped) == (1, 0)
    assert (scene.db.progress("birds").late, scene.db.progress("birds").skips) == (0, {})
    assert scene.taken() == scene.held()


def test_what_was_skipped_of_a_batch_goes_to_somebody_else(scene):
    scene.put([ItemRow(f"a-{i}", "target", "a") for i in range(3)], per_item=1)
    plan = Plan(per_item=1, batches=True)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    skipped = scene.lease(ann, plan)[1].item
    scene.skip(ann, 1)
    scene.answer_all(ann, plan)
    assert [s.item for s in scene.answer_all(bob, plan)] == [skipped]
    assert set(scene.db.answers_per_item("birds").values()) == {1}
    assert scene.db.taken_per_batch("birds") == {"a": 2}


def test_forgetting_somebody_who_skipped_frees_only_what_they_held(scene, ann):
    skipped = scene.db.showings(ann.id)[0].item
    scene.skip(ann, 0)
    scene.answer(ann, 1)
    bob = scene.enter("bob")
    scene.answer_all(bob, ONE)
    scene.db.forget("birds", "ann").result()
    assert scene.taken() == scene.held()
    assert [name for name, taken in scene.taken().items() if taken] == [skipped]


def test_an_item_that_leaves_the_study_and_returns_is_not_held_by_a_skip(scene, ann):
    rows = [ItemRow(f"bird-{i}") for i in range(3)]
    skipped = scene.db.showings(ann.id)[0].item
    scene.skip(ann, 0)
    scene.put([row for row in rows if row.id != skipped], per_item=1)
    scene.put(rows, per_item=1)
    assert scene.taken()[skipped] == 0
    assert [s.item for s in scene.lease(scene.enter("bob"), ONE)] == [skipped]


# ── the limit ────────────────────────────────────────────────────────────────────────────────


def test_who_skips_more_than_the_limit_is_screened_out(scene, ann):
    assert not scene.skip(ann, 0, most_skips=1).ended
    assert scene.skip(ann, 1, now=5, most_skips=1).ended
    assert me(scene, ann).stage == "screened-out"
    (event,) = scene.db.events("birds", "screened-out")
    assert (event.annotator, event.at) == ("ann", 5)
    assert event.detail == {"reason": "skips", "skipped": 2, "most": 1}
    assert set(scene.taken().values()) == {0}
    with pytest.raises(Conflict) as refused:
        scene.answer(ann, 2)
    assert refused.value.reason == "left"
    again = scene.skip(ann, 1, most_skips=1)  # the acknowledgement was lost
    assert (again.state, again.ended) == ("known", True)


def test_what_is_revised_into_an_answer_no_longer_counts_against_the_limit(scene, ann):
    scene.skip(ann, 0, most_skips=1)
    scene.answer(ann, 0, id="after all", supersedes="ann-0")
    assert not scene.skip(ann, 1, most_skips=1).ended
    assert not scene.skip(ann, 1, id="another reason", supersedes="ann-1", most_skips=1).ended
    assert me(scene, ann).skipped == 1


def test_practice_may_be_skipped_and_checks_and_repeats_count(scene):
    items = [ItemRow("bird-0"), ItemRow("easy", "training"), ItemRow("robin", "gold")]
    scene.put(items, per_item=1)
    plan = Plan(1, practice=("easy",), checks=("robin",), repeats=1, repeat_positions=(0,))
    ann = scene.enter("ann")
    shown = {s.kind: s.position for s in scene.lease(ann, plan)}
    assert not scene.skip(ann, shown["training"], most_skips=0).ended
    assert me(scene, ann).skipped == 0
    scene.answer(ann, shown["target"])
    assert not scene.skip(ann, shown["gold"], most_skips=1).ended
    assert scene.skip(ann, shown["repeat"], most_skips=1).ended
    assert scene.db.progress("birds").skips == {"cannot_judge": 2}


def test_skips_among_answers_that_are_stored_together(scene, ann, together):
    with together(scene.db):
        new = [
            scene.response(ann, 0),
            scene.response(ann, 1, skip="media_broken", answer_json=None),
        ]
        promises = [scene.db.answer(ann.id, each, 1.0, most_skips=2) for each in new]
        promises.append(scene.db.answer(ann.id, scene.response(ann, 2), 1.0, most_skips=2))
    assert [promise.result().ended for promise in promises] == [False] * 3
    assert [s.state for s in scene.db.showings(ann.id)] == ["answered", "skipped", "answered"]
    assert (me(scene, ann).answered, me(scene, ann).skipped) == (2, 1)
    assert scene.taken() == scene.held()
