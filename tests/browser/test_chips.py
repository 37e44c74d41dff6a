"""chips: the total stands still, nothing that was laid moves by itself, and it can be heard."""

from __future__ import annotations


def laid(page):
    """Label -> chips, as the page tells a screen reader."""
    tracks = page.locator("[role=spinbutton]").all()
    found = {one.get_attribute("aria-label"): one.get_attribute("aria-valuenow") for one in tracks}
    return {name: int(count) for name, count in found.items() if count != "0"}


def test_never_more_than_there_are_and_never_from_others(served, person):
    somebody = person(served(mode="chips", items=3).url).start()
    page = somebody.page
    somebody.press(*["1"] * 12, *["2"] * 8)
    assert page.locator(".chips-left").inner_text() == "All chips are laid."
    somebody.press("3")
    assert somebody.problem == "No chips are left. Take one back first."
    assert laid(page) == {"cat": 12, "dog": 8}
    somebody.press("Shift+Digit1", "3", "Alt+Digit2")  # ruling out gives the chips back
    assert laid(page) == {"cat": 11, "fox": 1}
    assert page.locator(".chips-left").inner_text() == "8 of 20 chips left"
    somebody.press("x")
    assert somebody.problem == "Lay 8 more chips."
    somebody.press("Backspace", "Backspace")
    assert laid(page) == {"cat": 11, "dog": 8, "fox": 1}


def test_keys_of_the_focused_label(served, person, answers):
    running = served(mode="chips", items=3, more="# keys")
    somebody = person(running.url).start()
    page = somebody.page
    somebody.press("2", "PageUp", "ArrowRight", "ArrowRight", "ArrowLeft")
    assert laid(page) == {"dog": 7}
    focused = page.evaluate("document.activeElement.getAttribute('aria-valuetext')")
    assert focused == "dog, 7 of 20"
    somebody.press("l", "PageDown")
    assert somebody.problem == "dog is locked. Press L to unlock it."
    somebody.press("Alt+Digit6", "=")  # 13 chips for the four that are neither locked nor out
    assert laid(page) == {"cat": 3, "dog": 7, "fox": 3, "owl": 3, "hen": 3}
    assert page.locator(".chips-left").inner_text() == "1 of 20 chips left"
    somebody.press("ArrowUp", "a")
    assert laid(page) == {"cat": 3, "dog": 7, "fox": 3, "owl": 3, "hen": 4}
    assert page.locator("[data-rest=done]").is_visible()  # every label is spoken for
    somebody.answer("Enter").saved()
    assert answers(running)[0]["excluded"] == ["cow"]
    assert answers(running)[0]["rest"] == "ruled_out"


def test_dragging_stops_where_the_chips_end(served, person):
    somebody = person(served(mode="chips", items=3, more="# drag").url).start()
    page = somebody.page
    somebody.press(*["1"] * 15)
    box = page.locator(".track").nth(1).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 10, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, middle, steps=5)
    page.mouse.up()
    assert laid(page) == {"cat": 15, "dog": 5}
    page.mouse.click(box["x"] + box["width"] * 2.5 / 20, middle)
    assert laid(page) == {"cat": 15, "dog": 3}


def test_a_label_may_be_called_like_anything(served, person, answers):
    """Names that every object of the language has are labels like others."""
    labels = ["__proto__", "constructor", "<b>bold</b>"]
    running = served(mode="chips", items=3, labels=labels)
    somebody = person(running.url).start()
    assert laid(somebody.page) == {}
    somebody.press(*["1"] * 12, *["2"] * 8)
    assert laid(somebody.page) == {"__proto__": 12, "constructor": 8}


def test_nothing_is_asked_about_the_rest_before_the_chips_are_laid(served, person):
    somebody = person(served(mode="chips", items=3, more="# early").url).start()
    page = somebody.page
    rest = page.locator(".rest")
    assert "And the other" not in page.locator("#answer").inner_text()
    assert not rest.is_visible()
    somebody.press(*["1"] * 12)
    assert not rest.is_visible()
    somebody.press(*["2"] * 8)
    assert page.locator("#rest-heading").inner_text() == "And the other 4?"
    somebody.press("Shift+Digit2")
    assert not rest.is_visible()
    assert page.locator(".hint").inner_text() == "Lay 1 more chip."


def test_where_some_chips_may_stay_in_the_hand_one_is_enough_to_ask(served, person):
    somebody = person(served(mode="chips:allow_unallocated=true", items=3).url).start()
    assert not somebody.page.locator(".rest").is_visible()
    somebody.press("1")
    assert somebody.page.locator("[data-rest=possible]").is_visible()
    assert "95 % in all" in somebody.page.locator("[data-rest=possible]").inner_text()


def test_of_two_labels_the_chips_say_everything(served, person, answers):
    running = served(mode="chips", items=3, labels=["cat", "dog"])
    somebody = person(running.url).start()
    for keys in (["1", "a"], [*["1"] * 14, "ArrowDown", "a"]):
        somebody.press(*keys)
        assert somebody.page.locator(".rest-choice:visible").count() == 0
        assert somebody.page.locator("[data-rest=done]").is_visible()
        somebody.answer("Enter")
    somebody.saved()
    said = answers(running)
    assert [(one["chips"], one["rest"]) for one in said] == [
        ({"cat": 20}, "ruled_out"),
        ({"cat": 14, "dog": 6}, "ruled_out"),
    ]


def test_of_two_labels_the_second_chance_is_implied(served, person, answers):
    """One number is enough; the other follows, and may be set instead."""
    running = served(mode="chips", items=3, labels=["cat", "dog"], more="# implied")
    somebody = person(running.url).start()
    page = somebody.page
    assert not page.locator(".rest").is_visible(), "nothing is laid for anybody"
    somebody.press("PageUp", "PageUp", "1", "1", "1", "1")
    assert laid(page) == {"cat": 14, "dog": 6}
    assert page.locator(".chips-left").inner_text() == "The other 6 chips are for dog."
    assert page.locator(".chip-row.implied .name").inner_text() == "dog"
    somebody.answer("Enter")
    somebody.press("1", "1", "2")  # 2 and 18, then one more on the other
    assert laid(page) == {"cat": 1, "dog": 19}
    assert page.locator(".chip-row.implied").count() == 0
    somebody.press("Shift+Digit2", "Shift+Digit2")
    assert laid(page) == {"cat": 3, "dog": 17}
    somebody.press("Backspace").answer("Enter")
    somebody.press("Alt+Digit1").answer("Enter").saved()
    assert [one["chips"] for one in answers(running)] == [
        {"cat": 14, "dog": 6},
        {"cat": 2, "dog": 18},
        {"dog": 20},
    ]
    assert answers(running)[2]["excluded"] == ["cat"]


def test_of_two_labels_what_stays_in_the_hand_is_for_the_other(served, person, answers):
    running = served(mode="chips:allow_unallocated=true", items=2, labels=["cat", "dog"])
    somebody = person(running.url).start()
    somebody.press(*["1"] * 15)
    heading = somebody.page.locator("#rest-heading").inner_text()
    assert heading == "The rest: 25 %, for the other one"
    somebody.answer("Enter").saved()
    assert (answers(running)[0]["unallocated"], answers(running)[0]["rest"]) == (5, "possible")


def test_a_double_click_rules_out_once(served, person):
    somebody = person(served(mode="chips", items=3, more="# double").url).start()
    row = somebody.page.locator(".chip-row").nth(1)
    row.locator(".out").dblclick()
    assert "excluded" in row.get_attribute("class")
