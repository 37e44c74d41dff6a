"""Pages to look at: charts, tables and one self-contained HTML document, with nothing but numpy."""

from softlabel.report import axes, svg
from softlabel.report.annotators import render
from softlabel.report.axes import (
    FONT,
    GRID,
    INK,
    LETTER,
    QUIET,
    SERIES,
    Frame,
    Scale,
    drawing,
    label,
    nothing,
    rule,
    ticks,
    words,
)
from softlabel.report.calibration import reliability
from softlabel.report.markup import Html, el, join
from softlabel.report.page import (
    WIDE,
    Section,
    alone,
    captioned,
    command,
    figure,
    flowing,
    listing,
    page,
    picture,
)
from softlabel.report.runs import section
from softlabel.report.svg import FILLS, Dot, Guide, Line, lines, stacked, whiskers
from softlabel.report.tables import interval, number, table

__all__ = [
    "FILLS",
    "FONT",
    "GRID",
    "INK",
    "LETTER",
    "QUIET",
    "SERIES",
    "WIDE",
    "Dot",
    "Frame",
    "Guide",
    "Html",
    "Line",
    "Scale",
    "Section",
    "alone",
    "axes",
    "captioned",
    "command",
    "drawing",
    "el",
    "figure",
    "flowing",
    "interval",
    "join",
    "label",
    "lines",
    "listing",
    "nothing",
    "number",
    "page",
    "picture",
    "reliability",
    "render",
    "rule",
    "section",
    "stacked",
    "svg",
    "table",
    "ticks",
    "whiskers",
    "words",
]
