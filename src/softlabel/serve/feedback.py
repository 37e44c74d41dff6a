"""What is said after a practice item: your distribution beside the reference."""

from __future__ import annotations

from typing import Any

import numpy as np

from softlabel import records as reading
from softlabel.construct import Clamp
from softlabel.elicit import Answer
from softlabel.study import Item, Study
from softlabel.tables import Index, names


def of(study: Study, item: Item, answer: Answer | None) -> dict[str, Any]:
    """The words of the study and the two distributions; None where there is nothing to show."""
    return {
        "text": item.feedback,
        "yours": None if answer is None else _named(study, distribution(study, answer)),
        "reference": None if item.gold is None else _named(study, item.gold),
    }


def distribution(study: Study, answer: Answer) -> list[float]:
    """One answer as a point on the simplex: what was said, and nothing smoothed into it."""
    index = Index(names(["this"]), names(["you"]), names(study.labels))
    code = np.zeros(1, dtype=np.int64)
    made = Clamp(spread=0.0)(reading.stack(index, code, code, [answer]))
    assert made.probs is not None, "a construction gives distributions"
    return [float(p) for p in made.probs[0]]


def _named(study: Study, probs: Any) -> dict[str, float]:
    pairs = zip(study.labels, probs, strict=True)
    return {label: round(p, 4) for label, p in pairs if p > 0}
