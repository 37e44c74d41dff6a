"""Every chart is well-formed, escapes what it is told, and survives empty and odd data."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from softlabel.errors import DataError
from softlabel.metrics import Bins
from softlabel.report import SERIES, Frame, charts, reliability_chart, ticks

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<b> & \"q\" 'a'"
NAN, INF = float("nan"), float("inf")
FRAME = Frame(NASTY, NASTY, NASTY, NASTY, 400, 300)

CHARTS = {
    "bars": lambda name, ys: charts.bars(dict(enumerate_names(name, ys)), FRAME),
    "stacked": lambda name, ys: charts.stacked(
        {name: ys} if len(ys) else {}, [f"{name}{i}" for i in range(len(ys))], FRAME
    ),
    "whiskers": lambda name, ys: charts.whiskers(
        [charts.Dot(name, y, y - 0.1, y + 0.1, i) for i, y in enumerate(ys)], FRAME, [name]
    ),
    "scatter": lambda name, ys: charts.scatter(
        {name: (range(len(ys)), ys), "two": (range(len(ys)), ys)},
        FRAME,
        diagonal=True,
        hover=[name],
    ),
    "lines": lambda name, ys: charts.lines(
        [charts.Line(name, range(len(ys)), ys, ys, ys), charts.Line("plain", range(len(ys)), ys)],
        FRAME,
        [charts.Guide(name, 0, 1, 0.5)],
    ),
    "histogram": lambda name, ys: charts.histogram(ys, FRAME),
    "spark": lambda name, ys: charts.spark(ys[0] if len(ys) else NAN, 0, 1, name, middle=0.5),
}
DATA = {
    "plain": [0.2, 0.5, 0.3],
    "one point": [0.4],
    "equal": [0.5, 0.5],
    "zero": [0.0],
    "negative": [-0.5, 0.25],
    "some missing": [0.3, NAN, 0.6, INF],
    "all missing": [NAN, NAN],
    "empty": [],
}


def enumerate_names(name, ys):
    return ((f"{name} {i}", y) for i, y in enumerate(ys))


def words(root: ET.Element) -> str:
    return " ".join(element.text or "" for element in root.iter())


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("chart", CHARTS)
def test_charts_are_well_formed_and_name_no_place_that_is_not_a_number(chart, data):
    text = CHARTS[chart](NASTY, DATA[data])
    root = ET.fromstring(text)
    assert root.tag == SVG + "svg"
    assert root.get("role") == "img"
    assert next(iter(root)).tag == SVG + "title"
    for element in root.iter():
        for key, value in element.attrib.items():
            if key not in ("fill", "stroke", "font-family"):
                assert "nan" not in value
                assert "inf" not in value


@pytest.mark.parametrize("chart", CHARTS)
def test_text_is_escaped_and_comes_back(chart):
    text = CHARTS[chart](NASTY, [0.2, 0.5, 0.3])
    assert "<b>" not in text
    assert NASTY in words(ET.fromstring(text))


@pytest.mark.parametrize("chart", sorted(set(CHARTS) - {"spark", "stacked"}))
@pytest.mark.parametrize("data", ["empty", "all missing"])
def test_no_data_is_said(chart, data):
    assert "no data" in CHARTS[chart]("x", DATA[data])


def test_marks_say_what_they_are_on_hover():
    root = ET.fromstring(charts.scatter({"a": ([1, 2], [3, 4])}, FRAME, hover=["first", "second"]))
    hovers = [e.find(SVG + "title").text for e in root.iter(SVG + "circle")]
    assert hovers == ["first: 1.00, 3.00", "second: 2.00, 4.00"]


def test_bars_are_as_long_as_their_values():
    root = ET.fromstring(charts.bars({"a": 1.0, "b": 2.0, "c": -1.0}, FRAME))
    widths = [float(e.get("width")) for e in root.iter(SVG + "rect")]
    assert widths[1] == pytest.approx(2 * widths[0], abs=0.02)
    assert widths[2] == pytest.approx(widths[0], abs=0.02)


def test_stacked_shares_fill_the_bar_in_order():
    root = ET.fromstring(charts.stacked({"t": [0.5, 0.3, 0.2]}, ["a", "b", "c"], FRAME))
    rects = [(float(e.get("x")), float(e.get("width"))) for e in root.iter(SVG + "rect")]
    assert rects[-1][0] + rects[-1][1] == pytest.approx(400, abs=0.05)
    assert rects[1][0] == pytest.approx(rects[0][0] + rects[0][1], abs=0.05)
    assert rects[0][1] / rects[2][1] == pytest.approx(2.5, abs=0.01)


def test_whiskers_span_their_interval_and_undefined_rows_say_so():
    rows = [charts.Dot("a", 0.5, 0.25, 1.0), charts.Dot("b", NAN, NAN, NAN)]
    root = ET.fromstring(charts.whiskers(rows, FRAME))
    line = next(e for e in root.iter(SVG + "line") if e.get("stroke-width") == "2")
    low, high = float(line.get("x1")), float(line.get("x2"))
    centre = float(next(root.iter(SVG + "circle")).get("cx"))
    assert (centre - low) / (high - low) == pytest.approx(1 / 3, abs=0.01)
    assert "not defined" in words(root)


def test_a_line_has_a_gap_where_a_value_is_missing():
    root = ET.fromstring(charts.lines([charts.Line("a", [1, 2, 3, 4], [1, NAN, 3, 4])], FRAME))
    path = next(root.iter(SVG + "path")).get("d")
    assert path.count("M") == 2
    assert path.count("L") == 1


def test_a_line_of_unequal_parts_is_refused():
    with pytest.raises(DataError, match="'a'"):
        charts.Line("a", [1, 2], [1])
    with pytest.raises(DataError, match="'a'"):
        charts.Line("a", [1], [1], low=[0])


def test_a_histogram_counts_everything():
    values = np.random.default_rng(0).random(100)
    root = ET.fromstring(charts.histogram(values, FRAME, bins=7, limits=(0, 1)))
    hovers = [e.find(SVG + "title").text for e in root.iter(SVG + "rect")]
    assert sum(int(text.rsplit(" ", 1)[1]) for text in hovers) == 100


def test_series_differ_in_shape_as_well_as_in_colour():
    marks = [ET.fromstring(charts.mark(s, 0, 0, "x")) for s in range(4)]
    look = {(m.tag, m.get("stroke") is not None, m.get("transform") is not None) for m in marks}
    assert len(look) == 4
    assert len(set(SERIES)) == 4


def test_sparks_stay_inside_their_line():
    root = ET.fromstring(charts.spark(7, 0, 1, "too far"))
    assert float(next(root.iter(SVG + "circle")).get("cx")) == 67


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (1, 24, [5, 10, 15, 20]),
        (-1, 1, [-1, -0.5, 0, 0.5, 1]),
        (3, 3, [3]),
        (NAN, 1, []),
    ],
)
def test_ticks_are_round_numbers(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_a_line_chart_may_leave_zero_out_and_name_its_places():
    line = charts.Line("kl", [0, 1, 2], [5.0, 5.5, 6.0], [4.9, NAN, 5.9], [5.1, NAN, 6.1])
    named = {0.0: "1 vote", 1.0: "2 votes", 2.0: "all"}
    root = ET.fromstring(charts.lines([line], FRAME, zero=False, named=named))
    shown = [element.text for element in root.iter(f"{SVG}text")]
    assert [word for word in shown if word in named.values()] == list(named.values())
    assert "0" not in shown
    band = next(path for path in root.iter(f"{SVG}path") if path.get("fill-opacity") == "0.15")
    assert band.get("d").count("M") == 1  # the point without an interval is stepped over
    assert "0" in words(ET.fromstring(charts.lines([line], FRAME)))


def test_a_long_legend_has_several_rows():
    many = [charts.Line(f"a rather long name {i}", [0, 1], [1, 2]) for i in range(6)]
    root = ET.fromstring(charts.lines(many, FRAME))
    places = [
        (float(element.get("x")), float(element.get("y")))
        for element in root.iter(f"{SVG}text")
        if element.text.startswith("a rather")
    ]
    assert len({y for _, y in places}) > 1
    assert all(x < FRAME.width for x, _ in places)


def test_a_reliability_diagram_puts_its_marks_where_the_bins_are():
    bins = Bins(np.array([10, 30]), np.array([0.25, 0.75]), np.array([0.5, 0.5]))
    root = ET.fromstring(reliability_chart(bins, Frame("t", width=256, height=274)))
    circles = list(root.iter(SVG + "circle"))
    assert [float(e.get("cx")) for e in circles] == [44 + 0.25 * 200, 44 + 0.75 * 200]
    assert [float(e.get("cy")) for e in circles] == [130, 130]
    assert float(circles[0].get("r")) < float(circles[1].get("r"))
    lines = root.iter(SVG + "line")
    gaps = [e for e in lines if e.get("stroke-width") == "2"]
    assert [float(e.get("y1")) for e in gaps] == [230 - 0.25 * 200, 230 - 0.75 * 200]
    none = Bins(np.array([], dtype=np.int64), np.array([]), np.array([]))
    assert "no data" in reliability_chart(none, Frame("t"))
