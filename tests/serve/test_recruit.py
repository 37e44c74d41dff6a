"""Arriving from somewhere and going back there."""

from __future__ import annotations

import re
import sqlite3
from itertools import product

import pytest

from softlabel.serve.recruit import RECRUITERS, Arrival, Refused, fill_address, make_recruiter
from softlabel.study import Recruit

PROLIFIC = """kind = "prolific"
completion_code = "DONE1"
screenout_code = "OUT22"
noconsent_code = "NO333"
"""
SCREENOUT = 'screenout_code = "OUT22"\n'
URL = """kind = "url"
id_param = "who"
session_param = "visit"
complete_url = "https://panel.example/done?who={id}&visit={session}"
screenout_url = "https://panel.example/out?who={id}"
noconsent_url = "https://panel.example/no"
"""
PID, OTHER = "5f0a1b2c3d4e5f6071829304", "aaaabbbbccccddddeeeeffff"
VISIT = "6".rjust(24, "0")
ENTRY = {"PROLIFIC_PID": PID, "STUDY_ID": "1" * 24, "SESSION_ID": VISIT}
RETURN = "https://app.prolific.com/submissions/complete?cc="
RIGHT, WRONG = {"q0": "0", "q1": "1"}, {"q0": "1", "q1": "1"}


@pytest.fixture
def prolific(serving):
    return serving(recruit=PROLIFIC)


def leave(person):
    reply = person.get("/leave")
    return reply.status_code, reply.headers["location"]


def test_parameters_are_taken_in_and_removed(prolific):
    ann = prolific.person()
    reply = ann.get("/", params=ENTRY)
    assert (reply.status_code, reply.headers["location"]) == (303, "/")
    assert ann.heading() == "Before you begin"
    assert prolific.session().annotator == prolific.secret.pseudonym("prolific", PID)


