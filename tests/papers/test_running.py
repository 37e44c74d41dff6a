"""A paper from its cells to its page, for real: run, killed, resumed, collected, stored, told."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from softlabel.cli import reproduce as command
from softlabel.errors import FileError, SoftlabelError, UnknownName
from softlabel.io import silent
from softlabel.papers.claims import collecting, findings, papers, running, tuning
from softlabel.papers.claims.findings import count_in_words, format_number
from softlabel.papers.claims.pages import COVER, make_html, make_markdown
from softlabel.papers.claims.results import read_results, write_facts, write_results
from softlabel.papers.claims.running import cell_job, find_cells, source_of
from softlabel.train import Job, Run, code_digest, estimate_jobs, runner
from softlabel.train.worker import complete_job

ROOT = Path(__file__).parents[2]
FAKE = str(Path(__file__).with_name("fake2020.py"))


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three cells, two seeds: six results of four runs."""
    out = tmp_path_factory.mktemp("runs")
    return out, running.run(FAKE, "features", 2, out)


def test_every_cell_has_its_runs_and_its_probes(runs):
    out, results = runs
    assert results.cells == ["hard", "soft", "table 2/hard"]
    assert [one.seed for one in results.all] == [0, 1] * 3
    assert len({one.run for one in results.all}) == 4  # two cells are one run
    for one in results.all:
        again = "of-table-2" if one.cell == "table 2/hard" else "of-table-1"
        assert one.scores[again] == 1
        assert one.scores["cross-entropy"] == Run(out / one.run).scores["cross-entropy"].value
        assert np.isnan(one.scores["undefined"])
        assert one.about["seconds"] > 0
        assert "torch==" in one.about["environment"]
        assert one.about["config"]["net"] == "mlp"
    assert (results.mean("soft", "kl").n, results.paper, results.scale) == (
        2,
        "fake2020",
        "features",
    )


def test_what_is_finished_is_not_done_again(runs):
    out, results = runs
    before = files(out)
    states = running.find_states(FAKE, "features", 2, out)
    assert [source_of(one.job).also for one in states] == [("table 2/hard",)] * 2 + [()] * 2
    assert estimate_jobs(states, 2) == "4 runs, 4 finished already: nothing to do"
    runner.run_jobs(states, lambda states: None)
    after = files(out)
    after.pop(out / "fake2020-features.json")
    assert {path: before[path] for path in after} == after
    same = collecting.collect(out, "fake2020", "features")
    assert [one.run for one in same.all] == [one.run for one in results.all]


def test_probes_alone_are_made_again(runs):
    out, results = runs
    run = Run(out / results.all[0].run)
    before = files(run.path)
    (run.path / collecting.PROBES).unlink()
    partial = collecting.collect(out, "fake2020", "features")
    assert "size" not in partial.all[0].scores  # finished, and not yet probed
    assert partial.mean("hard", "size").n == 1  # of the other seed
    states = running.find_states(FAKE, "features", 2, out)
    assert [one.state for one in states] == ["waiting", "finished", "finished", "finished"]
    for one in states:
        one.job.complete_run(silent)
    after = files(run.path)
    del before[run.path / collecting.PROBES], after[run.path / collecting.PROBES]
    assert after == before
    assert collecting.read_probes(run, "fake2020", "hard")["size"] == results.all[0].scores["size"]


def test_seeds_that_were_run_before_still_count(runs):
    out, _ = runs
    running.find_states(FAKE, "features", 1, out)
    assert collecting.collect(out, "fake2020", "features").mean("hard", "kl").n == 2
    path = collecting.map_path(out, "fake2020", "features")
    table = json.loads(path.read_text())
    table["hard"]["1"] = table["soft"]["1"]  # of other labels: not the same cell any longer
    path.write_text(json.dumps(table))
    running.find_states(FAKE, "features", 1, out)
    assert collecting.collect(out, "fake2020", "features").mean("hard", "kl").n == 1
    running.find_states(FAKE, "features", 2, out)


def test_cells_are_run_by_name_and_the_others_stay(runs):
    out, results = runs
    states = running.find_states(FAKE, "features", 1, out, cells=["so*"])
    assert [(source_of(one.job).cell, one.job.seed) for one in states] == [("soft", 0)]
    same = collecting.collect(out, "fake2020", "features")
    assert {one.run for one in same.all} == {one.run for one in results.all}
    with pytest.raises(UnknownName, match=r"no cell of .* 'sofd'.* soft"):
        running.find_states(FAKE, "features", 1, out, cells=["hard", "sofd"])


