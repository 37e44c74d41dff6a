"""Reading back: sessions, answers as a stream, events, invitations, and the counts."""

from __future__ import annotations

import tracemalloc

import pytest

from softlabel.errors import StoreError
from softlabel.store import ItemRow, Plan, Session, Timing, reads
from softlabel.store.rows import Event

PLAN = Plan(per_item=3, per_annotator=4)


@pytest.fixture
def people(scene):
    scene.put(4, per_item=3)
    found = [scene.enter(name, now=float(i)) for i, name in enumerate(("ann", "bob", "cleo"))]
    for who in found:
        scene.answer_all(who, PLAN, now=10.0 + who.number)
    return found


def test_a_session_is_found_by_each_of_its_tokens(scene):
    scene.put(1)
    first = scene.enter("ann", now=3.5)
    assert first == Session(
        first.id, "birds", "ann", 0, "consent", ("sparrow", "wren", "finch"), 7, None, 0, 0, 0, 3.5
    )
    entering = scene.db.enter(
        "birds",
        "ann",
        "second token",
        label_order_of=lambda number: ("never", "asked"),
        seed=8,
        recruiter_session=None,
        now=9.0,
    )
    assert entering.result() == first  # resumed, unchanged
    assert scene.db.session("token of ann") == scene.db.session("second token") == first
    assert scene.db.session_of("birds", "ann") == first
    assert scene.db.session("no token") is None
    assert scene.enter("bob").label_order == ("wren", "finch", "sparrow")


def test_a_token_opens_one_session(scene):
    scene.put(1)
    scene.enter("ann")
    taken = scene.db.enter(
        "birds",
        "bob",
        "token of ann",
        label_order_of=lambda number: (),
        seed=0,
        recruiter_session=None,
        now=0.0,
    )
    with pytest.raises(StoreError, match="belongs to another person's session"):
        taken.result()
    assert scene.db.session_of("birds", "bob") is None


def test_nobody_enters_a_study_that_is_not_there(scene):
    with pytest.raises(StoreError, match="there is no study 'fish'"):
        scene.enter("ann", study="fish")
    with pytest.raises(StoreError, match="there is no study 'fish'"):
        scene.db.progress("fish")
    with pytest.raises(StoreError, match="there is no session 'nobody'"):
        scene.db.finish("nobody", 0.0).result()


def test_stages_and_tries_are_counted_and_written_down(scene):
    scene.put(1)
    ann = scene.enter("ann")
    scene.db.set_stage(ann.id, "quiz", event="read", detail={"pages": 3}, now=1.0).result()
    assert scene.db.quiz_try(ann.id, False, {"picked": [1]}, 2.0).result().quiz_tries == 1
    assert scene.db.quiz_try(ann.id, True, {"picked": [0]}, 3.0).result().quiz_tries == 2
    scene.db.event("birds", None, "opened", {}, 4.0).result()
    assert scene.db.session("token of ann").stage == "quiz"
    assert [event[1:] for event in scene.db.events("birds")] == [
        ("ann", "read", {"pages": 3}, 1.0),
        ("ann", "quiz", {"passed": False, "picked": [1]}, 2.0),
        ("ann", "quiz", {"passed": True, "picked": [0]}, 3.0),
        (None, "opened", {}, 4.0),
    ]
    assert [event.at for event in scene.db.events("birds", "quiz")] == [2.0, 3.0]


def test_debriefs_are_events(scene):
    scene.put(1)
    ann = scene.enter("ann")
    said = {"d0": "nice birds"}
    scene.db.set_stage(ann.id, "done", event="debrief", detail=said, now=1.0).result()
    assert list(scene.db.debriefs("birds")) == [Event(1, "ann", "debrief", said, 1.0)]


def test_answers_come_in_the_order_of_storing_from_anywhere_on(scene, people):
    rows = list(scene.db.responses("birds"))
    assert [row.annotator for row in rows] == ["ann"] * 4 + ["bob"] * 4 + ["cleo"] * 4
    assert [row.seq for row in rows] == sorted({row.seq for row in rows})
    assert list(scene.db.responses("birds", after=rows[4].seq)) == rows[5:]
    assert list(scene.db.responses("birds", after=rows[4].seq, limit=3)) == rows[5:8]
    assert list(scene.db.responses("birds", limit=0)) == []
    assert list(scene.db.responses("fish")) == []
    assert scene.db.latest("birds", 2) == (rows[11], rows[10])
    item = rows[0].item
    assert [r.annotator for r in scene.db.responses_to("birds", item)] == ["ann", "bob", "cleo"]
    assert list(scene.db.responses_by("birds", "bob")) == rows[4:8]
    after = scene.db.before_latest("birds", 5)
    assert list(scene.db.responses("birds", after=after)) == rows[7:]
    assert scene.db.before_latest("birds", 99) == 0


