"""quick: how many inputs an answer costs, what cannot be entered, and what the bars promise."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from softlabel import Index
from softlabel.construct import Clamp
from softlabel.records import stack_answers

CERTAIN = {
    "top": "fox",
    "certainty": 5,
    "alternatives": [],
    "excluded": [],
    "rest": "ruled_out",
}
TWO = {
    "top": "fox",
    "certainty": 4,
    "alternatives": ["hen"],
    "excluded": [],
    "rest": "ruled_out",
}


def press(*keys):
    return [lambda page, key=key: page.keyboard.press(key) for key in keys]


def click(*selectors):
    return [lambda page, selector=selector: page.click(selector) for selector in selectors]


FOX, HEN = '.label:has-text("fox")', '.label:has-text("hen")'
WAYS = [  # every entry is one input; the last one sends the answer
    (press("3", "t"), CERTAIN),
    (press("3", "3"), CERTAIN),
    (press("t", "3"), CERTAIN),
    (click(FOX, "[data-level='5']"), CERTAIN),
    (press("3", "5", "r", "x"), TWO),
    (press("r", "3", "5", "x"), TWO),
    (click(FOX, HEN, "[data-level='4']", "[data-rest=ruled_out]"), TWO),
]


def test_a_certain_answer_costs_two_inputs_and_one_of_two_labels_four(served, person, answers):
    running = served(mode="quick", items=len(WAYS) + 1)
    somebody = person(running.url).start()
    for inputs, meant in WAYS:
        assert len(inputs) <= (2 if meant is CERTAIN else 4)
        before = somebody.position
        for one in inputs[:-1]:
            one(somebody.page)
        assert somebody.position == before
        inputs[-1](somebody.page)
        somebody.ready(after=before)
    somebody.saved()
    assert answers(running) == [meant for _, meant in WAYS]


def test_the_rest_is_never_repeated_unless_the_study_asks_for_it(served, person, answers):
    running = served(mode="quick", items=8)
    somebody = person(running.url).start()
    for _ in range(6):
        for key in ("Enter", "Space"):
            somebody.press("1", "2", "w", key)
            assert somebody.problem.startswith("Say what you think of the others")
            somebody.press(*["Backspace"] * 3)
        assert somebody.page.locator(".rest-choice.offered").count() == 0
        somebody.answer("1", "2", "w", "z")
    somebody.saved()
    assert all("repeated" not in said for said in answers(running))


def test_a_study_may_have_the_rest_repeated_and_then_it_is_recorded(served, person, answers):
    running = served(mode="quick", items=7, repeat_rest="true")
    somebody = person(running.url).start()
    offered = somebody.page.locator(".rest-choice.offered")
    for _ in range(3):  # nothing is offered on the first items
        somebody.press("3", "5", "r", "Enter")
        assert offered.count() == 0
        assert somebody.problem.startswith("Say what you think of the others")
        somebody.answer("x")
    somebody.press("3", "5", "r")
    assert offered.get_attribute("data-rest") == "ruled_out"
    assert "as last time" in offered.inner_text()
    somebody.answer("Space").answer("3", "5", "r", "Enter").answer("3", "5", "r", "x").saved()
    again = TWO | {"repeated": True}
    assert answers(running) == [TWO, TWO, TWO, again, again, TWO]
    rows = list(running.store.responses("animals"))
    events = [event[1:] for event in json.loads(rows[3].payload)["events"]]
    assert ["remembered", "Space", "rest:ruled_out"] in events
    for said in answers(running):
        assert running.study.mode.read(said, running.study.labels).percent == (95, 5)


def shares(page):
    """Label -> what its bar says, in percent."""
    rows = page.locator(".label-row").all()
    found = {row.locator(".name").inner_text(): row.locator(".share").inner_text() for row in rows}
    return {name: float(text.removesuffix(" %")) for name, text in found.items() if text}


SAID = [  # the rest is said first, so that the bars can be looked at before the answer is sent
    ("x", "3", "5", "r"),
    ("x", "3", "5", "1", "e"),
    ("z", "3", "5", "1", "2", "w"),
    ("z", "3", "w"),
    ("3", "e"),  # without a word on the rest: it is spread
    ("3", "e", "Shift+Digit1", "Shift+Digit2"),
    ("3", "q"),
    ("x", "3", "5", "q"),  # guessing between two is 50 to 50
    ("c", "3", "5", "q"),
    ("z", "3", "5", "Shift+Digit1", "Shift+Digit2", "e"),
]


def test_the_bars_show_what_the_answer_is_read_as(served, person, answers):
    """Drawn by the page before it is sent, computed by the mode after it was stored."""
    running = served(mode="quick", items=len(SAID) + 1, more="# bars")
    somebody = person(running.url).start()
    drawn = []
    for keys in SAID:
        somebody.press(*keys)
        drawn.append(shares(somebody.page))
        somebody.answer("Enter")
    somebody.saved()
    labels = running.study.labels
    for shown, said in zip(drawn, answers(running), strict=True):
        read = running.study.mode.read(said, labels)
        stated = {labels[code]: p for code, p in zip(read.named, read.percent, strict=True)}
        unnamed = [labels[i] for i in range(len(labels)) if read.possible[i]]
        unnamed = [label for label in unnamed if label not in stated]
        left = 100 - sum(stated.values())
        stated |= {label: left / len(unnamed) for label in unnamed if left > 1e-6}
        assert shown.keys() == stated.keys()
        for label, share in shown.items():
            assert share == pytest.approx(stated[label], abs=0.51 if share >= 1 else 0.051)


SPREAD = {"top": "fox", "certainty": 3, "alternatives": [], "excluded": [], "rest": "possible"}
ENDS = [press("Enter"), press("Space"), press("z"), click("[data-rest=done]")]


def test_without_an_alternative_the_rest_is_shown_as_what_it_is(served, person, answers):
    """What the page says before the answer is sent is what the label of the answer is."""
    running = served(mode="quick", items=len(ENDS) + 1, more="# spread")
    somebody = person(running.url).start()
    page = somebody.page
    for (end,) in ENDS:
        somebody.press("3", "e")
        assert page.locator("#rest-heading").inner_text() == (
            "The rest: 20 %, spread over the other 5"
        )
        assert page.locator(".rest-choice:visible").count() == 0
        assert shares(page) == {"fox": 80} | dict.fromkeys(["cat", "dog", "owl", "hen", "cow"], 4)
        before = somebody.position
        page.wait_for_selector("#task[data-ready]", state="attached")
        end(page)
        somebody.ready(after=before)
    somebody.saved()
    assert answers(running) == [SPREAD] * len(ENDS)
    shown = dict.fromkeys(running.study.labels, 0.04) | {"fox": 0.8}
    assert label_of(running, SPREAD) == pytest.approx(shown)


def label_of(running, said):
    """The label that the default construction builds of one answer."""
    labels = running.study.labels
    first = np.array([0])
    index = Index(["item"], ["person"], labels)
    table = stack_answers(index, first, first, [running.study.mode.read(said, labels)])
    return dict(zip(labels, Clamp()(table).soft()[0].tolist(), strict=True))


def test_the_rest_after_an_alternative_says_what_it_would_get(served, person, answers):
    running = served(mode="quick", items=2, more="# share of the rest")
    somebody = person(running.url).start()
    somebody.press("3", "5", "e")
    choice = somebody.page.locator("[data-rest=possible]")
    assert "7 % in all" in choice.inner_text()
    somebody.answer("z").saved()
    built = label_of(running, answers(running)[0])
    others = sum(built[name] for name in ("cat", "dog", "owl", "cow"))
    assert round(100 * others) == 7


def test_nothing_is_asked_about_the_rest_before_there_is_one(served, person):
    somebody = person(served(mode="quick", items=2, more="# early").url).start()
    rest = somebody.page.locator(".rest")
    assert not rest.is_visible()
    somebody.press("3")
    assert not rest.is_visible()
    somebody.press("e")
    assert rest.is_visible()


BOTH = [
    press("1", "e"),
    press("e", "1"),
    press("2", "1", "e"),  # the second one replaces the first
    click(".label >> nth=0", "[data-level='3']"),
]


@pytest.mark.parametrize("inputs", BOTH)
def test_of_two_labels_the_other_one_has_the_rest(served, person, answers, inputs):
    running = served(mode="quick", items=3, labels=["cat", "dog"], more=f"# {len(inputs)}")
    somebody = person(running.url).start()
    before, stored = somebody.position, len(answers(running))
    for one in inputs:
        assert somebody.position == before
        one(somebody.page)
    somebody.ready(after=before).saved()
    said = answers(running)[stored]
    assert said == {
        "top": "cat",
        "certainty": 3,
        "alternatives": [],
        "excluded": [],
        "rest": "possible",
    }
    assert label_of(running, said) == pytest.approx({"cat": 0.8, "dog": 0.2})


def test_of_two_labels_the_other_one_is_not_sent_with_the_certainty_of_the_first(
    served, person, answers
):
    running = served(mode="quick", items=2, labels=["cat", "dog"], more="# other")
    somebody = person(running.url).start()
    somebody.answer("1", "t")
    somebody.press("Backspace").ready(after=1)
    somebody.press("2")
    assert somebody.position == 0
    somebody.press("w")
    assert somebody.position == 0, "a change waits for Save"
    somebody.answer("Enter").saved()
    said = answers(running)
    assert [(one["top"], one["certainty"]) for one in said] == [("cat", 5), ("dog", 2)]


def test_a_double_click_is_one_choice_and_a_later_click_takes_it_back(served, person):
    somebody = person(served(mode="quick", items=2, more="# double").url).start()
    page = somebody.page
    fox, hen = page.locator(".label-row").nth(2), page.locator(".label-row").nth(4)
    fox.locator(".label").dblclick()
    assert "top" in fox.get_attribute("class")
    assert "Click fox again to take it back." in page.locator(".hint").inner_text()
    hen.locator(".label").dblclick()
    assert "alternative" in hen.get_attribute("class")
    page.locator(".label-row").nth(0).locator(".out").dblclick()
    assert "excluded" in page.locator(".label-row").nth(0).get_attribute("class")
    page.wait_for_timeout(600)  # longer than a double click takes
    hen.locator(".label").click()
    assert "alternative" not in hen.get_attribute("class")
    fox.locator(".label").click()
    assert "top" not in fox.get_attribute("class")


def test_a_double_click_does_not_end_the_answer_on_what_appears_under_it(served, person):
    """On a phone the ending grows over the certainty that was just said."""
    phone = {"viewport": {"width": 360, "height": 640}}
    labels = [f"bird {n}" for n in range(10)]
    somebody = person(served(mode="quick", items=2, labels=labels).url, **phone).start()
    page = somebody.page
    somebody.press("1", "2")
    page.wait_for_timeout(500)  # by then the item itself is not guarded from slips any more
    level, ending = page.locator("[data-level='3']"), page.locator(".ending")
    box = level.bounding_box()
    beyond = box["y"] + box["height"] - ending.bounding_box()["y"]
    page.evaluate("(y) => window.scrollBy(0, y)", beyond)  # just above the ending as it is now
    box = level.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 8
    page.mouse.dblclick(x, y)
    under = "([x, y]) => document.elementFromPoint(x, y).closest('.rest-choice') !== null"
    assert page.evaluate(under, [x, y]), "the ending did grow over it"
    page.wait_for_timeout(300)
    assert somebody.position == 0
    page.mouse.click(x, y)  # and a click that is meant for it is taken
    somebody.ready(after=0)


def test_what_is_missing_is_said_once(served, person):
    somebody = person(served(mode="quick", items=2, more="# once").url).start()
    page = somebody.page
    for keys in ((), ("3",), ("5", "e"), ("5", "x")):
        somebody.press(*keys, "Enter")
        text = page.locator("#answer").inner_text()
        assert somebody.problem != ""
        assert text.count(somebody.problem) == 1
        assert not page.locator(".hint").is_visible()
    somebody.press("5")
    assert (somebody.problem, page.locator(".hint").is_visible()) == ("", True)


def test_what_would_contradict_cannot_be_entered(served, person, answers):
    running = served(mode="quick", items=4, more="# contradictions")
    somebody = person(running.url).start()
    somebody.press("3", "5", "t")
    assert somebody.problem.startswith("Certain means that nothing else is possible.")
    somebody.press("Shift+Digit3")
    assert somebody.problem == "fox was named, so it cannot be ruled out."
    somebody.press("1", "2", "4")
    assert somebody.problem == "At most 3 alternatives can be named."
    somebody.press("5", "1", "2", "r", "x")  # alternatives are taken back by their own key
    assert somebody.problem.startswith("Something is left: choose what else it could be")
    somebody.press("Enter")
    assert somebody.problem.startswith("Something is left: choose what else it could be")
    somebody.answer("z").saved()
    assert answers(running)[0] == CERTAIN | {"certainty": 4, "rest": "possible"}
    # a ruled-out label that is then chosen is no longer ruled out
    somebody.answer("Shift+Digit1", "Shift+Digit2", "1", "3", "e", "c").saved()
    said = answers(running)[1]
    assert (said["top"], said["excluded"], said["rest"]) == ("cat", ["dog"], "unsaid")


def test_an_alternative_to_a_certain_answer_lowers_it(served, person, answers):
    running = served(mode="quick", items=3, more="# lowers")
    somebody = person(running.url).start()
    somebody.answer("3", "t")
    somebody.press("Backspace").ready(after=1)  # there is nothing to undo: back to the last one
    somebody.press("5")
    assert (
        "Certainty is now: Almost sure."
        in somebody.page.locator(".visually-hidden").all_inner_texts()
    )
    somebody.answer("x", "Enter").saved()
    assert answers(running) == [CERTAIN, TWO]
    first, second = running.store.responses("animals")
    assert (second.supersedes, second.position) == (first.id, first.position)


def test_undo_takes_back_one_input_at_a_time(served, person):
    somebody = person(served(mode="quick", items=3, more="# undo").url).start()
    somebody.press("3", "5", "r", "Backspace", "Backspace")
    rows = somebody.page.locator(".label-row")
    assert re.search(r"\btop\b", rows.nth(2).get_attribute("class"))
    assert "alternative" not in rows.nth(4).get_attribute("class")
    assert somebody.page.locator(".level[aria-pressed=true]").count() == 0
    somebody.press("Backspace", "Backspace")
    assert somebody.page.locator(".label[aria-pressed=true]").count() == 0


def test_more_than_ten_labels_have_two_digits(served, person, answers):
    labels = [f"bird {n}" for n in range(1, 13)]
    running = served(mode="quick", items=2, labels=labels)
    somebody = person(running.url).start()
    assert somebody.page.locator(".label kbd").all_inner_texts()[:2] == ["01", "02"]
    somebody.press("1")
    assert somebody.page.locator(".label-row.dim").count() == 9
    somebody.answer("2", "0", "3", "r", "x").saved()
    assert answers(running)[0]["top"] == "bird 12"
    assert answers(running)[0]["alternatives"] == ["bird 3"]


def test_a_second_press_of_the_sending_key_is_not_for_the_next_item(served, person):
    somebody = person(served(mode="quick", items=3, more="# bounce").url).start()
    before = somebody.position
    somebody.press("3", "t", "t").ready(after=before)
    assert somebody.page.locator(".level[aria-pressed=true]").count() == 0
