"""Elements of HTML and SVG as strings: text is escaped unless it says that it is markup."""

from __future__ import annotations

from html import escape

VOID = {
    "br",
    "hr",
    "img",
    "meta",
}  # HTML elements without an end tag; written <img/>, also good XML


class Html(str):
    """A string that is markup already and is not escaped again."""

    __slots__ = ()


def el(tag: str, *children: object, **attributes: object) -> Html:
    """One element.  ``class_`` and ``data_x`` become ``class`` and ``data-x``; an attribute that
    is None is left out; a float is written with at most two decimals.

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
    """Several things in a row, each escaped unless it is ``Html``."""
    return Html("".join(c if isinstance(c, Html) else escape(text(c)) for c in children))


def text(value: object) -> str:
    """A value as text; floats short and never in exponent form, so that files stay small."""
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if short == "-0" else short
