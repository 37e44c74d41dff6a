"""Storing answers: once each, in any order of arrival, one by one or many at once."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel import store
from softlabel.errors import Absent, Conflict, SoftlabelError, StoreError
from softlabel.store import Plan, Timing
from softlabel.store.rows import MAX_REVISIONS, Ack

PLAN = Plan(per_item=2, per_annotator=4)


@pytest.fixture
def ann(scene):
    scene.put(4)
    who = scene.enter("ann")
    scene.lease(who, PLAN)
    return who


def test_an_answer_comes_back_as_it_was_sent(scene, ann):
    timing = Timing(1240.5, 2310, 2290, 20, {"top": 1240.5, "rest": 2100})
    payload = '{"answer":{"top":"wren"},  "client":{"locale":"ar","name":"نسر"}}'
    scene.answer(ann, 2, now=7.25, payload=payload, timing=timing, answer_json='{"top":"wren"}')
    (row,) = scene.db.responses("birds")
    shown = scene.db.showings(ann.id)[2]
    assert row.payload == payload
    assert row.timing == timing
    assert (row.id, row.session, row.annotator, row.item) == ("ann-2", ann.id, "ann", shown.item)
    assert (row.kind, row.position, row.label_order) == ("target", 2, ann.label_order)
    assert (row.mode, row.mode_version, row.answer_json) == ("hard", 1, '{"top":"wren"}')
    assert (row.late, row.superseded, row.skip, row.received_at) == (False, False, None, 7.25)
    assert shown.response == "ann-2"
    assert scene.db.session("token of ann").answered == 1


def test_an_answer_keeps_how_it_was_asked_for(scene, ann):
    scene.answer(ann, 0)
    scene.answer(ann, 1, mode_options='{"n": 10}', frame="third_person")
    asked = [("{}", None), ('{"n": 10}', "third_person")]
    assert [(row.mode_options, row.frame) for row in scene.db.responses("birds")] == asked
    assert [(row.mode_options, row.frame) for row in scene.db.timings("birds")] == asked


def test_a_skip_is_stored_and_is_no_answer(scene, ann):
    scene.skip(ann, 0)
    (row,) = scene.db.responses("birds")
    assert (row.answer_json, row.skip) == (None, "cannot_judge")
    assert scene.db.missing(ann.id) == (1, 2, 3)
    me = scene.db.session("token of ann")
    assert (me.answered, me.skipped) == (0, 1)
    assert set(scene.db.answers_per_item("birds").values()) == {0}
    progress = scene.db.progress("birds")
    assert (progress.answered, progress.skips) == (0, {"cannot_judge": 1})


def test_the_same_answer_twice_is_stored_once(scene, ann):
    item = scene.db.showings(ann.id)[0].item
    assert scene.answer(ann, 0) == Ack("ann-0", "stored", "target", item)
    for _ in range(9):
        again = scene.answer(ann, 0, payload='{"delivery": {"attempt": 2}}')
        assert again == Ack("ann-0", "known", "target", item)
    assert len(list(scene.db.responses("birds"))) == 1
    assert scene.db.session("token of ann").answered == 1


@pytest.mark.parametrize("changes", [{"digest": "finch"}, {"position": 1}])
def test_another_answer_under_the_same_id_is_refused(scene, ann, changes):
    scene.answer(ann, 0)
    with pytest.raises(Conflict, match="stored under the id ann-0") as caught:
        scene.answer(ann, **{"position": 0, "id": "ann-0"} | changes)
    assert caught.value.reason == "conflict"
    assert scene.db.missing(ann.id) == (1, 2, 3)


def test_somebody_elses_id_is_refused(scene, ann):
    bob = scene.enter("bob")
    scene.lease(bob, PLAN)
    scene.answer(ann, 0, id="same")
    with pytest.raises(Conflict, match="stored under the id same"):
        scene.answer(bob, 0, id="same")


def test_a_second_answer_to_a_position_is_refused(scene, ann):
    scene.answer(ann, 0)
    with pytest.raises(Conflict, match="is answered by ann-0; to revise it") as caught:
        scene.answer(ann, 0, id="second")
    assert caught.value.reason == "answered"
    assert [row.id for row in scene.db.responses("birds")] == ["ann-0"]


def test_a_revised_answer_replaces_and_keeps_the_first(scene, ann):
    scene.answer(ann, 0)
    scene.answer(ann, 0, id="second", supersedes="ann-0", digest="finch")
    assert [(r.id, r.superseded) for r in scene.db.responses("birds")] == [
        ("ann-0", True),
        ("second", False),
    ]
    assert scene.db.showings(ann.id)[0].response == "second"
    assert scene.db.session("token of ann").answered == 1
    assert scene.answer(ann, 0).state == "known"  # a late repetition of the first
    with pytest.raises(Conflict, match="is answered by second"):
        scene.answer(ann, 0, id="third", supersedes="ann-0")


def test_an_answer_is_not_revised_without_end(scene, ann):
    scene.answer(ann, 0, id="first")
    last = "first"
    for n in range(MAX_REVISIONS):
        send = scene.skip if n % 2 else scene.answer
        send(ann, 0, id=f"revision-{n}", supersedes=last)
        last = f"revision-{n}"
    with pytest.raises(Conflict, match=f"revised {MAX_REVISIONS} times; {last} stands") as caught:
        scene.answer(ann, 0, id="too many", supersedes=last)
    assert caught.value.reason == "revisions"
    assert scene.db.showings(ann.id)[0].response == last
    assert scene.skip(ann, 0, id=last, supersedes="revision-48").state == "known"
    scene.answer(ann, 1)  # elsewhere it goes on
    assert len(list(scene.db.responses("birds"))) == MAX_REVISIONS + 2
    assert scene.taken() == scene.held()


def test_answers_that_come_before_what_they_revise_are_limited_too(scene, ann):
    """Each names the one that it follows, and that one comes afterwards."""
    for n in range(MAX_REVISIONS + 1):
        scene.answer(ann, 0, id=f"answer-{n}", supersedes=f"answer-{n + 1}")
    with pytest.raises(Conflict) as caught:
        scene.answer(ann, 0, id=f"answer-{n + 1}")
    assert caught.value.reason == "revisions"


def test_answers_may_arrive_in_the_wrong_order(scene, ann):
    scene.answer(ann, 0, id="third", supersedes="second")
    scene.answer(ann, 0, id="second", supersedes="first")
    scene.answer(ann, 0, id="first")
    scene.answer(ann, 3)
    scene.answer(ann, 1)
    assert [(r.id, r.superseded) for r in scene.db.responses("birds")][:3] == [
        ("third", False),
        ("second", True),
        ("first", True),
    ]
    assert scene.db.session("token of ann").answered == 3
    assert scene.db.missing(ann.id) == (2,)


def test_an_answer_cannot_revise_one_given_elsewhere(scene, ann):
    scene.answer(ann, 0)
    with pytest.raises(Conflict, match="revises ann-0, given elsewhere") as caught:
        scene.answer(ann, 1, supersedes="ann-0")
    assert caught.value.reason == "conflict"
    assert scene.db.missing(ann.id) == (1, 2, 3)


def test_an_unknown_position_and_an_unknown_session_are_named(scene, ann):
    with pytest.raises(Absent, match="has no position 99") as caught:
        scene.answer(ann, 99)
    assert caught.value.what == "position"
    with pytest.raises(Absent, match="there is no session 'nobody'") as caught:
        scene.answer(ann._replace(id="nobody"), 0)
    assert caught.value.what == "session"


def test_answers_sent_together_are_each_treated_by_their_own_rule(scene, ann, together):
    """All in one transaction, as many people at once would make it."""
    bob = scene.enter("bob")
    scene.lease(bob, PLAN)
    scene.answer(ann, 3)
    send = [
        scene.response(ann, 0),
        scene.response(ann, 0),  # again
        scene.response(ann, 0, id="x", digest="finch"),  # another for the same position
        scene.response(ann, 0, id="y", supersedes="ann-0", digest="finch"),
        scene.response(ann, 1, id="z"),
        scene.response(ann, 3),
        scene.response(ann, 99, id="w"),
        scene.response(ann, 2, id="z"),  # an id that is taken a moment before
    ]
    with together(scene.db):
        futures = [scene.db.answer(ann.id, each, 1.0) for each in send]
        others = [scene.db.answer(bob.id, scene.response(bob, i), 1.0) for i in range(4)]
    outcomes = [future.exception() or future.result().state for future in futures]
    assert [each if isinstance(each, str) else type(each) for each in outcomes] == [
        "stored",
        "known",
        Conflict,
        "stored",
        "stored",
        "known",
        Absent,
        Conflict,
    ]
    assert [future.result().state for future in others] == ["stored"] * 4
    assert scene.db.missing(ann.id) == (2,)
    assert scene.db.showings(ann.id)[0].response == "y"
    assert scene.db.session("token of ann").answered == 3


def test_a_text_the_database_cannot_keep_hurts_only_itself(scene, ann, together):
    with together(scene.db):
        bad = scene.db.answer(ann.id, scene.response(ann, 0, payload="\ud800"), 1.0)
        good = [scene.db.answer(ann.id, scene.response(ann, i), 1.0) for i in (1, 2)]
    assert [future.result().state for future in good] == ["stored", "stored"]
    with pytest.raises(StoreError, match=r"cannot be stored: .*surrogates not allowed"):
        bad.result()
    assert scene.db.missing(ann.id) == (0, 3)


ARRIVALS = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob"]),
        st.integers(0, 3),  # the position
        st.sampled_from(["a", "b", "c", "d", "e"]),  # the id
        st.sampled_from([None, None, "a", "b"]),  # what it supersedes
        st.sampled_from(["wren", "finch"]),  # the digest
    ),
    max_size=12,
)


@given(arrivals=ARRIVALS)
@settings(max_examples=40)
def test_many_at_once_is_the_same_as_one_by_one(scene_of, together, empty_file, arrivals):
    """Up to the order among people: where the rules look, the outcome is the same."""
    with TemporaryDirectory() as folder:
        paths = [shutil.copy(empty_file, Path(folder) / name) for name in ("one.db", "many.db")]
        one = told(scene_of, paths[0], arrivals, None)
        many = told(scene_of, paths[1], arrivals, together)
    assert one == many


def told(scene_of, path, arrivals, together):
    """What was answered to each arrival, and what is stored after all of them."""
    with store.open(path) as db:
        scene = scene_of(db)
        scene.put(4)
        people = {name: scene.enter(name) for name in ("ann", "bob")}
        for who in people.values():
            scene.lease(who, PLAN)
        db.answer(people["ann"].id, scene.response(people["ann"], 3, id="e"), 0.0).result()
        requests = [
            (people[name], scene.response(people[name], place, id=i, supersedes=old, digest=digest))
            for name, place, i, old, digest in arrivals
        ]
        if together is not None:
            with together(db):
                futures = [db.answer(who.id, new, 1.0) for who, new in requests]
        else:
            futures = []
            for who, new in requests:
                futures.append(db.answer(who.id, new, 1.0))
                futures[-1].exception()
        outcomes = [outcome(future) for future in futures]
        stored = sorted(
            (r.id, r.annotator, r.position, r.superseded) for r in db.responses("birds")
        )
        return outcomes, stored, [db.session(f"token of {name}").answered for name in people]


def outcome(future):
    error = future.exception()
    assert error is None or isinstance(error, SoftlabelError)
    return future.result().state if error is None else type(error).__name__


def test_plain_answers_are_stored_together(scene, ann, together, monkeypatch):
    """The quick way is the one that is taken: none of them is looked at alone."""
    monkeypatch.setattr("softlabel.store.answers.answer", None)
    with together(scene.db):
        futures = [
            scene.db.answer(ann.id, scene.response(ann, i, frame="self"), 1.0) for i in range(4)
        ]
    items = [shown.item for shown in scene.db.showings(ann.id)]
    acks = [future.result() for future in futures]
    assert acks == [Ack(f"ann-{i}", "stored", "target", item) for i, item in enumerate(items)]
    assert {row.frame for row in scene.db.responses("birds")} == {"self"}
