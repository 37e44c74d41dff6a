"""Charts as SVG text: data in, string out.

Every chart takes its data and a ``Frame`` (words and size), escapes all text, leaves out values
that are not finite, shows "no data" when nothing is left, and carries hover texts on its marks.
Series differ by shape as well as by colour.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError
from softlabel.metrics import Bins
from softlabel.report import drawing
from softlabel.report.drawing import INK, SERIES, Frame, Html, Scale, el, join, rule, text_at, ticks
from softlabel.tables import Floats

Numbers = Sequence[float] | npt.NDArray[np.float64]

# Paul Tol's "light" scheme: told apart by colour-blind people, and dark text can be read on all
FILLS = ("#77aadd", "#ee8866", "#44bb99", "#eedd88", "#ffaabb", "#bbcc33", "#99ddff", "#aaaa00")


@dataclass(frozen=True)
class Dot:
    """One row of a dot-and-whisker chart."""

    name: str
    value: float
    low: float
    high: float
    series: int = 0


@dataclass(frozen=True)
class Line:
    """One curve; ``low`` and ``high`` draw a band around it.  ``words`` are what hovering says of x
    where it is not x itself, as on a scale of doublings."""

    name: str
    x: Numbers
    y: Numbers
    low: Numbers = ()
    high: Numbers = ()
    words: Sequence[str] = ()

    def __post_init__(self) -> None:
        more = (self.low, self.high, self.words)
        sizes = {len(self.x), len(self.y)} | {len(part) for part in more if len(part)}
        if len(sizes) > 1 or len(self.low) != len(self.high):
            raise DataError(f"Line {self.name!r}: x, y, low and high differ in length")


@dataclass(frozen=True)
class Guide:
    """A remark in a line chart: a thin level line from one x to another, with words on it."""

    words: str
    start: float
    end: float
    y: float


def mark(series: int, x: float, y: float, hover: str, size: float = 4.5, **style: object) -> Html:
    """A filled circle, an open diamond, a filled square or an open circle, by series."""
    colour = SERIES[series % len(SERIES)]
    hollow = {"fill": "var(--paper,#fff)", "fill_opacity": 0.6, "stroke": colour}
    style = (hollow | {"stroke_width": 1.5} if series % 2 else {"fill": colour}) | style
    if series % 4 in (0, 3):
        return el("circle", el("title", hover), cx=x, cy=y, r=size, **style)
    side = size * 1.7
    turn = f"rotate(45 {x:.2f} {y:.2f})" if series % 4 == 1 else None
    place = {"x": x - side / 2, "y": y - side / 2, "width": side, "height": side}
    return el("rect", el("title", hover), **place, transform=turn, **style)


def legend(names: Sequence[str], x: float, y: float, first: int = 0) -> Html:
    """One row of marks with their names; ``first`` is the number of the first one's series."""
    parts = []
    for series, name in enumerate(names, first):
        parts += [mark(series, x + 5, y - 4, name), text_at(x + 14, y, name, fill=INK)]
        x += 14 + drawing.LETTER * len(name) + 16
    return join(*parts)


def legends(names: Sequence[str], x: float, width: float) -> tuple[Html, float]:
    """As many rows as the names need within this width, and how high they are."""
    rows: list[list[str]] = [[]]
    left = width
    for name in names:
        need = 30 + drawing.LETTER * len(name)
        if need > left and rows[-1]:
            rows.append([])
            left = width
        rows[-1].append(name)
        left -= need
    first = [sum(map(len, rows[:row])) for row in range(len(rows))]
    parts = [legend(some, x, 14 + 18 * row, first[row]) for row, some in enumerate(rows)]
    return join(*parts), 18.0 * len(rows)


