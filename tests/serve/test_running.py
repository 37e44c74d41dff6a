"""A study that is paused, closed, corrected and extended while people take part in it."""

from __future__ import annotations

import json

import pytest

from softlabel import store as stores
from softlabel.errors import StoreError, StudyError
from softlabel.serve.actions import (
    AddItems,
    Close,
    Desk,
    EndSession,
    Exclude,
    Include,
    Pause,
    Reopen,
    Resume,
    SetPeopleCap,
    SetPerItem,
    read_action,
    read_number,
)  # fmt: skip


@pytest.fixture(params=["sqlite", "postgres"])
def running(request, serving):
    """A server, on both kinds of database."""
    db = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    return serving(db=db)


@pytest.fixture
def do(running):
    """Act as another process would: on a store of its own."""
    place = running.folder / ".softlabel" / "answers.db"

    def act(action):
        with stores.open(place) as other:
            desk = Desk(running.study, other, "dora", running.clock())
            assert all(sentence.endswith(".") for sentence in action.explain(desk))
            return action.do(desk)

    if "://" in running.store.name:

        def act(action):
            return action.do(Desk(running.study, running.store, "dora", running.clock()))

    return act


def test_a_pause_holds_everybody_who_has_nothing_to_do(running, do):
    ann, bob, cleo = running.person().to_task(), running.person().to_quiz(), running.person()
    held = ann.open_positions()
    assert cleo.heading() == "Before you begin"
    assert do(Pause()) == "The study is paused."
    assert bob.post("/quiz", data={"q0": "0", "q1": "1"}).text.count("The study is paused") == 2
    assert running.store.sessions("birds")[1].quiz_tries == 0, "no try is counted"
    assert bob.heading() == cleo.heading() == "The study is paused"
    assert "are stored" not in bob.get("/").text
    assert cleo.agree().text.count("The study is paused") == 2
    assert len(running.store.sessions("birds")) == 2, "nothing is kept of who came in vain"
    assert 'id="task"' in ann.get("/").text
    for position in held:
        assert ann.give(position).status_code == 200
    reply = ann.get("/api/plan")
    assert (reply.status_code, reply.json()) == (409, {"error": "paused"})
    assert ann.post("/api/finish", json={}).json() == {"error": "paused"}
    page = ann.get("/").text
    assert "<h1>The study is paused</h1>" in page
    assert "All the answers that you have given are stored." in page
    assert 'href="/withdraw"' in page, "and they may leave"
    assert do(Resume()) == "The study is open."
    assert len(ann.answer_all()) > 0
    assert ann.post("/api/finish", json={}).json()["open"]
    bob.post("/quiz", data={"q0": "0", "q1": "1"})
    assert bob.open_positions()


def test_whoever_finishes_what_they_hold_after_the_end_gets_the_code(running, do):
    ann, bob = running.person().to_task(), running.person().to_quiz()
    held = ann.open_positions()
    do(Close())
    assert bob.post("/quiz", data={"q0": "0", "q1": "1"}).text.count("This study is closed") == 2
    for position in held:
        ann.give(position)
    plan = ann.plan()
    assert not plan["more"]
    assert plan["total"] == plan["answered"] == len(held)
    assert ann.post("/api/finish", json={}).json() == {"open": True, "next": "/"}
    assert ann.heading() == "A few last questions"
    ann.post("/debrief", data={})
    assert ann.heading() == "Thank you"
    assert bob.heading() == running.person().heading() == "This study is closed"
    do(Reopen())
    bob.post("/quiz", data={"q0": "0", "q1": "1"})
    assert bob.open_positions()


def test_whoever_came_back_to_nothing_sees_that_it_is_closed(running, do):
    ann = running.person().to_task()
    running.clock.ahead += 10_000  # nothing was answered in time
    running.store.release_expired("birds", running.clock()).result()
    do(Close())
    assert ann.get("/api/plan").json() == {"error": "closed"}
    assert ann.heading() == "This study is closed"


