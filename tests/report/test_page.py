"""A page is one well-formed document that fetches nothing and escapes text by default."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from softlabel.report import Frame, charts, format_interval, format_number, table
from softlabel.report.drawing import Html, el, join, text
from softlabel.report.page import (
    Section,
    add_caption,
    command,
    figure,
    listing,
    page,
    picture,
    standalone_svg,
    unwrap,
)
from softlabel.tables import Score

NASTY = 'a < b & "c"'


def test_text_is_escaped_and_markup_is_not():
    document = page(NASTY, [NASTY, Html("<hr/>")], [Section(NASTY, [NASTY, listing(NASTY)])], NASTY)
    root = ET.fromstring(document.partition("\n")[2])
    said = [element.text for element in root.iter() if element.text == NASTY]
    assert len(said) == 7  # title, h1, lead, h2, paragraph, list, foot
    assert root.find("body/main/header/hr") is not None
    assert document.startswith("<!DOCTYPE html>\n")


def test_a_page_fetches_nothing_and_runs_nothing():
    document = page("t", [], [])
    for word in ("http:", "https:", "<script", "<link", "@import", "url("):
        assert word not in document


def test_sections_can_be_linked_to():
    assert Section("What this does not show?", []).key == "what-this-does-not-show"


def test_a_figure_is_drawn_for_desk_and_phone():
    widths: list[float] = []

    def draw(width: float) -> Html:
        widths.append(width)
        return el("svg")

    root = ET.fromstring(figure(draw, "why & how"))
    assert widths == sorted(widths, reverse=True)
    assert [div.get("class") for div in root.iter("div")] == ["desk", "phone"]
    assert root.find("figcaption").text == "why & how"


def test_line_breaks_of_the_source_do_not_reach_the_page():
    assert unwrap("  one\n    two  three ") == "one two three"
    assert unwrap("12\u00a0%") == "12\u00a0%"  # a blank that must not break stays
    assert "one two" in add_caption(el("p"), "one\n  two")


def test_commands_keep_their_lines():
    assert ET.fromstring(command("a <x>", "b")).find("code").text == "a <x>\nb"


def test_pictures_say_what_they_show():
    image = ET.fromstring(picture("data:,", NASTY, 64))
    assert (image.get("alt"), image.get("width")) == (NASTY, "64")


def test_tables_have_a_caption_and_scopes():
    root = ET.fromstring(table(NASTY, ["name", "x"], [("a", 0.5), ("b", float("nan"))]))
    assert root.find("table/caption").text == NASTY
    assert [th.get("scope") for th in root.iter("th")] == ["col", "col", "row", "row"]
    assert [td.text for td in root.iter("td")] == ["0.50", "–"]
    assert root.get("tabindex") == "0"  # a table that scrolls can be reached by keyboard


def test_numbers_are_said_shortly():
    assert format_number(-0.125, 2) == "−0.12"
    assert format_number(float("inf")) == "–"
    shown = ET.fromstring(format_interval(Score(0.5, 0.25, 0.75, 9), 2))
    assert (shown.text, shown.find("small").text) == ("0.50 ", "0.25 to 0.75")
    assert format_interval(Score(float("nan"), float("nan"), float("nan"), 9)) == "–"


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1"), (0.125, "0.12"), (-0.001, "0"), (1e9, "1000000000"), (7, "7")]
)
def test_attributes_are_short(value, shown):
    assert text(value) == shown


def test_elements():
    assert el("br") == "<br/>"
    assert el("p", None, class_=None) == "<p>None</p>"
    assert el("a", "x", href='"', data_k=1) == '<a href="&quot;" data-k="1">x</a>'
    assert join("<", Html("<i>"), 2.5) == "&lt;<i>2.5"


def test_a_chart_alone_has_paper_colours_and_a_margin():
    chart = charts.bars({NASTY: 1.0}, Frame(NASTY, width=400))
    root = ET.fromstring(standalone_svg(chart, 10))
    inside = ET.fromstring(chart)
    for side in ("width", "height"):
        assert float(root.get(side)) == float(inside.get(side)) + 20
    assert root.get("viewBox").startswith("-10 -10 420 ")
    style = root.find("{http://www.w3.org/2000/svg}style").text
    assert "prefers-color-scheme: dark" in style
    assert "--s0" in style
