"""The pages in a real browser: nothing for axe to find, and a way back that waits."""

from __future__ import annotations

import re

import pytest

PROLIFIC = """kind = "prolific"
completion_code = "DONE1"
screenout_code = "OUT22"
noconsent_code = "NO333"
"""
ENTRY = "/?PROLIFIC_PID={who}&STUDY_ID=" + "1" * 24 + "&SESSION_ID=" + "2" * 24


@pytest.fixture
def tab(chromium, serving):
    """A page that reports what it says on its console, in a browser that cannot leave here."""
    running = serving(recruit=PROLIFIC)
    context = chromium.new_context(viewport={"width": 360, "height": 700})
    # where it would lead is tested without a browser; here nobody really leaves
    context.route("**/leave", lambda route: route.fulfill(body="left"))
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.base = running.url
    page.said = []
    page.on("console", lambda message: page.said.append(message.text))
    page.on("pageerror", lambda wrong: page.said.append(str(wrong)))
    yield page
    context.close()


def come(page, number=1):
    page.goto(page.base + ENTRY.format(who=f"{number:024x}"))
    return page


def go(page, selector="button.primary"):
    """Click, and wait for the page to which it leads."""
    with page.expect_navigation():
        page.click(selector)


def agree(page):
    for box in ("adult", "read", "agree"):
        page.check(f"[name={box}]")
    go(page)


def read_on(page):
    while page.locator("a.button.primary").count():
        go(page, "a.button.primary")
    go(page)


def to_done(page):
    agree(come(page))
    read_on(page)
    page.check("[name=q0][value='0']")
    page.check("[name=q1][value='1']")
    go(page)
    page.wait_for_selector("#task")
    assert page.evaluate(ANSWER_ALL) is True
    page.goto(page.base)
    page.clock.install()  # time can be made to pass faster
    page.click("button.primary")
    page.wait_for_selector("#countdown button")


ANSWER_ALL = """async () => {
  for (;;) {
    const plan = await (await fetch("/api/plan")).json();
    const open = plan.showings.filter((one) => !one.answered);
    if (!open.length) break;
    for (const one of open) {
      const answer = {top: "wren", certainty: 5, alternatives: [], excluded: [], rest: "ruled_out"};
      const body = {response_uuid: crypto.randomUUID(), position: one.position, answer};
      await fetch("/api/answers", {method: "POST", body: JSON.stringify(body)});
    }
  }
  return (await (await fetch("/api/finish", {method: "POST", body: "{}"})).json()).open;
}"""


def test_every_page_is_accessible(tab, check):
    seen = []

    def look(name):
        seen.append(name)
        check(tab, name=name)
        wide = tab.evaluate("document.documentElement.scrollWidth > innerWidth")
        assert not wide, f"{name} scrolls sideways"

    come(tab)
    look("consent")
    go(tab)
    look("consent with a box missing")
    agree(tab)
    look("instructions")
    read_on(tab)
    look("quiz")
    go(tab)
    look("quiz unanswered")
    for name in ("instructions again", "screened out"):
        tab.check("[name=q0][value='1']")
        tab.check("[name=q1][value='0']")
        go(tab)
        look(name)
        if name == "instructions again":
            read_on(tab)
    tab.context.clear_cookies()
    agree(come(tab, 2))
    tab.goto(tab.base + "/withdraw")
    look("withdraw")
    go(tab, "[value=no]")
    look("withdrawn")
    go(come(tab, 3), "[name=decline]")
    look("no consent")
    tab.context.clear_cookies()
    for path in ("/", "/nowhere", "/i/x"):
        tab.goto(tab.base + path)
        look(path)
    assert len(seen) == 13
    assert not [text for text in tab.said if "status of 4" not in text], "nothing was refused"


def seconds_left(page):
    told = re.fullmatch(
        r"You will be taken back in (\d+) seconds\.", page.inner_text("#countdown p")
    )
    return int(told[1])


def test_the_last_page_returns_by_itself(tab):
    to_done(tab)
    first = seconds_left(tab)
    assert 5 < first <= 10
    tab.clock.run_for(2000)
    assert seconds_left(tab) <= first - 2
    tab.clock.run_for(10_000)
    tab.wait_for_url("**/leave")


def test_the_last_page_is_accessible(tab, check):
    to_done(tab)
    tab.click("#countdown button")
    check(tab)


def test_the_last_page_stays_if_asked_to(tab):
    to_done(tab)
    tab.click("#countdown button")
    tab.clock.run_for(20_000)
    assert tab.url == tab.base + "/"
    assert tab.inner_text("#countdown p").startswith("You stay on this page.")
    assert tab.evaluate("document.activeElement.id") == "leave"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/leave")