def test_a_search_takes_few_seeds_and_its_choice_takes_all(tmp_path, monkeypatch):
    monkeypatch.setitem(tuning.DECAYS, "features-tuned", (0.01, 3.0))
    find_cells.cache_clear()

    def list_runs() -> list[tuple[str, int]]:
        states = running.find_states(FAKE, "features-tuned", 3, tmp_path)
        for one in states:  # in this process, where the grid is small
            one.job.complete_run(silent)
        return [(source_of(one.job).cell, one.job.seed) for one in states]

    searched = {(f"{arm} @ decay={x}", n) for arm in ("hard", "soft") for x in ("0.01", "3")
                for n in range(2)}  # fmt: skip
    assert set(list_runs()) == searched
    results = collecting.collect(tmp_path, "fake2020", "features-tuned")
    chosen = tuning.list_chosen(results)
    assert len(chosen) == 2
    assert set(list_runs()) - searched == {(cell, 2) for cell in chosen}
    # the third seed of the chosen settings does not enter the choice
    results = collecting.collect(tmp_path, "fake2020", "features-tuned")
    worse = [replace(one, scores={**one.scores, tuning.CHOSEN_BY: 99.0}) if one.seed == 2 else one
             for one in results.all]  # fmt: skip
    assert tuning.list_chosen(replace(results, all=worse)) == chosen
    assert {one.about["code"] for one in results.all} == {code_digest()}
    find_cells.cache_clear()


class Killer:
    """Kills the first worker that has done two epochs; stops everything at the first end."""

    def __init__(self, stop: bool) -> None:
        self.killed = False
        self.stop = stop

    def __call__(self, states) -> None:
        for one in states:
            if not self.killed and one.run.state == "running" and len(one.run.log) >= 2:
                pid = int(re.match(r"process (\d+)", (one.run.path / "running").read_text())[1])
                os.kill(pid, signal.SIGKILL)
                self.killed = True
            if self.stop and self.killed and one.state == "finished":
                raise KeyboardInterrupt


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_stopped_and_resumed_it_comes_to_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "PAUSE", 0.01)
    monkeypatch.setenv("FAKE_EPOCHS", "30")
    papers._load_file.cache_clear()
    find_cells.cache_clear()
    try:
        states = running.find_states(FAKE, "features", 2, tmp_path)
        with pytest.raises(KeyboardInterrupt):
            runner.run_jobs(states, Killer(stop=True), processes=1)
        part = collecting.collect(tmp_path, "fake2020", "features")
        assert 0 < len(part.all) < 6  # what there is, is counted
        done = {one.run for one in part.all}
        scores = {name: (tmp_path / name / "scores.json").stat().st_mtime_ns for name in done}
        states = running.find_states(FAKE, "features", 2, tmp_path)
        runner.run_jobs(states, lambda states: None, processes=1)
        assert {one.state for one in states} == {"finished"}
        for name, then in scores.items():
            assert (tmp_path / name / "scores.json").stat().st_mtime_ns == then
        whole = collecting.collect(tmp_path, "fake2020", "features")
        assert len(whole.all) == 6
        one = cell_job(FAKE, "features", "hard", 0, str(tmp_path / "quiet")).complete_run()
        mine = Run(tmp_path / one.name)
        assert (mine.path / "environment.txt").read_text().count("begun ") == 2  # it was killed
        np.testing.assert_array_equal(*(r.arrays("logits")["logits"] for r in (one, mine)))
    finally:
        papers._load_file.cache_clear()
        find_cells.cache_clear()


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────


def test_words_that_stand_for_nothing(tmp_path):
    with pytest.raises(UnknownName, match="no paper called 'colins2022'"):
        papers.find("colins2022")
    with pytest.raises(FileError, match="there is no such file"):
        papers.find(str(tmp_path / "none.py"))
    with pytest.raises(UnknownName, match="'sift'"):
        cell_job(FAKE, "features", "sift", 0, str(tmp_path))
    with pytest.raises(SoftlabelError, match="nothing is trained with recipe 'paper'"):
        running.find_states(FAKE, "paper", 2, tmp_path)
    with pytest.raises(FileError, match="no run of fake2020 was started"):
        collecting.collect(tmp_path, "fake2020", "cpu")
    job = cell_job(FAKE, "features", "hard", 0, str(tmp_path))
    again = replace(job, source=replace(job.source, also=("hard", "soft")))
    assert Job.from_json(again.to_json()) == again