def bars(values: Mapping[str, float], frame: Frame, row: float = 24) -> Html:
    """Horizontal bars from 0, one per name, with their numbers at the end."""
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    if not finite:
        return drawing.empty_chart(frame)
    left = 12 + drawing.LETTER * max(map(len, values))
    x = Scale(*drawing.span(finite.values(), [0]), left, frame.width - 56)
    parts = []
    for i, (name, value) in enumerate(values.items()):
        y = i * row + 4
        parts.append(text_at(left - 8, y + row / 2 + 1, name, "end", fill=INK))
        if name in finite:
            start, end = sorted((x(0), x(value)))
            shape = {"x": start, "y": y, "width": max(end - start, 0.5), "height": row - 8}
            parts.append(el("rect", el("title", f"{name}: {value:.3g}"), fill=SERIES[0], **shape))
        shown = f"{value:.3g}" if name in finite else "–"
        parts.append(text_at(x(max(finite.get(name, 0), 0)) + 6, y + row / 2 + 1, shown))
    return drawing.svg_document(frame, len(values) * row + 8, *parts)


def stacked(
    rows: Mapping[str, Numbers],
    parts: Sequence[str],
    frame: Frame,
    fills: Sequence[str] = FILLS,
    row: float = 27,
) -> Html:
    """One bar of full width per row, cut into shares: labels over classes, one under another."""
    if not rows:
        return drawing.empty_chart(frame)
    left = 8 + drawing.LETTER * max(len(name) for name in rows)
    marks = []
    for i, (name, shares) in enumerate(rows.items()):
        y, place = i * row + 2, left
        marks.append(text_at(left - 8, y + row / 2 + 2, name, "end", fill=INK))
        for part, (what, share) in enumerate(zip(parts, shares, strict=True)):
            size = (frame.width - left) * (float(share) if math.isfinite(share) else 0.0)
            if size > 0:
                shape = {"x": place, "y": y, "width": size, "height": row - 5}
                hover = el("title", f"{name}: {what} {100 * share:.0f} %")
                marks.append(el("rect", hover, fill=fills[part % len(fills)], **shape))
            if size > drawing.LETTER * (len(what) + 1):
                dark = {"fill": "#1f2a36", "font_size": 11}
                marks.append(text_at(place + 5, y + row / 2 + 2, what, "start", **dark))
            place += size
    return drawing.svg_document(frame, len(rows) * row, *marks)


def whiskers(
    rows: Sequence[Dot],
    frame: Frame,
    series: Sequence[str] = (),
    row: float = 28,
    *,
    zero: bool = True,
) -> Html:
    """A dot per row with its interval as a line; ``series`` are named, and the axis shows 0 unless
    ``zero`` is False."""
    values = [v for dot in rows for v in (dot.value, dot.low, dot.high)]
    if not any(math.isfinite(dot.value) for dot in rows):
        return drawing.empty_chart(frame)
    left, top = 12 + drawing.LETTER * max(len(dot.name) for dot in rows), 26.0 if series else 6.0
    low, high = drawing.span(values, [0] if zero else [])
    x = Scale(low, high, left, frame.width - 14)
    bottom = top + row * len(rows)
    named = sum(30 + drawing.LETTER * len(name) for name in series)
    parts = [legend(series, max(0.0, min(left, frame.width - named)), 13)] if series else []
    for value in ticks(low, high, 6 if frame.width > 480 else 3):
        parts.append(rule(x(value), top, x(value), bottom))
        parts.append(text_at(x(value), bottom + 16, drawing.format_tick(value), "middle"))
    for i, dot in enumerate(rows):
        y = top + row * (i + 0.5)
        parts.append(text_at(left - 10, y + 4, dot.name, "end", fill=INK))
        if not math.isfinite(dot.value):
            parts.append(text_at(x.start + 4, y + 4, "not defined"))
            continue
        hover = f"{dot.name}: {dot.value:.3f}"
        if math.isfinite(dot.low) and math.isfinite(dot.high):
            hover += f" [{dot.low:.3f}, {dot.high:.3f}]"
            colour = SERIES[dot.series % len(SERIES)]
            parts.append(rule(x(dot.low), y, x(dot.high), y, colour, stroke_width=2))
        parts.append(mark(dot.series, x(dot.value), y, hover, 5, fill_opacity=1))
    parts.append(text_at(frame.width - 14, bottom + 36, frame.x, "end", fill=INK))
    return drawing.svg_document(frame, bottom + 44, *parts)


