"""A whole study in every mode, by keyboard alone and by mouse: what was meant is stored."""

from __future__ import annotations

import pytest

# what somebody does for the practice item, two items and one of them again, and what is stored
CAT_OR_DOG = {
    "hard": (["1"], {"label": "cat"}),
    "quick": (
        ["1", "2", "r", "x"],
        {
            "top": "cat",
            "certainty": 4,
            "alternatives": ["dog"],
            "excluded": [],
            "rest": "ruled_out",
        },
    ),
    "chips": (
        ["1"] * 15 + ["ArrowDown", "a", "z"],
        {
            "n": 20,
            "chips": {"cat": 15, "dog": 5},
            "unallocated": 0,
            "excluded": [],
            "rest": "possible",
        },
    ),
    "classic": (
        ["Tab", "Space", "Tab", "8", "0", "Tab", "d", "Tab", "1", "5", "Shift+X", "Control+Enter"],
        {
            "top": "cat",
            "p1": "80",
            "second": "dog",
            "p2": "15",
            "impossible": ["fox", "owl", "hen", "cow"],
        },
    ),
    "search": (
        ["c", "a", "t", "Enter", "d", "o", "g", "Enter", "PageDown", "Alt+x"],
        {
            "n": 20,
            "picks": [{"node": "pet/cat", "chips": 15}, {"node": "pet/dog", "chips": 5}],
            "scope": [],
            "rest": "ruled_out",
            "queries": ["cat", "dog"],
        },
    ),
}


def tab_to(page, selector):
    """Press Tab until the focus is there."""
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def enter_by_keyboard(page, url):
    page.goto(url)
    for box in ("adult", "read", "agree"):
        tab_to(page, f"[name={box}]")
        page.keyboard.press("Space")
    send_by_keyboard(page, "consent")
    while page.locator("form a.button.primary").count():
        tab_to(page, "form a.button.primary")
        with page.expect_navigation():
            page.keyboard.press("Enter")
    send_by_keyboard(page, "instructions")
    page.wait_for_selector('form[action="/quiz"]')
    tab_to(page, "[name=q0]")
    page.keyboard.press("Space")
    send_by_keyboard(page, "quiz")


def send_by_keyboard(page, form):
    page.wait_for_selector(f'form[action="/{form}"]')
    tab_to(page, "form button.primary")
    with page.expect_navigation():
        page.keyboard.press("Enter")


@pytest.mark.parametrize("mode", CAT_OR_DOG)
def test_by_keyboard_alone(served, person, answers, mode):
    running = served(mode=mode, items=2, practice=True, repeats=1, quiz=True, debrief="true")
    somebody = person(running.url)
    enter_by_keyboard(somebody.page, running.url)
    keys, meant = CAT_OR_DOG[mode]
    somebody.ready().answer(*keys)
    somebody.page.wait_for_selector("#go-on")
    assert "Mostly a cat." in somebody.page.locator("#answer").inner_text()
    somebody.go_on()
    for _ in range(3):
        somebody.answer(*keys)
    tab_to(somebody.done().page, "form[action='/debrief'] textarea")
    somebody.page.keyboard.type("clear enough")
    send_by_keyboard(somebody.page, "debrief")
    assert somebody.done().page.locator("h1").inner_text() == "Thank you"
    assert answers(running) == [meant] * 4
    kinds = [row.kind for row in running.store.responses("animals")]
    assert kinds == ["training", "target", "target", "repeat"]


def click_hard(page):
    page.locator(".label").nth(0).click()


def click_quick(page):
    for name in ("cat", "dog"):
        page.locator(".label", has_text=name).click()
    page.locator("[data-level='4']").click()
    page.locator("[data-rest=ruled_out]").click()


def click_chips(page):
    cat, dog = page.locator(".chip-row").nth(0), page.locator(".chip-row").nth(1)
    box = cat.locator(".track").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 14.5 / 20, box["y"] + box["height"] / 2)
    for _ in range(3):
        dog.locator("button.step").last.click()
    dog.locator(".label").click()
    dog.locator("button.count").click()
    page.keyboard.type("5")
    page.locator("h1").click()
    page.locator("[data-rest=possible]").click()


