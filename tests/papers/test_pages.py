"""The pages about the papers: what is seen first, and every count made again from the claims."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from softlabel.papers import PAPERS, papers
from softlabel.papers.claims import findings, pages
from softlabel.papers.claims.claims import VERDICTS, Claim, Judged, Published, verdict
from softlabel.papers.claims.findings import Findings
from softlabel.papers.claims.results import SCALE_NAMES, SCALES
from softlabel.report import standalone_svg
from softlabel.tables import Score

ROOT = Path(__file__).parents[2]
SCREEN = 25  # lines


def said(id, kind, ours, published=None, **more):
    claim = Claim(id, f"table {id}", f"{id} is so", kind, lambda _: ours, published, **more)
    return Judged(claim, ours, verdict(claim, ours), "" if ours else "not run")


def one_of_each():
    """A claim with each verdict, and those that are counted apart."""
    below, sure = {"direction": "below"}, Published(-1.0, 0.2, "ci95")
    claims = [
        said("holding", "ordering", Score(-1, -1.1, -0.9, 5), sure),
        said("small", "ordering", Score(-0.2, -0.3, -0.1, 5), sure),
        said("open", "ordering", Score(-0.2, -0.5, 0.1, 5), **below),
        said("turned", "ordering", Score(0.2, 0.1, 0.3, 5), **below),
        said("lost", "ordering", None, **below),
        said("unsure", "ordering", Score(0.2, 0.1, 0.3, 5), Published(-0.1, 0.2, "ci95")),
        said("same", "equivalence", Score(0, -0.1, 0.1, 5), margin=1.0),
        said("other", "value", Score(0, -0.1, 0.1, 5), Published(1.0)),
        said("question", "measurement", Score(0.3, 0.1, 0.5, 5)),
    ]
    facts = [
        said("five", "exact", Score(5, 5, 5, 1), Published(5)),
        said("six", "exact", Score(5, 5, 5, 1), Published(6)),
        said("counted", "exact", Score(5, 5, 5, 1), Published(6, recounted=True)),
        said("multiplied", "exact", Score(5, 5, 5, 1), Published(5, derived=True)),
    ]
    paper = SimpleNamespace(NAME="mine2027", TITLE="Mine 2027: labels | mine")
    return Findings(paper, facts, claims={"cpu": claims})


@pytest.fixture(scope="module")
def shipped():
    return [findings.judge_shipped(papers.find(name)) for name in PAPERS]


def counted(cell: str) -> dict[str, int]:
    """Read a cell such as "5 hold, 1 undecided"."""
    words = {"hold": "holds", "differ": "differs"}
    pairs = re.findall(r"(\d+) (\w+)", cell)
    assert cell in ("–", ", ".join(f"{number} {word}" for number, word in pairs))
    return {words.get(word, word): int(number) for number, word in pairs}


def is_apart(claim: Claim) -> bool:
    """In no paper, or arithmetic on what is: said once more here, by the claim's own fields."""
    return claim.published is not None and (claim.published.recounted or claim.published.derived)


def is_decided_by_the_paper(claim: Claim) -> bool:
    known = claim.published
    if known is None or known.spread != "ci95" or known.half is None:
        return True
    return abs(known.value) > known.half


@pytest.mark.parametrize("of", ["one paper", "the documentation"])
def test_what_is_seen_first_is_the_table_and_the_picture(of):
    text = pages.make_markdown([one_of_each()])[0]["results.md"]
    if of == "the documentation":
        text = (ROOT / "docs" / "results.md").read_text("utf-8")
    lines = text.strip().splitlines()
    first = lines[: lines.index("## How to read the verdicts")]
    assert len(first) < SCREEN
    assert first[0] == "# Results"
    table = [line for line in first if line.startswith("| ")]
    assert table[0].startswith("| paper | released data | small network |")
    assert len(table) == 2 + (1 if of == "one paper" else len(PAPERS))
    assert sum(line.endswith(f"(pictures/results/{pages.COVER})") for line in first) == 1


def test_the_first_row_and_the_bar_of_a_paper():
    text, pictures = pages.make_markdown([one_of_each()])
    (row,) = (line for line in text["results.md"].splitlines() if line.startswith("| [Mine 2027]"))
    assert "| 1 hold, 1 differ |" in row
    assert "| 2 hold, 1 smaller, 1 undecided, 1 contradicted, 1 untested |" in row
    assert "Mine 2027, small network (5)" in read_words(pictures[pages.COVER])  # of those tested


def read_words(drawing: str) -> set[str]:
    return {(each.text or "").strip() for each in ET.fromstring(drawing).iter()}


