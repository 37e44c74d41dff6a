"""The mode of docs/tutorials/mode.md, as its reader would write it: checked, served, answered."""

from __future__ import annotations

import json
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from softlabel import SoftLabels, elicit, registry, store, testing
from softlabel import study as studies
from softlabel.simulate import draw_participants, fill_in_browser, fill_study
from softlabel.simulate.people import read_truth

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "mode.md"
FILE = re.compile(r"^```(?:python\n# |js |json )([\w.]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 150


@pytest.fixture
def thermometer(tmp_path, monkeypatch):
    """The files of the page, and the mode registered from them."""
    files = dict(FILE.findall(PAGE.read_text()))
    assert sorted(files) == ["thermometer.js", "thermometer.json", "thermometer.py"]
    assert sum(text.count("\n") for text in files.values()) < MOST_LINES
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    spec = spec_from_file_location("thermometer_of_test", tmp_path / "thermometer.py")
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    monkeypatch.setitem(registry.FAMILIES, "mode", dict(registry.members("mode")))
    spec.loader.exec_module(module)
    return tmp_path / "thermometer.py"


@pytest.fixture
def softlabel(run_softlabel):
    def run(*words):
        done = run_softlabel(*words)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture
def study(thermometer, softlabel):
    folder = thermometer.parent / "shapes"
    softlabel("new", folder, "--mode", "thermometer:step=10", "--load", thermometer)
    return studies.read(folder)


def stored(study):
    with store.open(study.folder / ".softlabel/rehearsal.db", read_only=True) as answers:
        return list(answers.responses(study.name))


def test_the_mode_passes_the_checks_and_its_parts_are_found(thermometer):
    mode = registry.make("mode", "thermometer")
    testing.check_mode(mode)
    assert elicit.mode.find_scripts(mode) == (thermometer.with_suffix(".js"),)
    assert elicit.find_texts(mode, "en")["self"]["question"] == "Which label fits best?"
    assert elicit.mode.expected_seconds(mode).answer == 4.0


def test_simulated_people_answer_over_http_and_their_answers_are_labelled(
    thermometer, study, softlabel, serve_study
):
    server = serve_study(study.folder, "--rehearsal", "--load", thermometer)
    report = fill_study(server.url, study, annotators=8, seed=0)
    assert (report.finished, report.errors) == (8, {})
    responses, labels = study.folder / "answers.jsonl", study.folder / "labels.npz"
    db = study.folder / ".softlabel/rehearsal.db"
    softlabel("export", study.folder, responses, "--db", db, "--load", thermometer)
    softlabel("label", responses, labels, "--load", thermometer)
    made = SoftLabels.load(labels)
    truth = read_truth(study, 0)
    true = np.array([truth.of[name] for name in made.index.items.tolist()])
    assert np.mean(made.probs.argmax(axis=1) == true.argmax(axis=1)) > 0.7


def test_somebody_answers_on_the_page_in_a_real_browser(thermometer, study, serve_study):
    server = serve_study(study.folder, "--rehearsal", "--load", thermometer)
    report = fill_in_browser(server.url, study, annotators=1, seed=0)
    assert (report.finished, report.errors) == (1, {})
    truth, (one,) = read_truth(study, 0), draw_participants(1, 0)
    rows = [row for row in stored(study) if row.kind == "target"]
    assert len(rows) == study.items_per_person
    for row in rows:
        meant = one.answer(row.item, truth.of[row.item], "main 1", study.mode, study.labels)
        assert json.loads(row.answer_json) == meant
