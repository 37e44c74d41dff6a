"""The page of questions in a real browser: follow-ups, keyboard, right to left, every width."""

from __future__ import annotations

import pytest

QUESTIONS = """
[before]
demographics = true
[[before.question]]
id = "glasses"
text = "Do you wear glasses?"
options = ["yes", "no"]
required = true
[[before.question]]
id = "why"
text = "What for?"
kind = "choices"
options = ["reading", "driving"]
show_if = { question = "glasses", is = ["yes"] }
[[before.question]]
id = "years"
text = "Since when do you drive?"
kind = "number"
min = 1950
max = 2030
show_if = { question = "why", is = ["driving"] }
[[before.question]]
id = "dark"
text = "How well do you see in the dark?"
kind = "scale"
min = 1
max = 7
"""
SIZES = [(320, 640), (360, 740), (640, 400), (1280, 800)]


def come(running, person, **options):
    """Somebody on the page of questions."""
    somebody = person(running.url, **options)
    page = somebody.page
    page.goto(running.url)
    for box in ("adult", "read", "agree"):
        page.check(f"[name={box}]")
    send(page)
    return page


def send(page):
    with page.expect_navigation():
        page.locator("main button.primary").click()


def test_a_follow_up_is_seen_only_where_it_applies(served, person):
    running = served(mode="hard", items=1, more=QUESTIONS)
    page = come(running, person)
    why, years = page.locator("[name='b1.1']"), page.locator("#b2")
    assert not why.is_visible()
    assert page.locator(".only-if").count() == 0
    page.locator("[name=b0][value='0']").focus()
    page.keyboard.press("Space")
    assert why.is_visible()
    assert not years.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # driving
    assert years.is_visible()
    years.fill("1850")
    send(page)
    assert "Please write a number from 1950 to 2030." in page.locator(".fault").inner_text()
    assert years.input_value() == "1850"
    page.locator("[name=b0][value='1']").check()
    assert not why.is_visible()
    assert not years.is_visible(), "what it depends on is hidden"
    send(page)
    assert page.locator("form[action='/instructions']").is_visible()
    *_, event = running.store.events("animals", "before")
    assert event.detail["glasses"] == "no"
    assert not {"why", "years", "gender_own"} & set(event.detail)


def test_without_script_every_question_is_seen_and_says_when_it_applies(served, person):
    running = served(mode="hard", items=1, more=QUESTIONS)
    page = come(running, person, java_script_enabled=False)
    assert page.locator("#b2").is_visible()
    note = page.locator(".only-if").first.inner_text()
    assert note == "Only if your answer to “Do you wear glasses?” is: yes"


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("ar", "dark")])
def test_the_questions_fit_everywhere(served, person, check, language, scheme):
    running = served(mode="hard", items=1, language=language, more=QUESTIONS)
    page = come(running, person, color_scheme=scheme)
    check(page)
    page.locator("[name=b3]").first.check()
    send(page)  # without what is required
    assert page.locator(".fault").count() == 1
    page.locator("[name=b0]").first.check()
    check(page)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    box = page.locator("[name=b0]").first.bounding_box()
    text = page.locator("label:has([name=b0]) bdi").first.bounding_box()
    assert (box["x"] > text["x"]) is (language == "ar")
