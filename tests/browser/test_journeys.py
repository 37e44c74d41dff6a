"""Other ways through a study: failed quiz, screen-out, declining, leaving, skipping, media."""

from __future__ import annotations

from base64 import b64encode

import pytest

PROLIFIC = """
[recruit]
kind = "prolific"
completion_code = "C0MPLETE"
screenout_code = "SCR33NED"
noconsent_code = "N0C0NSEN"
"""
ARRIVAL = "/?PROLIFIC_PID={:024x}&STUDY_ID=" + "a" * 24 + "&SESSION_ID={:024x}"


def arrive(somebody, number):
    """Come from the recruiter; what it hears when people come back is remembered.

    By the browser's own protocol, because Playwright's routes do not see where a redirect leads.
    """
    returned = []
    tools = somebody.context.new_cdp_session(somebody.page)

    def hear(paused):
        returned.append(paused["request"]["url"])
        body = b64encode(b"back at the recruiter").decode()
        reply = {"requestId": paused["requestId"], "responseCode": 200, "body": body}
        tools.send("Fetch.fulfillRequest", reply)

    tools.on("Fetch.requestPaused", hear)
    pages = {"urlPattern": "https://app.prolific.com/*", "resourceType": "Document"}
    tools.send("Fetch.enable", {"patterns": [pages]})
    somebody.page.goto(somebody.url + ARRIVAL.format(number, number))
    return returned


def agree(page):
    for box in ("adult", "read", "agree"):
        page.check(f"[name={box}]")
    send(page)


def send(page):
    with page.expect_navigation():
        page.locator("form button.primary").click()


def to_quiz(page):
    page.goto(page.url.split("?")[0] + "?page=2")
    send(page)


@pytest.fixture
def prolific(served):
    return served(mode="hard", items=1, quiz=True, more=PROLIFIC)


def test_a_quiz_failed_once_and_then_passed(prolific, person, answers):
    somebody = person(prolific.url)
    returned = arrive(somebody, 1)
    page = somebody.page
    assert "?" not in page.url  # whoever looks over the shoulder learns no id
    agree(page)
    to_quiz(page)
    page.check("[name=q0] >> nth=1")
    send(page)
    assert page.locator("h1").inner_text() == "Instructions"
    assert page.locator("[role=alert]").is_visible()
    to_quiz(page)
    page.check("[name=q0] >> nth=0")
    send(page)
    somebody.ready().answer("1").done()
    assert "C0MPLETE" in page.locator("main").inner_text()
    page.locator("#countdown p").get_by_text("seconds").wait_for()
    page.get_by_role("button", name="Stay on this page").click()
    page.locator("#leave").click()
    page.get_by_text("back at the recruiter").wait_for()
    assert returned == ["https://app.prolific.com/submissions/complete?cc=C0MPLETE"]


def test_screened_out_after_the_last_try(prolific, person):
    somebody = person(prolific.url)
    returned = arrive(somebody, 2)
    page = somebody.page
    agree(page)
    for _ in range(2):
        to_quiz(page)
        page.check("[name=q0] >> nth=1")
        send(page)
    assert page.locator("h1").inner_text() == "Thank you for your interest"
    page.go_back()
    page.goto(somebody.url)
    assert page.locator("h1").inner_text() == "Thank you for your interest"
    page.locator("#leave").click()
    page.get_by_text("back at the recruiter").wait_for()
    assert returned == ["https://app.prolific.com/submissions/complete?cc=SCR33NED"]


def test_who_declines_is_let_go(prolific, person):
    somebody = person(prolific.url)
    returned = arrive(somebody, 3)
    somebody.page.locator("[name=decline]").click()
    somebody.page.locator("#leave").click()
    somebody.page.get_by_text("back at the recruiter").wait_for()
    assert returned == ["https://app.prolific.com/submissions/complete?cc=N0C0NSEN"]


def test_consent_needs_all_three_boxes(prolific, person):
    somebody = person(prolific.url)
    arrive(somebody, 4)
    page = somebody.page
    page.check("[name=adult]")
    send(page)
    assert page.locator("[role=alert]").inner_text() == "To take part, please tick all three boxes."
    assert page.locator("[name=adult]").is_checked()


