"""Reports: charts, tables and self-contained HTML pages."""

from softlabel.report import charts
from softlabel.report import charts as svg  # OLD NAME
from softlabel.report import drawing as axes  # OLD NAME
from softlabel.report.annotators import annotators_page
from softlabel.report.annotators import annotators_page as render  # OLD NAME
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
from softlabel.report.charts import reliability_chart as reliability  # OLD NAME
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
    el,
    empty_chart,
    format_tick,
    join,
    rule,
    svg_document,
    text_at,
    ticks,
)
from softlabel.report.drawing import empty_chart as nothing  # OLD NAME
from softlabel.report.drawing import format_tick as label  # OLD NAME
from softlabel.report.drawing import svg_document as drawing  # OLD NAME
from softlabel.report.drawing import text_at as words  # OLD NAME
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
from softlabel.report.page import add_caption as captioned  # OLD NAME
from softlabel.report.page import format_interval as interval  # OLD NAME
from softlabel.report.page import format_number as number  # OLD NAME
from softlabel.report.page import standalone_svg as alone  # OLD NAME
from softlabel.report.page import unwrap as flowing  # OLD NAME
from softlabel.report.runs import runs_section
from softlabel.report.runs import runs_section as section  # OLD NAME

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
    "add_caption",
    "alone",
    "annotators_page",
    "axes",
    "captioned",
    "charts",
    "command",
    "confusion_chart",
    "drawing",
    "el",
    "empty_chart",
    "figure",
    "flowing",
    "format_interval",
    "format_number",
    "format_tick",
    "histogram",
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
    "reliability_chart",
    "render",
    "rule",
    "runs_section",
    "scatter",
    "section",
    "spark",
    "stacked",
    "standalone_svg",
    "svg",
    "svg_document",
    "table",
    "text_at",
    "ticks",
    "unwrap",
    "whiskers",
    "words",
]