def test_a_person_who_is_left_out_is_told_and_their_items_go_to_others(running, do):
    ann = running.person().to_task()
    first = ann.open_positions()
    for position in first:
        ann.give(position)
    (session,) = running.store.sessions("birds")
    targets = sum(row.kind == "target" for row in running.responses())
    said = do(Exclude(session.annotator, " answers at random "))
    assert said == f"{session.annotator} is left out; {targets} items are wanted again."
    reply = ann.get("/api/plan")
    assert (reply.status_code, reply.json()) == (409, {"error": "stage", "stage": "closed"})
    assert ann.heading() == "This study is closed for you"
    assert ann.give(first[-1]).json() == {"error": "left"}
    assert set(running.store.answers_per_item("birds").values()) == {0}
    assert {row.excluded for row in running.responses()} == {"answers at random"}
    assert do(Include(session.annotator)).endswith(f"{targets} answers count again.")
    ann.answer_all()
    assert ann.post("/api/finish", json={}).json()["open"]


def test_a_session_that_is_ended_keeps_its_answers(running, do):
    ann = running.person().to_task()
    position = ann.open_positions()[0]
    ann.give(position)
    (session,) = running.store.sessions("birds")
    do(EndSession(session.annotator))
    assert ann.heading() == "This study is closed for you"
    assert {row.excluded for row in running.responses()} == {None}


def test_a_cap_on_people_sends_newcomers_away(running, do):
    running.person().to_task()
    do(SetPeopleCap(1))
    bob = running.person()
    running.clock.ahead += 10  # the last look at the room is forgotten
    assert bob.heading() == "There is nothing left to do"
    do(SetPeopleCap(2))
    running.clock.ahead += 20
    assert bob.to_task().open_positions()


def test_items_are_added_without_a_restart(running, do, tmp_path):
    ann = running.person().to_task()
    for position in ann.open_positions():
        ann.give(position)
    (running.folder / "new.png").write_bytes((running.folder / "secret-file-0.png").read_bytes())
    table = tmp_path / "more birds.csv"
    table.write_text("id,image,alt\nn1,new.png,a bird\nn2,secret-file-1.png,a bird\n")
    do(SetPerItem(1))
    said = do(AddItems(table, table.name))
    assert said == "2 items were added; their table is added/0001-more-birds.csv."
    bob = running.person().to_task()
    bob.answer_all()
    shown = {row.item for row in running.responses()}
    assert {"n1", "n2"} <= shown, "they are the least answered"
    assert bob.post("/api/finish", json={}).json()["open"]
    assert ann.plan()["showings"], "who is at work goes on"
    again = tmp_path / "again.jsonl"
    again.write_text('{"id": "n3", "text": "A robin sings."}\n')
    assert "added/0002-again.jsonl" in do(AddItems(again, again.name))
    assert running.store.audit("birds")[0].detail == {"items": 1, "file": "0002-again.jsonl"}