def test_the_whole_way_from_prolific_and_back(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    ann.to_task().answer_all()
    assert leave(ann) == (303, "/"), "not before everything is stored"
    ann.post("/api/finish", json={})
    assert leave(ann) == (303, "/"), "nor before the last questions"
    ann.post("/debrief", data={})
    page = ann.get("/").text
    assert "DONE1" in page
    assert '<a class="button primary" id="leave" href="/leave">' in page
    assert leave(ann) == (302, f"{RETURN}DONE1")


def test_who_fails_the_quiz_returns_with_the_screen_out_code(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    ann.to_quiz().post("/quiz", data=WRONG)
    ann.post("/instructions")
    ann.post("/quiz", data=WRONG)
    page = ann.get("/").text
    assert "OUT22" in page
    assert "nothing counts against you" in page
    assert leave(ann) == (302, f"{RETURN}OUT22")


def test_who_declines_returns_with_the_code_for_that(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    ann.post("/consent", data={"decline": "1"})
    assert "NO333" in ann.get("/").text
    assert leave(ann) == (302, f"{RETURN}NO333")


@pytest.mark.parametrize("keep", ["yes", "no"])
def test_who_withdraws_returns_too(prolific, keep):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    ann.to_task()
    page = ann.post("/withdraw", data={"keep": keep}, follow_redirects=True).text
    way = re.search(r'href="(/leave[^"]*)"', page)[1]
    assert ann.get(way).headers["location"] == f"{RETURN}NO333"


def test_when_nothing_is_left_the_way_back_is_open(serving):
    running = serving(recruit=PROLIFIC, per_item=1)
    for pid in (PID, OTHER):
        person = running.person()
        person.get("/", params=ENTRY | {"PROLIFIC_PID": pid})
        person.to_done()
    late = running.person()
    late.get("/", params=ENTRY | {"PROLIFIC_PID": "9" * 24})
    assert late.heading() == "There is nothing left to do"
    assert leave(late) == (302, f"{RETURN}OUT22")


def test_wrong_parameters_are_named_and_nobody_enters(prolific):
    ann = prolific.person()
    for name, value in product(ENTRY, [None, "", "abc", PID.upper(), PID + "0", f"{PID}\n", "'--"]):
        given = {key: text for key, text in (ENTRY | {name: value}).items() if text is not None}
        reply = ann.get("/", params=given)
        assert reply.status_code == 400
        assert f"The address should contain {name}" in reply.text
    assert prolific.store.sessions("birds") == ()


def test_without_parameters_people_are_sent_to_prolific(prolific):
    reply = prolific.person().get("/")
    assert reply.status_code == 400
    assert "from its page on Prolific" in reply.text
    assert prolific.person().agree().headers["location"] == "/", "consent alone lets nobody in"
    assert prolific.store.sessions("birds") == ()


def test_coming_back_continues_in_another_browser(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    ann.to_task().give(0)
    elsewhere = prolific.person()
    elsewhere.get("/", params=ENTRY)
    assert elsewhere.plan() == ann.plan()
    assert elsewhere.plan()["answered"] == 1


def test_a_second_submission_of_one_person_is_refused_politely(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    again = prolific.person()
    reply = again.get("/", params=ENTRY | {"SESSION_ID": "f" * 24})
    assert reply.status_code == 409
    assert "each person can take part once" in reply.text
    assert again.get("/api/plan").status_code == 401
    assert len(prolific.store.sessions("birds")) == 1


def test_two_people_at_one_computer_are_two_people(prolific):
    browser = prolific.person()
    browser.get("/", params=ENTRY)
    browser.get("/", params=ENTRY | {"PROLIFIC_PID": OTHER, "SESSION_ID": "7" * 24})
    assert len(prolific.store.sessions("birds")) == 2


def test_platform_ids_are_nowhere_in_the_database(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    ann.to_done()
    prolific.store.close()
    database = prolific.folder / ".softlabel" / "answers.db"
    with sqlite3.connect(database) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert prolific.secret.pseudonym("prolific", PID) in dump
    for word in (PID, VISIT):
        assert word not in dump
        assert word.encode() not in database.read_bytes()


def test_an_error_page_offers_the_way_back_to_prolific_and_no_code(prolific):
    ann = prolific.person()
    ann.get("/", params=ENTRY)
    again = ENTRY | {"SESSION_ID": "f" * 24}
    del ann.headers["sec-fetch-site"]
    for status, reply in {
        404: ann.get("/nowhere"),
        409: ann.get("/", params=again),
        400: prolific.person().get("/"),
        403: ann.post("/consent"),
        405: ann.delete("/consent", headers={"x-softlabel": "1"}),
    }.items():
        assert reply.status_code == status
        assert '<a class="button" href="https://app.prolific.com/">Go back to Prolific</a>' in (
            reply.text
        ), status
        assert "This does not complete the study" in reply.text
        assert not any(code in reply.text for code in ("DONE1", "OUT22", "NO333")), status
        assert "ann@example.org" in reply.text, "and whom to write to"


def test_an_end_without_a_code_leads_to_the_platform_at_least(serving):
    running = serving(recruit='kind = "prolific"\ncompletion_code = "DONE1"\n' + SCREENOUT)
    ann = running.person()
    ann.get("/", params=ENTRY)
    ann.post("/consent", data={"decline": "1"})
    page = ann.get("/").text
    assert "You are not taking part" in page
    assert "Go back to Prolific" in page
    assert "DONE1" not in page


def test_a_store_that_fails_offers_the_way_back_too(prolific):
    ann = prolific.person()
    prolific.store.close()
    reply = ann.get("/", params=ENTRY)
    assert reply.status_code in (500, 503)
    assert "Go back to Prolific" in reply.text


# ── any recruiter with an address ────────────────────────────────────────────────────────────


@pytest.fixture
def panel(serving):
    return serving(recruit=URL)


def test_a_generic_recruiter_gets_its_id_back(panel):
    ann = panel.person()
    ann.get("/", params={"who": "ann.1@x", "visit": "v/7&"})
    ann.to_done()
    assert leave(ann) == (302, "https://panel.example/done?who=ann.1%40x&visit=v%2F7%26")


def test_the_id_is_kept_by_the_browser_alone_and_signed(panel):
    ann = panel.person()
    reply = ann.get("/", params={"who": "ann", "visit": "v"})
    (kept,) = [c for c in reply.headers.get_list("set-cookie") if c.startswith("softlabel-return")]
    assert {"HttpOnly", "Path=/", "SameSite=lax"} <= set(kept.split("; "))
    ann.to_done()
    value = ann.cookies["softlabel-return"]
    forged = value[:-1] + ("0" if value[-1] != "0" else "1")
    for wrong in (forged, "", ".", "W10." + panel.secret.sign("return:W10"), "é"):
        reply = ann.get("/leave", headers={"cookie": with_return(ann, wrong)})
        assert (reply.status_code, reply.headers["location"]) == (303, "/")
        page = ann.get("/", headers={"cookie": with_return(ann, wrong)}).text
        assert "You can close this page" in page, "no button that leads nowhere"
        assert 'href="/leave"' not in page


def with_return(person, value):
    return f"softlabel={person.cookies['softlabel']}; softlabel-return={value}".encode()


def test_a_generic_recruiters_parameters_are_checked(panel):
    for given in ({"who": "a b"}, {"who": "ann"}, {"who": "x" * 201, "visit": "v"}):
        reply = panel.person().get("/", params=given)
        assert reply.status_code == 400
        assert "The address should contain" in reply.text
    reply = panel.person().get("/")
    assert (reply.status_code, "the link that was given to you" in reply.text) == (400, True)


def test_its_error_pages_lead_to_its_own_site(panel):
    page = panel.person().get("/nowhere").text
    assert '<a class="button" href="https://panel.example/">Go back to panel.example</a>' in page


@pytest.mark.parametrize("kind", ["open", "invitation"])
def test_without_a_platform_an_error_page_says_whom_to_write_to(serving, kind):
    page = serving(recruit=f'kind = "{kind}"').person().get("/nowhere").text
    assert "Go back to" not in page
    assert "ann@example.org" in page


# ── the recruiters themselves ────────────────────────────────────────────────────────────────


def test_every_kind_of_the_study_file_has_its_recruiter():
    for kind in ("open", "prolific", "url", "invitation"):
        assert make_recruiter(Recruit(kind=kind)).name == kind
    assert set(RECRUITERS) == {"open", "prolific", "url", "invitation"}


def test_a_recruiter_ignores_what_is_not_about_it():
    assert make_recruiter(Recruit(kind="open")).arrival({"PROLIFIC_PID": PID}) is None
    assert make_recruiter(Recruit(kind="prolific")).arrival({"page": "2"}) is None
    assert isinstance(make_recruiter(Recruit(kind="prolific")).arrival({"STUDY_ID": "1"}), Refused)


def test_blanks_are_filled_or_the_address_is_not_used():
    assert (
        fill_address("https://x/{id}?s={session}", Arrival("a/b", "ü"))
        == "https://x/a%2Fb?s=%C3%BC"
    )
    assert fill_address("https://x/", None) == "https://x/"
    assert fill_address("https://x/{id}", None) is None
    assert fill_address("https://x/{session}", Arrival("a")) is None