def test_a_piece_more_or_less_makes_no_difference(scene, people, monkeypatch):
    whole = list(scene.db.responses("birds"))
    for size in (1, 3, 4, 12, 13):
        monkeypatch.setattr(reads, "PIECE", size)
        assert list(scene.db.responses("birds")) == whole
        assert list(scene.db.responses("birds", limit=7)) == whole[:7]


def test_reading_a_long_study_takes_little_memory(scene, monkeypatch):
    """Sixteen megabytes of answers, of which never more than a piece is in memory."""
    monkeypatch.setattr(reads, "PIECE", 20)
    scene.put(400, per_item=1)
    ann = scene.enter("ann")
    big = "x" * 40_000
    while waiting := [s for s in scene.lease(ann, Plan(per_item=1)) if s.state == "open"]:
        for shown in waiting:
            scene.answer(ann, shown.position, payload=big)
    assert scene.db.counts("birds")["response"] == 400
    tracemalloc.start()
    size = sum(len(row.payload) for row in scene.db.responses("birds"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 16_000_000
    assert peak < 3_000_000


def test_progress_counts_what_counts(scene):
    scene.put([*(ItemRow(f"bird-{i}") for i in range(3)), ItemRow("robin", "gold")], per_item=2)
    plan = Plan(per_item=2, per_annotator=2, checks=("robin",), repeats=1, repeat_positions=(0,))
    ann, bob = scene.enter("ann"), scene.enter("bob")
    scene.answer_all(ann, plan, now=5.0)
    scene.lease(bob, plan)
    scene.db.finish(ann.id, 6.0).result()
    found = scene.db.progress("birds")
    assert (found.items, found.wanted, found.taken, found.answered) == (3, 6, 4, 2)
    assert (found.responses, found.last_at, found.full) == (4, 5.0, 1)
    assert found.sessions == {"consent": 1, "done": 1}
    per_item = scene.db.answers_per_item("birds")
    assert sorted(per_item.values()) == [0, 1, 1]
    assert set(per_item) == {"bird-0", "bird-1", "bird-2"}
    assert [s.annotator for s in scene.db.sessions("birds")] == ["ann", "bob"]
    assert scene.db.counts("birds")["showing"] == 8


def test_times_are_kept_with_each_answer(scene, people):
    scene.put(6, per_item=3)
    dan = scene.enter("dan")
    scene.lease(dan, PLAN)
    timing = Timing(100, 900.5, 800, 0, {"top": 100, "certainty": 700.25})
    scene.answer(dan, 0, timing=timing, answer_json=None, skip="media_broken")
    *others, last = scene.db.timings("birds")
    assert len(others) == 12
    assert [row.timing for row in others] == [Timing()] * 12
    assert (last.annotator, last.mode, last.skip, last.timing) == (
        "dan",
        "hard",
        "media_broken",
        timing,
    )
    assert list(scene.db.timings("birds", after=others[-1].seq)) == [last]


def test_an_invitation_is_kept_looked_up_and_revoked(scene):
    scene.put(1)
    scene.db.invite("birds", "Ann", "hash-1", 1.0, annotator="ann").result()
    scene.db.invite("birds", "Bob", "hash-2", 2.0).result()
    assert scene.db.invitation("hash-1").name == "Ann"
    assert scene.db.invitation("hash-3") is None
    with pytest.raises(StoreError, match="'Ann' is invited to 'birds' already"):
        scene.db.invite("birds", "Ann", "hash-3", 3.0).result()
    scene.db.revoke("birds", "Ann", 4.0).result()
    scene.db.revoke("birds", "Ann", 5.0).result()  # the first time is kept
    assert [(i.name, i.revoked_at) for i in scene.db.invitations("birds")] == [
        ("Ann", 4.0),
        ("Bob", None),
    ]
    with pytest.raises(StoreError, match="nobody called 'Cleo' is invited"):
        scene.db.revoke("birds", "Cleo", 6.0).result()


def test_the_language_of_a_session_is_kept(scene):
    scene.put(1)
    ann, bob = scene.enter("ann"), scene.enter("bob")
    assert ann.language is None
    scene.db.set_language(ann.id, "de").result()
    assert scene.db.session("token of ann") == ann._replace(language="de")
    assert scene.db.session("token of bob") == bob
    scene.db.set_language(ann.id, "zh").result()
    assert scene.db.session_of("birds", "ann").language == "zh"
