"""Every registered paper: its command, its claims, and its quick run from end to end."""

from __future__ import annotations

import re

import pytest

from softlabel.papers import PAPERS
from softlabel.papers.claims.results import SCALES

every_paper = pytest.mark.parametrize("name", PAPERS)


def test_each_has_a_command(run):
    said = run("reproduce", "--help").out
    assert all(name in said for name in ("pooling", *PAPERS))
    assert run("reproduce", "nobody2000").code == 2


def test_cells_may_be_named_at_once_or_one_by_one(run, monkeypatch, tmp_path):
    from softlabel.cli import reproduce

    wanted = []
    monkeypatch.setattr(reproduce, "paper", lambda _, want, __: wanted.append(want.cells))
    for words in (["--cells", "hard; 10h/*"], ["--cells", "hard", "--cells", "10h/*"]):
        assert run("reproduce", "collins2022", "--out", tmp_path, *words).code == 0
    assert wanted == [("hard", "10h/*")] * 2


@every_paper
def test_claims_are_told_apart_and_say_where(name):
    from softlabel.papers.claims import papers

    paper = papers.find(name)
    assert name == paper.NAME
    assert paper.TITLE
    facts = paper.facts()
    for recipe in SCALES:
        claims = [*facts, *paper.claims(recipe)]
        ids = [claim.id for claim in claims]
        assert len(set(ids)) == len(ids)
        assert all(claim.where and claim.says for claim in claims)


@every_paper
def test_a_claim_without_runs_is_untested_and_says_why(name):
    from softlabel.papers.claims import papers
    from softlabel.papers.claims.claims import judge
    from softlabel.papers.claims.results import Results

    for recipe in SCALES:
        for claim in papers.find(name).claims(recipe):
            told = judge(claim, Results([], name, recipe))
            assert told.verdict == "untested", claim.id
            assert told.reason, claim.id


@every_paper
def test_quick_goes_from_end_to_end_without_data(run, name, monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path))
    done = run("reproduce", name, "--quick")
    assert done.code == 0, done.err
    assert "error" not in done.err
    assert re.search(r"runs?; \d+ to do, about .* each", done.out)
    computed = re.search(r"(\d+) of (\d+) claims were computed", done.out)
    assert int(computed[1]) > 0, done.out
