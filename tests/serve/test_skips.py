"""Skipping over HTTP: it is no answer, it is limited, and nobody is paid for skipping all."""

from __future__ import annotations

import json
import re
import time

import pytest

from softlabel.cli import main

PROLIFIC = """kind = "prolific"
completion_code = "DONE1"
screenout_code = "OUT22"
"""
RETURN = "https://app.prolific.com/submissions/complete?cc="


def everybody_gets_six(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("per_annotator = 4", "per_annotator = 6"))


@pytest.fixture
def running(serving):
    """Six items for one person each, who came from Prolific; a seventh for practice."""
    return serving(recruit=PROLIFIC, per_item=1, edit=everybody_gets_six)


@pytest.fixture
def arrive(running):
    def come(number):
        person = running.person()
        ids = {"PROLIFIC_PID": f"{number:024x}", "STUDY_ID": "1" * 24, "SESSION_ID": "2" * 24}
        person.get("/", params=ids)
        return person

    return come


@pytest.fixture
def run(capsys):
    def command(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        assert code == 0, err
        return out

    return command


def skip(person, position, **changes):
    return person.give(position, answer=None, skip="cannot_judge", **changes)


def main_positions(person):
    shown = person.plan()["showings"]
    return [one["position"] for one in shown if one["phase"] == "main" and not one["answered"]]


def facts_of(out):
    lines = out.split("\n\n")[0].splitlines()
    return {name: text.strip() for name, text in (line.split("  ", 1) for line in lines)}


def test_seven_skips_in_a_row_pay_nobody_and_leave_the_items_to_the_next(
    running, arrive, run, tmp_path
):
    ann = arrive(1).to_task()
    assert skip(ann, 0).json()["feedback"], "practice may be skipped"
    replies = [skip(ann, position) for position in range(1, 8)]
    assert [reply.status_code for reply in replies[:3]] == [200, 200, 200]
    assert [reply.json().get("ended") for reply in replies[:3]] == [None, None, True]
    assert {reply.status_code for reply in replies[3:]} <= {409, 422}
    assert running.session().stage == "screened-out"
    page = ann.get("/").text
    assert "You have skipped more items than this study allows" in page
    assert "OUT22" in page
    assert "DONE1" not in page
    assert ann.get("/leave").headers["location"] == f"{RETURN}OUT22"
    assert ann.post("/api/finish", json={}).json() == {"open": True, "next": "/"}
    assert "DONE1" not in ann.get("/").text
    assert ann.get("/api/plan").json() == {"error": "stage", "stage": "screened-out"}
    (event,) = running.store.events("birds", "screened-out")
    assert event.detail == {"reason": "skips", "skipped": 3, "most": 2}

    facts = facts_of(run("status", running.folder))
    assert facts["answers"].startswith("0 of 6")
    assert facts["items done"] == "0 of 6"
    assert facts["skips"] == "3 (3 cannot judge)"

    bob = arrive(2).to_task()
    bob.answer_all()
    assert bob.post("/api/finish", json={}).json() == {"open": True, "next": "/"}
    bob.post("/debrief", data={})
    assert "DONE1" in bob.get("/").text
    assert set(running.store.answers_per_item("birds").values()) == {1}
    facts = facts_of(run("status", running.folder))
    assert (facts["items done"], facts["skips"]) == ("6 of 6", "3 (3 cannot judge)")

    answers, labels = tmp_path / "answers.jsonl", tmp_path / "labels.csv"
    run("export", running.folder, answers)
    out = run("label", answers, labels, "--aggregate", "mean")
    assert re.search(r"left out +2 practice, \d checks, \d skipped", out)
    assert len(labels.read_text().splitlines()) == 1 + 6
    cards = tmp_path / "cards.json"
    run("annotators", answers, "--output", cards)
    people = {one["annotator"]: one for one in json.loads(cards.read_text())["annotators"]}
    silent, busy = (running.secret.pseudonym("prolific", f"{number:024x}") for number in (1, 2))
    assert (people[silent]["answers"], people[silent]["skips"]) == (0, {"cannot_judge": 3})
    assert (people[busy]["answers"], people[busy]["skips"]) == (7, {})  # six items, one repeat


def test_an_acknowledgement_that_was_lost_still_leads_to_the_last_page(
    running, arrive, answer_body
):
    ann = arrive(1).to_task()
    first = main_positions(ann)
    bodies = [answer_body(place, answer=None, skip="not_in_list") for place in first[:3]]
    for body in bodies:
        ann.post("/api/answers", json=body)
    again = ann.post("/api/answers", json=bodies[-1])
    assert (again.status_code, again.json()["ended"]) == (200, True)


def test_a_few_skips_are_allowed_and_the_page_is_told_how_many_are_left(running, arrive):
    ann = arrive(1).to_task()
    assert ann.plan()["skips_left"] == 2
    first, second = main_positions(ann)[:2]
    for practice in range(first):
        ann.give(practice)
    uuid = skip(ann, first).json()["acknowledged"]
    skip(ann, second)
    plan = ann.plan()
    assert plan["skips_left"] == 0
    assert [one["position"] for one in plan["showings"] if one["skipped"]] == [first, second]
    assert ann.give(first, supersedes=uuid).status_code == 200
    assert ann.plan()["skips_left"] == 1
    ann.answer_all()
    ann.post("/api/finish", json={})
    ann.post("/debrief", data={})
    assert "DONE1" in ann.get("/").text


@pytest.mark.parametrize(("answered", "stage"), [(0, "screened-out"), (1, "debrief")])
def test_who_got_fewer_items_and_skipped_all_of_them_is_not_complete(serving, answered, stage):
    """Six items may have three skips; somebody who gets the last three may not skip them all."""

    def loose(folder):
        everybody_gets_six(folder)
        path = folder / "study.toml"
        path.write_text(path.read_text().replace("repeats = 1", "skip_limit = 0.5\nrepeats = 1"))

    running = serving(per_item=1, edit=loose)
    assert running.study.most_skips == 3
    ann = running.person().to_task()
    for position in main_positions(ann)[:4]:
        ann.give(position)  # three items and the check
    bob = running.person().to_task()
    session = running.store.sessions("birds")[1]
    kinds = {s.position: s.kind for s in running.store.showings(session.id)}
    targets = [p for p in main_positions(bob) if kinds[p] == "target"]
    assert len(targets) == 3
    for position in targets[answered:]:
        assert skip(bob, position).json().get("ended") is None
    bob.answer_all()
    assert bob.post("/api/finish", json={}).json() == {"open": True, "next": "/"}
    assert running.store.sessions("birds")[1].stage == stage


def test_the_dashboard_counts_skips_apart(running, arrive):
    ann = arrive(1).to_task()
    first, second, *_ = main_positions(ann)
    skip(ann, first)
    ann.give(second)
    researcher = running.person()
    researcher.post("/research/login", data={"token": running.token})
    told = researcher.get("/research").text
    skips = re.search(r"<dt>Skips</dt>\s*<dd class=\"value\">(.*?)</dd>\s*<dd.*?>(.*?)</dd>", told)
    assert skips.groups() == ("1 <small>by 1 person</small>", "1 cannot judge")
    while "being computed" in (table := researcher.get("/research/people").text):
        time.sleep(0.02)
    assert '<th scope="col" class="number">Skips</th>' in table
    assert '<td class="number">1</td><td class="number">1</td>' in table  # an answer and a skip
    card = researcher.get(f"/research/people/{running.session().annotator}").text
    assert "<dt>Items skipped</dt><dd>1 (1 cannot judge)</dd>" in card


# ── the study's own policy ───────────────────────────────────────────────────────────────────

REASONS = """
[items.skip_reasons]
too_dark = "It is <i>too</i> dark"
cannot_judge = "I give up"
not_in_list = false
"""


def with_reasons(text):
    """Edit a study so that this stands in its [items]."""

    def edit(folder):
        everybody_gets_six(folder)
        path = folder / "study.toml"
        path.write_text(path.read_text().replace("[pages]", f"{text}\n[pages]"))

    return edit


def test_reasons_of_ones_own_are_offered_stored_and_exported(serving, tmp_path, run):
    running = serving(per_item=1, edit=with_reasons(REASONS))
    ann = running.person().to_task()
    offered = [["media_broken", ""], ["cannot_judge", "I give up"]]
    assert ann.plan()["skips"] == [*offered, ["too_dark", "It is <i>too</i> dark"]]
    first, second = main_positions(ann)[:2]
    assert ann.give(first, answer=None, skip="too_dark").status_code == 200
    for reason in ("not_in_list", "bored", "Too dark", ""):
        reply = ann.give(second, answer=None, skip=reason)
        assert (reply.status_code, reply.json()["field"]) == (422, "skip")
    assert facts_of(run("status", running.folder))["skips"] == "1 (1 too dark)"
    answers = tmp_path / "answers.jsonl"
    run("export", running.folder, answers)
    assert json.loads(answers.read_text())["skip"] == "too_dark"
    ann.give(second)
    run("export", running.folder, answers)
    assert re.search(r"left out +1 skipped", run("label", answers, tmp_path / "labels.csv"))


def test_a_study_may_forbid_skipping(serving):
    running = serving(per_item=1, edit=with_reasons("skip_reasons = false"))
    ann = running.person().to_task()
    assert ann.plan()["skips"] == []
    assert skip(ann, 0).status_code == 422
    assert ann.give(0).status_code == 200


def test_who_skips_too_many_returns_with_a_code_of_its_own(serving):
    recruit = f'{PROLIFIC}skip_code = "SKIP9"\n'
    running = serving(recruit=recruit, per_item=2, edit=everybody_gets_six)
    ids = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": "1" * 24, "SESSION_ID": "2" * 24}
    ann = running.person()
    ann.get("/", params=ids)
    ann.to_task()
    for position in main_positions(ann)[:3]:
        skip(ann, position)
    assert "SKIP9" in ann.get("/").text
    assert ann.get("/leave").headers["location"] == f"{RETURN}SKIP9"
    bob = running.person()
    bob.get("/", params=ids | {"PROLIFIC_PID": "b" * 24})
    for _ in range(2):  # the quiz comes first, and has the other code
        bob.to_quiz().post("/quiz", data={"q0": "1", "q1": "0"})
    assert "OUT22" in bob.get("/").text
    assert bob.get("/leave").headers["location"] == f"{RETURN}OUT22"


def test_an_export_counts_skips_apart(running, arrive, run, tmp_path):
    ann = arrive(1).to_task()
    first, second, *_ = main_positions(ann)
    skip(ann, first)
    ann.give(second)
    out = run("export", running.folder, tmp_path / "answers.csv")
    assert facts_of(out)["answers"] == "1, and 1 skip"
    researcher = running.person()
    researcher.post("/research/login", data={"token": running.token})
    assert "2 responses are stored, practice, checks, repeats and skips included." in (
        researcher.get("/research/export").text
    )