@pytest.mark.parametrize("keep", ["yes", "no"])
def test_leaving_the_study(served, person, answers, keep):
    running = served(mode="hard", items=3, more=f"# leaving {keep}")
    somebody = person(running.url).start().answer("1").saved()
    somebody.page.get_by_role("link", name="Leave the study").click()
    somebody.page.locator(f"[name=keep][value={keep}]").click()
    somebody.page.get_by_role("heading", name="You have left the study").wait_for()
    assert len(answers(running)) == (1 if keep == "yes" else 0)
    somebody.page.wait_for_load_state("networkidle")
    assert somebody.kept() == (0, []), "nothing stays on a machine that others use too"


def test_skipping_says_why_and_is_no_answer(served, person, answers):
    running = served(mode="quick", items=5, repeats="0\nskip_limit = 1", more="# skip")
    somebody = person(running.url).start()
    somebody.press("3", "s")
    somebody.page.locator("dialog").wait_for()
    somebody.press("Escape")
    assert somebody.page.locator(".label-row.top").count() == 1  # nothing was lost by looking
    somebody.press("Backspace")
    for key in ("1", "2", "3"):
        somebody.answer("s", key)
    somebody.page.get_by_role("button", name="Skip").click()
    before = somebody.position
    somebody.page.get_by_role("button", name="I cannot judge it at all").click()
    somebody.ready(after=before).saved()
    rows = list(running.store.responses("animals"))
    reasons = ["media_broken", "not_in_list", "cannot_judge", "cannot_judge"]
    assert [row.skip for row in rows] == reasons
    assert answers(running) == [None] * 4


def test_who_skips_too_much_is_warned_and_then_screened_out(served, person):
    """Of eight items two may be skipped."""
    codes = f"{PROLIFIC}# skipping"
    running = served(mode="hard", items=8, repeats=1, practice=True, more=codes)
    somebody = person(running.url)
    arrive(somebody, 5)
    somebody.start().answer("s", "3").go_on()  # practice costs nothing
    page, warning = somebody.page, somebody.page.locator("dialog .problem")
    somebody.press("s")
    page.locator("dialog").wait_for()
    assert warning.count() == 0
    before = somebody.position
    somebody.press("3").ready(after=before)
    page.get_by_text("You can skip one more item.").wait_for()
    somebody.answer("1").saved()
    assert "skip" not in somebody.problem, "said once"
    before = somebody.position
    somebody.press("s")
    page.locator("dialog").wait_for()
    assert warning.inner_text().startswith("You can skip one more item.")
    somebody.press("3").ready(after=before)
    page.get_by_text("You cannot skip any more items").wait_for()
    page.reload()
    somebody.ready().press("s")
    page.locator("dialog").wait_for()
    assert warning.inner_text().startswith("You cannot skip any more items")
    somebody.press("3").done()
    page.get_by_text("You have skipped more items than this study allows").wait_for()
    assert "SCR33NED" in page.content()
    assert "C0MPLETE" not in page.content()
    assert running.store.progress("animals").skips == {"cannot_judge": 3}
    assert somebody.kept() == (0, []), "nothing is left to send"


def test_a_skip_that_is_taken_back_may_be_used_again(served, person):
    running = served(mode="hard", items=5, more="# taken back")
    somebody = person(running.url).start().answer("s", "1")
    somebody.page.get_by_text("You can skip one more item.").wait_for()
    before = somebody.position
    somebody.press("Backspace").ready(after=before)
    assert somebody.position == 0
    somebody.answer("1", "Enter").saved()
    somebody.press("s")
    somebody.page.locator("dialog").wait_for()
    assert somebody.page.locator("dialog .problem").count() == 0
    assert running.store.progress("animals").skips == {}


def check_keys(page, mode):
    """The keys are those of saving a change."""
    page.get_by_role("button", name="Keys").click()
    said = page.locator("dialog").inner_text()
    page.keyboard.press("Escape")
    page.locator("dialog").wait_for(state="detached")
    assert "go on" not in said
    assert "save the changed answer and return to where you were" in said
    if mode in ("quick", "chips", "search"):
        assert page.locator(".hint").inner_text() == "Enter saves the change."


