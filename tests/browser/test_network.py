"""Bad networks and dying servers: what was answered is stored, once, whatever happens between."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import time

import pytest

PICTURES = """() => performance.getEntriesByType("resource")
  .filter((one) => one.name.includes("/media/")).length"""


def test_offline_for_twenty_answers_and_back(served, person, answers):
    running = served(mode="hard", items=22, more="# offline")
    somebody = person(running.url, alone=True).start()
    somebody.answer("1").saved()
    while somebody.page.evaluate(PICTURES) < 22:  # those further ahead arrive one by one
        time.sleep(0.02)
    somebody.context.set_offline(True)
    for n in range(20):
        somebody.answer(str(n % 6 + 1))
        assert somebody.page.locator(".picture img").evaluate("(one) => one.naturalWidth") == 32
    status = somebody.page.locator("#status")
    status.get_by_text("20 answers waiting to be sent").wait_for()
    assert len(answers(running)) == 1
    somebody.context.set_offline(False)
    somebody.saved()
    status.get_by_text("All answers saved").wait_for()
    rows = list(running.store.responses("animals"))
    assert [row.position for row in rows] == list(range(21))
    assert len({row.id for row in rows}) == 21
    delivery = json.loads(rows[1].payload)["delivery"]
    assert delivery["attempt"] > 1
    assert delivery["queued_ms"] > 0
    somebody.answer("1").done()


def test_offline_with_nothing_left_the_page_says_what_is_true(served, person, answers):
    """More may be given out later, but nothing is on its way; answers wait and are not lost."""
    running = served(mode="hard", items=4, more="# nothing left", repeats="0\nbatch_size = 2")
    somebody = person(running.url, alone=True).start()
    message = somebody.page.locator("#answer .wait")
    somebody.context.set_offline(True)
    somebody.answer("1").press("2")
    message.get_by_text("2 answers are waiting here").wait_for()
    text = message.inner_text()
    assert "You have answered everything that is on this device." in text
    assert "will be sent when the connection is back" in text
    assert "on their way" not in somebody.page.locator("body").inner_text()
    somebody.context.set_offline(False)
    somebody.ready(after=1)
    assert [one["label"] for one in answers(running)] == ["cat", "dog"]


def test_offline_after_the_last_one_the_page_says_so(served, person, answers):
    running = served(mode="hard", items=1, more="# last offline")
    somebody = person(running.url, alone=True).start()
    somebody.context.set_offline(True)
    somebody.press("1")
    message = somebody.page.locator("#answer .wait")
    message.get_by_text("1 answer is waiting here").wait_for()
    assert "That was the last one" in message.inner_text()
    somebody.context.set_offline(False)
    somebody.done()
    assert answers(running) == [{"label": "cat"}]


LOADED = """(names) => {
  const done = performance.getEntriesByType("resource").filter((one) => one.responseEnd > 0);
  return names.every((name) => done.some((one) => one.name.includes(name)));
}"""


def test_without_a_network_every_part_of_the_page_is_there(served, person):
    """What the first item does without was loaded after it: panels, dialogs, tree and viewer."""
    running = served(mode="search", items=2, more="# parts")
    somebody = person(running.url, alone=True).start()
    page = somebody.page
    page.wait_for_function("document.querySelector('.picture img')")
    parts = ["side.js", "dialogs.js", "viewer.js", "matching.js", "picks.js", "browsing.js"]
    page.wait_for_function(LOADED, arg=[*parts, "tree.css"])
    somebody.context.set_offline(True)
    somebody.press("Alt+i")
    assert "Say what it shows." in page.locator("aside.side").inner_text()
    somebody.press("Escape")
    page.get_by_role("button", name="Keys").click()
    assert page.locator("dialog dl.keys dt").count() > 5
    somebody.press("Escape")
    page.get_by_role("button", name="Show the picture in the whole window").click()
    page.locator("dialog.viewer img").wait_for()
    somebody.press("Escape")
    page.locator("#search-box:focus").wait_for()  # where closing the viewer leads
    page.locator("#search-box").press("ArrowDown")
    page.locator("[role=treeitem]:focus").wait_for()
    somebody.press("Escape")
    page.keyboard.type("cat")
    somebody.press("Enter", "d", "o", "g", "Enter", "+")
    assert page.locator(".pick .count").all_inner_texts() == ["9", "11"]
    page.get_by_role("button", name="Skip").click()
    before = somebody.position
    page.locator("dialog [value]").first.click()
    somebody.ready(after=before)
    somebody.context.set_offline(False)
    somebody.saved()


def test_a_part_that_could_not_be_loaded_is_asked_for_again(served, person, answers):
    """Browsers remember a failed import; until it is there, keys do not go elsewhere."""
    running = served(mode="hard", items=2, more="# part")
    somebody = person(running.url)
    page, asked = somebody.page, []

    def refuse(route):
        asked.append(route.request.url)
        route.abort()

    somebody.context.route("**/static/dialogs.js*", refuse)
    somebody.enter()
    page.wait_for_selector("#task[data-ready]", state="attached")
    somebody.press("?")
    page.locator(".problem", has_text="Waiting for the connection").wait_for()
    somebody.context.unroute("**/static/dialogs.js*")
    somebody.ready().press("s", "1").ready(after=0).saved()
    assert asked, "and refused"
    assert answers(running) == [None], "skipped"


def test_unsent_answers_survive_a_reload(served, person, answers):
    running = served(mode="hard", items=4, more="# unsent")
    somebody = person(running.url).start()
    somebody.context.route("**/api/answers", lambda route: route.abort())
    somebody.answer("1").answer("2")
    somebody.context.unroute("**/api/answers")
    somebody.page.reload()
    assert somebody.ready().position == 2
    somebody.saved()
    assert answers(running) == [{"label": "cat"}, {"label": "dog"}]


def test_an_acknowledgement_that_is_lost_stores_nothing_twice(served, person, answers):
    running = served(mode="hard", items=4, more="# twice")
    somebody = person(running.url)
    lost = []

    def swallow(route):
        route.fetch()  # the server has it; the page never hears of it
        lost.append(route.request.post_data_json["delivery"]["attempt"])
        route.abort()

    somebody.context.route("**/api/answers", swallow, times=2)
    somebody.start().answer("1").answer("2").answer("3")
    somebody.saved()
    assert answers(running) == [{"label": "cat"}, {"label": "dog"}, {"label": "fox"}]
    assert lost == [1, 2]  # the first one, until it was acknowledged


def test_a_server_that_asks_for_patience_gets_it(served, person, answers):
    running = served(mode="hard", items=2, more="# patience")
    somebody = person(running.url).start()
    replies = [(429, {"retry-after": "3"}), (503, {})]  # by itself it would wait a second at most
    times = []

    def refuse(route):
        times.append(time.monotonic())
        status, headers = replies[len(times) - 1]
        route.fulfill(status=status, headers=headers, json={"error": "later"})

    somebody.context.route("**/api/answers", refuse, times=len(replies))
    somebody.answer("1")
    somebody.page.locator("#status").get_by_text("1 answer waiting to be sent").wait_for()
    somebody.saved()
    assert answers(running) == [{"label": "cat"}]
    assert times[1] - times[0] >= 3


def test_a_refused_answer_is_kept_aside_and_asked_for_again(served, person, answers):
    running = served(mode="quick", items=3, more="# refused")
    somebody = person(running.url).start()
    reason = {"error": "answer", "field": "top", "reason": "no such class"}
    somebody.context.route(
        "**/api/answers", lambda route: route.fulfill(status=422, json=reason), times=1
    )
    somebody.answer("1", "2", "w", "x")
    somebody.page.get_by_text("One of your answers could not be stored").wait_for()
    before = somebody.position
    somebody.answer("3", "t")
    assert (before, somebody.position) == (1, 0)
    assert somebody.problem.startswith(
        "Your answer to this item could not be stored: no such class"
    )
    assert somebody.page.locator(".label-row.top .name").inner_text() == "cat"  # what was said
    somebody.answer("x").answer("3", "t").done()
    assert [answer["top"] for answer in answers(running)] == ["fox", "cat", "fox"]


def test_the_gate_stays_shut_until_the_server_has_everything(served, person, answers):
    """A server that forgot an acknowledged answer names it, and the person gives it again."""
    running = served(mode="hard", items=2, more="# gate")
    somebody = person(running.url).start()
    somebody.context.route("**/api/answers", lambda route: pretend(route), times=1)
    somebody.answer("1")
    somebody.answer("2")
    assert somebody.position == 0
    assert "did not arrive" in somebody.problem
    somebody.answer("3").done()
    assert answers(running) == [{"label": "dog"}, {"label": "fox"}]


def pretend(route):
    name = route.request.post_data_json["response_uuid"]
    route.fulfill(json={"acknowledged": name, "feedback": None})


BREAK = """() => { IDBDatabase.prototype.transaction = () => {
  throw new DOMException("no room", "QuotaExceededError");
}; }"""


def test_a_browser_that_can_no_longer_keep_answers_sends_them_all_the_same(served, person, answers):
    running = served(mode="hard", items=5, more="# no room")
    somebody = person(running.url).start()
    somebody.context.route("**/api/answers", lambda route: route.abort())
    somebody.answer("1")
    somebody.page.evaluate(BREAK)
    somebody.answer("2").answer("3")
    status = somebody.page.locator("#status")
    status.get_by_text("3 answers not saved yet: please keep this page open").wait_for()
    somebody.context.unroute("**/api/answers")
    somebody.answer("4").answer("5").done()
    said = [{"label": name} for name in ("cat", "dog", "fox", "owl", "hen")]
    assert answers(running) == said


def test_storage_that_is_cleared_in_the_middle_loses_nothing(served, person, answers):
    running = served(mode="hard", items=4, more="# cleared")
    somebody = person(running.url).start()
    somebody.context.route("**/api/answers", lambda route: route.abort())
    somebody.answer("1").answer("2")
    tools = somebody.context.new_cdp_session(somebody.page)
    where = {"origin": running.url, "storageTypes": "indexeddb"}
    tools.send("Storage.clearDataForOrigin", where)
    somebody.answer("3")
    somebody.context.unroute("**/api/answers")
    somebody.answer("4").done()
    assert answers(running) == [{"label": name} for name in ("cat", "dog", "fox", "owl")]


@pytest.mark.parametrize(
    ("stage", "heading"),
    [("closed", "This study is closed for you"), ("withdrawn", "You have left the study")],
)
def test_whoever_is_out_of_the_study_is_told(served, person, answers, stage, heading):
    """By the researcher, or in another browser; what is said afterwards is not stored."""
    running = served(mode="hard", items=4, more=f"# out: {stage}")
    somebody = person(running.url).start().answer("1").saved()
    (session,) = running.store.sessions("animals")
    running.store.set_stage(session.id, stage, event="test", detail={}, now=time.time()).result()
    somebody.press("2")
    somebody.page.get_by_role("heading", name=heading).wait_for()
    assert answers(running) == [{"label": "cat"}]
    assert somebody.kept() == (0, [])


def test_a_session_that_has_ended_is_told(served, person):
    somebody = person(served(mode="hard", items=3, more="# ended").url).start()
    somebody.context.route(
        "**/api/answers", lambda route: route.fulfill(status=401, json={"error": "session"})
    )
    somebody.answer("1")
    told = somebody.page.locator("#status.warning").inner_text()
    assert told.startswith("This browser no longer belongs to your session.")
    assert "1 answer is kept here" in told


def test_a_server_that_is_killed_while_somebody_answers(
    study_folder, serve_study, person, free_port
):
    folder = study_folder(mode="hard", items=9)
    running = serve_study(folder, port=free_port)
    somebody = person(running.url).start()
    for n in range(1, 4):
        somebody.answer(str(n))
    running.end(signal.SIGKILL)
    for n in range(4, 7):
        somebody.answer(str(n))
    assert somebody.waiting() >= 3
    serve_study(folder, port=free_port)
    for n in range(1, 4):
        somebody.answer(str(n))
    assert somebody.done().page.locator("h1").inner_text() == "Thank you"
    with sqlite3.connect(folder / ".softlabel" / "answers.db") as database:
        found = database.execute("SELECT position, answer FROM response ORDER BY position")
        said = [(place, json.loads(answer)["label"]) for place, answer in found.fetchall()]
    database.close()
    assert said == list(enumerate(["cat", "dog", "fox", "owl", "hen", "cow", "cat", "dog", "fox"]))


@pytest.fixture
def free_port():
    """A port that two servers can use after each other."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]
