"""Pages: one self-contained HTML document with paragraphs, figures and tables.

Plain strings become escaped paragraphs; ``Html`` stays as it is.  The page is XML as well as HTML,
has no scripts and fetches nothing, prints in black on white, follows the reader's light or dark
setting, and fits a phone.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from softlabel.report.drawing import Html, el, join
from softlabel.tables import Score

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
WIDE, NARROW = 660, 320  # px at which a chart is drawn for a desk and for a phone
COLOURS = STYLE[: STYLE.index("* {")].replace(":root", "svg")  # light and dark


@dataclass(frozen=True)
class Section:
    """A heading and its parts."""

    heading: str
    parts: Sequence[str]

    @property
    def key(self) -> str:
        """The anchor of a link to this section."""
        letters = "".join(c if c.isalnum() else " " for c in self.heading.lower())
        return "-".join(letters.split())


def page(title: str, lead: Sequence[str], sections: Sequence[Section], foot: str = "") -> str:
    """Return the document.

    >>> page("A < B", ["so it is"], []).count("A &lt; B")
    2
    """
    head = join(
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Html(STYLE)),
    )
    body = [el("header", el("h1", title), *paragraphs(lead))]
    for section in sections:
        heading = el("h2", section.heading)
        body.append(el("section", heading, *paragraphs(section.parts), id=section.key))
    bottom = el("footer", *paragraphs([foot])) if foot else ""
    document = el("html", el("head", head), el("body", el("main", *body), bottom), lang="en")
    return f"<!DOCTYPE html>\n{document}\n"


def paragraphs(parts: Sequence[str]) -> list[Html]:
    """Turn plain text into paragraphs; leave markup as it is."""
    return [part if isinstance(part, Html) else el("p", unwrap(part)) for part in parts]


def unwrap(text: str) -> str:
    """Put text on one line: line breaks and indents become single spaces."""
    return re.sub(r"[ \n]+", " ", text).strip()


def figure(draw: Callable[[float], Html], caption: str) -> Html:
    """Draw a chart twice, for a desktop and for a phone, so that its text is readable on both."""
    desk, phone = (draw(width) for width in (WIDE, NARROW))
    both = join(el("div", desk, class_="desk"), el("div", phone, class_="phone"))
    return add_caption(both, caption)


def add_caption(inside: Html, caption: str) -> Html:
    """Add a caption to a figure."""
    return el("figure", inside, el("figcaption", unwrap(caption)))


def picture(uri: str, alt: str, size: int) -> Html:
    """Return an embedded image."""
    return el("img", src=uri, alt=alt, width=size, height=size)


def command(*lines: str) -> Html:
    """Return lines to type into a terminal."""
    return el("pre", el("code", "\n".join(lines)))


def listing(*points: str) -> Html:
    """Return a bulleted list."""
    return el("ul", *(el("li", point) for point in points))


def standalone_svg(chart: Html, margin: float = 14) -> str:
    """Return a chart as a file of its own, with the colours and background of the page."""
    style = el("style", Html(COLOURS + "svg { background: var(--paper); }"))
    start, rest = chart.split(">", 1)
    box = re.search(r'viewBox="0 0 (\S+) (\S+)" width="\S+" height="\S+"', start)
    assert box is not None, "a drawing begins with its size"
    width, height = (float(box[place]) + 2 * margin for place in (1, 2))
    size = f'viewBox="-{margin:g} -{margin:g} {width:g} {height:g}" '
    size += f'width="{width:g}" height="{height:g}"'
    return f"{start.replace(box[0], size)}>{style}{rest}\n"


def table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Html:
    """Return a table with a caption; the first cell of a row is its header."""
    head = el("tr", *(el("th", column, scope="col") for column in columns))
    body = [
        el("tr", el("th", row[0], scope="row"), *(el("td", *_cell(cell)) for cell in row[1:]))
        for row in rows
    ]
    whole = el("table", el("caption", caption), el("thead", head), el("tbody", *body))
    width = "table" if len(columns) > 4 else "table short"
    return el("div", whole, class_=width, role="region", aria_label=caption, tabindex="0")


def _cell(cell: object) -> tuple[object, ...]:
    return (format_number(cell),) if isinstance(cell, float) else (cell,)


def format_number(value: float, digits: int = 2) -> str:
    """Format a number; a dash where there is none."""
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def format_interval(score: Score, digits: int = 3) -> Html | str:
    """Format a number followed by its interval."""
    if not math.isfinite(score.value):
        return "–"
    ends = f"{format_number(score.low, digits)} to {format_number(score.high, digits)}"
    return el("span", format_number(score.value, digits), " ", el("small", ends), class_="score")
