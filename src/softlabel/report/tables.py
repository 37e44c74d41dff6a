"""Tables of a page, with what a screen reader needs: a caption, and headers that say of what."""

from __future__ import annotations

import math
from collections.abc import Sequence

from softlabel.report.markup import Html, el
from softlabel.tables import Score


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Html:
    """The first cell of a row is its header.  A table wider than the page scrolls by itself."""
    head = el("tr", *(el("th", column, scope="col") for column in columns))
    body = [
        el("tr", el("th", row[0], scope="row"), *(el("td", *_cell(cell)) for cell in row[1:]))
        for row in rows
    ]
    whole = el("table", el("caption", caption), el("thead", head), el("tbody", *body))
    width = "table" if len(columns) > 4 else "table short"
    return el("div", whole, class_=width, role="region", aria_label=caption, tabindex="0")


def _cell(cell: object) -> tuple[object, ...]:
    return (number(cell),) if isinstance(cell, float) else (cell,)


def number(value: float, digits: int = 2) -> str:
    """A number to so many decimals; a dash where there is none."""
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def interval(score: Score, digits: int = 3) -> Html | str:
    """A number with its interval behind it, smaller."""
    if not math.isfinite(score.value):
        return "–"
    ends = f"{number(score.low, digits)} to {number(score.high, digits)}"
    return el("span", number(score.value, digits), " ", el("small", ends), class_="score")
