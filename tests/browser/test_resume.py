"""Reload, back button, second tab, closed window: people go on exactly where they were."""

from __future__ import annotations

import json
import re

import pytest

from softlabel import __version__

HALF_MADE = {  # keys that leave an answer unfinished, and where its traces are
    "quick": (["3", "5", "r", "Shift+Digit1"], ".label-row, .level, .rest-choice"),
    "chips": (["1", "1", "1", "ArrowDown", "PageUp", "Alt+Digit4", "Digit2", "l"], ".chip-row"),
    "classic": (["Tab", "d", "Tab", "8", "0", "Shift+X"], ".option, [data-field]"),
    "search": (
        ["c", "a", "t", "Enter", "d", "o", "g", "Enter", "+", "+", "f", "o", "x"],
        ".label-row",
    ),
}
LOOK = """(selector) => [...document.querySelectorAll(selector)].map((one) => [
  one.className, one.textContent, one.getAttribute("aria-pressed"), one.value ?? null,
  one.querySelector("input")?.checked ?? null,
])"""


@pytest.mark.parametrize("mode", HALF_MADE)
def test_a_reload_shows_the_same_screen(served, person, mode):
    somebody = person(served(mode=mode, items=3, more="# reload").url).start()
    keys, selector = HALF_MADE[mode]
    somebody.press(*keys)
    somebody.page.wait_for_timeout(100)
    before = (somebody.position, somebody.page.evaluate(LOOK, selector))
    somebody.page.reload()
    somebody.ready()
    assert (somebody.position, somebody.page.evaluate(LOOK, selector)) == before
    if mode == "search":
        assert somebody.page.locator("#search-box").input_value() == "fox"


def test_a_closed_window_and_the_back_button_lose_nothing(served, person, answers):
    running = served(mode="quick", items=4, more="# window")
    somebody = person(running.url).start()
    somebody.answer("1", "t").answer("2", "t").press("3", "5")
    somebody.page.close()
    somebody.page = somebody.open()
    somebody.page.goto(somebody.url)
    somebody.ready()
    assert somebody.position == 2
    assert somebody.page.locator("[role=progressbar]").get_attribute("aria-valuetext") == "3 of 4"
    assert somebody.page.locator(".label[aria-pressed=true]").count() == 2
    somebody.page.goto("about:blank")
    somebody.page.go_back()
    somebody.ready()
    assert somebody.position == 2
    somebody.answer("w", "x").answer("4", "t").done()
    said = answers(running)
    assert [answer["top"] for answer in said] == ["cat", "dog", "fox", "owl"]
    assert said[2]["alternatives"] == ["hen"]


def test_the_clock_goes_on_after_a_reload_and_hidden_time_is_apart(served, person):
    running = served(mode="quick", items=3, more="# clock")
    somebody = person(running.url).start()
    somebody.page.wait_for_timeout(200)
    somebody.press("3")
    somebody.page.reload()
    somebody.ready().page.evaluate(HIDE)
    somebody.page.wait_for_timeout(300)
    somebody.page.evaluate(HIDE.replace("true", "false"))
    somebody.answer("5", "r", "x").saved()
    (row,) = running.store.responses("animals")
    assert row.timing.first_input_ms >= 200
    assert row.timing.hidden_ms >= 300
    assert row.timing.active_ms == row.timing.submit_ms - row.timing.hidden_ms
    fields = row.timing.fields
    assert fields["top"] == row.timing.first_input_ms
    assert fields["top"] < fields["alternatives"] < fields["certainty"] <= fields["rest"]
    assert fields["rest"] <= row.timing.active_ms, "the time it was hidden is in no field"


