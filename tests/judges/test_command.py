"""The command ``judge``: what it prints before and after, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest

from softlabel import registry
from softlabel.cli import main
from softlabel.judges import ask, read_judges


@pytest.fixture
def run(capsys):
    """Run a command; return its exit code and what it printed on stdout and stderr."""

    def words(*given):
        code = main([str(word) for word in given])
        return code, *capsys.readouterr()

    return words


def test_a_dry_run_asks_nothing(make_study, server, run):
    folder = make_study(10).folder
    prices = ("--price-in", 2, "--price-out", 8)
    code, out, _ = run("judge", folder, "--model", "m", "--dry-run", "--samples", 4, *prices)
    assert code == 0
    facts = dict(line.split("  ", 1) for line in out.splitlines())
    assert facts["requests"].strip() == "10 with log-probabilities, else 40"
    read = int(facts["tokens"].split()[1])
    assert 250 <= read <= 400  # 130 characters each
    cost = (2 * read + 8 * 80) / 1e6
    assert facts["cost"].strip() == f"about {cost:.2f}, else {4 * cost:.2f}"
    assert not server.seen
    assert not (folder / "judges").exists()


def test_the_bill_is_what_the_server_counted(make_study, server, run):
    folder = make_study(4).folder
    words = ("judge", folder, "--endpoint", server.url, "--model", "m", "--price-in", 1000)
    code, out, err = run(*words, "--yes", "--limit", 3)
    assert code == 0, err
    assert "3 answered\n" in out
    assert "150 read and 3 written\n" in out
    assert out.endswith("cost        0.1500\n")
    code, out, _ = run(*words, "--yes")
    assert "1 to ask about, 3 are answered" in out
    assert len(server.seen) == 4
    code, out, _ = run(*words)
    assert (code, out.splitlines()[0]) == (0, "items  0 to ask about, 4 are answered")


def test_nothing_is_asked_without_a_yes(make_study, server, run, monkeypatch):
    folder = make_study().folder
    monkeypatch.setattr("typer.confirm", lambda *_, **__: sys.exit(1))
    code, _, _ = run("judge", folder, "--endpoint", server.url, "--model", "m")
    assert code == 1
    assert not server.seen


def test_failures_are_told_and_the_rest_is_kept(make_study, server, actions, run):
    server.always = lambda handler, body: (
        actions.text_of(body) == "Animal 1" and actions.fail(400, b"not about that")(handler, body)
    )
    folder = make_study(3).folder
    code, out, err = run("judge", folder, "--endpoint", server.url, "--model", "m", "--yes")
    assert code == 1
    assert "2 answered, 1 failed" in out
    assert "failed: " in err
    assert "item 'i1': status 400: not about that" in err
    assert "error: 1 items have no answer yet; run the same command again" in err


def test_one_prompt_is_shown(make_study, run):
    folder = make_study(2).folder
    code, out, _ = run("judge", folder, "--show", 2)
    assert code == 0
    assert "\nAnimal 1\n" in out
    code, _, err = run("judge", folder, "--show", 3)
    assert (code, err) == (1, "error: --show 3: the study has 2 items\n")


def test_a_program_is_asked(make_study, tmp_path, run):
    program = tmp_path / "model.py"
    program.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'chances': {'cat': 0.5, 'fox': 0.5}}), flush=True)\n"
    )
    folder = make_study(3).folder
    line = f"{sys.executable} {program}"
    code, out, err = run("judge", folder, "--command", line, "--model", "my/model", "--yes")
    assert code == 0, err
    assert "3: 3 with chances" in out
    head, *lines = (folder / "judges" / "my-model.jsonl").read_text().splitlines()
    assert json.loads(head)["model"] == "my/model"
    assert json.loads(lines[0])["chances"] == {"cat": 0.5, "dog": 0.0, "fox": 0.5}


def test_ctrl_c_keeps_what_was_answered(make_study, server, actions, run):
    """Nobody waits until the server may be asked again."""
    study = make_study(20)

    def interrupt(handler, body):
        actions.fail(429, Retry_After="300")(handler, body)
        if len(server.seen) >= 11:  # all four wait
            os.kill(os.getpid(), signal.SIGINT)
        return True

    server.actions = dict.fromkeys(range(8, 40), interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        words = ("judge", study.folder, "--endpoint", server.url, "--model", "m", "--yes")
        code, _, err = run(*words)
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert "the same command goes on there" in err
    assert len(read_judges(study.folder)) == 7


@pytest.mark.parametrize(
    "words",
    [(), ("--model", "m"), ("--endpoint", "http://localhost"),
     ("--model", "m", "--endpoint", "http://localhost", "--command", "x")],
)  # fmt: skip
def test_it_must_be_clear_whom_to_ask(make_study, run, words):
    code, _, err = run("judge", make_study().folder, *words)
    assert code == 1
    assert "--model NAME, and either --endpoint URL or --command LINE" in err


POOL = """\
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from softlabel import SoftLabels, registry

@dataclass(frozen=True)
class Half(registry.Options):
    name: ClassVar[str] = "half"
    paper: ClassVar[str] = "none"
    estimand: ClassVar[str] = "distribution"

    def __call__(self, annotations, map=map, shards=1, *, judges=None):
        count = annotations.votes_per_item()
        probs = annotations.counts() / np.maximum(count, 1)[:, None]
        if judges is not None:
            said = judges.counts() / np.maximum(judges.votes_per_item(), 1)[:, None]
            probs = (probs + said) / 2
        probs = np.where(count[:, None] > 0, probs, np.nan)
        return SoftLabels(annotations.index, probs, count, self.estimand, repr(self))

registry.register("aggregate", Half)
"""


def test_labels_learn_from_the_logs_of_a_study(make_study, tmp_path, run, monkeypatch):
    for family, known in registry.families().items():  # what is loaded here is forgotten
        monkeypatch.setitem(registry.FAMILIES, family, dict(known))
    study = make_study(3)
    ask(study, lambda asked: {"i0": "cat", "i1": "fox", "i2": "?"}[asked["item"]], "m", samples=2)
    votes, out, pool = tmp_path / "v.csv", tmp_path / "out.csv", tmp_path / "pool.py"
    votes.write_text("item,annotator,label\ni0,x,cat\ni0,y,dog\n")
    pool.write_text(POOL)
    words = ("label", votes, out, "--labels", "cat,dog,fox", "--aggregate", "half")
    code, said, err = run(*words, "--load", pool, "--judges", study.folder)
    assert code == 0, err
    facts = dict(line.split("  ", 1) for line in said.splitlines())
    assert facts["models"].strip() == "1, of 2 items, 1 of which nobody answered"
    assert facts["models left out"].strip() == "2 unreadable replies"
    assert out.read_text().splitlines() == [
        "item,cat,dog,fox,count",
        "i0,0.75,0.25,0.0,2",
        "i1,,,,0",
    ]


def test_labels_refuse_models_where_they_would_be_ignored(tmp_path, run):
    votes, said = tmp_path / "v.csv", tmp_path / "m.csv"
    votes.write_text("item,annotator,label\na,x,cat\n")
    said.write_text("item,model,label\na,m,cat\n")
    out = tmp_path / "out.csv"
    code, _, err = run("label", votes, out, "--judges", said)
    assert code == 1
    assert "--judges: mean pools what people said, and does not learn from models" in err
    assert not out.exists()
