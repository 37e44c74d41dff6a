"""Drawing: HTML and SVG elements as strings, scales, ticks and the frame of a chart.

Text is escaped unless it is ``Html``."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

VOID = {"br", "hr", "img", "meta"}  # elements without an end tag; written <img/>, also good XML


class Html(str):
    """A string that is markup already and is not escaped again."""

    __slots__ = ()


def el(tag: str, *children: object, **attributes: object) -> Html:
    """Return one element.  ``class_`` and ``data_x`` become ``class`` and ``data-x``; an attribute
    that is None is left out; a float has at most two decimals.

    >>> el("p", "a < b", class_="note")
    '<p class="note">a &lt; b</p>'
    """
    named = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(text(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = join(*children)
    return Html(f"<{tag}{named}/>" if tag in VOID else f"<{tag}{named}>{inside}</{tag}>")


def join(*children: object) -> Html:
    """Join several things, each escaped unless it is ``Html``."""
    return Html("".join(c if isinstance(c, Html) else escape(text(c)) for c in children))


def text(value: object) -> str:
    """Format a value; floats are short and never in exponent form, so that files stay small."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


FONT = 12  # px; charts are drawn at the size at which they are shown, so that text stays readable
LETTER = 0.55 * FONT  # mean width of a letter, for margins: nothing here can measure text

# Page styles may set the variables; the fallback colours are for a chart on its own.
INK, QUIET, GRID = "var(--ink,#1f2a36)", "var(--quiet,#5b6673)", "var(--grid,#e3e0d8)"
SERIES = ("var(--s0,#0067a5)", "var(--s1,#b94a00)", "var(--s2,#1b7f5c)", "var(--s3,#8a4f9e)")


@dataclass(frozen=True)
class Frame:
    """A chart's words and its size in px.  Screen readers read ``title`` and ``desc``; ``x`` and
    ``y`` name the axes.  Charts made of rows find their own height."""

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
    """Return about that many round numbers inside low..high, never only one.

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
    """Return the smallest and the largest finite value; 0 and 1 if there is none."""
    finite = [float(v) for v in (*values, *include) if math.isfinite(v)]
    return (min(finite), max(finite)) if finite else (0.0, 1.0)


def format_tick(value: float) -> str:
    """Format the number at a tick."""
    return f"{value:g}".replace("-", "−")


def text_at(x: float, y: float, what: object, anchor: str = "start", **style: object) -> Html:
    """Draw text at a place; ``anchor`` is start, middle or end."""
    style = {"fill": QUIET, "font_size": FONT} | style
    return el("text", what, x=x, y=y, text_anchor=anchor, **style)


def svg_document(frame: Frame, height: float, *marks: object) -> Html:
    """Return the whole chart as SVG, with its title and description for screen readers."""
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


def chart_height(chart: Html) -> float:
    """Return the height of a chart in px."""
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
    """Draw grid lines, numbers and names; the y name stands above the axis.

    ``named`` replaces the numbers at ticks of x.
    """
    parts = []
    for value in y_ticks:
        parts.append(rule(x.start, y(value), x.end, y(value)))
        parts.append(text_at(x.start - 7, y(value) + 4, format_tick(value), "end"))
    for value in x_ticks:
        parts.append(rule(x(value), y.start, x(value), y.start + 4, QUIET))
        shown = format_tick(value) if named is None else named[value]
        parts.append(text_at(x(value), y.start + 17, shown, "middle"))
    parts.append(rule(x.start, y.start, x.end, y.start, QUIET))
    parts.append(text_at(x.end, y.start + 36, frame.x, "end", fill=INK))
    parts.append(text_at(0.0, y.end - 14, frame.y, fill=INK))
    return join(*parts)


def rule(x1: float, y1: float, x2: float, y2: float, stroke: str = GRID, **style: object) -> Html:
    """Draw a thin straight line."""
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, **style)


def empty_chart(frame: Frame, height: float = 60) -> Html:
    """Draw a chart that reads "no data"."""
    note = text_at(frame.width / 2, height / 2 + 4, "no data", "middle")
    return svg_document(frame, height, note)
