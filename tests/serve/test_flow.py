"""From the first page to the last, and every way out in between."""

from __future__ import annotations

import pytest

from softlabel.serve.participant.sessions import TASK, label_order

TITLES = {
    "consent": "Before you begin",
    "instructions": "Instructions",
    "quiz": "Are the instructions clear?",
    "debrief": "A few last questions",
    "done": "Thank you",
    "screened-out": "Thank you for your interest",
    "no-consent": "You are not taking part",
    "withdrawn": "You have left the study",
    "full": "There is nothing left to do",
}
RIGHT = {"q0": "0", "q1": "1"}
WRONG = {"q0": "1", "q1": "1"}


def stage(running):
    return running.session().stage


def test_somebody_goes_all_the_way(running):
    ann = running.person()
    assert ann.heading() == TITLES["consent"]
    assert ann.agree().headers["location"] == "/"
    assert ann.heading() == TITLES["instructions"]
    ann.post("/instructions")
    assert ann.heading() == TITLES["quiz"]
    ann.post("/quiz", data=RIGHT)
    assert 'id="task"' in ann.get("/").text
    kinds = ann.answer_all()
    assert kinds == list(range(7)), "practice, four items, a check, a repeat"
    ann.post("/api/finish", json={})
    assert ann.heading() == TITLES["debrief"]
    ann.post("/debrief", data={"d0": "2", "d1": "It was <b>fine</b>"})
    assert ann.heading() == TITLES["done"]
    (said,) = running.store.debriefs("birds")
    assert said.detail == {"Q0": "3", "Q1": "It was <b>fine</b>"}
    shown = [row.kind for row in sorted(running.responses(), key=lambda row: row.position)]
    assert shown[0] == "training"
    assert shown[-1] == "repeat"
    assert sorted(shown) == [
        "attention",
        "repeat",
        "target",
        "target",
        "target",
        "target",
        "training",
    ]


def test_nothing_is_stored_before_consent(running):
    ann = running.person()
    ann.get("/")
    refused = ann.post("/consent", data={"adult": "on", "agree": "on"})
    assert refused.status_code == 422
    assert "please tick all three boxes" in refused.text
    assert refused.text.count(" checked") == 2, "what was ticked stays ticked"
    assert running.store.sessions("birds") == ()


def test_who_walks_in_and_declines_leaves_no_trace(running):
    ann = running.person()
    page = ann.post("/consent", data={"decline": "1"})
    assert TITLES["no-consent"] in page.text
    assert running.store.counts("birds")["session"] == 0
    assert ann.heading() == TITLES["consent"], "and may think again"


def test_instructions_are_paged(running):
    ann = running.person()
    ann.agree()
    first, second = ann.get("/").text, ann.get("/?page=2").text
    assert ("<h2>First</h2>" in first, "<h2>Then</h2>" in second) == (True, True)
    assert ('href="/?page=2"' in first, 'type="submit"' in first) == (True, False)
    assert ('href="/?page=1"' in second, 'type="submit"' in second) == (True, True)
    for odd in ("0", "3", "-1", "x", "1e9", "٢", ""):
        assert "<h2>First</h2>" in ann.get("/", params={"page": odd}).text


def test_the_quiz_sends_back_to_the_instructions_once_and_then_thanks(running):
    ann = running.person().to_quiz()
    ann.post("/quiz", data=WRONG)
    assert ann.heading() == TITLES["instructions"]
    assert "did not fit the instructions" in ann.get("/").text
    ann.post("/instructions")
    assert "This is your last try." in ann.get("/").text
    ann.post("/quiz", data=WRONG)
    assert ann.heading() == TITLES["screened-out"]
    assert "reject" not in ann.get("/").text.lower()
    assert ann.get("/api/plan").status_code == 409


def test_the_quiz_is_passed_on_the_second_try(running):
    ann = running.person().to_quiz()
    ann.post("/quiz", data=WRONG)
    ann.post("/instructions")
    ann.post("/quiz", data=RIGHT)
    assert stage(running) == TASK


def test_an_unanswered_question_costs_no_try(running):
    ann = running.person().to_quiz()
    for fields in ({"q0": "0"}, {"q0": "0", "q1": "7"}, {"q0": "0", "q1": "-1"}, {}):
        assert ann.post("/quiz", data=fields).status_code == 422
    assert running.session().quiz_tries == 0


def test_a_quiz_sent_twice_counts_once(running):
    ann = running.person().to_quiz()
    for _ in range(3):
        ann.post("/quiz", data=WRONG | {"try": "0"})
        ann.post("/instructions")
    assert running.session().quiz_tries == 1


FORMS = [
    ("/consent", {"adult": "on", "read": "on", "agree": "on"}),
    ("/consent", {"decline": "1"}),
    ("/instructions", {}),
    ("/quiz", RIGHT),
    ("/quiz", WRONG),
    ("/debrief", {"d0": "1"}),
]


