"""Questions before and after the items, over HTTP: asked, checked, stored and exported."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel.cli import main
from softlabel.serve.participant.questions import read_answers
from softlabel.simulate.visit import fill_form
from softlabel.study import Condition, Question

QUESTIONS = """
[before]
demographics = true
[[before.question]]
id = "glasses"
text = "Do you wear <b>glasses</b>?"
options = ["yes", "no"]
required = true
[[before.question]]
id = "years"
text = "For how many years?"
kind = "number"
min = 1
max = 80
step = 1
show_if = { question = "glasses", is = ["yes"] }
[[before.question]]
id = "seen"
text = "What have you seen?"
kind = "choices"
options = ["a wren", "=SUM(1)", "an owl"]
"""
REQUIRED = '[[debrief.question]]\nid = "tired"\ntext = "Tired?"\nkind = "text"\nrequired = true\n'


def ask_before(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("[recruit]", f"{REQUIRED}[recruit]") + QUESTIONS)


@pytest.fixture
def running(serving):
    return serving(edit=ask_before)


def test_the_questions_stand_between_consent_and_instructions(running):
    ann = running.person()
    ann.agree()
    assert running.session().stage == "questions"
    page = ann.get("/").text
    assert ann.heading() == "A few questions first"
    assert "Step 2 of 7" in page
    assert "1. <bdi>Do you wear &lt;b&gt;glasses&lt;/b&gt;?</bdi>" in page
    assert "Only if your answer to “Do you wear" in page, "for people without script"
    assert ann.post("/api/finish", json={}).json() == {"error": "stage", "stage": "questions"}
    assert 'href="/withdraw"' in page

    reply = ann.post("/questions", data={"b1": "3", "b2.0": "on", "b6": "Peru <3"})
    assert reply.status_code == 422
    assert "Please look again at the marked questions." in reply.text
    assert "Please answer this question." in reply.text
    assert 'value="Peru &lt;3"' in reply.text, "what was typed is still there"
    assert 'name="b2.0" value="on" checked' in reply.text
    assert running.session().stage == "questions"

    reply = ann.post("/questions", data={"b0": "0", "b1": "100"})
    assert reply.status_code == 422
    assert "Please write a number from 1 to 80." in reply.text
    assert not list(running.store.events("birds", "before"))

    sent = {"b0": "0", "b1": "12", "b2.1": "on", "b2.2": "on", "b4": "3", "b5": "own", "b6": "Peru"}
    assert ann.post("/questions", data=sent).status_code == 303
    assert running.session().stage == "instructions"
    (event,) = running.store.events("birds", "before")
    assert event.detail == {
        "glasses": "yes",
        "years": 12,
        "seen": ["=SUM(1)", "an owl"],
        "age": None,
        "gender": "I describe it in my own words",
        "gender_own": "own",
        "country": "Peru",
        "first_language": None,
        "education": None,
    }
    ann.post("/questions", data={"b0": "1"})
    assert len(list(running.store.events("birds", "before"))) == 1, "a second form changes nothing"


def test_what_does_not_apply_is_neither_required_nor_kept(running):
    ann = running.person()
    ann.agree()
    assert ann.post("/questions", data={"b0": "1", "b1": "nonsense"}).status_code == 303
    (event,) = running.store.events("birds", "before")
    assert event.detail["glasses"] == "no"
    assert not {"years", "gender_own"} & set(event.detail)


def test_the_last_page_has_the_same_kinds(running):
    ann = running.person()
    ann.agree()
    ann.post("/questions", data={"b0": "1"})
    ann.post("/instructions")
    ann.post("/quiz", data={"q0": "0", "q1": "1"})
    ann.answer_all()
    ann.post("/api/finish", json={})
    assert "Questions marked “required” need an answer" in ann.get("/").text
    assert ann.post("/debrief", data={"d0": "1"}).status_code == 422
    assert running.session().stage == "debrief"
    ann.post("/debrief", data={"d0": "1", "d2": " very "})
    assert running.session().stage == "done"
    (event,) = running.store.debriefs("birds")
    assert event.detail == {"Q0": "2", "Q1": None, "tired": "very"}


def test_answers_are_exported_under_pseudonyms(running, tmp_path, capsys):
    ann, bob = running.person(), running.person()
    ann.agree()
    ann.post("/questions", data={"b0": "0", "b1": "12", "b2.1": "on", "b2.2": "on"})
    bob.agree()
    people, questions = tmp_path / "people.csv", tmp_path / "questions.jsonl"
    for path in (people, questions):
        assert main(["export", str(running.folder), str(path)]) == 0
    capsys.readouterr()
    with people.open(newline="") as file:
        first, second = csv.DictReader(file)
    said = [first[f"before_{name}"] for name in ("glasses", "years", "seen", "age")]
    assert said == ["yes", "12", "'=SUM(1); an owl", ""]
    assert (second["before_glasses"], second["stage"]) == ("", "questions")
    assert {"How clear was it?", "debrief_tired"} <= set(first)
    lines = [json.loads(line) for line in questions.read_text().splitlines()]
    assert [line["question"] for line in lines][:3] == ["glasses", "years", "seen"]
    (session,) = {line["session"] for line in lines}
    me = running.store.sessions("birds")[0]
    assert (session, lines[0]["annotator"]) == (me.id, me.annotator)
    assert lines[2]["answer"] == ["=SUM(1)", "an owl"]
    assert (lines[2]["kind"], lines[2]["stage"]) == ("choices", "before")

    researcher = running.person()
    researcher.post("/research/login", data={"token": running.token})
    assert researcher.get("/research/export/questions.jsonl").text == questions.read_text()
    assert researcher.get("/research/export/people.csv").text.splitlines()[0].endswith(
        "Tired?"
    ) is (False)
    card = researcher.get(f"/research/people/{me.annotator}").text
    assert "<h2>Before the items</h2>" in card
    assert "=SUM(1); an owl" in card


def test_simulated_people_answer_every_kind(running):
    ann = running.person()
    ann.agree()
    sent = fill_form(running.study, "questions")
    assert ann.post("/questions", data=sent).status_code == 303
    assert running.session().stage == "instructions"
    (event,) = running.store.events("birds", "before")
    assert (event.detail["years"], event.detail["seen"]) == (1, ["a wren"])


def test_answers_are_forgotten_with_the_person(running):
    ann = running.person()
    ann.agree()
    ann.post("/questions", data={"b0": "1"})
    ann.post("/withdraw", data={"keep": "no"})
    assert not list(running.store.events("birds", "before"))


def test_somebody_at_questions_that_are_asked_no_more_goes_on(serving, running):
    ann = running.person()
    ann.agree()
    later = serving()  # the same folder and database, without these questions
    assert later.study.before == ()
    ann.base_url = later.url
    assert ann.heading() == "A few questions first"
    ann.post("/questions")
    assert later.session().stage == "instructions"


# ── the rules ────────────────────────────────────────────────────────────────────────────────

ASKED = (
    Question("?", ("yes", "no"), id="first", required=True),
    Question(
        "?", ("a", "b", "c"), kind="choices", id="second", show_if=Condition("first", ("yes",))
    ),
    Question("?", kind="text", id="third", required=True, show_if=Condition("second", ("b", "c"))),
)


@pytest.mark.parametrize(
    ("fields", "given", "faults"),
    [
        ({}, {"first": None}, {"first"}),
        ({"x0": "1", "x1.1": "on", "x2": "no"}, {"first": "no"}, set()),
        ({"x0": "0"}, {"first": "yes", "second": None}, set()),
        ({"x0": "0", "x1.0": "on"}, {"first": "yes", "second": ["a"]}, set()),
        (
            {"x0": "0", "x1.0": "on", "x1.2": "on"},
            {"first": "yes", "second": ["a", "c"], "third": None},
            {"third"},
        ),
        (
            {"x0": "0", "x1.1": "on", "x2": " so\r\nso "},
            {"first": "yes", "second": ["b"], "third": "so\nso"},
            set(),
        ),
        ({"x0": "7"}, {"first": None}, {"first"}),
    ],
)
def test_questions_apply_by_the_answers_before_them(fields, given, faults):
    answers = read_answers(ASKED, fields, "x")
    assert answers.given == given
    assert set(answers.faults) == faults


@pytest.mark.parametrize(
    ("typed", "number"),
    [("7", 7), (" 2,5 ", 2.5), ("2.5", 2.5), ("٧", 7), ("٢٫٥", 2.5), ("0", 0), ("1e1", 10)],
)
def test_numbers_are_read_as_people_write_them(typed, number):
    asked = (Question("?", kind="number", low=0, high=10, step=0.5),)
    assert read_answers(asked, {"x0": typed}, "x") == ({"Q0": number}, {})


@pytest.mark.parametrize(
    ("limits", "typed", "fault"),
    [
        ({}, "many", "question_number"),
        ({}, "nan", "question_number"),
        ({}, "1e999", "question_number"),
        ({}, "1_0", "question_number"),
        ({"low": 1, "high": 5}, "6", "question_range"),
        ({"low": 1}, "-6", "question_least"),
        ({"high": 5}, "6", "question_most"),
        ({"step": 1}, "2.5", "question_whole"),
        ({"low": 0.5, "step": 1}, "2", "question_step"),
        ({"step": 0.25}, "0.3", "question_step"),
    ],
)
def test_numbers_out_of_range_are_named(limits, typed, fault):
    asked = (Question("?", kind="number", id="n", **limits),)
    answers = read_answers(asked, {"x0": typed}, "x")
    assert answers.given == {"n": None}
    assert answers.faults["n"].text == fault


def test_a_text_has_a_length():
    asked = (Question("?", kind="text", id="t", high=3),)
    assert not read_answers(asked, {"x0": "a\r\nb"}, "x").faults, "a line break is one character"
    assert read_answers(asked, {"x0": "abcd"}, "x").faults["t"].text == "question_long"
    assert read_answers(asked, {"x0": "a\x07"}, "x").faults["t"].text == "question_control"


@given(st.dictionaries(st.sampled_from(["x0", "x1", "x1.0", "x1.1", "x2", "x3"]), st.text()))
def test_nothing_that_is_sent_breaks_it(fields):
    asked = (*ASKED, Question("?", kind="number", low=0, step=1))
    answers = read_answers(asked, fields, "x")
    assert set(answers.faults) <= set(answers.given)
    assert isinstance(answers.given["Q3"], int | None)
