"""Answers: stored once, acknowledged when stored, refused when they cannot be read."""

from __future__ import annotations

import json
import random
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel import registry
from softlabel.errors import ResponseError
from softlabel.serve.participant.api import AnswerBody, read_answer
from softlabel.store.rows import MAX_REVISIONS

CHOICE = {"top": "wren", "certainty": 5, "alternatives": [], "excluded": [], "rest": "ruled_out"}


def ids(running):
    return [row.id for row in running.responses()]


def test_what_was_sent_is_stored_as_it_was_sent(running, answer_body):
    ann = running.person().to_task()
    body = answer_body(1, answer=CHOICE)
    text = json.dumps(body, indent=3)  # spaces and all
    reply = ann.post("/api/answers", content=text, headers={"content-type": "application/json"})
    assert reply.json() == {"acknowledged": body["response_uuid"], "feedback": None}
    (row,) = running.responses()
    assert row.payload == text
    assert json.loads(row.answer_json) == CHOICE
    assert (row.mode, row.mode_version, row.position, row.late) == ("quick", 2, 1, False)
    assert (row.timing.first_input_ms, row.timing.fields) == (900.5, {"top": 900.5})


def test_the_same_answer_again_is_acknowledged_and_stored_once(running, answer_body):
    ann = running.person().to_task()
    body = answer_body(1)
    replies = [
        ann.post("/api/answers", json=body | {"delivery": {"attempt": n}}) for n in (1, 2, 3)
    ]
    assert [reply.status_code for reply in replies] == [200, 200, 200]
    assert len({reply.text for reply in replies}) == 1
    assert ids(running) == [body["response_uuid"]]


def test_another_answer_under_the_same_id_is_refused(running, answer_body):
    ann = running.person().to_task()
    body = answer_body(1)
    ann.post("/api/answers", json=body)
    reply = ann.post("/api/answers", json=body | {"answer": CHOICE})
    assert (reply.status_code, reply.json()) == (409, {"error": "conflict"})


def test_a_second_answer_to_one_showing_is_refused_unless_it_revises(running, answer_body):
    ann = running.person().to_task()
    first = answer_body(1)
    ann.post("/api/answers", json=first)
    reply = ann.give(1)
    assert (reply.status_code, reply.json()) == (409, {"error": "answered"})
    revised = ann.give(1, supersedes=first["response_uuid"], answer=CHOICE)
    assert revised.status_code == 200
    assert [row.superseded for row in running.responses()] == [True, False]


def test_revisions_end_after_a_while_and_the_last_one_stands(running, answer_body):
    ann = running.person().to_task()
    bodies = [answer_body(1)]
    for _ in range(MAX_REVISIONS + 1):
        bodies.append(answer_body(1, supersedes=bodies[-1]["response_uuid"]))
    replies = [ann.post("/api/answers", json=body) for body in bodies]
    assert {reply.status_code for reply in replies[:-1]} == {200}
    assert (replies[-1].status_code, replies[-1].json()) == (409, {"error": "revisions"})
    (stands,) = (row.id for row in running.responses() if not row.superseded)
    assert stands == bodies[-2]["response_uuid"]
    ann.answer_all()
    assert ann.post("/api/finish", json={}).json() == {"open": True, "next": "/"}


def test_answers_may_come_in_any_order_and_twice(running, answer_body):
    ann = running.person().to_task()
    bodies = [answer_body(position) for position in ann.open_positions()] * 2
    random.Random(3).shuffle(bodies)
    for body in bodies:
        assert ann.post("/api/answers", json=body).status_code == 200
    assert sorted(ids(running)) == sorted({body["response_uuid"] for body in bodies})


def test_two_tabs_answer_the_same_item_once(running):
    ann = running.person().to_task()
    tab = running.person()
    tab.cookies = ann.cookies
    codes = sorted([ann.give(1).status_code, tab.give(1).status_code])
    assert codes == [200, 409]
    assert len(running.responses()) == 1


def test_the_gate_opens_when_the_last_answer_is_there(running):
    ann = running.person().to_task()
    first = ann.open_positions()
    assert ann.post("/api/finish", json={}).json() == {"open": False, "missing": first}
    for position in first[1:]:
        ann.give(position)
    assert ann.post("/api/finish", json={}).json() == {"open": False, "missing": first[:1]}
    ann.give(first[0])
    shut = ann.post("/api/finish", json={}).json()
    assert not shut["open"], "the first piece is not the whole"
    assert shut["missing"] == ann.open_positions()
    ann.answer_all()
    for _ in range(3):
        assert ann.post("/api/finish", json={}).json() == {"open": True, "next": "/"}
    assert running.session().stage == "debrief"