def test_a_form_of_another_stage_changes_nothing(running):
    ann = running.person().to_task()
    before = running.store.counts("birds")
    for path, fields in FORMS:
        reply = ann.post(path, data=fields)
        assert (reply.status_code, reply.headers["location"]) == (303, "/")
        assert stage(running) == TASK
    assert running.store.counts("birds") == before


def test_without_a_session_everything_leads_home(running):
    ann = running.person()
    replies = [ann.post(path, data=fields) for path, fields in FORMS[2:]]
    replies += [ann.get("/leave"), ann.get("/withdraw"), ann.post("/withdraw", data={"keep": "no"})]
    assert {(one.status_code, one.headers["location"]) for one in replies} == {(303, "/")}


def test_another_tab_and_a_reload_are_where_the_person_is(running):
    ann = running.person().to_quiz()
    tab = running.person()
    tab.cookies = ann.cookies
    assert tab.heading() == TITLES["quiz"]
    ann.post("/quiz", data=RIGHT)
    tab.post("/quiz", data=WRONG)  # the form that was still open there
    assert stage(running) == TASK
    assert ann.plan() == tab.plan() == tab.plan()


def test_leaving_with_the_answers_kept(running):
    ann = running.person().to_task()
    ann.give(0)
    assert "Leave, and delete my answers" in ann.get("/withdraw").text
    ann.post("/withdraw", data={"keep": "yes"})
    assert ann.heading() == TITLES["withdrawn"]
    assert "are kept" in ann.get("/").text
    assert len(running.responses()) == 1
    late = ann.give(1)
    assert (late.status_code, late.json()) == (409, {"error": "withdrawn"})
    assert running.store.progress("birds").taken == 0, "what they held is free again"


def test_leaving_with_everything_deleted(running):
    ann = running.person().to_task()
    ann.give(0)
    reply = ann.post("/withdraw", data={"keep": "no"}, follow_redirects=True)
    assert "your answers have been deleted" in reply.text
    counts = running.store.counts("birds")
    assert {name: n for name, n in counts.items() if n} == {"item": 8}
    assert ann.give(1).status_code == 401
    assert ann.get("/api/plan").status_code == 401


@pytest.mark.parametrize("keep", ["", "maybe"])
def test_leaving_without_saying_how_asks_again(running, keep):
    ann = running.person().to_task()
    assert ann.post("/withdraw", data={"keep": keep}).headers["location"] == "/withdraw"
    assert stage(running) == TASK


def test_every_page_under_way_shows_the_way_out(running):
    ann = running.person()
    for move in (ann.agree, lambda: ann.post("/instructions"), ann.to_debrief):
        move()
        assert 'href="/withdraw"' in ann.get("/").text
        assert "ann@example.org" in ann.get("/").text


def test_when_nothing_is_left_newcomers_are_told_before_they_read_on(serving):
    running = serving(per_item=1)
    running.person().to_done()
    bob = running.person().to_task()
    assert stage_of(running, 1) == TASK, "two of six items are left"
    late = running.person()
    late.agree()
    bob.answer_all()
    running.clock.ahead = 10
    assert running.person().heading() == TITLES["full"]
    late.post("/instructions")
    late.post("/quiz", data=RIGHT)
    assert late.heading() == TITLES["full"], "and so is somebody who was already reading"
    assert late.get("/api/plan").json() == {"error": "stage", "stage": "full"}


def test_places_that_were_abandoned_are_open_to_newcomers(serving):
    running = serving(per_item=1)
    running.person().to_task()
    running.person().to_task()
    assert running.person().heading() == TITLES["full"]
    running.clock.ahead = 3700
    cleo = running.person()
    assert cleo.heading() == TITLES["consent"]
    cleo.to_done()
    assert cleo.heading() == TITLES["done"]


def stage_of(running, number):
    return running.store.sessions("birds")[number].stage


def test_progress_is_shown(running):
    ann = running.person()
    assert "Step 1 of 6" in ann.get("/").text
    ann.to_quiz()
    assert "Step 3 of 6" in ann.get("/").text


def test_labels_are_shuffled_once_and_recorded(running):
    orders = []
    for _ in range(6):
        person = running.person().to_task()
        plans = [person.plan()["labels"] for _ in range(2)]
        assert plans[0] == plans[1]
        orders.append(plans[0])
    recorded = [list(one.label_order) for one in running.store.sessions("birds")]
    assert orders == recorded
    assert orders == [label_order(running.study, number) for number in range(6)]
    assert all(sorted(order) == sorted(running.study.labels) for order in orders)
    assert len({tuple(order) for order in orders}) > 1


def test_labels_can_stay_in_their_order(serving):
    running = serving(label_order="fixed")
    assert running.person().to_task().plan()["labels"] == ["wren", "finch", "robin", "owl"]


def test_arabic_runs_from_right_to_left(serving):
    page = serving(language="ar").person().get("/").text
    assert '<html lang="ar" dir="rtl">' in page
    assert "قبل أن تبدأ" in page
