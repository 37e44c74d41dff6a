"""Pictures of results: curves over cells or along a score, reliability, scatters, slices.

A paper makes its figures of these; the page draws each at the width of a desk and of a phone, and
writes it as a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from softlabel.metrics import intervals
from softlabel.papers.claims.claims import Published
from softlabel.papers.claims.results import Results, bounds, over_runs
from softlabel.report import FONT, Dot, Frame, Html, Line, axes, el, svg
from softlabel.tables import Floats, Score

NOTHING = Score(math.nan, math.nan, math.nan, 0)
HEIGHT = 340  # px, of a wide one
PANEL, GAP, HEADING = 300, 24, 26  # px: a panel at least so wide, between two, above each


@dataclass(frozen=True, eq=False)
class Figure:
    """``name`` is its file's: small letters, digits and hyphens; ``draw`` takes a width in px."""

    name: str
    title: str
    caption: str
    draw: Callable[[float], Html]


# ── lines of results ─────────────────────────────────────────────────────────────────────────


def over(results: Results, cells: Mapping[float, str], score: str, name: str) -> Line:
    """A cell for every x: the mean over seeds and its interval (from two runs on)."""
    found = {x: results.values(cell, score) for x, cell in cells.items()}
    return _line(name, found, bounds(score))


def along(results: Results, cell: str, prefix: str, name: str) -> Line:
    """A score for every x: those that are called ``<prefix><x>``, as in ``slice/-0.5``."""
    found = {
        float(score.removeprefix(prefix)): results.values(cell, score)
        for score in results.names(cell, prefix)
    }
    return _line(name, dict(sorted(found.items())))


def _line(
    name: str, values: Mapping[float, Floats], within: tuple[float, float] = intervals.ANYWHERE
) -> Line:
    scores = [over_runs(some, within) or NOTHING for some in values.values()]
    y, low, high = ([getattr(one, end) for one in scores] for end in ("value", "low", "high"))
    return Line(name, list(values), y, low, high)


def evenly(places: Sequence[object]) -> dict[float, str]:
    """Places at equal distances with their names, for ``named``: 1, 2, 5, 10, 25, all."""
    return {float(i): str(place) for i, place in enumerate(places)}


# ── figures ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Words:
    """What a figure is called and what its axes are."""

    name: str
    title: str
    caption: str
    x: str
    y: str


def curve(
    words: Words,
    lines: Sequence[Line],
    *,
    zero: bool = False,
    named: Mapping[float, str] | None = None,
) -> Figure:
    """Lines with their intervals: over M, over cost, over K."""

    def draw(width: float) -> Html:
        return svg.lines(lines, _frame(words, width, _said(lines)), zero=zero, named=named)

    return Figure(words.name, words.title, words.caption, draw)


def slices(words: Words, lines: Sequence[Line]) -> Figure:
    """Loss along a direction from where training ended."""
    return curve(words, lines, zero=False)


def scatter(
    words: Words,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    diagonal: bool = False,
    limits: tuple[float, float, float, float] | None = None,
) -> Figure:
    """Points: bins of items, cells, classes; never single items of a data set."""
    said = "; ".join(f"{name}: {len(xs)} points" for name, (xs, _) in series.items())

    def draw(width: float) -> Html:
        return svg.scatter(series, _frame(words, width, said), diagonal=diagonal, limits=limits)

    return Figure(words.name, words.title, words.caption, draw)


def reliability(
    words: Words, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> Figure:
    """Confidence against how often it was right, bin by bin; on the diagonal both are equal."""
    return scatter(words, series, diagonal=True, limits=(0.0, 1.0, 0.0, 1.0))


def beside(words: Words, rows: Mapping[str, tuple[Score | None, Published | None]]) -> Figure:
    """Ours above what was published, with both intervals, by name."""
    dots = []
    for name, (ours, there) in rows.items():
        if ours is not None:
            dots.append(Dot(name, ours.value, ours.low, ours.high))
        if there is not None:
            known = "" if ours is not None else name
            dots.append(Dot(known, there.value, there.low, there.high, series=1))
    said = "; ".join(f"{dot.name or 'published'}: {dot.value:.3g}" for dot in dots)

    def draw(width: float) -> Html:
        frame = _frame(words, width, said)
        return svg.whiskers(dots, frame, ("ours", "published"), row=18, zero=False)

    return Figure(words.name, words.title, words.caption, draw)


def panels(name: str, title: str, caption: str, some: Mapping[str, Figure]) -> Figure:
    """Several of the same kind side by side, each under its own heading: one picture."""

    def draw(width: float) -> Html:
        columns = max(1, int((width + GAP) // (PANEL + GAP)))
        each = (width - (columns - 1) * GAP) / columns
        charts = [(heading, one.draw(each)) for heading, one in some.items()]
        marks, y = [], 0.0
        for first in range(0, len(charts), columns):
            row = charts[first : first + columns]
            for place, (heading, chart) in enumerate(row):
                x = place * (each + GAP)
                marks.append(axes.words(x, y + FONT, heading, fill=axes.INK, font_weight=600))
                marks.append(el("g", chart, transform=f"translate({x:g} {y + HEADING:g})"))
            y += HEADING + max(axes.height(chart) for _, chart in row) + GAP
        return axes.drawing(Frame(title, width=width), y - GAP, *marks)

    return Figure(name, title, caption, draw)


def _frame(words: Words, width: float, said: str) -> Frame:
    return Frame(words.title, said, words.x, words.y, width, _height(width))


def _height(width: float) -> float:
    return min(HEIGHT, 0.75 * width)


def _said(lines: Sequence[Line]) -> str:
    """What a screen reader says: where each line begins and ends."""
    parts = []
    for line in lines:
        known = [(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y)]
        if known:
            (a, first), (b, last) = known[0], known[-1]
            parts.append(f"{line.name}: {first:.3g} at {a:g}, {last:.3g} at {b:g}")
    return "; ".join(parts)
