"""What findings look like as tables: what was published, what was not, and what did not hold."""

from __future__ import annotations

from types import SimpleNamespace

from softlabel.reproduce import sheet
from softlabel.reproduce.claims import Claim, Published, judged
from softlabel.reproduce.findings import Findings
from softlabel.reproduce.results import Results
from softlabel.tables import Score

PAPER = SimpleNamespace(NAME="mine2027", TITLE="Mine 2027")


def said(id, kind, published, ours):
    claim = Claim(id, f"table {id}", id, kind, lambda _: ours, published)
    return judged(claim, Results([]))


def test_counts_that_are_in_no_paper_stand_apart():
    five = Score(5.0, 5.0, 5.0, 1)
    told = [
        said("printed", "exact", Published(5), five),
        said("counted", "exact", Published(5, recounted=True), five),
    ]
    rows = sheet.summary(Findings(PAPER, told)).rows
    assert [row[1] for row in rows] == ["facts", sheet.RECOUNTS]
    table = sheet.side_by_side(sheet.RECOUNTS, sheet.of_kind({"data": told}, sheet.RECOUNTS))
    assert [row[1] for row in table.rows] == ["counted"]
    assert "published" not in table.columns


def test_an_ordering_that_was_not_shown_before_is_counted_and_one_that_was_is_told():
    wrong = Score(0.5, 0.4, 0.6, 5)
    told = [
        said("sure", "ordering", Published(-1.0, 0.5, "ci95"), wrong),
        said("unsure", "ordering", Published(-0.1, 0.5, "ci95"), wrong),
        said("spread", "ordering", Published(-0.1, 0.5, "sd"), wrong),  # no interval of a mean
    ]
    first, second, counted = sheet.failing(Findings(PAPER, claims={"cpu": told}))
    assert first.startswith("table sure: sure. Published −1.000 ± 0.500; ours 0.500")
    assert second.startswith("table spread")
    assert counted.startswith("1 orderings")
    assert counted.endswith("(small network): table unsure.")
