"""The dashboard in a real browser: live, by keyboard, and without barriers."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import expect

from softlabel import registry
from softlabel.store import Filters

TOKEN = "the-token-that-was-printed-once"
PATHS = ["", "/items", "/items?order=checks", "/people", "/people/person-0", "/answers", "/export"]
PATHS += ["/answers?flag=skipped", "/comments", "/run", "/audit"]


@pytest.fixture
def served(visited_world, serve):
    return serve(visited_world(4))


@pytest.fixture
def open_page(chromium, served):
    """A page that has logged in; what the browser complains about fails the test."""
    contexts, complaints = [], []

    def opened(**options):
        contexts.append(chromium.new_context(base_url=served.url, **options))
        contexts[-1].set_default_timeout(60_000)
        page = contexts[-1].new_page()
        page.on("console", lambda told: complaints.append((told.type, told.text)))
        page.on("pageerror", lambda error: complaints.append(("error", str(error))))
        page.goto("/research")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_label("Token").press("Enter")
        page.wait_for_url("**/research")
        return page

    yield opened
    for context in contexts:
        context.close()
    # what could not be loaded is counted as well; here it is the missing network of one test
    assert not [one for one in complaints if one[0] == "error" and "ERR_INTERNET" not in one[1]]


def check_by_day_and_night(page, check):
    page.emulate_media(color_scheme="light")
    check(page)
    page.emulate_media(color_scheme="dark")
    check(page, colours=True)


def test_axe_finds_nothing(open_page, served, check):
    page = open_page()
    served.computed(served.researcher())
    for path in PATHS:
        page.goto(f"/research{path}")
        check_by_day_and_night(page, check)


def test_axe_finds_nothing_at_the_door(chromium, served, check):
    page = chromium.new_page(base_url=served.url)
    page.goto("/research/login")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("alert").wait_for()
    check(page)
    page.close()


def test_no_page_is_wider_than_its_window(open_page):
    page = open_page()
    for path in PATHS:
        page.goto(f"/research{path}")
        for width in (320, 390, 640, 1280, 1920):
            page.set_viewport_size({"width": width, "height": 800})
            beyond = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert beyond <= 0, f"{path} at {width} px is {beyond} px too wide"


def test_labels_as_long_as_sentences_fit_a_phone(chromium, make_world, serve):
    long = "everything that is said here follows from the text above, if one reads it with care"
    world = make_world(labels=(f"{long}, or nearly", f"hardly anything: {long}"))
    world.visit("somebody")
    here = serve(world)
    here.computed(here.researcher())
    page = log_in(chromium, here)
    page.set_viewport_size({"width": 375, "height": 667})
    for path in PATHS:
        page.goto(f"/research{path.replace('person-0', 'somebody')}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, path
    page.context.close()


def test_the_page_stays_true_while_one_looks_at_it(open_page, served):
    page = open_page()
    page.clock.install()
    page.goto("/research")
    answers = page.locator(".tile", has_text="Answers").first
    assert "24 of 48" in answers.inner_text()
    served.world.visit("newcomer")
    served.ahead = 3600
    page.clock.run_for(5_500)
    answers.get_by_text("30").wait_for()
    people = page.locator(".tile", has_text="People").first
    assert "5" in people.locator(".value").inner_text()


def test_what_is_being_computed_is_looked_for_again_soon(chromium, served):
    context = chromium.new_context(base_url=served.url)
    page = context.new_page()
    page.clock.install()
    page.goto("/research/login")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Log in").click()
    page.locator("[data-soon]").wait_for(state="attached")
    served.computed(served.researcher())
    page.clock.run_for(1_600)
    expect(page.locator("#scope")).to_contain_text("from all answers")
    context.close()


def test_what_has_not_changed_is_left_alone(open_page, served):
    page = open_page()
    page.clock.install()
    page.goto("/research/answers")
    page.evaluate("document.getElementById('answers').dataset.mine = '1'")
    with page.expect_response("**/research/answers"):
        page.clock.run_for(5_500)
    # a mark of our own makes it differ: it is exchanged; the page around it never is
    page.locator("#answers:not([data-mine])").wait_for()
    page.evaluate("window.kept = document.getElementById('answers')")
    with page.expect_response("**/research/answers"):
        page.clock.run_for(5_500)
    assert page.evaluate("window.kept === document.getElementById('answers')")


def test_whoever_is_on_a_link_stays_on_it(open_page, served):
    page = open_page()
    page.clock.install()
    page.goto("/research/answers")
    link = page.locator("tbody tr").nth(2).locator("a").first
    link.focus()
    served.world.visit("newcomer")
    with page.expect_response("**/research/answers"):
        page.clock.run_for(5_500)
    page.get_by_text("newcomer").first.wait_for()
    place = "[...document.querySelectorAll('tbody tr')].findIndex(r => r.matches(':focus-within'))"
    assert page.evaluate(place) == 2


def test_updates_can_be_paused(open_page, served):
    page = open_page()
    page.clock.install()
    page.goto("/research/answers")
    page.get_by_role("button", name="Pause updates").click()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(60_000)
    assert not asked
    page.reload()
    asked.clear()
    page.clock.run_for(60_000)
    assert not [url for url in asked if url.endswith("/answers")], "also after a reload"
    with page.expect_response("**/research/answers"):
        page.get_by_role("button", name="Resume updates").click()
    assert page.get_by_role("button", name="Pause updates").is_visible()


def test_a_lost_connection_is_told_and_found_again(open_page, served):
    page = open_page()
    page.clock.install()
    page.goto("/research/answers")
    page.context.set_offline(True)
    page.clock.run_for(5_500)
    page.get_by_role("status").get_by_text("No connection").wait_for()
    page.context.set_offline(False)
    page.clock.run_for(11_000)
    expect(page.get_by_role("status")).to_have_text("")


def test_when_the_login_has_ended_the_page_says_so(open_page, served):
    page = open_page()
    page.clock.install()
    page.goto("/research/answers")
    served.ahead = 24 * 3600
    page.clock.run_for(5_500)
    page.wait_for_url("**/research/login")


def test_by_keyboard_alone(open_page, served):
    page = open_page()
    page.goto("/research")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.goto("/research")
    names = []
    for _ in range(11):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert names[1:10] == [
        "Pause updates", "Log out", "Overview", "Items", "People", "Answers", "Comments", "Run",
        "Export",
    ]  # fmt: skip
    page.get_by_role("link", name="Items", exact=True).press("Enter")
    page.wait_for_url("**/research/items")
    page.get_by_label("Find an item").press_sequentially("item-7")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("find=item-7"))
    assert page.locator(".item").count() == 1
    page.get_by_role("button", name="Log out").press("Enter")
    page.wait_for_url("**/research/login")


def test_a_download_arrives(open_page, served):
    page = open_page()
    page.goto("/research/export")
    with page.expect_download() as started:
        page.get_by_role("link", name="responses.jsonl").click()
    download = started.value
    assert download.suggested_filename == "animals-responses.jsonl"
    assert len(download.path().read_text().splitlines()) == len(served.world.sent)


CUT = """() => [...document.querySelectorAll(".cards > .card:not(.wide) .table")]
  .map((box) => [box.getAttribute("aria-label"), box.scrollWidth - box.clientWidth])
  .filter(([, beyond]) => beyond > 0)"""
FIELDS = {"top": 61_000, "certainty": 92_000, "alternatives": 150_000, "excluded": 170_000}


def clock(seconds):
    """The times of an answer through quick, each step of it long."""
    part = {name: ms * seconds / 200 for name, ms in FIELDS.items()}
    own = {"first_input_ms": part["top"], "submit_ms": 1000 * seconds, "active_ms": 1000 * seconds}
    return own | {"media_ready_ms": 80, "hidden_ms": 0, "fields": part}


def test_no_number_of_a_card_is_cut_off(chromium, make_world, serve):
    """Two modes, so that each step also carries the name of its mode."""
    world = make_world(mode="quick")
    world.visit("slow", timing=clock(200.0))
    world.study = replace(world.study, mode=registry.parse("mode", "classic"))
    world.visit("slower", timing=clock(2000.0))
    here = serve(world)
    here.computed(here.researcher())
    page = log_in(chromium, here)
    card = page.locator(".card", has=page.get_by_role("heading", name="Seconds per field"))
    assert "quick: alternatives" in card.inner_text()
    for width in (1024, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(CUT) == [], width
    page.context.close()


def test_a_line_stays_in_its_chart(chromium, make_world, serve):
    """Of somebody who is much quicker than everybody: their median lies above all answers."""
    world = make_world()
    for n in range(3):
        world.visit(f"person-{n}", timing=clock(60.0))
    world.visit("hasty", timing=clock(0.5))
    here = serve(world)
    here.computed(here.researcher())
    page = log_in(chromium, here)
    page.goto("/research/people/hasty")
    chart = page.locator("svg", has_text="Seconds, answer by answer")
    assert chart.get_by_text("everybody").count() == 1
    box = chart.bounding_box()
    for part in chart.locator("line, text, path").all():
        inner = part.bounding_box()
        assert box["y"] - 1 <= inner["y"], part.evaluate("(one) => one.outerHTML")
        assert inner["y"] + inner["height"] <= box["y"] + box["height"] + 1
    page.context.close()


def log_in(chromium, here):
    size = {"width": 1280, "height": 800}
    page = chromium.new_context(base_url=here.url, viewport=size).new_page()
    page.goto("/research/login")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_label("Token").press("Enter")
    page.wait_for_url("**/research")
    return page


def test_times_are_those_of_the_readers_zone(open_page, served):
    page = open_page(timezone_id="Asia/Tokyo")
    page.goto("/research/answers?flag=repeat")
    first = page.locator("time").first
    at = datetime.fromisoformat(first.get_attribute("datetime")).astimezone(ZoneInfo("Asia/Tokyo"))
    expect(first).to_have_text(at.strftime("%d %b %H:%M"))
    expect(page.locator("footer")).to_contain_text("Times are Asia/Tokyo")
    text = at.strftime("%Y-%m-%dT%H:%M")
    page.get_by_label("From").fill(text)
    page.get_by_role("button", name="Show").click()
    assert "zone=Asia%2FTokyo" in page.url
    expect(page.locator("time").last).to_be_visible()
    since = served.world.store.find_responses(
        "animals", Filters(flag="repeat", since=at.replace(second=0, microsecond=0).timestamp())
    )
    expect(page.locator("tbody tr")).to_have_count(len(since))


def test_a_study_is_paused_by_keyboard_and_phone(open_page, served, check):
    page = open_page(viewport={"width": 360, "height": 740})
    page.goto("/research/run")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.get_by_role("button", name="Pause", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Pause the study?")).to_be_visible()
    check_by_day_and_night(page, check)
    page.get_by_role("button", name="Pause the study").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The study is paused")).to_be_visible()
    expect(page.get_by_role("table")).to_contain_text("paused the study")
    page.goto("/research/people/person-0")
    page.get_by_label("Why").fill("a test")
    page.get_by_role("button", name="Leave out").click()
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_label("Why")).to_be_visible()
    assert served.world.store.session_of("animals", "person-0").excluded_at is None