BROKEN = {
    "id,image\nhidden-id-0,secret-file-0.png\n": "more.csv, line 2, id = 'hidden-id-0': is the id",
    "id,image\nx,nowhere.png\n": "more.csv, line 2, image = 'nowhere.png': no such file",
    "id,text,gold\nx,hello,eagle\n": "more.csv, line 2, gold = 'eagle': no such label",
    "id,text,batch\nx,hello,a\n": "more.csv, line 2, batch = 'a': the study has no batches",
    "id,text\n": "more.csv: contains no item",
    "id,text\nx\n": "more.csv, line 2: has 1 cells; the first line names 2 columns",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_table_with_mistakes_changes_nothing(serving, tmp_path, text):
    running = serving()
    table = tmp_path / "table.csv"
    table.write_text(text)
    desk = Desk(running.study, running.store, "dora", 1.0)
    for attempt in (AddItems.explain, AddItems.do):
        with pytest.raises(StudyError) as refused:
            attempt(AddItems(table, "more.csv"), desk)
        assert str(refused.value).startswith(BROKEN[text])
    assert not list(running.folder.glob("added/*"))
    assert not list((running.folder / ".softlabel").glob("adding-*"))
    assert running.store.audit("birds") == ()


def test_a_folder_that_was_broken_meanwhile_changes_nothing(serving, tmp_path, caplog):
    running = serving()
    ann = running.person().to_task()
    table = tmp_path / "more.csv"
    table.write_text("id,text\nn1,hello\n")
    AddItems(table, "more.csv").do(Desk(running.study, running.store, "dora", 1.0))
    toml = running.folder / "study.toml"
    toml.write_text(toml.read_text().replace("per_item", "per_itme"))
    running.store.set_per_item(stores.Act("birds", "dora", 1.0), 4).result()
    running.person().to_task()  # the server looks before it gives anything out
    assert "was not read again" in caplog.text
    assert "per_itme" in caplog.text
    assert ann.give(ann.open_positions()[0]).status_code == 200


@pytest.mark.parametrize("called", ["table.txt", "table", "items.xlsx"])
def test_only_tables_can_be_added(serving, tmp_path, called):
    running = serving()
    table = tmp_path / "any"
    table.write_text("id,text\nx,hello\n")
    with pytest.raises(StoreError, match=r"ends in \.csv or \.jsonl"):
        AddItems(table, called).explain(Desk(running.study, running.store, "dora", 1.0))


def test_added_items_are_read_after_a_restart(serving, tmp_path):
    running = serving()
    table = tmp_path / "more.csv"
    table.write_text("id,text\nn1,hello\n")
    AddItems(table, "more.csv").do(Desk(running.study, running.store, "dora", 1.0))
    again = serving()
    assert [item.id for item in again.study.items][-1] == "n1"
    assert again.store.answers_per_item("birds")["n1"] == 0


def test_batches_grow_with_added_items(serving, tmp_path):
    def batches(folder):
        rows = [f"b-{b}-{n},a bird,{b}" for b in ("x", "y") for n in range(2)]
        (folder / "items.csv").write_text("\n".join(["id,text,batch", *rows]) + "\n")
        toml = folder / "study.toml"
        text = toml.read_text().replace("per_annotator = 4\nbatch_size = 3\n", "")
        toml.write_text(text.replace("repeats = 1\nrepeat_positions = [1]\n", ""))

    running = serving(edit=batches, per_item=1)
    desk = Desk(running.study, running.store, "dora", 1.0)
    table = tmp_path / "more.csv"
    table.write_text("id,text\nn1,hello\n")
    with pytest.raises(StudyError, match="line 2, batch: must name a batch"):
        AddItems(table, "more.csv").do(desk)
    table.write_text("id,text,batch\nn1,hello,z\nn2,hello,z\n")
    AddItems(table, "more.csv").do(desk)
    assert set(running.store.taken_per_batch("birds")) == {"x", "y", "z"}
    for _ in range(3):
        running.person().to_task().answer_all()
    shown = [row.item for row in running.responses() if row.kind == "target"]
    assert {"n1", "n2"} <= set(shown)


def test_what_a_form_says_is_read_strictly():
    assert read_action("quota", {"number": " 7 "}) == SetPerItem(7)
    assert read_action("cap", {"number": ""}) == SetPeopleCap(None)
    assert read_action("exclude", {"annotator": "a", "reason": "b"}) == Exclude("a", "b")
    for name, fields in (
        ("quota", {"number": "0"}),
        ("quota", {"number": "2.5"}),
        ("cap", {"number": "-1"}),
        ("cap", {"number": "1" * 9}),
        ("exclude", {"annotator": "a", "reason": "  "}),
        ("exclude", {"annotator": "a", "reason": "x" * 501}),
        ("explode", {}),
    ):
        with pytest.raises(StoreError):
            read_action(name, fields)
    assert read_number("people", "None") is None


def test_a_left_out_person_is_marked_in_records(serving):
    running = serving()
    running.person().to_task().answer_all()
    (session,) = running.store.sessions("birds")
    running.store.exclude(stores.Act("birds", "dora", 1.0), session.annotator, "no").result()
    from softlabel.records import record_of_stored, select_answers

    rows = [record_of_stored(running.study, row) for row in running.responses()]
    assert {row["excluded"] for row in rows} == {"no"}
    lines = [(n, json.loads(json.dumps(row))) for n, row in enumerate(rows, 1)]
    kept, left_out, skips = select_answers("x.jsonl", lines)
    assert (kept, left_out, skips) == ([], {"of people left out": len(rows)}, {})
