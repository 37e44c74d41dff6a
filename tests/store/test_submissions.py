"""What the platform says about visits: newer news count, once, and places come back."""

from __future__ import annotations

import random
from itertools import permutations

import pytest

from softlabel.store import ItemRow, Plan, Submission

PLAN = Plan(per_item=2, batch_size=4)


def come(scene, name, visit):
    return scene.db.enter(
        "birds",
        name,
        f"token of {name}",
        label_order_of=lambda number: ("sparrow", "wren", "finch"),
        seed=7,
        recruiter_session=visit,
        now=0.0,
    ).result()


def news(status, at, visit="visit-1", who="ann"):
    return Submission("birds", visit, who, status, at, at + 5)


def tell(scene, status, at, **about):
    return scene.db.record_submission(news(status, at, **about)).result()


def test_who_returned_the_study_gives_back_what_they_hold_at_once(scene):
    scene.put(4)
    ann = come(scene, "ann", "visit-1")
    scene.lease(ann, PLAN)
    scene.answer(ann, 0)
    tell(scene, "ACTIVE", 1.0)
    result = tell(scene, "RETURNED", 2.0)
    assert (result.before, result.after, result.new, result.released) == (
        "ACTIVE", "RETURNED", True, 3,
    )  # fmt: skip
    assert scene.taken() == scene.held()
    assert sum(scene.taken().values()) == 1, "the answer keeps its place"
    assert scene.db.session_of("birds", "ann").stage == "closed"
    (response,) = scene.db.responses("birds")
    assert response.partial


def test_who_ran_out_of_time_may_go_on(scene):
    scene.put(4)
    ann = come(scene, "ann", "visit-1")
    scene.db.set_stage(ann.id, "task", event="t", detail={}, now=0.0).result()
    scene.lease(ann, PLAN)
    scene.answer(ann, 0)
    assert tell(scene, "TIMED-OUT", 2.0).released == 3
    assert scene.taken() == scene.held()
    assert scene.db.session_of("birds", "ann").stage == "task"
    scene.answer_all(ann, PLAN)
    assert all(row.partial for row in scene.db.responses("birds"))
    scene.db.finish(ann.id, 9.0).result()
    assert not any(row.partial for row in scene.db.responses("birds")), "all is there after all"


def test_in_whatever_order_news_come_the_newest_counts(scene):
    scene.put(2)
    story = [("RESERVED", 1.0), ("ACTIVE", 2.0), ("AWAITING REVIEW", 3.0), ("APPROVED", 4.0)]
    for number, order in enumerate(permutations(story)):
        for status, at in order:
            tell(scene, status, at, visit=f"visit-{number}", who=f"p{number}")
    assert {one.status for one in scene.db.submissions("birds")} == {"APPROVED"}


def test_of_one_moment_the_later_step_counts(scene):
    scene.put(2)
    for order in (("ACTIVE", "RETURNED"), ("RETURNED", "ACTIVE")):
        visit = "-".join(order)
        for status in order:
            tell(scene, status, 7.0, visit=visit)
    assert {one.status for one in scene.db.submissions("birds")} == {"RETURNED"}


def test_a_message_counts_once(scene):
    scene.put(2)
    come(scene, "ann", "visit-1")
    for id, status, at in (("m1", "ACTIVE", 1.0), ("m1", "RETURNED", 2.0)):
        scene.db.record_message(id, news(status, at), is_ours=False).result()
    (one,) = scene.db.submissions("birds")
    assert one.status == "ACTIVE"


def test_messages_about_other_studies_are_left_alone(scene):
    scene.put(2)
    assert scene.db.record_message("m1", news("ACTIVE", 1.0), is_ours=False).result() is None
    assert scene.db.submissions("birds") == ()
    assert scene.db.record_message("m2", news("ACTIVE", 1.0), is_ours=True).result().new


def test_the_platform_may_take_a_return_back(scene):
    scene.put(4)
    ann = come(scene, "ann", "visit-1")
    scene.db.set_stage(ann.id, "task", event="t", detail={}, now=0.0).result()
    scene.lease(ann, PLAN)
    tell(scene, "RETURNED", 2.0)
    tell(scene, "ACTIVE", 3.0)
    assert scene.db.session_of("birds", "ann").stage == "task"
    assert scene.lease(ann, PLAN)


def test_who_is_done_stays_done(scene):
    scene.put(2)
    ann = come(scene, "ann", "visit-1")
    scene.answer_all(ann, PLAN)
    scene.db.finish(ann.id, 1.0).result()
    for status in ("RETURNED", "TIMED-OUT", "ACTIVE"):
        tell(scene, status, 2.0)
    assert scene.db.session_of("birds", "ann").stage == "done"
    assert sum(scene.taken().values()) == 2


def test_a_seat_in_a_batch_comes_back_too(scene):
    scene.put([ItemRow(f"bird-{i}", batch=f"b{i // 2}") for i in range(4)], per_item=1)
    plan = Plan(per_item=1, batch_size=4, batches=True)
    ann = come(scene, "ann", "visit-1")
    scene.lease(ann, plan)
    assert sum(scene.db.taken_per_batch("birds").values()) == 1
    tell(scene, "RETURNED", 2.0)
    assert sum(scene.db.taken_per_batch("birds").values()) == 0


def test_the_forgotten_leave_no_submission(scene):
    scene.put(2)
    come(scene, "ann", "visit-1")
    tell(scene, "ACTIVE", 1.0)
    scene.db.forget("birds", "ann").result()
    assert scene.db.submissions("birds") == ()


@pytest.mark.parametrize("seed", range(3))
def test_any_disorder_ends_the_same(scene, seed):
    """Everybody's messages, shuffled and doubled, lead to the last true status."""
    scene.put(6, per_item=3)
    luck = random.Random(seed)
    messages, last = [], {}
    for number in range(4):
        who, visit = f"p{number}", f"v{number}"
        scene.lease(come(scene, who, visit), PLAN)
        ways = ["AWAITING REVIEW", "RETURNED", "TIMED-OUT"]
        story = ["RESERVED", "ACTIVE", luck.choice(ways)]
        last[visit] = story[-1]
        for step, status in enumerate(story):
            one = (f"{who}-{step}", news(status, 10.0 * step, visit=visit, who=who))
            messages += [one, one]
    luck.shuffle(messages)
    for id, one in messages:
        scene.db.record_message(id, one, is_ours=True).result()
    assert {one.visit: one.status for one in scene.db.submissions("birds")} == last
    assert scene.taken() == scene.held()