def click_classic(page):
    blocks = page.locator("fieldset")
    blocks.nth(0).get_by_text("cat", exact=True).click()  # the name itself is a target
    page.locator("[data-field=p1]").fill("80")
    blocks.nth(1).get_by_text("dog", exact=True).click()
    page.locator("[data-field=p2]").fill("15")
    for name in ("fox", "owl", "hen", "cow"):
        blocks.nth(2).get_by_text(name, exact=True).click()
    page.locator("#answer .primary").click()


def click_search(page):
    for name in ("cat", "dog"):
        page.locator("#search-box").click()
        page.keyboard.type(name)
        page.locator(f"#found [data-name='pet/{name}']").click()
    page.locator(".pick button.count").last.click()
    page.locator("input.count").fill("5")
    page.locator("[data-rest=ruled_out]").click()


CLICKS = {
    "hard": click_hard,
    "quick": click_quick,
    "chips": click_chips,
    "classic": click_classic,
    "search": click_search,
}


# the files that were asked for before the first item was to be seen
LOADED_AT_FIRST = """() => {
  const [{ startTime: shown }] = performance.getEntriesByName("softlabel:first");
  return performance.getEntriesByType("resource")
    .filter((one) => one.startTime < shown)
    .map((one) => new URL(one.name).pathname);
}"""


def check_nothing_is_loaded_in_a_row(page):
    """What the page imports is asked for by the page itself, not by module after module."""
    loaded = page.evaluate(LOADED_AT_FIRST)
    asked = {link.get_attribute("href") for link in page.locator("link[rel=modulepreload]").all()}
    assert {path for path in loaded if path.endswith(".js")} == asked | {"/static/task.js"}


@pytest.mark.parametrize("mode", CLICKS)
def test_by_mouse(served, person, answers, mode):
    running = served(
        mode=mode, items=2, practice=True, repeats=1, quiz=True, debrief="true", more="# by mouse"
    )
    somebody = person(running.url)
    page = somebody.page
    enter_by_mouse(page, running.url)
    somebody.ready()
    check_nothing_is_loaded_in_a_row(page)
    CLICKS[mode](page)
    page.locator("#task[data-phase=feedback][data-ready] #go-on").click()
    somebody.ready(after=0)
    for _ in range(3):
        before = somebody.position
        CLICKS[mode](page)
        page.wait_for_selector(
            f'#task:not([data-position="{before}"]), body:not(.task-page)',
            state="attached",
        )
    send(somebody.done().page)
    assert page.locator("h1").inner_text() == "Thank you"
    assert answers(running) == [CAT_OR_DOG[mode][1]] * 4


def enter_by_mouse(page, url):
    page.goto(url)
    for box in ("adult", "read", "agree"):
        page.locator("label", has=page.locator(f"[name={box}]")).click()
    send(page)
    while page.locator("form a.button.primary").count():
        page.locator("form a.button.primary").click()
    send(page)
    page.locator("label", has=page.locator("[name=q0]")).first.click()
    send(page)


def send(page):
    with page.expect_navigation():
        page.locator("form button.primary").click()


def test_a_mode_without_a_page_of_its_own_is_asked_from_its_fields(served, person, answers):
    """The module that draws any mode is given one that has all kinds of fields but one."""
    running = served(mode="classic", items=1, more="# fields")
    somebody = person(running.url)
    somebody.context.route(
        "**/api/plan", lambda route: route.fulfill(json=with_module(route, "form"))
    )
    somebody.start()
    page = somebody.page
    page.locator("fieldset").nth(0).get_by_text("fox", exact=True).click()
    somebody.press("Control+Enter")
    assert "chance" in somebody.problem
    page.locator("input[type=text]").nth(0).fill("70")
    page.locator("fieldset").nth(2).get_by_text("None", exact=True).click()
    page.locator("fieldset").nth(4).get_by_text("hen", exact=True).click()
    page.reload()
    somebody.ready().press("Control+Enter").done()
    assert answers(running) == [
        {"top": "fox", "p1": 70, "second": None, "p2": None, "impossible": ["hen"]}
    ]


def with_module(route, name):
    plan = route.fetch().json()
    plan["mode"]["module"] = f"/static/modes/{name}.js"
    return plan