def test_the_gate_is_for_people_at_the_task(running):
    ann = running.person()
    assert ann.post("/api/finish", json={}).status_code == 401
    ann.agree()
    reply = ann.post("/api/finish", json={})
    assert (reply.status_code, reply.json()) == (409, {"error": "stage", "stage": "instructions"})
    assert ann.get("/api/plan").json() == {"error": "stage", "stage": "instructions"}


def test_practice_is_answered_with_feedback_and_nothing_else_is(running):
    ann = running.person().to_task()
    told = ann.give(0, answer=CHOICE).json()["feedback"]
    assert told == {
        "text": "Mostly a wren.",
        "yours": {"wren": 1.0},
        "reference": {"wren": 0.75, "owl": 0.25},
    }
    assert ann.give(1).json()["feedback"] is None


def test_a_skipped_practice_item_shows_the_reference_alone(running):
    ann = running.person().to_task()
    told = ann.give(0, answer=None, skip="cannot_judge").json()["feedback"]
    assert (told["yours"], told["reference"]) == (None, {"wren": 0.75, "owl": 0.25})


def test_after_the_end_what_is_stored_is_acknowledged_and_nothing_else_is_stored(
    running, answer_body
):
    ann = running.person().to_task()
    sent = answer_body(1)
    ann.post("/api/answers", json=sent)
    ann.answer_all()
    ann.post("/api/finish", json={})
    revised = answer_body(1, supersedes=sent["response_uuid"], answer=CHOICE)
    assert ann.post("/api/answers", json=revised).status_code == 200, "not at the end yet"
    ann.post("/debrief", data={"d0": "1", "d1": "fine"})
    before = ids(running)
    for known in (sent, revised):
        assert ann.post("/api/answers", json=known).status_code == 200
    reply = ann.give(1, supersedes=revised["response_uuid"])
    assert (reply.status_code, reply.json()) == (409, {"error": "left"})
    assert ids(running) == before


def test_a_late_answer_is_kept_and_marked(running):
    ann = running.person().to_task()
    held = ann.open_positions()
    running.clock.ahead = 3700
    running.store.release_expired("birds", running.clock()).result()
    assert ann.give(held[1]).status_code == 200
    assert [row.late for row in running.responses()] == [True]


def test_a_place_that_does_not_exist_is_named(running):
    reply = running.person().to_task().give(99)
    assert reply.status_code == 422
    assert reply.json() == {
        "error": "answer",
        "field": "position",
        "reason": "this session has no such place",
    }


def test_a_revision_of_something_elsewhere_is_a_conflict(running, answer_body):
    ann = running.person().to_task()
    other = answer_body(2)
    ann.post("/api/answers", json=other)
    reply = ann.give(1, supersedes=other["response_uuid"])
    assert (reply.status_code, reply.json()) == (409, {"error": "conflict"})


def test_nobody_answers_for_somebody_else(running):
    running.person().to_task()
    stranger = running.person()
    stranger.cookies.set("softlabel", "A" * 43)
    for reply in (stranger.give(1), stranger.get("/api/plan"), running.person().give(1)):
        assert (reply.status_code, reply.json()) == (401, {"error": "session"})


def test_a_forgotten_person_can_send_nothing(running):
    ann = running.person().to_task()
    ann.give(1)
    running.store.forget("birds", running.session().annotator).result()
    assert ann.give(2).status_code == 401
    assert ids(running) == []


# ── what cannot be read ──────────────────────────────────────────────────────────────────────

WRONG = [
    ({"answer": None}, "body"),
    ({"skip": "cannot_judge"}, "body"),
    ({"skip": "bored", "answer": None}, "skip"),
    ({"response_uuid": "1"}, "response_uuid"),
    ({"response_uuid": None}, "response_uuid"),
    ({"position": -1}, "position"),
    ({"position": "1"}, "position"),
    ({"position": 1.0}, "position"),
    ({"position": 10**30}, "position"),
    ({"touched": "yes"}, "touched"),
    ({"surprise": 1}, "surprise"),
    ({"timing": {"submit_ms": -1}}, "timing.submit_ms"),
    ({"timing": {"fields": {"x" * 201: 1}}}, "timing.fields"),
    ({"events": [[1]]}, "events.0"),
    ({"events": [[1, "k"]] * 2001}, "events"),
    ({"delivery": {"attempt": 0}}, "delivery.attempt"),
    ({"client": {"a": [[[[[[[1]]]]]]]}}, "body"),
    ({"supersedes": "that one"}, "supersedes"),
    ({"answer": {"top": "wren"}}, "certainty"),
    ({"answer": {**CHOICE, "top": "swan"}}, "top"),
    ({"answer": {**CHOICE, "alternatives": ["owl"]}}, "alternatives"),
    ({"answer": [1]}, "answer"),
    ({"answer": "wren"}, "answer"),
]


