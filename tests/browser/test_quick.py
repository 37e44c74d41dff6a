"""quick: how many inputs an answer costs, what cannot be entered, and what the bars promise."""

from __future__ import annotations

import json
import re

import pytest

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
    (press("3", "5", "r", "Enter"), TWO),  # by now the last choice about the rest is offered
    (press("3", "5", "r", "Space"), TWO),
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
    last = json.loads(list(running.store.responses("animals"))[-1].payload)
    assert ["remembered", "Space", "rest:ruled_out"] in [event[1:] for event in last["events"]]


def test_the_rest_has_no_default_on_the_first_three_items(served, person):
    somebody = person(served(mode="quick", items=6).url).start()
    offered = somebody.page.locator(".rest-choice.offered")
    for _ in range(3):
        assert offered.count() == 0
        somebody.press("1", "2", "w", "Enter")
        assert somebody.problem.startswith("Say what you think of the others")
        somebody.answer("z")
    assert offered.get_attribute("data-rest") == "possible"
    assert "as last time" in offered.inner_text()


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
    assert somebody.problem.startswith("Choose what else it could be")
    somebody.press("Enter")
    assert somebody.problem.startswith("Choose what else it could be")
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
    somebody.answer("x").saved()
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
