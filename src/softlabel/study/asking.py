"""The mode of a study: how its labels are asked for."""

from __future__ import annotations

import numpy as np

from softlabel import registry
from softlabel.elicit import Mode
from softlabel.errors import SoftlabelError
from softlabel.study.findings import Findings
from softlabel.study.settings import FILE, Settings

KEY = "study.mode"
MANY_LABELS = 20  # above it, labels are found sooner by typing than by looking


def read_mode(
    settings: Settings, labels: tuple[str, ...] | None, findings: Findings
) -> Mode | None:
    """The mode, if it can ask about these labels."""
    text = settings.file.study.mode
    if KEY in settings.broken:
        return None
    try:
        mode: Mode = registry.parse("mode", text)
        _try_out(mode, labels or ("yes", "no"))
    except SoftlabelError as error:
        findings.wrong(FILE, KEY, text, str(error))
        return None
    if labels and len(labels) > MANY_LABELS and mode.name != "search":
        findings.odd(FILE, KEY, text, f"with {len(labels)} labels, search is quicker to answer")
    return mode


def _try_out(mode: Mode, labels: tuple[str, ...]) -> None:
    """Options are looked at when a mode is used: let somebody who wavers answer once."""
    mode.rules()
    belief = np.full(len(labels), 1 / len(labels))
    mode.read(mode.simulate(belief, labels, np.random.default_rng(0)), labels)
