"""How long a simulated person says that an answer took: what a browser would have measured.

Medians are those of elicitation with a form (Collins et al. 2022: about 30 s a page) and of
keyboard interfaces by the keystroke-level model (about 1.3 s to decide, 1 s per further input).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from softlabel.elicit import Mode

FIRST_INPUT, PER_FIELD, SUBMIT = 1300.0, 1000.0, 500.0  # milliseconds, medians
SLOWER = {"classic": 5.0}  # a form to fill in, not keys to press
SPREAD = 0.4  # standard deviation of the logarithm
DISTRACTED = 0.02  # share of answers during which the page was hidden for a while
CLIENT = {"pointer": "fine", "viewport": [1280, 800], "locale": "en", "app": "softlabel simulate"}


def block(answer: Mapping[str, Any], mode: Mode, rng: np.random.Generator) -> dict[str, Any]:
    """The timing of one answer, in milliseconds since the item was painted."""
    given = [field.name for field in mode.fields if answer.get(field.name) not in (None, [], {})]
    medians = np.array([FIRST_INPUT, *[PER_FIELD] * (len(given) - 1), SUBMIT])
    steps = medians * SLOWER.get(mode.name, 1.0) * np.exp(rng.normal(0, SPREAD, len(medians)))
    hidden = rng.exponential(20_000.0) if rng.random() < DISTRACTED else 0.0
    moments = np.cumsum(steps)
    submit = round(float(moments[-1] + hidden))
    fields = {name: round(at) for name, at in zip(given, moments.tolist(), strict=False)}
    return {
        "media_ready_ms": round(float(rng.gamma(4, 25))),
        "first_input_ms": round(float(moments[0])),
        "submit_ms": submit,
        "active_ms": submit - round(hidden),
        "hidden_ms": round(hidden),
        "fields": fields,
    }


def events(timing: Mapping[str, Any]) -> list[list[Any]]:
    """One click per field, as the page logs them."""
    return [[at, "click", "", name] for name, at in timing["fields"].items()]