def test_what_cannot_be_read_is_refused_by_name(running, answer_body):
    ann = running.person().to_task()
    for changes, field in WRONG:
        reply = ann.post("/api/answers", json=answer_body(1) | changes)
        assert reply.status_code == 422, changes
        told = reply.json()
        assert told["error"] == "answer"
        assert told["field"].startswith(field), (changes, told)
        assert told["reason"]
    assert running.responses() == []


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a":' * 5000, b'"\\ud800"', b"1" * 5000]
)
def test_what_is_no_answer_at_all(raw):
    with pytest.raises(ResponseError):
        read_answer(raw)


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999"])
def test_numbers_that_no_other_reader_knows(number, answer_body):
    for field in (
        b'"answer": {"p1": %b}',
        b'"client": {"a": [%b]}',
        b'"timing": {"submit_ms": %b}',
    ):
        rest = json.dumps({"response_uuid": str(uuid.uuid4()), "position": 1, "skip": None})
        raw = rest[:-1].encode() + b', "answer": {"top": "wren"}, ' + field % number + b"}"
        with pytest.raises(ResponseError):
            read_answer(raw)


def test_the_digest_ignores_how_it_was_delivered(answer_body):
    body = answer_body(1)
    same = AnswerBody(**(body | {"delivery": {"attempt": 5}, "timing": {}, "events": []}))
    other = AnswerBody(**(body | {"position": 2}))
    assert AnswerBody(**body).digest() == same.digest() != other.digest()


# ── anything at all ──────────────────────────────────────────────────────────────────────────

LABELS = ["wren", "finch", "robin", "owl"]
WORDS = st.sampled_from([*LABELS, "swan", "", "rest", "\x00", "é"]) | st.text(max_size=5)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 200) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)
FIELDS = {
    "quick": ["top", "certainty", "alternatives", "excluded", "rest"],
    "chips": ["n", "chips", "unallocated", "excluded", "rest"],
    "classic": ["top", "p1", "second", "p2", "impossible"],
    "search": ["n", "picks", "scope", "rest"],
    "hard": ["label"],
}


@pytest.mark.parametrize("mode", FIELDS)
def test_never_a_crash_and_never_an_unreadable_answer(serving, mode):
    """Whatever is sent, the reply is a 200 or a refusal, and what is stored can be read again."""
    running = serving(mode=mode)
    ann = running.person().to_task()
    simulated = st.integers(0, 10**6).map(lambda seed: simulate(mode, seed))
    odd = st.dictionaries(st.sampled_from(FIELDS[mode]) | WORDS, VALUES, max_size=6)
    mixed = st.tuples(simulated, odd).map(lambda pair: pair[0] | pair[1])
    accepted = []

    @settings(max_examples=60)
    @given(answer=odd | simulated | mixed, place=st.integers(0, 3))
    def send(answer, place):
        raw = json.dumps({"response_uuid": str(uuid.uuid4()), "position": place, "answer": answer})
        reply = ann.post("/api/answers", content=raw.encode())
        assert reply.status_code in (200, 409, 422), reply.text
        accepted.append(reply.status_code != 422)

    send()
    assert True in accepted
    assert False in accepted
    for row in running.responses():
        registry.parse("mode", mode).read(json.loads(row.answer_json), LABELS)


def simulate(mode, seed):
    import numpy as np

    rng = np.random.default_rng(seed)
    return registry.parse("mode", mode).simulate(rng.dirichlet(np.ones(4) / 2), LABELS, rng)


def test_practice_that_was_given_back_and_comes_again_has_its_feedback(running):
    ann = running.person().to_task()
    running.clock.ahead = 3700
    running.person().to_task()  # who comes next is given what was held too long
    again = [one for one in ann.plan()["showings"] if one["phase"] == "practice"]
    assert again[0]["position"] > 0
    told = ann.give(again[0]["position"]).json()["feedback"]
    assert told["text"] == "Mostly a wren."


def test_practice_has_its_feedback_from_a_server_that_did_not_give_it_out(serving, answer_body):
    running = serving()
    ann = running.person().to_task()
    running.clock.ahead = 3700
    running.person().to_task()
    again = [one for one in ann.plan()["showings"] if one["phase"] == "practice"]
    other = serving().person()
    other.cookies = ann.cookies
    body = answer_body(again[0]["position"])
    for _ in range(2):  # a repetition is told the same
        told = other.post("/api/answers", json=body).json()["feedback"]
        assert told["text"] == "Mostly a wren."
