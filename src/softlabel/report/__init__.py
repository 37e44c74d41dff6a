"""Reports: charts, tables and self-contained HTML pages."""

from softlabel.report import charts, drawing
from softlabel.report.annotators import annotators_page
from softlabel.report.charts import Line, confusion_chart, reliability_chart
from softlabel.report.drawing import SERIES, Frame, Html, el, join, ticks
from softlabel.report.page import (
    WIDE,
    Section,
    add_caption,
    command,
    figure,
    format_interval,
    format_number,
    listing,
    page,
    picture,
    standalone_svg,
    table,
    unwrap,
)
from softlabel.report.runs import runs_section
from softlabel.report.scores import reliability_diagram, scores_page

__all__ = [
    "SERIES", "WIDE", "Frame", "Html", "Line", "Section", "add_caption", "annotators_page",
    "charts", "command", "confusion_chart", "drawing", "el", "figure", "format_interval",
    "format_number", "join", "listing", "page", "picture", "reliability_chart",
    "reliability_diagram", "runs_section", "scores_page", "standalone_svg", "table", "ticks",
    "unwrap",
]  # fmt: skip
