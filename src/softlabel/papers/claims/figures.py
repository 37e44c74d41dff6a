"""Figures of results: curves over cells or along a score, reliability, scatters, slices.

A paper makes its figures from these.  The page draws each at the width of a desk and of a phone,
and writes it as a file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from softlabel import report
from softlabel.papers.claims.claims import Published
from softlabel.papers.claims.results import Named, Results, over_runs
from softlabel.tables import Score

NOTHING = Score(math.nan, math.nan, math.nan, 0)
HEIGHT = 340  # px, of a wide figure
PANEL, GAP, HEADING = 300, 24, 26  # px: least width of a panel, space between two, above each


@dataclass(frozen=True, eq=False)
class Figure:
    """``name`` is that of its file: small letters, digits and hyphens; ``draw`` takes a width in
    px."""

    name: str
    title: str
    caption: str
    draw: Callable[[float], report.Html]


@dataclass(frozen=True)
class Words:
    """The name, title and caption of a figure, and the names of its axes."""

    name: str
    title: str
    caption: str
    x: str
    y: str


# ── lines of results ─────────────────────────────────────────────────────────────────────────


def over(
    results: Results, cells: Mapping[float, str | Named], score: str, name: str
) -> report.Line:
    """Make a line with a cell at every x: the mean over seeds and its interval, if there is one."""
    return _make_line(name, {x: results.mean(cell, score) for x, cell in cells.items()})


def along(results: Results, cell: str | Named, prefix: str, name: str) -> report.Line:
    """Make a line with a score at every x: those called ``<prefix><x>``, as in ``slice/-0.5``."""
    scores = {
        float(score.removeprefix(prefix)): over_runs(results.values(cell, score))
        for score in results.names(cell, prefix)
    }
    return _make_line(name, dict(sorted(scores.items())))


def _make_line(name: str, scores: Mapping[float, Score | None]) -> report.Line:
    known = [score or NOTHING for score in scores.values()]
    y, low, high = ([getattr(score, end) for score in known] for end in ("value", "low", "high"))
    return report.Line(name, list(scores), y, low, high)


def evenly(places: Sequence[object]) -> dict[float, str]:
    """Give places equal distances: the names of ticks for ``named`` such as 1, 2, 5, 10, all."""
    return {float(i): str(place) for i, place in enumerate(places)}


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def curve(
    words: Words,
    lines: Sequence[report.Line],
    *,
    zero: bool = False,
    named: Mapping[float, str] | None = None,
) -> Figure:
    """Draw lines with their intervals: over M, over cost, over K."""
    ends = []  # for screen readers: where each line begins and ends
    for line in lines:
        known = [(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y)]
        if known:
            (a, first), (b, last) = known[0], known[-1]
            ends.append(f"{line.name}: {first:.3g} at {a:g}, {last:.3g} at {b:g}")

    def draw(width: float) -> report.Html:
        return report.charts.lines(
            lines, _frame(words, width, "; ".join(ends)), zero=zero, named=named
        )

    return Figure(words.name, words.title, words.caption, draw)


def slices(words: Words, lines: Sequence[report.Line]) -> Figure:
    """Draw the loss along a direction from where training ended."""
    return curve(words, lines, zero=False)


def scatter(
    words: Words,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    diagonal: bool = False,
    limits: tuple[float, float, float, float] | None = None,
) -> Figure:
    """Draw points: bins of items, cells, classes; never single items of a data set."""
    text = "; ".join(f"{name}: {len(xs)} points" for name, (xs, _) in series.items())

    def draw(width: float) -> report.Html:
        return report.charts.scatter(
            series, _frame(words, width, text), diagonal=diagonal, limits=limits
        )

    return Figure(words.name, words.title, words.caption, draw)


def reliability(
    words: Words, series: Mapping[str, tuple[Sequence[float], Sequence[float]]]
) -> Figure:
    """Draw accuracy over confidence, bin by bin; on the diagonal both are equal."""
    return scatter(words, series, diagonal=True, limits=(0.0, 1.0, 0.0, 1.0))


def beside(words: Words, rows: Mapping[str, tuple[Score | None, Published | None]]) -> Figure:
    """Draw our number above the published one, with both intervals, by name."""
    dots = []
    for name, (ours, published) in rows.items():
        if ours is not None:
            dots.append(report.Dot(name, ours.value, ours.low, ours.high))
        if published is not None:
            label = "" if ours is not None else name
            dots.append(report.Dot(label, published.value, published.low, published.high, series=1))
    text = "; ".join(f"{dot.name or 'published'}: {dot.value:.3g}" for dot in dots)

    def draw(width: float) -> report.Html:
        frame = _frame(words, width, text)
        return report.charts.whiskers(dots, frame, ("ours", "published"), row=18, zero=False)

    return Figure(words.name, words.title, words.caption, draw)


def panels(name: str, title: str, caption: str, some: Mapping[str, Figure]) -> Figure:
    """Draw several figures of one kind side by side, each under its own heading."""

    def draw(width: float) -> report.Html:
        columns = max(1, int((width + GAP) // (PANEL + GAP)))
        each = (width - (columns - 1) * GAP) / columns
        drawn = [(heading, one.draw(each)) for heading, one in some.items()]
        marks, y = [], 0.0
        for first in range(0, len(drawn), columns):
            row = drawn[first : first + columns]
            for place, (heading, chart) in enumerate(row):
                x = place * (each + GAP)
                marks.append(
                    report.text_at(x, y + report.FONT, heading, fill=report.INK, font_weight=600)
                )
                marks.append(report.el("g", chart, transform=f"translate({x:g} {y + HEADING:g})"))
            y += HEADING + max(report.chart_height(chart) for _, chart in row) + GAP
        return report.svg_document(report.Frame(title, width=width), y - GAP, *marks)

    return Figure(name, title, caption, draw)


def _frame(words: Words, width: float, text: str) -> report.Frame:
    return report.Frame(words.title, text, words.x, words.y, width, min(HEIGHT, 0.75 * width))