@pytest.mark.parametrize("mode", ["quick", "chips", "search", "classic", "hard"])
def test_changing_an_answer_says_so_and_can_be_saved_or_cancelled(
    served, person, answers, check, mode
):
    running = served(mode=mode, items=3, labels=["cat", "dog", "fox"], more="# saving")
    somebody = person(running.url).start()
    page, notice = somebody.page, somebody.page.locator(".revising")
    cancel = page.get_by_role("button", name="Cancel")
    running.study.mode.operate(page, FIRST[mode], ["cat", "dog", "fox"])
    somebody.ready(after=0).saved()
    assert not notice.is_visible()
    assert not cancel.is_visible()
    page.wait_for_selector("#task[data-ready]", state="attached")
    page.get_by_role("button", name="Previous").click()
    somebody.ready(after=1)
    assert notice.inner_text() == "You are changing your last answer."
    check(page)
    assert page.get_by_role("button", name="Next").count() == 0
    check_keys(page, mode)
    cancel.click()
    somebody.ready(after=0)
    assert not notice.is_visible()
    assert len(answers(running)) == 1
    page.wait_for_selector("#task[data-ready]", state="attached")
    page.get_by_role("button", name="Previous").click()
    somebody.ready(after=1)
    page.wait_for_selector("#task[data-ready]", state="attached")
    somebody.press(*CHANGE[mode])
    assert somebody.position == 0, "no key stores a change"
    assert len(answers(running)) == 1
    somebody.press("Escape").ready(after=0)
    assert len(answers(running)) == 1, "which can be left"
    page.wait_for_selector("#task[data-ready]", state="attached")
    page.get_by_role("button", name="Previous").click()
    somebody.ready(after=1)
    page.wait_for_selector("#task[data-ready]", state="attached")
    somebody.press(*CHANGE[mode])
    page.get_by_role("button", name="Save", exact=True).click()
    somebody.ready(after=0).saved()
    assert len(answers(running)) == 2
    assert answers(running)[0] != answers(running)[1], "as it was changed"
    kept = [row.superseded for row in running.store.responses(running.study.name)]
    assert kept == [True, False], "both are there, and the new one counts"


CHANGE = {  # every mode has a key that ends an answer, or none is needed
    "quick": ["z"],
    "chips": ["z"],
    "search": ["Alt+z"],
    "classic": ["Tab", "ArrowDown"],
    "hard": ["2"],
}
FIRST = {
    "quick": {
        "top": "cat",
        "certainty": 3,
        "alternatives": ["dog"],
        "excluded": [],
        "rest": "ruled_out",
    },
    "chips": {"chips": {"cat": 14, "dog": 6}, "excluded": [], "rest": "ruled_out"},
    "search": {"picks": [{"node": "cat", "chips": 20}], "scope": [], "rest": "ruled_out"},
    "classic": {"top": "cat", "p1": 80, "second": "dog", "p2": 20, "impossible": ["fox"]},
    "hard": {"label": "cat"},
}


def test_an_answer_that_was_changed_too_often_stays_as_it_is(served, person, answers):
    running = served(mode="hard", items=3, more="# revisions")
    somebody = person(running.url).start().answer("1").saved()
    with running.store._engines.write.begin() as connection:
        connection.exec_driver_sql("UPDATE showing SET revisions = 50 WHERE position = 0")
    somebody.press("Backspace").ready(after=1).answer("2", "Enter").saved()
    somebody.page.get_by_text("Your last change was not stored").wait_for()
    assert answers(running) == [{"label": "cat"}]
    assert somebody.position == 1, "the item is not asked again"
    somebody.answer("3").answer("4").done()
    assert answers(running) == [{"label": "cat"}, {"label": "fox"}, {"label": "owl"}]
    assert somebody.kept() == (0, [])


def test_texts_sounds_and_a_picture_that_does_not_load(served, person, answers):
    rows = [{"id": "a", "text": "<b>bold?</b> & מלים"}, {"id": "b", "image": "0.png", "alt": "x"}]
    running = served(mode="hard", items=2, rows=rows)
    somebody = person(running.url)
    somebody.context.route("**/media/**", lambda route: route.abort())
    somebody.start()
    for _ in range(2):
        if somebody.page.locator(".words").count():
            assert somebody.page.locator(".words").inner_text() == "<b>bold?</b> & מלים"
        else:
            somebody.page.get_by_text("The picture could not be loaded.").wait_for()
            somebody.context.unroute("**/media/**")
            somebody.page.get_by_role("button", name="Try again").click()
            somebody.page.locator(".picture img").wait_for()
        somebody.answer("1")
    somebody.done()
    assert len(answers(running)) == 2


def test_sounds_play_by_key(served, person):
    running = served(mode="hard", items=1, rows=[{"id": "a", "audio": "silence.wav"}])
    somebody = person(running.url).start()
    audio = somebody.page.locator("audio")
    assert audio.evaluate("(one) => one.paused")
    somebody.press("p")
    assert not audio.evaluate("(one) => one.paused")
    somebody.press("p")
    assert audio.evaluate("(one) => one.paused")
    somebody.answer("1").done()
