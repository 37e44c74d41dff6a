"""The curator's words on the task page: question, descriptions, instructions, language."""

from __future__ import annotations

import json

import pytest

PHONE = {"viewport": {"width": 360, "height": 640}, "is_mobile": True, "has_touch": True}
QUESTION = "Which animal do you see?"
ABOUT = """
[labels.{cat}]
describe = "Has whiskers, and purrs."
examples = ["0.png"]
colour = "#0077cc"
[labels.{dog}]
describe = "Barks."
"""
PLAIN = ABOUT.format(cat="cat", dog="dog")
TREE = ABOUT.format(cat='"animal/cat"', dog='"animal/dog"')
LABELS = ["cat", "dog", "fox"]
BRANCHED = ["animal/cat", "animal/dog", "plant/fern"]
OWN = f'en"\nquestion = "{QUESTION}"\n#"'  # a key more in the table [study]
MODES = ["hard", "quick", "chips", "classic", "search"]


def labelled(served, mode, **settings):
    tree = mode == "search"
    settings = {"labels": BRANCHED if tree else LABELS, "more": TREE if tree else PLAIN} | settings
    return served(mode=mode, items=3, **settings)


@pytest.mark.parametrize("mode", MODES)
def test_the_studys_question_is_the_heading(served, person, check, mode):
    one = person(labelled(served, mode, language=OWN).url).start()
    assert one.page.locator("h1").inner_text() == QUESTION
    assert one.page.locator("h1").is_visible()
    check(one.page)


def test_without_one_the_heading_is_that_of_the_mode(served, person):
    one = person(labelled(served, "hard").url).start()
    assert one.page.locator("h1").inner_text() == "Which label fits best?"


def test_an_item_may_have_a_question_of_its_own(served, person):
    one = person(labelled(served, "hard", language=OWN).url)

    def ask(route):
        plan = route.fetch().json()
        plan["showings"][0]["question"] = "And this one?"
        route.fulfill(json=plan)

    one.page.route("**/api/plan", ask)
    one.start()
    assert one.page.locator("h1").inner_text() == "And this one?"
    one.answer("1")
    assert one.page.locator("h1").inner_text() == QUESTION


# ── labels ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["hard", "quick", "chips", "classic"])
def test_a_description_is_shown_on_hover_and_said_on_focus(served, person, check, mode):
    one = person(labelled(served, mode).url).start()
    row = one.page.locator(".label, .option").first
    tip = one.page.locator(".tip")
    assert tip.is_hidden()
    row.hover()
    tip.wait_for(state="visible")
    assert tip.inner_text().strip() == "Has whiskers, and purrs."
    assert tip.locator("img").get_attribute("alt") == "Example of cat"
    check(one.page)
    one.press("Escape")
    assert tip.is_hidden()
    control = one.page.locator("[role=spinbutton], button.label, .option input")
    said = control.first.get_attribute("aria-describedby")
    assert one.page.locator(f"#{said}").text_content() == "Has whiskers, and purrs."


def test_a_description_is_shown_on_focus_and_goes_with_it(served, person):
    one = person(labelled(served, "hard").url).start()
    tip = one.page.locator(".tip")
    one.press("Tab")
    tip.wait_for(state="visible")
    assert "whiskers" in tip.inner_text()
    one.press("Tab")
    one.page.get_by_text("Barks.", exact=True).locator("visible=true").wait_for()
    one.press("Tab")
    assert tip.is_hidden(), "nothing is known about foxes"


def test_a_long_touch_asks_and_a_short_one_chooses(served, person):
    one = person(labelled(served, "quick").url, **PHONE).start()
    row = one.page.locator(".label").first
    box = row.bounding_box()
    tools = one.context.new_cdp_session(one.page)
    point = {"x": box["x"] + 60, "y": box["y"] + 15}
    tools.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    one.page.locator(".tip").wait_for(state="visible")
    tools.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert row.get_attribute("aria-pressed") == "false"
    row.tap()
    assert row.get_attribute("aria-pressed") == "true"
    assert one.page.locator(".tip").is_hidden()


def test_a_colour_is_a_mark_beside_the_name(served, person):
    one = person(labelled(served, "hard").url).start()
    marks = one.page.locator(".label .colour")
    assert marks.count() == 1
    colour = marks.evaluate("(one) => getComputedStyle(one).backgroundColor")
    assert colour == "rgb(0, 119, 204)"
    assert one.page.locator(".label").first.inner_text().split() == ["1", "cat"]


def test_search_shows_descriptions_with_what_it_finds(served, person, check):
    one = person(labelled(served, "search").url).start()
    one.page.locator("#search-box").press_sequentially("cat")
    row = one.page.locator("#found li").first
    row.wait_for()
    assert row.locator(".describe").inner_text() == "Has whiskers, and purrs."
    assert row.locator(".colour").count() == 1
    check(one.page)


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_all_descriptions_are_in_a_panel(served, person, check, options):
    one = person(labelled(served, "quick").url, **options).start()
    one.page.get_by_role("button", name="About the labels").click()
    side = one.page.get_by_role("complementary", name="About the labels")
    assert side.locator("dt").all_inner_texts() == ["cat", "dog"]
    picture = side.locator("img").first
    picture.evaluate("(one) => one.decode()")
    assert picture.evaluate("(one) => one.naturalWidth") == 32
    check(one.page)