def test_a_delivery_must_go_with_the_objective(tmp_path, monkeypatch):
    cell = find_cells(FAKE, "features")["hard"]
    for wrong in (replace(cell, deliver=None), replace(cell, settings={"objective": "mw"})):
        monkeypatch.setattr(running, "find_cells", lambda *words, wrong=wrong: {"hard": wrong})
        with pytest.raises(SoftlabelError, match="does not go with objective"):
            cell_job(FAKE, "features", "hard", 0, str(tmp_path))


def test_a_probe_that_fails_is_reported_and_the_run_kept(tmp_path, monkeypatch):
    def broken(run, cell):
        raise SoftlabelError("no such picture")

    job = cell_job(FAKE, "features", "hard", 0, str(tmp_path))
    monkeypatch.setattr(papers.find(FAKE), "probes", broken)
    assert complete_job(job) == {"state": "failed", "note": "no such picture"}
    run = job.start_run()
    assert run.finished
    assert not job.source.is_probed(run)
    monkeypatch.undo()
    assert complete_job(job)["state"] == "finished"
    assert list(collecting.list_started(tmp_path)) == []  # nobody stood here for all of the paper


def test_runs_that_fail_are_told_at_the_end(tmp_path, monkeypatch, capsys):
    """The command shows what there is, and then says what is missing."""
    one = runner.find_states([cell_job(FAKE, "features", "hard", 0, str(tmp_path))], silent)[0]
    one.state, one.note = "died", "worker 7 was killed by SIGKILL"
    monkeypatch.setattr(running, "find_states", lambda *words: [one])
    monkeypatch.setattr(runner, "run_jobs", lambda *words, **options: None)
    collecting.write_map(tmp_path, "fake2020", "features", False, {"hard": {0: one.run}})
    with pytest.raises(SoftlabelError, match=r"1 of 1 runs did not finish; .* killed by SIGKILL"):
        command.paper(FAKE, command.Wanted("features", out=tmp_path))
    assert "what our runs contradict:" in capsys.readouterr().out


# ── stored ───────────────────────────────────────────────────────────────────────────────────


def test_stored_results_come_back(runs, tmp_path):
    _, results = runs
    path = write_results(results, tmp_path)
    again = read_results(path)
    assert [(one.cell, one.seed, one.run) for one in again.all] == [
        (one.cell, one.seed, one.run) for one in results.all
    ]
    for kept, one in zip(again.all, results.all, strict=True):
        assert kept.scores.keys() == one.scores.keys()
        for name, value in one.scores.items():
            assert kept.scores[name] == pytest.approx(value, rel=1e-5, nan_ok=True)
        assert kept.about["config"] == one.about["config"]
        assert kept.about["labels"] == one.about["labels"]
        assert kept.about["environment"] == one.about["environment"]
    text = path.read_text()
    assert write_results(again, tmp_path).read_text() == text
    assert "NaN" not in text
    assert text.count('"config"') == 3  # once per cell
    assert text.count("torch==") == 1  # and once per environment
    (tmp_path / "other.jsonl").write_text("{}\n")
    with pytest.raises(FileError, match="no file of results"):
        read_results(tmp_path / "other.jsonl")


