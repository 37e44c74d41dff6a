"""Forgetting a person: no row, no byte, and their places are free."""

from __future__ import annotations

import sqlite3
from random import Random

import pytest

from softlabel import store
from softlabel.errors import StoreError
from softlabel.store import ItemRow, Plan

MARK = "my-very-own-words"
ITEMS = [ItemRow(f"bird-{b}-{i}", "target", f"b{b}") for b in range(3) for i in range(8)]
PLAN = Plan(per_item=4, batches=True, repeats=2, repeat_positions=(1, 3))


@pytest.fixture
def crowd(scene):
    """Six people in three batches; each has said something only they could have said."""
    scene.put(ITEMS, per_item=4)
    return [tell_all(scene, f"{MARK}-{number}") for number in range(6)]


def tell_all(scene, name):
    who = scene.enter(name)
    scene.db.invite("birds", f"invited {name}", f"hash of {name}", 0.0, annotator=name).result()
    for shown in scene.lease(who, PLAN):
        payload = f'{{"answer": "{name} at {shown.position}", "more": "{"and so on " * 200}"}}'
        scene.answer(who, shown.position, payload=payload, answer_json=f'"{name}"')
    scene.answer(who, 0, id=f"{name}-revised", supersedes=f"{name}-0", payload=name)
    scene.db.set_stage(who.id, "debrief", event="debrief", detail={"said": name}, now=1).result()
    return who


def test_every_row_about_a_person_goes_and_nobody_elses(scene, crowd):
    before = scene.db.counts("birds")
    gone = scene.db.forget("birds", crowd[2].annotator).result()
    assert gone == {
        "response": 11,
        "showing": 10,
        "token": 1,
        "session": 1,
        "event": 1,
        "invitation": 1,
        "payment": 0,
        "submission": 0,
    }
    after = scene.db.counts("birds")
    assert {name: before[name] - after[name] for name in after} == {
        name: gone.get(name, 0) for name in after
    }
    assert scene.db.session(f"token of {crowd[2].annotator}") is None
    assert scene.db.invitation(f"hash of {crowd[2].annotator}") is None
    assert crowd[2].annotator not in {row.annotator for row in scene.db.responses("birds")}
    assert scene.db.forget("birds", "nobody").result() == dict.fromkeys(gone, 0)


def test_their_places_are_free_again(scene, crowd):
    assert scene.db.taken_per_batch("birds") == {"b0": 2, "b1": 2, "b2": 2}
    scene.db.forget("birds", crowd[0].annotator).result()
    assert sorted(scene.db.taken_per_batch("birds").values()) == [1, 2, 2]
    assert scene.held() == scene.taken()
    newcomer = scene.enter("newcomer")
    assert newcomer.number == 6  # numbers are not used again
    assert len(scene.lease(newcomer, PLAN)) == 10
    assert scene.db.taken_per_batch("birds") == {"b0": 2, "b1": 2, "b2": 2}


def test_withdrawing_may_forget(scene, crowd):
    assert scene.db.withdraw(crowd[1].id, True, 5.0).result() is None
    assert scene.db.session_of("birds", crowd[1].annotator) is None
    assert scene.db.counts("birds")["response"] == 5 * 11
    assert scene.held() == scene.taken()
    with pytest.raises(StoreError, match="there is no session"):
        scene.answer(crowd[1], 0, id="one more")


def bytes_of(folder) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("answers.db*")))


def found_wrong(path) -> str:
    other = sqlite3.connect(path)
    (found,) = other.execute("PRAGMA integrity_check").fetchone()
    other.close()
    return found


def test_their_words_are_gone_from_the_files(scene_of, tmp_path):
    """Short and long answers of many people in any order: pages are split and merged often."""
    plan = Plan(per_item=40, per_annotator=25)
    rng = Random(7)
    with store.open(tmp_path / "answers.db") as db:
        scene = scene_of(db)
        scene.put(100, per_item=40)
        people = [scene.enter(f"{MARK}-{number:03}") for number in range(64)]
        shown = [(who, s.position) for who in people for s in scene.lease(who, plan)]
        rng.shuffle(shown)
        texts = [f"{who.annotator} " * rng.choice((1, 3, 30, 300, 1000)) for who, _ in shown]
        futures = [
            db.answer(who.id, scene.response(who, place, payload=text), 1.0)
            for (who, place), text in zip(shown, texts, strict=True)
        ]
        assert len([future.result() for future in futures]) == 1600
        for who in people[::5]:
            assert who.annotator.encode() in bytes_of(tmp_path)
            db.forget("birds", who.annotator).result()
            assert who.annotator.encode() not in bytes_of(tmp_path)
            assert who.id.encode() not in bytes_of(tmp_path)
            assert found_wrong(tmp_path / "answers.db") == "ok"
        assert len(list(db.responses("birds"))) == 51 * 25  # everybody else's


def test_it_is_said_when_somebody_elses_reading_keeps_the_words(scene_of, tmp_path, monkeypatch):
    monkeypatch.setattr("softlabel.store.engine.SECONDS_TO_WAIT", 0.2)
    with store.open(tmp_path / "answers.db") as db:
        scene = scene_of(db)
        scene.put(ITEMS, per_item=4)
        who = tell_all(scene, MARK)
        other = sqlite3.connect(tmp_path / "answers.db", isolation_level=None)
        other.execute("BEGIN")
        other.execute("SELECT * FROM response").fetchone()
        with pytest.raises(StoreError, match=r"deleted, but traces .*another program is reading"):
            db.forget("birds", who.annotator).result()
        assert db.counts("birds")["response"] == 0
        other.close()
        db.forget("birds", who.annotator).result()
        assert MARK.encode() not in bytes_of(tmp_path)
