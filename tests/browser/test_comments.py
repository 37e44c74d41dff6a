"""A comment under the answer in a real browser: typed, kept, sent, changed, and in nobody's way."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def settings():
    return {"mode": "quick", "items": 4, "title": "With comments"}


def serve(served, settings):
    """Its ``repeats`` are in [items], and so is what follows them."""
    return served(**settings, repeats="0\ncomment = true")


def comments(running, session):
    rows = running.store.responses("animals")
    mine = [json.loads(row.payload) for row in rows if row.session == session]
    return [sent.get("comment") for sent in mine]


def newest(running):
    return running.store.sessions("animals")[-1].id


def write(somebody, text):
    """Open the field by keyboard and type."""
    somebody.page.locator(".remark summary").focus()
    somebody.press("Enter", "Tab")
    somebody.page.keyboard.type(text)
    return somebody


def test_a_comment_is_kept_sent_and_changed(served, person, settings, check):
    running = serve(served, settings)
    somebody = person(running.url).start()
    page = somebody.page
    field = page.locator("#comment")
    assert not field.is_visible()
    write(somebody, "1 dark? sps")
    assert field.input_value() == "1 dark? sps", "no key of the page is taken from it"
    check(page)
    assert page.locator("dialog").count() == 0
    page.reload()
    somebody.ready()
    assert field.input_value() == "1 dark? sps"
    assert field.is_visible()
    somebody.press("Escape")
    somebody.answer("1", "t")
    assert field.input_value() == ""
    assert not field.is_visible()
    somebody.answer("2", "t").saved()
    assert comments(running, newest(running)) == ["1 dark? sps", None]

    page.wait_for_selector("#task[data-ready]")
    before = somebody.position
    somebody.press("Backspace").ready(after=before)
    write(somebody, "late").press("Escape")
    page.wait_for_selector("#task[data-ready]")
    before = somebody.position
    somebody.press("Enter").ready(after=before)
    somebody.saved()
    assert comments(running, newest(running)) == ["1 dark? sps", None, "late"]


def test_ctrl_and_enter_send_from_within_the_comment(served, person, settings):
    running = serve(served, settings)
    somebody = person(running.url).start().press("1", "r")
    write(somebody, "half hidden")
    before = somebody.position
    somebody.press("Control+Enter")
    somebody.ready(after=before).saved()
    assert comments(running, newest(running)) == ["half hidden"]


def test_a_comment_waits_for_the_network_with_its_answer(served, person, settings):
    running = serve(served, settings)
    somebody = person(running.url, alone=True).start()
    somebody.context.set_offline(True)
    write(somebody, "offline").press("Escape")
    somebody.answer("1", "t")
    assert somebody.waiting() == 1
    somebody.context.set_offline(False)
    somebody.saved()
    assert comments(running, newest(running)) == ["offline"]


@pytest.mark.parametrize("size", [(360, 740), (640, 400)])
def test_it_fits_small_windows(served, person, settings, size, check):
    running = serve(served, settings | {"language": "ar"})
    width, height = size
    somebody = person(running.url, viewport={"width": width, "height": height}).start()
    write(somebody, "abc")
    assert somebody.page.evaluate("document.documentElement.scrollWidth") <= width
    box = somebody.page.locator(".remark summary").bounding_box()
    assert box["height"] >= 24
    check(somebody.page)


def test_without_the_key_there_is_no_field(served, person):
    somebody = person(served(mode="quick", items=3, practice=True).url).start()
    assert not somebody.page.locator(".remark").is_visible()
