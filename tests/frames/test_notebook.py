"""How tables show themselves: one line in a console, a small page of its own in a notebook."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import softlabel
from softlabel import Annotations, Index, Predictions, Score, SoftLabels
from softlabel.testing import example_soft, example_statements

WILD = "<script>alert(1)</script>&\"'"
INDEX = Index(["x", WILD], ["ann", "bob"], ["cat", WILD[:20]])
VOTES = Annotations(INDEX, [0, 0, 1], [0, 1, -1], label=[0, 1, 1])
LABELS = SoftLabels(INDEX, [[0.25, 0.75], [np.nan, np.nan]], [4, 0], made_by="Mean()")
TABLES = {
    "index": (INDEX, "Index(2 items; 2 annotators; 2 classes: cat, <script>alert(1)</sc)"),
    "votes": (
        VOTES,
        "Annotations(3 votes; 2 items; annotators: not known; 2 classes: cat, "
        "<script>alert(1)</sc)",
    ),
    "soft votes": (
        example_soft(),
        "Annotations(207 soft votes; 40 items; annotators: 7; 3 classes: class-0, class-1, "
        "class-2)",
    ),
    "statements": (
        example_statements(),
        "Statements(60 answers; 12 items; annotators: 5; 4 classes: class-0, class-1, class-2, "
        "class-3)",
    ),
    "labels": (
        LABELS,
        "SoftLabels(2 items; 2 classes: cat, <script>alert(1)</sc; how people split; by Mean())",
    ),
    "predictions": (
        Predictions(INDEX, [[0.5, 0.5], [1, 0]]),
        "Predictions(2 items; 2 classes: cat, <script>alert(1)</sc)",
    ),
    "score": (Score(0.8125, 0.75, 0.875, 40), "Score(0.8125 [0.75, 0.875], n=40)"),
    "a score that is no share": (Score(-2.5, -3, -2, 5), "Score(-2.5 [-3, -2], n=5)"),
}


class Page(HTMLParser):
    """What a browser would see: the tags in order of their ends, the rows and their text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.widths: list[float] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        self.tags.add(tag)
        for name, value in attributes:
            assert name in ("class", "style"), "nothing is loaded and nothing runs"
            self.widths += [float(x) for x in re.findall(r"width: ([\d.]+)%", value or "")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if any(tag in ("td", "th") for tag in self.open):
            self.rows[-1][-1] += data


@pytest.mark.parametrize("name", TABLES)
def test_a_table_shows_itself(name):
    table, line = TABLES[name]
    assert repr(table) == line
    page = Page(table._repr_html_())
    assert page.open == [], "every tag is closed"
    assert "script" not in page.tags
    assert 2 <= len(page.rows) <= 11
    assert len({len(row) for row in page.rows}) == 1


def test_bars_are_as_long_as_the_shares():
    page = Page(LABELS._repr_html_())
    assert page.widths == [25, 75]
    assert page.rows[1] == ["x", "0.25", "0.75", "4"]
    assert page.rows[2] == [WILD, "–", "–", "0"]


def test_of_many_items_and_classes_a_few_are_shown():
    votes = [(i, a, f"c{(i + a) % 12:02}") for i in range(30) for a in range(4)]
    labels = softlabel.label(votes, "mean")
    page = Page(labels._repr_html_())
    assert len(page.rows) == 11
    assert page.rows[0] == ["item", "most probable", "second", "third", "answers"]
    assert page.rows[3] == ["2", "0.25 c02", "0.25 c03", "0.25 c04", "4"]
    assert "20 more rows" in labels._repr_html_()


def test_intervals_and_rows_left_out_are_shown():
    votes = [(0, "a", "x"), (0, "b", "y"), (1, "a", "y")]
    labels = softlabel.label(votes, "dirichlet", intervals=True)
    low, high = labels.more["low"][0, 0], labels.more["high"][0, 0]
    assert f"{low:.2f}–{high:.2f}" in Page(labels._repr_html_()).rows[1][1]
    with pytest.warns(softlabel.LeftOutWarning):
        labels = softlabel.label([*votes, (1, "b", None)], "mean", missing="drop")
    assert "left out: 1 without label" in labels._repr_html_()
