"""``softlabel report``: a page about any runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from softlabel.papers.claims import quick
from softlabel.registry import parse
from softlabel.train import RECIPES, change_settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    recipe = RECIPES["features"]
    config = change_settings(recipe.config, {"epochs": 3})
    lesson = quick.lesson(features=True)
    for deliver in ("hard", "aggregate"):
        for seed in (0, 1):
            recipe.complete_run(config, lesson, parse("deliver", deliver), seed=seed, out=out)
    return out


def test_a_page_about_runs(run, folder, tmp_path):
    page = tmp_path / "report.html"
    done = run("report", folder, page)
    assert (done.code, done.out) == (0, f"wrote {page}\n")
    text = page.read_text()
    ET.fromstring(text.split("\n", 1)[1])
    told = ("runs: 4,", "80 items", "Difference from deliver=hard", "Reliability", "Entropies")
    for words in told:
        assert words in text


def test_a_single_run_has_no_interval(run, folder, tmp_path):
    one = next(path for path in folder.iterdir() if path.is_dir())
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / one.name).symlink_to(one)
    done = run("report", tmp_path / "one", tmp_path / "report.html")
    assert done.code == 0
    assert "runs: 1," in (tmp_path / "report.html").read_text()


def test_wrong_words(run, tmp_path):
    assert "FILE.html" in run("report", tmp_path).err
    assert "no finished run" in run("report", tmp_path, tmp_path / "r.html").err
    assert run("report", tmp_path / "nowhere", tmp_path / "r.html").code == 1
