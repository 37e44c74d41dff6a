"""The hands of ``bench/hands.py``: what they count, and how few inputs an answer takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

LABELS = ["cat", "dog", "fox", "owl", "hen", "cow"]
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def hands():
    """The module of the benchmark, which is no part of the package."""
    bench = str(Path(__file__).parents[2] / "bench")
    sys.path.insert(0, bench)
    try:
        from asking import hands as found
    finally:
        sys.path.remove(bench)
    return found


@pytest.mark.parametrize(("device", "options"), [("keyboard", {}), ("touch", PHONE)])
def test_a_quick_answer_takes_two_inputs_if_certain_and_four_for_two_labels(
    hands, served, person, answers, device, options
):
    """Counted from the first look until the answer is sent, with the decision about the rest."""
    running = served(mode="quick", items=4, more=f"# hands {device}")
    somebody = person(running.url, **options).start()
    at_work = hands.Hands(somebody.page, "quick", LABELS, device)
    said = [hands.say("quick", ["fox", "owl"], support, LABELS) for support in (1, 2, 1)]
    certain, two, again = (at_work.answer(one) for one in said)
    assert (certain.inputs, two.inputs) == (2, 4)
    assert again == certain.__class__(**(vars(certain) | {"waited": again.waited}))
    assert (certain.keys, certain.presses) == ((2, 0) if device == "keyboard" else (0, 2))
    assert all(0 < one.waited < 10_000 for one in (certain, two, again))
    assert answers(somebody.saved() and running) == said


def test_the_seconds_are_those_of_the_keystroke_level_model(hands):
    """M + 2 K, and the paper's form by mouse: 5 M, 13 presses, 4 digits, twice to the keys."""
    certain = hands.Taken(2, 0, 0, 0, 0, decisions=1, waited=0)
    assert certain.seconds == pytest.approx(1.35 + 2 * 0.28)
    form = hands.Taken(4, 0, 13, 1, moves=4, decisions=5, waited=0)
    assert form.seconds == pytest.approx(5 * 1.35 + 14 * 1.3 + 4 * 0.28 + 4 * 0.4)


def test_a_finger_that_lays_the_last_chips_says_nothing_of_the_rest(hands, served, person, answers):
    """What ends the answer comes into sight under the finger, which is lifted only then."""
    ten = [*LABELS, "ant", "bee", "eel", "gnu"]
    running = served(mode="chips", items=2, labels=ten)
    somebody = person(running.url, **PHONE | {"viewport": {"width": 390, "height": 755}}).start()
    at_work = hands.Hands(somebody.page, "chips", ten, "touch")
    tracks = somebody.page.locator(".track")
    places = [tracks.nth(n).evaluate(hands.FIND, 0.9) for n in range(len(ten))]
    low = max(n for n, place in enumerate(places) if place["seen"])
    at_work.press(tracks.nth(low), 0.99)
    choice = somebody.page.locator('[data-rest="unsaid"]')
    choice.wait_for()
    box = choice.bounding_box()
    assert box["y"] < places[low]["y"] < box["y"] + box["height"], "it lies under the finger"
    assert somebody.position == 0
    assert answers(running) == []
