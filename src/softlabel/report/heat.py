"""A confusion matrix as a chart: one square per pair of classes, darker where there is more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softlabel.report.axes import (
    GRID,
    INK,
    LETTER,
    QUIET,
    SERIES,
    Frame,
    drawing,
    nothing,
    rule,
    words,
)
from softlabel.report.markup import Html, el
from softlabel.tables import Floats

LONGEST = 14  # letters of a class that are shown; its squares say the rest
READABLE = 20  # px: in smaller squares no number is written
LARGEST = 48  # px of a square
DARK = 0.7  # share above which the number in a square is written in the colour of the paper


def heat(counts: Floats, labels: Sequence[str], frame: Frame) -> Html:
    """Rows are what is right, columns what was said; a square's shade is its share of its row.

    A row of which nothing is known is left empty.  Squares on the diagonal are outlined.
    """
    total = counts.sum(axis=1)
    if not total.sum() > 0:
        return nothing(frame)
    shown = [label if len(label) <= LONGEST else label[: LONGEST - 1] + "…" for label in labels]
    left = 10 + LETTER * max(map(len, shown))
    top = left + 18  # names of columns stand upright
    side = min((frame.width - left - 2) / len(labels), LARGEST)
    end = left + side * len(labels)
    marks = [words(end, 12, frame.x, "end", fill=INK), words(0, top - 8, frame.y, fill=INK)]
    marks += _names(shown, left, top, side)
    for right, said in np.ndindex(counts.shape):
        if total[right] > 0:
            n, of = float(counts[right, said]), float(total[right])
            hover = f"{labels[right]}, said {labels[said]}: {n:.3g} of {of:.3g}"
            marks += _square(left + said * side, top + right * side, side, n / of, hover)
    marks += _lines(left, top, side, len(labels))
    return drawing(frame, top + side * len(labels) + 4, *marks)


def _names(shown: Sequence[str], left: float, top: float, side: float) -> list[Html]:
    marks = []
    for place, name in enumerate(shown):
        middle = (place + 0.5) * side + 4
        turn = f"rotate(-90 {left + middle:.1f} {top - 6:.1f})"
        marks.append(words(left - 6, top + middle, name, "end"))
        marks.append(words(left + middle, top - 6, name, transform=turn))
    return marks


def _square(x: float, y: float, side: float, share: float, hover: str) -> list[Html]:
    shape = {"x": x, "y": y, "width": side, "height": side}
    found = [el("rect", el("title", hover), fill=SERIES[0], fill_opacity=share, **shape)]
    percent = round(100 * share)
    if side >= READABLE and percent:
        ink = "var(--paper,#fff)" if share > DARK else INK
        style = {"font_size": 10, "fill": ink, "pointer_events": "none"}
        found.append(words(x + side / 2, y + side / 2 + 3.5, percent, "middle", **style))
    return found


def _lines(x: float, y: float, side: float, k: int) -> list[Html]:
    """Thin lines around all squares, and a frame around those on the diagonal."""
    end = side * k
    marks = [rule(x, y + i * side, x + end, y + i * side, GRID) for i in range(k + 1)]
    marks += [rule(x + i * side, y, x + i * side, y + end, GRID) for i in range(k + 1)]
    for i in range(k):
        shape = {"x": x + i * side, "y": y + i * side, "width": side, "height": side}
        marks.append(el("rect", fill="none", stroke=QUIET, pointer_events="none", **shape))
    return marks
