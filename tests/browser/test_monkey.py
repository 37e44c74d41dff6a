"""Whatever keys are pressed, in the modes where nothing contradictory can be entered the server
never has to refuse an answer."""

from __future__ import annotations

import numpy as np
import pytest

PRESSES = 250
ROUNDS = 4  # at most: keys that come while the page changes items are not heard
DIGITS = list("123456")
KEYS = {
    "quick": [*DIGITS * 2, *"qwert", *"xzc", *(f"Shift+Digit{d}" for d in DIGITS), "Enter"],
    "chips": [
        *DIGITS * 4,
        *"aaal=xzc",
        *(f"Shift+Digit{d}" for d in DIGITS),
        *(f"Alt+Digit{d}" for d in DIGITS),
        *("PageUp", "PageDown", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Enter"),
    ],
    "search": [
        *("c a Enter", "f o Enter +", "f a r m Enter +", "w i Enter", "d o ArrowDown Enter PageUp"),
        *("o", "h e Control+ArrowUp", "Enter", "Escape", "Escape Delete", "Escape Delete"),
        *("+", "PageUp", "-", "Control+ArrowUp", "Control+1", "Control+2", "Control+3"),
        *("Alt+x", "Alt+z", "Alt+c"),
    ],
}


@pytest.mark.parametrize("mode", KEYS)
def test_no_keys_lead_to_an_answer_that_is_refused(served, person, answers, mode):
    running = served(mode=mode, items=60, more="# monkey")
    somebody = person(running.url).start()
    refused = []
    somebody.page.on("response", lambda one: one.status >= 400 and refused.append(one.url))
    rng = np.random.default_rng(1)
    for _ in range(ROUNDS):
        pressed = rng.choice([*KEYS[mode], "Backspace"], PRESSES)
        somebody.press(*" ".join(pressed).split()).saved()
        if len(answers(running)) >= 3:
            break
    assert refused == []
    assert len(answers(running)) >= 3
    for said in answers(running):
        running.study.mode.read(said, running.study.labels)