def test_links_lead_to_the_headings():
    text = pages.make_markdown([one_of_each()])[0]["results.md"]
    (anchor,) = re.findall(r"\[Mine 2027\]\(#([^)]+)\)", text)
    headings = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert anchor in {pages.make_anchor(one) for one in headings}


def test_every_verdict_has_a_word_a_shape_and_a_meaning():
    found = one_of_each()
    whole = pages.make_html([found])
    ET.fromstring(whole.split("\n", 1)[1])
    shapes = {}
    for one in (*found.facts, *found.claims["cpu"]):
        mark = pages.mark_verdict(one)
        shape, word = re.search(r">(.) (\w+)<", str(mark)).groups()
        assert word == one.verdict
        assert str(mark) in whole
        shapes[word] = shape
    assert set(shapes) == set(VERDICTS)
    for word in set(VERDICTS) - {"measured"}:
        assert f"| **{word}** |" in pages.TEXTS["reading"]


def test_what_is_no_claim_is_counted_apart_everywhere():
    found = one_of_each()
    rows = {row[:2]: row[3:] for row in findings.tabulate_verdicts(found).rows}
    groups = [group for _, group in rows]
    assert groups == ["facts", *findings.APART, "orderings", findings.OPEN, "equivalences",
                      "numbers", findings.GROUP_NAMES["measurement"]]  # fmt: skip
    for (_, group), numbers in rows.items():
        counts = dict(zip(VERDICTS, map(int, numbers), strict=True))
        if group == findings.RECOUNTS:
            assert counts["differs"] == sum(counts.values()) == 1
        if group == findings.DERIVED:
            assert counts["holds"] == sum(counts.values()) == 1
    first = pages.summarise_papers([found]).rows[0]
    assert counted(first[1]) == {"holds": 1, "differs": 1}
    failures = findings.describe_contradictions(found)
    assert not any("question" in line for line in failures)
    assert sum(line.startswith("table turned") for line in failures) == 1
    assert sum("leaves open" in line and "table unsure" in line for line in failures) == 1


# ── the stored results ───────────────────────────────────────────────────────────────────────


def test_every_count_of_the_first_table_is_that_of_the_claims(shipped):
    table = pages.summarise_papers(shipped)
    assert table.columns == ("paper", *(SCALE_NAMES[scale] for scale in ("data", *SCALES)))
    assert len(table.rows) == len(PAPERS)
    for found, row in zip(shipped, table.rows, strict=True):
        assert row[0].startswith(f"[{found.paper.TITLE.partition(':')[0]}](#")
        facts = [one for one in found.facts if one.claim.kind == "exact"]
        wanted = Counter(one.verdict for one in facts if not is_apart(one.claim))
        assert counted(row[1]) == wanted
        for scale, cell in zip(SCALES, row[2:], strict=True):
            wanted = Counter(
                one.verdict
                for one in found.claims.get(scale, ())
                if one.claim.kind in ("ordering", "equivalence")
                and not is_apart(one.claim)
                and (one.claim.kind == "equivalence" or is_decided_by_the_paper(one.claim))
            )
            assert counted(cell) == wanted


def test_every_count_of_a_papers_table_is_that_of_the_claims(shipped):
    for found in shipped:
        total = Counter()
        for name, group, _, *numbers in findings.tabulate_verdicts(found).rows:
            (scale,) = (key for key, value in SCALE_NAMES.items() if value == name)
            some = [one for one in found.judged[scale] if findings.group_of(one.claim) == group]
            wanted = Counter(one.verdict for one in some)
            assert dict(zip(VERDICTS, map(int, numbers), strict=True)) == {
                one: wanted[one] for one in VERDICTS
            }
            assert sum(wanted.values()) > 0
            total[scale] += len(some)
        assert total == {scale: len(every) for scale, every in found.judged.items() if every}


def test_the_picture_counts_what_was_tested(shipped):
    wanted = set()
    for found in shipped:
        for scale, judgements in found.claims.items():
            tested = sum(
                one.verdict != "untested" and findings.group_of(one.claim) in findings.CLAIMED
                for one in judgements
            )
            if tested:
                title = found.paper.TITLE.partition(":")[0]
                wanted.add(f"{title}, {SCALE_NAMES[scale]} ({tested})")
    words = read_words(standalone_svg(pages.draw_verdicts(shipped, 660)))
    assert wanted == {one for one in words if re.search(r", .* \(\d+\)$", one)}
    assert pages.draw_verdicts([], 660) is None
