"""WCAG 2.2 AA: axe finds nothing, nothing is too small or cut off, right-to-left is mirrored."""

from __future__ import annotations

import time

import pytest

MODES = ["hard", "quick", "chips", "classic", "classic:strict=true", "search"]
SOME_OF_IT = {
    "hard": [],
    "quick": ["3", "5", "r", "Shift+Digit1"],
    "chips": ["1", "1", "Alt+Digit2", "3", "l"],
    "classic": ["Tab", "Space", "Tab", "x"],
    "search": ["c", "a", "t", "Enter", "d", "o", "g", "Enter", "+", "f"],
}
SMALL = {"width": 320, "height": 640}
ZOOMED = {"width": 640, "height": 400}  # 1280 x 800 at 200 %


def check_fit(page):
    """Nothing to scroll sideways for, and nothing to press that is smaller than 24 pixels."""
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert page.evaluate(TOO_SMALL) == []


TOO_SMALL = """() => {
  const pressed = "button, a[href], input, select, textarea, summary, [role=spinbutton]";
  const target = (one) => one.closest("label") ?? one;
  const size = (one) => target(one).getBoundingClientRect();
  return [...document.querySelectorAll(pressed)]
    .filter((one) => one.checkVisibility() && !one.matches(".skip, [type=hidden]"))
    .filter((one) => size(one).width < 24 || size(one).height < 24)
    .map((one) => one.outerHTML);
}"""


def test_the_check_can_fail(served, person, check):
    page = person(served(mode="hard", items=3, practice=True).url).start().page
    page.evaluate("() => document.querySelector('main').append(document.createElement('button'))")
    with pytest.raises(AssertionError, match="button-name"):
        check(page)
    with pytest.raises(AssertionError, match="<button>"):
        check_fit(page)


@pytest.mark.parametrize("mode", MODES)
def test_a_mode(served, person, mode, check):
    """Blank and half answered, light and dark, wide, narrow and zoomed, with its windows open."""
    somebody = person(served(mode=mode, items=3, practice=True).url).start()
    page = somebody.page
    if mode == "quick":
        check(page)
    somebody.press(*SOME_OF_IT[mode.split(":")[0]])
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    check(page)
    for size in (SMALL, ZOOMED):
        page.set_viewport_size(size)
        check_fit(page)


def test_windows_and_feedback(served, person, check):
    somebody = person(served(mode="quick", items=3, practice=True).url).start()
    page = somebody.page
    for key in ("?", "s"):
        somebody.press(key)
        page.locator("dialog").wait_for()
        check(page)
        page.set_viewport_size(SMALL)
        check_fit(page)
        page.set_viewport_size({"width": 1280, "height": 800})
        somebody.press("Escape")
    somebody.answer("1", "t")
    page.locator("#go-on").wait_for()
    check(page)
    page.set_viewport_size(SMALL)
    check_fit(page)


@pytest.mark.parametrize("language", ["en", "ar"])
def test_the_pages_before_and_after_fit_everywhere(served, person, language, check):
    """What axe says of them in daylight is looked at where they are made."""
    running = served(mode="hard", items=1, quiz=True, debrief="true", language=language)
    page = person(running.url, color_scheme="dark").page
    page.goto(running.url)
    check(page)
    check_sizes(page)
    for box in ("adult", "read", "agree"):
        page.check(f"[name={box}]")
    send(page)
    check(page)
    check_sizes(page)
    page.goto(f"{running.url}/?page=2")
    send(page)
    check(page)
    check_sizes(page)
    page.locator("[name=q0]").first.check()
    send(page)
    page.wait_for_selector("#task[data-ready]")
    page.goto(f"{running.url}/withdraw")
    check(page)
    check_sizes(page)
    page.goto(running.url)
    page.wait_for_selector("#task[data-ready]")
    page.keyboard.press("1")
    page.wait_for_selector("form[action='/debrief']")
    check(page)
    check_sizes(page)
    send(page)
    check(page)
    check_sizes(page)


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("stage", ["full", "closed", "screened-out", "withdrawn", "no-consent"])
def test_the_pages_of_those_who_are_out(served, person, stage, language, check):
    running = served(mode="hard", items=1, language=language, more="# out")
    before = {one.id for one in running.store.sessions("animals")}
    page = person(running.url).start().page
    (mine,) = (one for one in running.store.sessions("animals") if one.id not in before)
    page.goto("about:blank")  # a task page would notice and go there by itself
    running.store.set_stage(mine.id, stage, event="test", detail={}, now=time.time()).result()
    page.goto(running.url)
    page.locator("body:not(.task-page) h1").wait_for()
    check(page)
    check_sizes(page)


def send(page):
    with page.expect_navigation():
        page.locator("form button.primary").click()


def check_sizes(page):
    for size in (SMALL, ZOOMED, {"width": 1280, "height": 800}):
        page.set_viewport_size(size)
        check_fit(page)


@pytest.mark.parametrize("mode", ["hard", "quick", "chips", "classic", "search"])
def test_right_to_left(served, person, mode, check):
    somebody = person(served(mode=mode, items=3, language="ar").url).start()
    page = somebody.page
    assert page.locator("html").get_attribute("dir") == "rtl"
    somebody.press(*SOME_OF_IT[mode])
    page.emulate_media(reduced_motion="reduce")
    check(page)
    picture, answer = page.locator(".item").bounding_box(), page.locator("#answer").bounding_box()
    assert picture["x"] > answer["x"]
    assert page.locator("#answer").get_by_text("cat").first.is_visible()
    for size in (SMALL, ZOOMED):
        page.set_viewport_size(size)
        check_fit(page)


def test_in_right_to_left_bars_grow_to_the_left(served, person):
    somebody = person(served(mode="chips", items=3, language="ar").url).start()
    somebody.press("1", "ArrowLeft", "ArrowLeft")
    page = somebody.page
    track = page.locator(".track").first
    assert track.get_attribute("aria-valuenow") == "3"
    box, bar = track.bounding_box(), page.locator(".track .bar").first.bounding_box()
    assert abs((bar["x"] + bar["width"]) - (box["x"] + box["width"])) < 3
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    assert track.get_attribute("aria-valuenow") == "20"


def test_fingers_get_larger_targets(served, person):
    phone = {"width": 390, "height": 844}
    somebody = person(
        served(mode="quick", items=3, practice=True).url,
        viewport=phone,
        is_mobile=True,
        has_touch=True,
    ).start()
    somebody.page.locator(".label").nth(0).tap()
    somebody.page.locator(".label").nth(1).tap()
    somebody.page.locator("[data-level='3']").tap()
    heights = somebody.page.evaluate(
        "() => [...document.querySelectorAll('.label, .level, .rest-choice')]"
        ".map((one) => one.getBoundingClientRect().height)"
    )
    assert min(heights) >= 48
    somebody.page.wait_for_timeout(600)  # a second tap at once would be half of a double one
    somebody.page.locator(".label").nth(1).tap()
    before = somebody.position
    somebody.page.locator("[data-level='5']").tap()
    somebody.page.wait_for_selector(f"#go-on, #task:not([data-position='{before}'])")
