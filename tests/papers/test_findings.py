"""What findings look like as tables: what was published, what was not, and what did not hold."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np

from softlabel.cli import reproduce as command
from softlabel.papers import collins2022
from softlabel.papers.claims import figures, findings, pages
from softlabel.papers.claims.claims import FEW, Claim, Published, judge
from softlabel.papers.claims.findings import Findings
from softlabel.papers.claims.results import Result, Results
from softlabel.tables import Score

PAPER = SimpleNamespace(NAME="mine2027", TITLE="Mine 2027")


def said(id, kind, published, ours):
    claim = Claim(id, f"table {id}", id, kind, lambda _: ours, published)
    return judge(claim, Results([]))


def test_counts_that_are_in_no_paper_stand_apart():
    five = Score(5.0, 5.0, 5.0, 1)
    told = [
        said("printed", "exact", Published(5), five),
        said("counted", "exact", Published(5, recounted=True), five),
    ]
    rows = findings.tabulate_verdicts(Findings(PAPER, told)).rows
    assert [row[1] for row in rows] == ["facts", findings.RECOUNTS]
    _, recounts = findings.compare_scales({"data": told})
    table = recounts.table()
    assert [row[1] for row in table.rows] == ["counted"]
    assert "published" not in table.columns


def test_the_command_does_not_count_them_among_the_claims_that_hold(capsys):
    five = Score(5.0, 5.0, 5.0, 1)
    told = [
        said("printed", "exact", Published(5), five),
        said("counted", "exact", Published(5, recounted=True), five),
        said("miscounted", "exact", Published(6, recounted=True), five),
    ]
    command._show_findings(Findings(PAPER, told))
    lines = capsys.readouterr().out.splitlines()
    assert "  1 hold, of 1" in lines
    assert f"  not among these: 1 of 2 {findings.RECOUNTS} come out the same" in lines
    assert any(line.startswith("  differs") and "miscounted" in line for line in lines)


def test_an_ordering_that_was_not_shown_before_is_counted_and_one_that_was_is_told():
    wrong = Score(0.5, 0.4, 0.6, 5)
    told = [
        said("sure", "ordering", Published(-1.0, 0.5, "ci95"), wrong),
        said("unsure", "ordering", Published(-0.1, 0.5, "ci95"), wrong),
        said("spread", "ordering", Published(-0.1, 0.5, "sd"), wrong),  # no interval of a mean
    ]
    found = Findings(PAPER, claims={"cpu": told})
    first, second, counted = findings.describe_contradictions(found)
    assert first.startswith("table sure: sure. Published −1.000 ± 0.500; ours 0.500")
    assert second.startswith("table spread")
    assert counted.startswith(
        "1 ordering is contradicted that the paper's own interval leaves open"
    )
    assert counted.endswith("(small network): table unsure.")
    assert findings.describe_differences(found) == []


def test_facts_that_differ_are_told_and_numbers_that_differ_are_counted():
    other = Score(0.5, 0.4, 0.6, 5)
    facts = [said("fact", "exact", Published(0.7), Score(0.5, 0.5, 0.5, 1))]
    numbers = [
        said(name, "value", Published(value, 0.01, "ci95"), other)
        for name, value in (("low", 0.1), ("high", 0.9), ("same", 0.5))
    ]
    found = Findings(PAPER, facts, claims={"paper": numbers})
    first, counted = findings.describe_differences(found)
    assert first.startswith("table fact: fact. Published 0.700; ours 0.500")
    assert counted == (
        "2 of 3 numbers lie outside the published intervals (the paper's network): table low; "
        "table high."
    )
    assert findings.describe_contradictions(found) == []


def test_one_run_is_shown_and_says_nothing():
    ours = {f"{exam}/{m}": 1.5 for exam in ("10h", "10s") for m in ("ce", "rms-dropped", "fgsm")}
    hard, soft = (
        Result(f"resnet34a/{cell}", 0, ours | {"10h/fgsm-hard": 1.5})
        for cell in ("hard", "10h/mean")
    )
    found = findings.judge_paper(
        collins2022, {"paper": Results([hard, soft], "collins2022", "paper")}
    )
    assert {one.verdict for one in found.claims["paper"]} == {"untested"}
    one = next(one for one in found.claims["paper"] if one.claim.id == "hard, 10h, ce")
    assert (one.ours.value, one.ours.n, one.reason) == (1.5, 1, FEW)
    (numbers,) = findings.compare_scales({"paper": [one]})
    (row, *_) = numbers.table().rows
    assert row[-1] == "untested: 1.500 n=1"
    assert "1.500 n=1; fewer than two" in pages.mark_verdict(one)
    ((_, first), *_) = found.tables()
    assert first.rows[0][2:4] == ("2.026 ±0.18", "1.500")
    assert first.rows[0][-1] == "1"
    drawn = {figure.name: figure.draw(900) for _, figure in found.figures()}
    assert "nan" not in drawn["tables"]
    alone = findings.judge_paper(collins2022, {"paper": Results([hard], "collins2022", "paper")})
    assert alone.figures() == []  # hard labels beside themselves


def test_a_line_has_a_band_from_two_runs_on():
    runs = [
        Result(cell, seed, {"x": seed + 1.0})
        for cell, n in (("a", 1), ("b", 3))
        for seed in range(n)
    ]
    line = figures.over(Results(runs), {1.0: "a", 2.0: "b", 3.0: "none"}, "x", "mine")
    assert line.y[:2] == [1.0, 2.0]
    assert [low == low for low in line.low] == [False, True, False]
    assert line.y[2] != line.y[2]


def test_verdicts_that_the_test_items_change_are_listed():
    spread = np.linspace(-1.0, 1.0, 8)  # of items, around the difference of each run
    runs = [
        Result(cell, seed, {"ce": shift + 0.01 * seed * bool(shift)}, items={"ce": items})
        for cell, shift, items in (
            ("soft", 0.0, np.zeros(8, dtype=np.float32)),
            ("noisy", 0.1, np.float32(0.1 + spread)),  # one item more or less decides
            ("even", 0.1, np.full(8, 0.1, dtype=np.float32)),
        )
        for seed in range(3)
    ]
    claims = [
        Claim(f"{cell} above soft", "table 1", f"{cell} above soft", "ordering",
              partial(Results.difference, first=cell, second="soft", score="ce"), direction="above")
        for cell in ("noisy", "even")
    ]  # fmt: skip
    claims.append(
        replace(claims[0], id="open", kind="measurement", direction=None)
    )  # has no verdict
    paper = SimpleNamespace(NAME="mine2027", TITLE="Mine 2027", claims=lambda scale: claims)
    table = findings.tabulate_changes(
        findings.judge_paper(paper, {"cpu": Results(runs, "mine2027", "cpu")})
    )
    ((scale, where, says, before, now),) = table.rows
    assert (scale, where, says) == ("small network", "table 1", "noisy above soft")
    assert before.startswith("holds: 0.110 [0.085, 0.135]")
    assert now.startswith("undecided: 0.110 [")
    assert table.note.startswith("1 of 2 verdicts change")
    assert "with 8 items (median of 2)" in table.note


def test_without_items_no_verdict_changes():
    run = Result("soft", 0, {"ce": 1.0})
    paper = SimpleNamespace(NAME="mine2027", TITLE="Mine 2027", claims=lambda scale: [])
    found = findings.judge_paper(paper, {"cpu": Results([run], "mine2027", "cpu")})
    assert findings.tabulate_changes(found) is None