def scatter(
    series: Mapping[str, tuple[Numbers, Numbers]],
    frame: Frame,
    *,
    diagonal: bool = False,
    limits: tuple[float, float, float, float] | None = None,
    first: int = 0,
    hover: Sequence[str] = (),
) -> Html:
    """Points of one or more series; ``diagonal`` draws the line on which both would be equal.

    ``limits`` are (x low, x high, y low, y high), ``first`` the number of the first series' mark,
    ``hover`` the points' names.
    """
    points = [
        (first + s, float(a), float(b), hover[i] if i < len(hover) else name)
        for s, (name, (xs, ys)) in enumerate(series.items())
        for i, (a, b) in enumerate(zip(xs, ys, strict=True))
        if math.isfinite(a) and math.isfinite(b)
    ]
    if not points:
        return drawing.empty_chart(frame, frame.height)
    ends = limits or (*drawing.span([p[1] for p in points]), *drawing.span([p[2] for p in points]))
    named = len(series) > 1
    told, height = legends(list(series), 44, frame.width - 44) if named else ("", -8.0)
    x = Scale(ends[0], ends[1], 44, frame.width - 12)
    y = Scale(ends[2], ends[3], frame.height - 44, 38 + height)
    marks: list[object] = [drawing.axes(frame, x, y, ticks(*ends[:2]), ticks(*ends[2:])), told]
    if diagonal:
        low, high = max(ends[0], ends[2]), min(ends[1], ends[3])
        marks.append(rule(x(low), y(low), x(high), y(high), drawing.QUIET, stroke_dasharray="3 4"))
    for s, a, b, name in points:
        marks.append(mark(s, x(a), y(b), f"{name}: {a:.2f}, {b:.2f}", 3.5, fill_opacity=0.6))
    return drawing.svg_document(frame, frame.height, *marks)


def lines(
    series: Sequence[Line],
    frame: Frame,
    guides: Sequence[Guide] = (),
    *,
    zero: bool = True,
    named: Mapping[float, str] | None = None,
) -> Html:
    """Curves with bands; a gap where a value is not finite.

    The y axis shows 0 unless ``zero`` is False; ``named`` are the only places on the x axis that
    have a tick, and what it says.
    """
    if not any(math.isfinite(v) for line in series for v in line.y):
        return drawing.empty_chart(frame, frame.height)
    across = drawing.span((v for line in series for v in line.x), list(named or ()))
    x = Scale(*across, 44, frame.width - 14)
    parts = (v for line in series for part in (line.y, line.low, line.high) for v in part)
    ends = drawing.span(parts, [*([0] if zero else []), *(guide.y for guide in guides)])
    told, height = legends([line.name for line in series], 44, frame.width - 44)
    y = Scale(*ends, frame.height - 44, 38 + height)
    x_ticks = {*ticks(x.low, x.high, 8 if frame.width > 480 else 5)}
    if x.low == round(x.low):
        x_ticks.add(x.low)
    places = sorted(x_ticks if named is None else named)
    marks = [drawing.axes(frame, x, y, places, ticks(*ends), named), told]
    marks += [_line(s, line, x, y) for s, line in enumerate(series)]
    for guide in guides:
        level = {"stroke_dasharray": "1 3", "stroke_width": 1.5}
        marks.append(rule(x(guide.start), y(guide.y), x(guide.end), y(guide.y), INK, **level))
        marks.append(text_at(x(guide.end) + 8, y(guide.y) - 12, guide.words, fill=INK))
    return drawing.svg_document(frame, frame.height, *marks)