def test_items_are_scored_once_and_again_for_other_runs(runs, monkeypatch):
    """A run that was made again elsewhere has the same name, and other scores."""
    out, results = runs
    spec = importlib.util.spec_from_file_location("results", ROOT / "tools" / "results.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    asked = []

    def score_items(run, cell):
        asked.append((cell, run.seed))
        return {"kl": np.ones(3, dtype=np.float32)}

    monkeypatch.setattr(tool, "find", lambda name: SimpleNamespace(score_items=score_items))
    stored = tool.describe_new(results, None, out)
    assert len(asked) == len(results.all)
    assert all(one.items["kl"].tolist() == [1, 1, 1] for one in stored.all)
    asked.clear()
    first, *others = stored.all
    elsewhere = replace(first, scores={name: value + 1 for name, value in first.scores.items()})
    again = tool.describe_new(results, replace(stored, all=[elsewhere, *others]), out)
    assert asked == [(first.cell, first.seed)]
    assert all(one.items for one in again.all)


def test_the_page_says_what_the_stored_results_say(runs, tmp_path):
    _, results = runs
    paper = papers.find(FAKE)
    write_results(results, tmp_path)
    told = findings.compute_facts(paper)
    assert [one.verdict for one in told] == ["holds", "untested"]
    assert told[1].reason == "no data: lost: softlabel data fetch lost"
    write_facts("fake2020", {one.claim.id: one.ours for one in told if one.ours}, tmp_path)
    found = findings.judge_shipped(paper, tmp_path)
    assert [one.verdict for one in found.facts] == ["holds", "untested"]
    verdicts = {one.claim.id: one.verdict for one in found.claims["features"]}
    assert verdicts["t1-wrong"] == "differs"
    assert verdicts["t9"] == verdicts["t8"] == "untested"
    pages, pictures = make_markdown([found])
    short, text = pages["results.md"], pages["results/fake2020.md"]
    ET.fromstring(pictures.pop(COVER))
    assert f"(pictures/results/{COVER})" in short
    assert len(pictures) == 4
    for name, picture in pictures.items():
        ET.fromstring(picture)
        assert f"(../pictures/results/{name})" in text
    accuracy = format_number(results.mean("hard", "accuracy").value)
    assert f"| 2.000 ± 0.100 sd (second-hand) | differs: {accuracy}" in text
    assert "1 of 2 numbers lies outside the published intervals (frozen features" in short
    assert "soft \\| labels are closer" in text
    assert "the paper does not say what was trained (frozen features; 1: Table 9)" in text
    whole = make_html([found])
    ET.fromstring(whole.split("\n", 1)[1])
    assert whole.count("○ differs") == list(verdicts.values()).count("differs")
    assert count_in_words(found.claims["features"]).endswith("of 5")
    assert "KL over &lt;labels&gt;." in whole


# ── the command ──────────────────────────────────────────────────────────────────────────────


def test_the_command_trains_and_tells(runs, capsys, tmp_path):
    out, _ = runs
    page = tmp_path / "page.html"
    command.paper(FAKE, command.Wanted("features", 2, out=out), output=page)
    said = capsys.readouterr().out
    assert "Nobody 2020: labels that were made up" in said
    assert "4 runs, 4 finished already: nothing to do" in said
    assert re.search(
        r"differs +2\.000 ± 0\.100 sd \(second-hand\) .* n=2 +Table 1 +accuracy is 2", said
    )
    assert "untested (1): the paper does not say what was trained" in said
    assert "  1 hold, 1 untested, of 2" in said
    assert "1 of 2 numbers lies outside the published intervals (frozen features): " in said
    # holds, smaller, undecided, contradicted, differs, measured, untested
    assert re.search(r"frozen features +numbers +4 +1 +0 +0 +0 +1 +0 +2", said)
    code = r"Code: of 4 runs, \d+ predates? digests of the training code, and 0 were made by an"
    assert re.search(code, said)
    assert re.search(code, page.read_text())
    ET.fromstring(page.read_text().split("\n", 1)[1])


def test_without_a_folder_nothing_is_trained(capsys, tmp_path):
    command.paper(FAKE, command.Wanted())
    assert "no results are stored" in capsys.readouterr().out
    for wrong in ({"seeds": 2}, {"dry": True}, {"cells": ("hard",)}):
        with pytest.raises(SoftlabelError, match="--out DIR"):
            command.paper(FAKE, command.Wanted(**wrong))
    with pytest.raises(SoftlabelError, match=r"must end in \.html"):
        command.paper(FAKE, command.Wanted(), output=tmp_path / "page.pdf")


def test_dry_says_the_price_alone(capsys, tmp_path):
    command.paper(FAKE, command.Wanted("features", out=tmp_path, dry=True))
    said = capsys.readouterr().out
    assert "6 runs; 6 to do, about " in said  # a third cell is the first again
    assert not any(Run(path).finished for path in tmp_path.iterdir() if path.is_dir())


def test_quick_needs_nothing_and_tests_nothing(capsys, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_DATA", "nowhere")
    monkeypatch.setattr(running, "PROCESSES", 1)  # each of them would import torch
    command.paper(FAKE, command.Wanted(quick=True))
    said = capsys.readouterr().out
    assert "made-up pictures and people" in said
    assert re.search(r"soft +2 +0\.\d", said)
    assert "of 5 claims were computed on made-up data, which tests none of" in said
    assert "holds" not in said
