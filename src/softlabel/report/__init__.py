"""Reports: charts, tables and self-contained HTML pages."""

from softlabel.report import charts
from softlabel.report.annotators import annotators_page
from softlabel.report.charts import (
    FILLS,
    Dot,
    Guide,
    Line,
    confusion_chart,
    histogram,
    lines,
    reliability_chart,
    scatter,
    spark,
    stacked,
    whiskers,
)
from softlabel.report.drawing import (
    FONT,
    GRID,
    INK,
    LETTER,
    QUIET,
    SERIES,
    Frame,
    Html,
    Scale,
    chart_height,
    el,
    empty_chart,
    format_tick,
    join,
    rule,
    svg_document,
    text_at,
    ticks,
)
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

__all__ = [
    "FILLS", "FONT", "GRID", "INK", "LETTER", "QUIET", "SERIES", "WIDE", "Dot", "Frame", "Guide",
    "Html", "Line", "Scale", "Section", "add_caption", "annotators_page", "chart_height", "charts",
    "command", "confusion_chart", "el", "empty_chart", "figure", "format_interval", "format_number",
    "format_tick", "histogram", "join", "lines", "listing", "page", "picture", "reliability_chart",
    "rule", "runs_section", "scatter", "spark", "stacked", "standalone_svg", "svg_document",
    "table", "text_at", "ticks", "unwrap", "whiskers",
]  # fmt: skip