def _line(series: int, line: Line, x: Scale, y: Scale) -> Html:
    colour = SERIES[series % len(SERIES)]
    marks = []
    if len(line.low):
        ends = zip(line.x, line.low, line.high, strict=True)
        known = [(a, low, high) for a, low, high in ends if math.isfinite(low + high)]
        upper, lower = [(a, high) for a, _, high in known], [(a, low) for a, low, _ in known]
        band = _path([*upper, *reversed(lower)], x, y)
        marks.append(el("path", d=band + "Z" if band else "", fill=colour, fill_opacity=0.15))
    style = {"fill": "none", "stroke": colour, "stroke_width": 2}
    dashes = "6 4" if series % 2 else None
    points = list(zip(line.x, line.y, strict=True))
    marks.append(el("path", d=_path(points, x, y), stroke_dasharray=dashes, **style))
    for place, (a, b) in enumerate(points):
        if math.isfinite(a) and math.isfinite(b):
            hover = f"{line.name}, {line.words[place] if line.words else f'{a:g}'}: {b:.3f}"
            marks.append(mark(series, x(a), y(b), hover, 3.5, fill_opacity=1))
    return join(*marks)


def _path(points: Sequence[tuple[float, float]], x: Scale, y: Scale) -> str:
    """``M`` where a run of finite points begins, ``L`` inside it."""
    steps, pen = [], "M"
    for a, b in points:
        finite = math.isfinite(a) and math.isfinite(b)
        if finite:
            steps.append(f"{pen}{x(a):.1f} {y(b):.1f}")
        pen = "L" if finite else "M"
    return "".join(steps)


def histogram(
    values: Numbers, frame: Frame, *, bins: int = 20, limits: tuple[float, float] | None = None
) -> Html:
    """How many values lie where; equal values alone make one bar."""
    finite = np.array([v for v in values if math.isfinite(v)])
    if not len(finite):
        return drawing.empty_chart(frame, frame.height)
    counts, edges = np.histogram(finite, bins=bins, range=limits)
    x = Scale(float(edges[0]), float(edges[-1]), 44, frame.width - 12)
    y = Scale(0, float(counts.max()), frame.height - 44, 30)
    marks = [drawing.axes(frame, x, y, ticks(x.low, x.high), ticks(0, y.high, 4))]
    for count, a, b in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            shape = {"x": x(a) + 0.5, "y": y(count), "width": x(b) - x(a) - 1}
            hover = el("title", f"{a:.2f} to {b:.2f}: {count}")
            marks.append(el("rect", hover, height=y(0) - y(count), fill=SERIES[0], **shape))
    return drawing.svg_document(frame, frame.height, *marks)


def spark(
    value: float, low: float, high: float, title: str, *, middle: float | None = None
) -> Html:
    """A dot on a line from low to high, for tables; ``middle`` puts a tick for comparison."""
    frame = Frame(title, width=72)
    x = Scale(low, high, 5, frame.width - 5)
    marks = [rule(5, 8, frame.width - 5, 8, drawing.GRID, stroke_width=2)]
    if middle is not None and math.isfinite(middle):
        marks.append(rule(x(middle), 2, x(middle), 14, drawing.QUIET))
    if math.isfinite(value):
        place = x(min(max(value, low), high))
        marks.append(mark(0, place, 8, f"{value:.2f}", 4, fill_opacity=1))
    return drawing.svg_document(frame, 16, *marks)


