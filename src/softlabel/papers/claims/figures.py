"""Figures of results: curves over cells or along a score, reliability, scatters, slices.

A paper makes its figures from these.  The page draws each at the width of a desk and of a phone,
and writes it as a file.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from softlabel.papers.claims.claims import Published
from softlabel.papers.claims.items import over_runs
from softlabel.papers.claims.results import Named, Results
from softlabel.report import Frame, Html, Line, charts, drawing
from softlabel.tables import Score

NOTHING = Score(math.nan, math.nan, math.nan, 0)
HEIGHT = 340  # px, of a wide figure
# one for each of ten classes: Paul Tol's light scheme, and one more
FILLS = (*charts.FILLS, "#dddddd", "#cc99bb")
PANEL, GAP, HEADING = 300, 24, 26  # px: least width of a panel, space between two, above each
LEGEND = 18.0  # px, a line of it


@dataclass(frozen=True, eq=False)
class Figure:
    """``name`` is that of its file: letters, digits and hyphens; ``draw`` takes a width in px."""

    name: str
    title: str
    caption: str
    draw: Callable[[float], Html]


@dataclass(frozen=True)
class Words:
    """The name, title and caption of a figure, and the names of its axes."""

    name: str
    title: str
    caption: str
    x: str = ""
    y: str = ""


def read_words(module: str) -> tuple[dict[str, Words], dict[str, str]]:
    """Read the words of figures and the notes of tables from ``figures.toml`` beside a module."""
    texts = tomllib.loads(Path(module).with_name("figures.toml").read_text("utf-8"))
    return {name: Words(name, **one) for name, one in texts["figures"].items()}, texts["notes"]


# ── lines of results ─────────────────────────────────────────────────────────────────────────


def over(results: Results, cells: Mapping[float, str | Named], score: str, name: str) -> Line:
    """Make a line with a cell at every x: the mean over seeds and its interval, if there is one."""
    return _make_line(name, {x: results.mean(cell, score) for x, cell in cells.items()})


def along(results: Results, cell: str | Named, prefix: str, name: str) -> Line:
    """Make a line with a score at every x: those called ``<prefix><x>``, as in ``slice/-0.5``."""
    scores = {
        float(score.removeprefix(prefix)): over_runs(results.values(cell, score))
        for score in results.names(cell, prefix)
    }
    return _make_line(name, dict(sorted(scores.items())))


def _make_line(name: str, scores: Mapping[float, Score | None]) -> Line:
    known = [score or NOTHING for score in scores.values()]
    y, low, high = ([getattr(score, end) for score in known] for end in ("value", "low", "high"))
    return Line(name, list(scores), y, low, high)


def evenly(places: Sequence[object]) -> dict[float, str]:
    """Give places equal distances: the names of ticks for ``named`` such as 1, 2, 5, 10, all."""
    return {float(i): str(place) for i, place in enumerate(places)}


# ── figures ──────────────────────────────────────────────────────────────────────────────────


def curve(
    words: Words,
    lines: Sequence[Line],
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
    drawn = partial(charts.lines, lines, zero=zero, named=named)
    return _figure(words, "; ".join(ends), drawn)


def scatter(
    words: Words,
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    diagonal: bool = False,
    limits: tuple[float, float, float, float] | None = None,
) -> Figure:
    """Draw points: bins of items, cells, classes; never single items of a data set."""
    text = "; ".join(f"{name}: {len(xs)} points" for name, (xs, _) in series.items())
    drawn = partial(charts.scatter, series, diagonal=diagonal, limits=limits)
    return _figure(words, text, drawn)


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
            dots.append(charts.Dot(name, ours.value, ours.low, ours.high))
        if published is not None:
            label = "" if ours is not None else name
            dots.append(charts.Dot(label, published.value, published.low, published.high, series=1))
    text = "; ".join(f"{dot.name or 'published'}: {dot.value:.3g}" for dot in dots)
    pair = ("ours", "published")
    drawn = partial(charts.whiskers, dots, series=pair, row=18, zero=False)
    return _figure(words, text, drawn)


def shares(
    words: Words,
    rows: Mapping[str, Sequence[float]],
    parts: Sequence[str],
    *,
    legend: bool = False,
    colours: Sequence[str] = FILLS,
) -> Figure:
    """Draw labels as bars one under another, each cut into the shares of its parts; parts that no
    label has are left out.  With ``legend``, the ``colours`` are named above the bars."""
    kept = [place for place in range(len(parts)) if any(row[place] > 0 for row in rows.values())]
    names = [parts[place] for place in kept]
    fills = [colours[place % len(colours)] for place in kept]  # a class has one colour everywhere
    cut = {name: [float(row[place]) for place in kept] for name, row in rows.items()}
    told = []  # for screen readers
    for name, row in cut.items():
        each = (f"{what} {100 * share:.0f} %" for what, share in zip(names, row, strict=True))
        told.append(f"{name}: {', '.join(each)}")

    def drawn(frame: Frame) -> Html:
        chart = charts.stacked(cut, names, frame, fills)
        if not legend:
            return chart
        named, height = _name_colours(names, fills, frame.width)
        below = drawing.el("g", chart, transform=f"translate(0 {height:g})")
        return drawing.svg_document(frame, height + drawing.chart_height(chart), named, below)

    return _figure(words, "; ".join(told), drawn)


def _name_colours(names: Sequence[str], fills: Sequence[str], width: float) -> tuple[Html, float]:
    """Draw a square of each colour before its name, in as many lines as they need, and return how
    high they are."""
    marks, x, y = [], 0.0, 0.0
    for name, fill in zip(names, fills, strict=True):
        need = 16 + drawing.LETTER * (len(name) + 2)
        if x and x + need > width:
            x, y = 0.0, y + LEGEND
        marks.append(drawing.el("rect", x=x, y=y + 2, width=11.0, height=11.0, fill=fill))
        marks.append(drawing.text_at(x + 16, y + drawing.FONT, name, fill=drawing.INK))
        x += need
    return drawing.join(*marks), y + LEGEND + 6


def _figure(words: Words, text: str, drawn: Callable[[Frame], Html]) -> Figure:
    """Make a figure of a chart; ``text`` describes it to screen readers."""

    def draw(width: float) -> Html:
        height = min(HEIGHT, 0.75 * width)
        return drawn(Frame(words.title, text, words.x, words.y, width, height))

    return Figure(words.name, words.title, words.caption, draw)


def panels(words: Words, some: Mapping[str, Figure]) -> Figure:
    """Draw several figures of one kind side by side, each under its own heading."""

    def draw(width: float) -> Html:
        columns = max(1, int((width + GAP) // (PANEL + GAP)))
        each = (width - (columns - 1) * GAP) / columns
        drawn = [(heading, one.draw(each)) for heading, one in some.items()]
        marks, y = [], 0.0
        for first in range(0, len(drawn), columns):
            row = drawn[first : first + columns]
            for place, (heading, chart) in enumerate(row):
                x = place * (each + GAP)
                bold = {"fill": drawing.INK, "font_weight": 600}
                marks.append(drawing.text_at(x, y + drawing.FONT, heading, "start", **bold))
                marks.append(drawing.el("g", chart, transform=f"translate({x:g} {y + HEADING:g})"))
            y += HEADING + max(drawing.chart_height(chart) for _, chart in row) + GAP
        return drawing.svg_document(Frame(words.title, width=width), y - GAP, *marks)

    return Figure(words.name, words.title, words.caption, draw)
