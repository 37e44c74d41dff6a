"""One self-contained page: a title, a lead, sections; no scripts, nothing fetched.

Plain strings become escaped paragraphs; ``Html`` stays as it is.  The page is XML as well as
HTML, prints in black on white, follows the reader's light or dark setting, and fits a phone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from softlabel.report.markup import Html, el, join

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
WIDE, NARROW = 660, 320  # px at which a chart is drawn for a desk and for a phone


COLOURS = STYLE[: STYLE.index("* {")].replace(":root", "svg")  # light and dark


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    heading: str
    parts: Sequence[str]

    @property
    def key(self) -> str:
        """What a link to this section is called."""
        letters = "".join(c if c.isalnum() else " " for c in self.heading.lower())
        return "-".join(letters.split())


def page(title: str, lead: Sequence[str], sections: Sequence[Section], foot: str = "") -> str:
    """The document.

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
    """Plain text as paragraphs, markup untouched; line breaks in the source do not matter."""
    return [part if isinstance(part, Html) else el("p", flowing(part)) for part in parts]


def flowing(text: str) -> str:
    """Text on one line: breaks and indents of the source become single blanks."""
    return re.sub(r"[ \n]+", " ", text).strip()


def figure(draw: Callable[[float], Html], caption: str) -> Html:
    """A chart drawn twice, for a desk and for a phone, so that its text is readable on both."""
    desk, phone = (draw(width) for width in (WIDE, NARROW))
    both = join(el("div", desk, class_="desk"), el("div", phone, class_="phone"))
    return captioned(both, caption)


def captioned(inside: Html, caption: str) -> Html:
    """Anything to look at, with words under it."""
    return el("figure", inside, el("figcaption", flowing(caption)))


def picture(uri: str, alt: str, size: int) -> Html:
    """An image that is part of the page."""
    return el("img", src=uri, alt=alt, width=size, height=size)


def command(*lines: str) -> Html:
    """Lines to type into a terminal."""
    return el("pre", el("code", "\n".join(lines)))


def listing(*points: str) -> Html:
    """A bulleted list."""
    return el("ul", *(el("li", point) for point in points))


def alone(chart: Html, margin: float = 14) -> str:
    """A chart as a file of its own, with the colours and the paper of the page."""
    style = el("style", Html(COLOURS + "svg { background: var(--paper); }"))
    start, rest = chart.split(">", 1)
    box = re.search(r'viewBox="0 0 (\S+) (\S+)" width="\S+" height="\S+"', start)
    assert box is not None, "a drawing begins with its size"
    width, height = (float(box[place]) + 2 * margin for place in (1, 2))
    size = f'viewBox="-{margin:g} -{margin:g} {width:g} {height:g}" '
    size += f'width="{width:g}" height="{height:g}"'
    return f"{start.replace(box[0], size)}>{style}{rest}\n"