LARGEST_MARK = 9.0  # px: the radius of the mark in which all items would stand
TICKS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def reliability_chart(bins: Bins, frame: Frame, series: int = 0) -> Html:
    """One mark per bin, its area the share of items in it; a line to the diagonal, on which
    predictions are as sure as they may be, shows the gap.  Marks under it are too sure."""
    if not len(bins.count):
        return drawing.empty_chart(frame, frame.height)
    x = Scale(0, 1, 44, frame.width - 12)
    y = Scale(0, 1, frame.height - 44, 30)
    marks = [drawing.axes(frame, x, y, TICKS, TICKS)]
    marks.append(rule(x(0), y(0), x(1), y(1), drawing.QUIET, stroke_dasharray="3 4"))
    colour = SERIES[series % len(SERIES)]
    total = int(bins.count.sum())
    points = zip(bins.count.tolist(), bins.confidence.tolist(), bins.right.tolist(), strict=True)
    for count, sure, right in points:
        gap = {"stroke_width": 2, "stroke_opacity": 0.5}
        marks.append(rule(x(sure), y(sure), x(sure), y(right), colour, **gap))
        hover = f"sure {sure:.2f}, right {right:.2f}: {count} of {total}"
        size = min(max(2.5, LARGEST_MARK * math.sqrt(count / total) * 1.6), LARGEST_MARK)
        marks.append(mark(series, x(sure), y(right), hover, size, fill_opacity=0.85))
    return drawing.svg_document(frame, frame.height, *marks)


LONGEST = 14  # letters of a class that are shown; its squares say the rest
READABLE = 20  # px: in smaller squares no number is written
LARGEST_SQUARE = 48  # px of a square
DARK = 0.7  # share above which the number in a square is written in the colour of the paper


def confusion_chart(counts: Floats, labels: Sequence[str], frame: Frame) -> Html:
    """Rows are what is right, columns what was said; a square's shade is its share of its row.

    A row of which nothing is known is left empty.  Squares on the diagonal are outlined.
    """
    total = counts.sum(axis=1)
    if not total.sum() > 0:
        return drawing.empty_chart(frame)
    shown = [label if len(label) <= LONGEST else label[: LONGEST - 1] + "…" for label in labels]
    left = 10 + drawing.LETTER * max(map(len, shown))
    top = left + 18  # names of columns stand upright
    side = min((frame.width - left - 2) / len(labels), LARGEST_SQUARE)
    end = left + side * len(labels)
    marks = [text_at(end, 12, frame.x, "end", fill=INK), text_at(0, top - 8, frame.y, fill=INK)]
    for place, name in enumerate(shown):
        middle = (place + 0.5) * side + 4
        turn = f"rotate(-90 {left + middle:.1f} {top - 6:.1f})"
        marks.append(text_at(left - 6, top + middle, name, "end"))
        marks.append(text_at(left + middle, top - 6, name, transform=turn))
    for right, said in np.ndindex(counts.shape):
        if total[right] > 0:
            n, of = float(counts[right, said]), float(total[right])
            hover = el("title", f"{labels[right]}, said {labels[said]}: {n:.3g} of {of:.3g}")
            share, x, y = n / of, left + said * side, top + right * side
            shape = {"x": x, "y": y, "width": side, "height": side}
            marks.append(el("rect", hover, fill=SERIES[0], fill_opacity=share, **shape))
            percent = round(100 * share)
            if side >= READABLE and percent:
                ink = "var(--paper,#fff)" if share > DARK else INK
                style = {"font_size": 10, "fill": ink, "pointer_events": "none"}
                marks.append(text_at(x + side / 2, y + side / 2 + 3.5, percent, "middle", **style))
    for i in range(len(labels) + 1):  # thin lines around all squares
        y = top + i * side
        marks.append(rule(left, y, end, y, drawing.GRID))
    for i in range(len(labels) + 1):
        x = left + i * side
        marks.append(rule(x, top, x, top + side * len(labels), drawing.GRID))
    for i in range(len(labels)):  # a frame around those on the diagonal
        shape = {"x": left + i * side, "y": top + i * side, "width": side, "height": side}
        marks.append(el("rect", fill="none", stroke=drawing.QUIET, pointer_events="none", **shape))
    return drawing.svg_document(frame, top + side * len(labels) + 4, *marks)