def test_without_descriptions_there_is_no_such_button(served, person):
    one = person(served(mode="quick", items=3).url).start()
    assert one.page.get_by_role("button", name="About the labels").count() == 0


# ── the instructions ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("language", ["en", "ar"])
@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_the_instructions_open_beside_the_answer(served, person, check, options, language):
    one = person(labelled(served, "quick", language=language).url, **options).start()
    one.press("2", "i")
    side = one.page.locator("aside.side")
    assert "Look at each picture." in side.inner_text()
    assert "Say what it shows." in side.inner_text()
    check(one.page)
    wide = one.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, "nothing is pushed out of the window"
    chosen = one.page.locator(".label[aria-pressed=true]")
    assert "dog" in chosen.inner_text(), "the half-made answer stays"
    one.press("w")
    assert one.page.locator(".level[aria-pressed=true]").count() == 1, "and can be finished"
    one.press("Escape")
    assert side.is_hidden()
    assert "dog" in chosen.inner_text()


def test_opening_the_instructions_is_logged_and_the_clock_goes_on(served, person):
    running = labelled(served, "hard", title="Which one, then?")
    one = person(running.url).start()
    one.press("i", "i")
    one.answer("1").saved()
    (stored,) = running.store.responses(running.study.name)
    sent = json.loads(stored.payload)
    panels = [event[1:] for event in sent["events"] if event[1] == "panel"]
    assert panels == [["panel", "instructions", "open"], ["panel", "instructions", "close"]]
    assert sent["timing"]["active_ms"] == sent["timing"]["submit_ms"]


def test_in_the_panel_keys_scroll_and_do_not_send(served, person):
    one = person(labelled(served, "quick").url).start()
    one.press("1", "e", "i")
    before = one.position
    one.press("Space", "Enter", "PageDown")
    assert one.position == before
    one.page.locator("aside.side button").click()
    assert one.page.locator("aside.side").is_hidden()
    one.answer("Enter")
    assert one.position != before


def test_where_people_type_alt_opens_the_instructions(served, person):
    one = person(labelled(served, "search").url).start()
    one.page.locator("#search-box").press_sequentially("i")
    assert one.page.locator("aside.side").is_hidden()
    one.press("Alt+i")
    assert one.page.locator("aside.side").is_visible()
    one.press("Alt+i")
    assert one.page.locator("#search-box").input_value() == "i"


# ── languages ────────────────────────────────────────────────────────────────────────────────

SIX = 'languages = ["en", "ar", "de", "es", "fr", "zh"]'


@pytest.fixture
def six(served):
    """A study in all languages, English first."""
    return served(mode="quick", items=3, labels=LABELS, language=f'en"\n{SIX}\n#"')


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
def test_people_choose_their_language(six, person, check, options):
    one = person(six.url, locale="en-GB", **options)
    one.page.goto(six.url)
    check(one.page)
    one.page.get_by_role("button", name="Deutsch").first.click()
    assert one.page.locator("h1").inner_text() == "Bevor Sie beginnen"
    assert one.page.locator("[aria-current=true]").first.inner_text() == "Deutsch"
    check(one.page)
    one.start()
    assert one.page.locator("h1").inner_text() == "Welche Kategorie passt am besten?"
    one.press("2")
    one.page.get_by_role("link", name="Sprache").click()
    check(one.page)
    one.page.get_by_role("button", name="中文").first.click()
    one.ready()
    assert one.page.locator("h1").inner_text() == "哪个标签最合适？"
    chosen = one.page.locator(".label[aria-pressed=true]")
    assert "dog" in chosen.inner_text(), "the half-made answer stays"


CLIPPED = """() => [...document.querySelectorAll("button, h1, h2, .hint")]
  .filter((one) => one.checkVisibility() && !one.matches(".visually-hidden"))
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""


@pytest.mark.parametrize("mode", MODES)
def test_no_language_is_too_long_for_a_phone(served, person, mode):
    running = labelled(served, mode, language=f'en"\n{SIX}\n#"')
    one = person(running.url, **PHONE).start()
    one.press(*{"quick": ["2", "e"], "chips": ["1"]}.get(mode, []))
    for code in running.study.languages:
        own = {"X-Softlabel": "1"}
        one.context.request.post(f"{running.url}/language", form={"language": code}, headers=own)
        one.page.reload()
        one.ready()
        assert one.page.locator("html").get_attribute("lang") == code
        wide = one.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, code
        assert one.page.evaluate(CLIPPED) == [], code


def test_plural_forms_are_those_that_browsers_choose(six, person):
    one = person(six.url)
    one.page.goto(six.url)
    ask = "(code) => new Intl.PluralRules(code).resolvedOptions().pluralCategories"
    for code in six.study.languages:
        forms = six.study.speak(code).words["task"]["waiting"]
        assert sorted(forms) == sorted(one.page.evaluate(ask, code)), code
