"""From data to places on the paper: scales, round ticks, the frame of a chart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from softlabel.report.markup import Html, el, join, text

FONT = 12  # px; charts are drawn at the size at which they are shown, so that text stays readable
LETTER = 0.55 * FONT  # mean width of a letter, for margins: nothing here can measure text

# Page styles may set the variables; the fallback colours are for a chart on its own.
INK, QUIET, GRID = "var(--ink,#1f2a36)", "var(--quiet,#5b6673)", "var(--grid,#e3e0d8)"
SERIES = ("var(--s0,#0067a5)", "var(--s1,#b94a00)", "var(--s2,#1b7f5c)", "var(--s3,#8a4f9e)")


@dataclass(frozen=True)
class Frame:
    """A chart's words and its size in px.  ``title`` and ``desc`` are read out in its place; ``x``
    and ``y`` name the axes.  Charts made of rows find their own height."""

    title: str
    desc: str = ""
    x: str = ""
    y: str = ""
    width: float = 640
    height: float = 320


@dataclass(frozen=True)
class Scale:
    """Data values ``low..high`` on pixels ``start..end``; one value alone stands in the middle."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        if self.high == self.low:
            return (self.start + self.end) / 2
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers inside low..high, about so many of them; one alone would not say the scale.

    >>> ticks(0, 0.31), ticks(0.51, 1.2, 3)
    ([0.0, 0.1, 0.2, 0.3], [0.6, 0.8, 1.0, 1.2])
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return [low] if math.isfinite(low) else []
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(s for s in (1, 2, 5, 10) if s * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last <= first:
        return ticks(low, high, about + 1)
    return [round(i * step, 10) for i in range(first, last + 1)]


def span(values: Iterable[float], include: Sequence[float] = ()) -> tuple[float, float]:
    """Smallest and largest finite value, 0 and 1 if there is none."""
    finite = [float(v) for v in (*values, *include) if math.isfinite(v)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


def label(value: float) -> str:
    """A tick's number: as short as it can be said."""
    return f"{value:g}".replace("-", "−")


def words(x: float, y: float, what: object, anchor: str = "start", **style: object) -> Html:
    """Text at a place; ``anchor`` is start, middle or end."""
    style = {"fill": QUIET, "font_size": FONT} | style
    return el("text", what, x=x, y=y, text_anchor=anchor, **style)


def drawing(frame: Frame, height: float, *marks: object) -> Html:
    """The whole picture, with what a screen reader says in its place."""
    return el(
        "svg",
        el("title", frame.title),
        el("desc", frame.desc) if frame.desc else "",
        *marks,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {text(float(frame.width))} {text(float(height))}",
        width=frame.width,
        height=height,
        role="img",
        font_family="var(--sans,sans-serif)",
    )


def height(chart: Html) -> float:
    """Of a drawing, in px."""
    found = re.search(r'viewBox="0 0 \S+ (\S+)"', chart)
    assert found is not None, "a drawing begins with its size"
    return float(found[1])


def axes(
    frame: Frame,
    x: Scale,
    y: Scale,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    named: Mapping[float, str] | None = None,
) -> Html:
    """Grid lines, numbers and names; the y name stands above the axis, where it can be read.

    ``named`` says what stands at a tick of x in place of its number.
    """
    parts = []
    for value in y_ticks:
        parts.append(rule(x.start, y(value), x.end, y(value)))
        parts.append(words(x.start - 7, y(value) + 4, label(value), "end"))
    for value in x_ticks:
        parts.append(rule(x(value), y.start, x(value), y.start + 4, QUIET))
        shown = label(value) if named is None else named[value]
        parts.append(words(x(value), y.start + 17, shown, "middle"))
    parts.append(rule(x.start, y.start, x.end, y.start, QUIET))
    parts.append(words(x.end, y.start + 36, frame.x, "end", fill=INK))
    parts.append(words(0.0, y.end - 14, frame.y, fill=INK))
    return join(*parts)


def rule(x1: float, y1: float, x2: float, y2: float, stroke: str = GRID, **style: object) -> Html:
    """A thin straight line."""
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **style)


def nothing(frame: Frame, height: float = 60) -> Html:
    """The chart of no data: it says so."""
    return drawing(frame, height, words(frame.width / 2, height / 2 + 4, "no data", "middle"))
