"""Scores of runs by cell and seed, and which code made the stored ones."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from softlabel import train
from softlabel.papers import PAPERS
from softlabel.papers.claims import papers
from softlabel.papers.claims import results as chapter
from softlabel.papers.claims.results import (
    SCALES,
    Result,
    Results,
    describe_code,
    merge_results,
    read_results,
    read_shipped,
    sort_by_code,
    write_results,
)

ROOT = Path(__file__).parents[2]


def test_differences_are_between_runs_of_one_seed():
    values = {"a": {0: 1.0, 1: 2.0, 2: 9.0}, "b": {0: 0.5, 1: 1.0, 3: 7.0}}
    results = Results(
        [Result(cell, seed, {"kl": x}) for cell, by in values.items() for seed, x in by.items()]
    )
    found = results.difference("a", "b", "kl")
    assert (found.value, found.n) == (0.75, 2)
    assert results.difference("a", "unheard of", "kl") is None
    assert results.cells == ["a", "b"]
    assert results.names("a", "k") == ["kl"]
    named = SimpleNamespace(name="a")  # anything that has a name
    assert results.difference(named, "b", "kl").value == found.value
    assert results.mean(named, "kl").value == results.mean("a", "kl").value


@pytest.mark.parametrize("paper", PAPERS)
def test_every_stored_cell_is_one_that_is_trained(paper):
    stored = read_shipped(paper)
    assert list(stored) == [scale for scale in SCALES if scale in stored]
    for scale, results in stored.items():
        trained = {cell.name for cell in papers.find(paper).cells(scale)}
        assert set(results.cells) <= trained
        assert results.scale == scale
    if paper == "collins2022":
        assert {"cpu", "features", "paper"} <= stored.keys()


def test_new_runs_come_beside_the_old_ones_of_other_seeds():
    def run(when, cell, seed, **about):
        return Result(cell, seed, {"kl": 1.0}, f"{when} {cell}{seed}", about)

    same, other = {"labels": "x", "config": {"lr": 0.1}}, {"labels": "x", "config": {"lr": 0.2}}
    coded = {"labels": "x", "config": {"lr": 0.1, "code": "new", "named": {}}}
    old = Results(
        [run("old", "a", 0), run("old", "b", 0, **same), run("old", "b", 1, **same),
         run("old", "c", 0, **other), run("old", "d", 0, labels="y")], "mine", "cpu",
    )  # fmt: skip
    new = Results(
        [run("new", "b", 1, **coded), run("new", "b", 2, **coded), run("new", "c", 1, **same),
         run("new", "d", 1, labels="x"), run("new", "e", 0)], "mine", "cpu",
    )  # fmt: skip
    merged = merge_results(new, old)
    assert [one.run for one in merged.all] == [
        "old a0", "old b0", "new b1", "new b2", "new c1", "new d1", "new e0",
    ]  # fmt: skip
    assert (merged.paper, merged.scale) == ("mine", "cpu")


# ── which code made them ─────────────────────────────────────────────────────────────────────


def three():
    """Runs of unknown, of this and of other code."""
    codes = (None, "this", "other")
    runs = [Result("hard", i, {"kl": 1.0}, f"r{i}", {"code": one}) for i, one in enumerate(codes)]
    return Results(runs, "mine2027", "cpu")


def test_runs_of_unknown_and_of_other_code_are_told_apart(monkeypatch):
    results = three()
    unknown, other = sort_by_code(results.all, "this")
    assert ([one.seed for one in unknown], [one.seed for one in other]) == ([0], [2])
    assert sort_by_code(results.all, None)[1] == []  # nothing to compare with
    monkeypatch.setattr(train, "code_digest", lambda: "this", raising=False)
    assert describe_code([results, results]) == (  # a run that serves two cells counts once
        "Code: of 3 runs, 1 predates digests of the training code, and 1 was made by another "
        "version."
    )
    monkeypatch.setattr(train, "code_digest", lambda: "new", raising=False)
    assert describe_code([results]).endswith(", and 2 were made by another version.")


def test_the_code_of_a_run_and_the_commit_are_stored(tmp_path):
    path = write_results(three(), tmp_path)
    head, *lines = map(json.loads, path.read_text().splitlines())
    assert [line.get("code") for line in lines if "run" in line] == [None, "this", "other"]
    assert [one.about["code"] for one in read_results(path).all] == [None, "this", "other"]
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert head["commit"] == (git.stdout.strip() or None)


def test_a_package_outside_a_checkout_has_no_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(chapter, "__file__", str(tmp_path / "results.py"))
    assert (
        json.loads(write_results(three(), tmp_path).read_text().splitlines()[0])["commit"] is None
    )