HIDE = """() => {
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_the_clock_goes_on_after_a_reload_though_nothing_was_touched(served, person):
    running = served(mode="hard", items=3, more="# untouched clock")
    somebody = person(running.url).start()
    somebody.page.wait_for_timeout(400)
    somebody.page.reload()
    somebody.ready().answer("1").saved()
    (row,) = running.store.responses("animals")
    assert row.timing.first_input_ms >= 400
    assert json.loads(row.payload)["client"]["app"] == __version__


def test_two_tabs_stay_together_and_store_once(served, person, answers):
    running = served(mode="quick", items=5, more="# tabs")
    somebody = person(running.url).start()
    first, second = somebody.page, somebody.open()
    second.goto(somebody.url)
    second.wait_for_selector('#task[data-ready][data-position="0"]')
    for place, page in enumerate((first, second, first)):
        page.bring_to_front()
        page.keyboard.press(str(place + 1))
        page.keyboard.press("t")
        for other in (first, second):
            other.wait_for_selector(f'#task[data-ready][data-position="{place + 1}"]')
    # both at once: the one that is later by a hair finds the item answered
    press = "document.dispatchEvent(new KeyboardEvent('keydown', {code: 'Digit4', key: '4'}))"
    for page in (first, second):
        page.evaluate(f"() => {{ {press}; setTimeout(() => {press}, 150); }}")
    for page in (first, second):
        page.wait_for_selector('#task[data-ready][data-position="4"]')
    somebody.saved().answer("5", "t").done()
    assert [answer["top"] for answer in answers(running)] == ["cat", "dog", "fox", "owl", "hen"]


def test_the_last_answer_can_be_changed_or_left(served, person, answers):
    running = served(mode="hard", items=4)
    somebody = person(running.url).start()
    assert somebody.page.get_by_role("button", name="Previous").is_hidden()
    somebody.answer("1").press("Backspace").ready(after=1)
    assert somebody.page.locator(".label[aria-pressed=true] .name").inner_text() == "cat"
    somebody.page.reload()  # also while an answer is being changed
    assert somebody.ready().position == 0
    somebody.press("Escape").ready(after=0).press("Backspace").ready(after=1)
    somebody.answer("2", "Enter").saved()
    assert answers(running) == [{"label": "cat"}, {"label": "dog"}]
    first, second = running.store.responses("animals")
    assert (first.supersedes, second.supersedes) == (None, first.id)


def test_practice_can_be_thought_over(served, person, answers):
    running = served(mode="quick", items=1, practice=True)
    somebody = person(running.url).start().answer("2", "t")
    table = somebody.page.locator(".compare").inner_text()
    assert "75 %" in table
    assert "100 %" in table
    somebody.page.get_by_role("button", name="Change my answer").click()
    somebody.page.wait_for_selector("#task[data-ready]")
    assert somebody.page.locator(".label-row.top .name").inner_text() == "dog"
    somebody.press("1").answer("x", "Enter")
    somebody.go_on().answer("1", "t").done()
    kinds = [(row.kind, row.supersedes is None) for row in running.store.responses("animals")]
    assert kinds == [("training", True), ("training", False), ("target", True)]
    assert answers(running)[1]["alternatives"] == ["cat"]


def test_somebody_else_in_the_same_browser_starts_blank(served, person):
    """A shared machine: notes and unsent answers of one session are never used for another."""
    somebody = person(served(mode="quick", items=3, more="# shared").url).start()
    somebody.answer("1", "t").press("3", "5")
    somebody.context.clear_cookies()
    somebody.start()
    assert somebody.position == 0
    assert somebody.page.locator(".label[aria-pressed=true]").count() == 0
    keys = somebody.page.evaluate("() => Object.keys(localStorage)")
    assert len({key.split(":")[1] for key in keys if ":" in key}) == 1


def progress_of(somebody):
    """Which item of how many, as the page says it."""
    said = somebody.page.locator(".count-of").inner_text()
    return tuple(map(int, re.findall(r"\d+", said)))


def test_a_long_study_comes_a_few_items_at_a_time(served, person, answers):
    running = served(mode="hard", items=40, repeats=2, more="# portions")
    somebody = person(running.url)
    plans = []
    somebody.page.on(
        "response", lambda one: plans.append(one.json()) if one.url.endswith("/api/plan") else None
    )
    somebody.start()
    for n in range(30):
        assert somebody.position == n
        assert progress_of(somebody) == (n + 1, 42), "right from the first moment"
        somebody.answer(str(n % 6 + 1))
    assert max(len(plan["showings"]) for plan in plans) <= 30
    assert 2 <= len(plans) <= 4, "asked for a few times, and not for every item"
    somebody.saved().page.reload()
    assert somebody.ready().position == 30
    assert progress_of(somebody) == (31, 42)
    somebody.press("Backspace").ready(after=30)  # the answer before, though its plan is long gone
    assert (somebody.position, progress_of(somebody)) == (29, (30, 42))
    somebody.answer("1", "Enter")
    for n in range(30, 42):
        assert somebody.position == n
        somebody.answer(str(n % 6 + 1))
    somebody.done()
    rows = [row for row in running.store.responses("animals") if not row.superseded]
    assert sorted(row.position for row in rows) == list(range(42))
    assert [row.kind for row in sorted(rows, key=lambda row: row.position)[-2:]] == ["repeat"] * 2


def test_without_a_network_the_items_at_hand_can_be_answered(served, person, answers):
    running = served(mode="hard", items=40, more="# at hand")
    somebody = person(running.url, alone=True).start()
    somebody.answer("1").saved()
    somebody.context.set_offline(True)
    for n in range(1, 24):
        assert somebody.position == n
        somebody.answer(str(n % 6 + 1))
    somebody.press("1")
    somebody.page.wait_for_selector(".card.wait")
    somebody.context.set_offline(False)
    somebody.page.wait_for_selector('#task[data-position="25"]', state="attached", timeout=60_000)
    assert progress_of(somebody) == (26, 40)
    assert len(answers(running)) == 25
