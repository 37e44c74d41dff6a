"""A reliability diagram: how sure predictions are against how often they are right."""

from __future__ import annotations

import math

from softlabel.metrics import Bins
from softlabel.report.axes import QUIET, SERIES, Frame, Scale, axes, drawing, nothing, rule
from softlabel.report.markup import Html
from softlabel.report.svg import mark

LARGEST = 9.0  # px: the radius of the mark in which all items would stand
TICKS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


def reliability(bins: Bins, frame: Frame, series: int = 0) -> Html:
    """One mark per bin, its area the share of items in it; a line to the diagonal, on which
    predictions are as sure as they may be, shows the gap.  Marks under it are too sure."""
    if not len(bins.count):
        return nothing(frame, frame.height)
    x = Scale(0, 1, 44, frame.width - 12)
    y = Scale(0, 1, frame.height - 44, 30)
    marks = [axes(frame, x, y, TICKS, TICKS)]
    marks.append(rule(x(0), y(0), x(1), y(1), QUIET, stroke_dasharray="3 4"))
    colour = SERIES[series % len(SERIES)]
    total = int(bins.count.sum())
    points = zip(bins.count.tolist(), bins.confidence.tolist(), bins.right.tolist(), strict=True)
    for count, sure, right in points:
        gap = {"stroke_width": 2, "stroke_opacity": 0.5}
        marks.append(rule(x(sure), y(sure), x(sure), y(right), colour, **gap))
        hover = f"sure {sure:.2f}, right {right:.2f}: {count} of {total}"
        size = max(2.5, LARGEST * math.sqrt(count / total) * 1.6)
        marks.append(mark(series, x(sure), y(right), hover, min(size, LARGEST), fill_opacity=0.85))
    return drawing(frame, frame.height, *marks)
