"""Run folders: named by what decides them, finished once, never taken for finished before."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from softlabel import Index, Predictions, Score, SoftLabels
from softlabel.errors import DataError, FileError, SoftlabelError, UnknownName
from softlabel.metrics import evaluate
from softlabel.train import identity, runs
from softlabel.train.identity import code_digest, parse_code, run_name
from softlabel.train.runs import Busy, Run

CONFIG = {"recipe": "small", "deliver": "sls", "lr": 0.1, "epochs": 2}
LABELS = {"hard": np.array([0, 1, 0]), "pooled": np.eye(2)[[0, 1, 0]]}
SOURCE = "# how it was done\n"
INDEX = Index(["a", "b"], [], ["x", "y"])
PREDICTIONS = Predictions(INDEX, [[0.25, 0.75], [1, 0]])
SCORES = {"kl": Score(0.5, 0.25, 0.75, 2)}


def start(root: Path, seed: int = 0, **changes: object) -> Run:
    return runs.start(root, CONFIG | changes, LABELS, seed, SOURCE)


def finished(root: Path, seed: int = 0, **changes: object) -> Run:
    run = start(root, seed, **changes)
    run.finish(PREDICTIONS, SCORES)
    return run


def test_everything_that_decides_a_run_is_in_its_name():
    sha = identity.digest(LABELS)
    base = run_name(CONFIG, sha, 0)
    assert len(base) == 16
    assert base == run_name(dict(reversed(CONFIG.items())), sha, 0)
    others = {
        run_name(CONFIG, sha, 1),
        run_name(CONFIG | {"lr": 0.2}, sha, 0),
        run_name(CONFIG, identity.digest(LABELS | {"hard": np.array([0, 1, 1])}), 0),
    }
    assert len(others | {base}) == 4


def test_what_things_are_called_is_not_in_its_name(tmp_path):
    one = start(tmp_path, named={"labels": "a.npz"})
    assert start(tmp_path, named={"labels": "b.npz"}) == one
    assert one.value("labels") == "a.npz"


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(2, np.int32), np.zeros(2, np.float32)),
        (np.array(["ab", "c"]), np.array(["a", "bc"])),
    ],
)
def test_arrays_of_the_same_bytes_are_not_the_same(one, two):
    assert identity.digest({"x": one}) != identity.digest({"x": two})
    assert identity.digest({"x": one}) == identity.digest({"x": one.copy()})
    assert identity.digest({"x": one}) != identity.digest({"y": one})


def test_layout_in_memory_does_not_matter():
    table = np.arange(6.0).reshape(2, 3)
    assert identity.digest({"x": table}) == identity.digest({"x": np.asfortranarray(table)})


def test_a_run_begins_with_what_decides_it(tmp_path):
    run = start(tmp_path / "deep" / "runs", 3)
    known = CONFIG | {"code": code_digest()}
    assert (run.config, run.seed, run.labels) == (known, 3, identity.digest(LABELS))
    assert (run.path / "source.py").read_text() == SOURCE
    assert run.state == "waiting"
    assert Run(str(run.path)) == run
    assert not run.finished
    assert [path.name for path in run.path.parent.iterdir()] == [run.name]  # nothing half-made


def test_finished_once_and_for_all(tmp_path):
    run = start(tmp_path)
    (run.path / "checkpoint.pt").write_bytes(b"weights")
    (run.path / ".checkpoint.pt.0123.part").touch()  # of an attempt that was killed
    people = SoftLabels(Index(["b", "a"], [], ["x", "y"]), [[0.5, 0.5], [0, 1]], [4, 2])
    logits = np.zeros((2, 2), np.float32)
    run.finish(PREDICTIONS, SCORES, people, {"logits": logits}, {"seconds": 1.5})
    again = start(tmp_path)
    assert again.state == "finished"
    assert again.scores["kl"].value == 0.5
    assert again.outcome["seconds"] == 1.5
    assert again.predictions.index.items.tolist() == ["a", "b"]
    np.testing.assert_array_equal(again.predictions.probs, PREDICTIONS.probs)
    np.testing.assert_array_equal(again.people.probs, people.probs)
    assert again.people.count.tolist() == [4, 2]
    np.testing.assert_array_equal(again.arrays("logits")["logits"], logits)
    assert not list(run.path.glob("*checkpoint*"))
    with pytest.raises(SoftlabelError, match="is finished already"):
        again.finish(PREDICTIONS, SCORES)
    with pytest.raises(FileError, match=r"has the arrays item, labels, probs.*'logit' is missing"):
        again.arrays("logit")


def test_people_keep_their_own_order_of_classes(tmp_path):
    run = start(tmp_path)
    people = SoftLabels(Index(["a", "b"], [], ["y", "x"]), [[0.75, 0.25], [0, 1]], [4, 4])
    run.finish(PREDICTIONS, SCORES, people)
    assert run.people.index.labels.tolist() == ["y", "x"]
    assert evaluate.scores(run.predictions, run.people, ["kl"])["kl"].value == 0


def test_scores_that_json_has_no_numbers_for(tmp_path):
    run = start(tmp_path)
    run.finish(
        PREDICTIONS, {"ce": Score(math.inf, 1.0, math.inf, 2), "r": Score(*[math.nan] * 3, 2)}
    )
    assert run.scores["ce"].high == math.inf
    assert math.isnan(run.scores["r"].low)
    assert "Infinity" not in (run.path / "scores.json").read_text()


KILLED = """
import os, signal, sys
from pathlib import Path
from softlabel import Index, Predictions
from softlabel.train import runs

class Deadly(dict):
    def items(self):
        os.kill(os.getpid(), signal.SIGKILL)

run = runs.Run(Path(sys.argv[1]))
run.finish(Predictions(Index(["a"], [], ["x", "y"]), [[1, 0]]), Deadly())
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_killed_while_finishing_is_not_finished(tmp_path):
    """The predictions are there and the scores are not."""
    run = start(tmp_path)
    done = subprocess.run([sys.executable, "-c", KILLED, run.path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (run.path / "predictions.npz").exists()
    assert run.state == "waiting"
    assert runs.find(tmp_path) == []
    run.finish(PREDICTIONS, SCORES)
    assert runs.find(tmp_path) == [run]


HOLD = """
import sys
from pathlib import Path
from softlabel.train.runs import Run

with Run(Path(sys.argv[1])).claim():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
def test_one_process_works_on_a_run_and_a_dead_one_does_not(tmp_path):
    run = start(tmp_path)
    words = [sys.executable, "-c", HOLD, str(run.path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, text=True, **pipes) as other:
        assert other.stdout.readline() == "held\n"
        assert run.state == "running"
        with pytest.raises(Busy, match=f"process {other.pid} on .* is working on this run"):
            run.claim().__enter__()
        other.kill()
    assert run.state == "waiting"
    with run.claim():
        assert f"process {os.getpid()} " in (run.path / "running").read_text()
    assert (run.path / "environment.txt").read_text().count("begun ") == 2  # one line each time


def test_a_failure_is_told_until_the_next_attempt(tmp_path):
    run = start(tmp_path)
    run.fail("the loss is not a number")
    assert (run.state, run.failure) == ("failed", "the loss is not a number")
    with run.claim():
        assert run.failure == ""


def test_a_log_line_that_is_being_written_is_left_out(tmp_path):
    run = start(tmp_path)
    assert run.log == []
    (run.path / "log.jsonl").write_text('{"epoch": 0, "loss": 1.5}\n{"epoch": 1, "lo')
    assert run.log == [{"epoch": 0, "loss": 1.5}]


def test_what_json_cannot_keep_is_refused(tmp_path):
    with pytest.raises(SoftlabelError, match="something that JSON cannot keep"):
        start(tmp_path, lr=np.float32(0.1))
    with pytest.raises(SoftlabelError, match="something that JSON cannot keep"):
        start(tmp_path, lr=math.nan)
    assert list(tmp_path.iterdir()) == []


def test_an_edited_configuration_is_refused(tmp_path):
    path = start(tmp_path).path / "config.json"
    path.write_text(path.read_text().replace("0.1", "0.2"))
    with pytest.raises(FileError, match="was edited"):
        start(tmp_path)
    path.write_text("{")
    with pytest.raises(FileError, match="is damaged"):
        start(tmp_path)


# ── code ─────────────────────────────────────────────────────────────────────────────────────


def other_code(monkeypatch, digest: str = "0123456789abcdef") -> None:
    monkeypatch.setattr(identity, "code_digest", lambda: digest)


def test_a_run_records_its_code_and_the_commit(tmp_path, monkeypatch):
    run = start(tmp_path)
    assert run.code == code_digest()
    for commit, written in (("abc123-dirty", "abc123-dirty"), (None, "null")):
        monkeypatch.setattr(identity, "git_commit", lambda commit=commit: commit)
        with run.claim():
            last = (run.path / "environment.txt").read_text().strip().split("\n\n")[-1]
        assert f"\ncode {code_digest()}, commit {written}\n" in last


def test_an_unfinished_run_of_other_code_is_not_resumed(tmp_path, monkeypatch):
    old = start(tmp_path)
    (old.path / "checkpoint.pt").write_bytes(b"weights")
    other_code(monkeypatch)
    new = start(tmp_path)
    assert new.name != old.name
    assert (new.state, list(new.path.glob("checkpoint*"))) == ("waiting", [])
    assert (old.path / "checkpoint.pt").exists()  # left as it was
    assert runs.replaced_runs([new]) == [old]
    assert runs.replaced_runs([start(tmp_path, lr=0.3)]) == []  # no other code has made this one


def test_runs_of_other_code_are_told(tmp_path, monkeypatch):
    old = [finished(tmp_path, seed) for seed in (0, 1)]
    assert runs.stale_runs(old) == []
    assert runs.describe_stale(old) == ""
    other_code(monkeypatch)
    new = [finished(tmp_path, seed) for seed in (0, 1, 2)]
    found = runs.find(tmp_path)
    assert len(found) == 5
    assert sorted(run.name for run in runs.stale_runs(found)) == sorted(run.name for run in old)
    assert runs.describe_stale(found) == "2 of 5 runs were made with other code"
    assert runs.find_differences(found) == ["code"]  # seeds of two codes are not averaged
    assert {run.name for run in runs.find(tmp_path, code=new[0].code)} == {r.name for r in new}


def test_a_run_from_before_digests_is_one_of_other_code(tmp_path):
    run = finished(tmp_path)
    config = json.loads((run.path / "config.json").read_text())
    del config["code"]
    (run.path / "config.json").write_text(json.dumps(config))
    assert Run(run.path).code is None
    assert runs.describe_stale([Run(run.path)]) == "1 of 1 runs was made with other code"


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ('def f(x):\n    """Twice."""\n    return 2 * x', True),
        ("def f( x ):  # twice\n\n    return (2*x)", True),
        ("def f(x):\n    return 3 * x", False),
        ("def f(x):\n    return x * 2", False),
        ("def f(x):\n    return 2 * x\nf.y = 1", False),
        ("def f(x):\n    return", False),
        ("def f(x):\n    return None", False),
    ],
)
def test_comments_docstrings_and_layout_are_not_code(other, same):
    assert (parse_code(other) == parse_code("def f(x):\n    return 2 * x")) is same


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = 'a'", "x = 'b'"),
        ("if x:\n    'a'", "if x:\n    'b'"),  # no docstring
        ("x = None", "x = ..."),
        ("def f():\n    return", "def f():\n    return None"),
    ],
)
def test_what_is_code(one, two):
    assert parse_code(one) != parse_code(two)


def test_the_digest_covers_the_training_code(tmp_path, monkeypatch):
    """A copy of the package has the same digest; a change of a loss, another one."""
    before = code_digest()
    for place in ("train", "deliver"):
        shutil.copytree(identity.PACKAGE / place, tmp_path / place)
    shutil.copy(identity.PACKAGE / "randomness.py", tmp_path)
    monkeypatch.setattr(identity, "PACKAGE", tmp_path)
    assert code_digest.__wrapped__() == before
    losses = tmp_path / "train" / "losses.py"
    losses.write_text(losses.read_text() + "\n# a remark\n")
    assert code_digest.__wrapped__() == before
    losses.write_text(losses.read_text().replace("SMALLEST = 1e-12", "SMALLEST = 1e-9"))
    assert code_digest.__wrapped__() != before
    assert identity.git_commit.__wrapped__() is None  # a copy lies in no checkout


# ── finding ──────────────────────────────────────────────────────────────────────────────────


def test_find_by_any_setting(tmp_path):
    for deliver in ("sls", "hard"):
        for seed in (1, 0):
            finished(tmp_path, seed, deliver=deliver)
    start(tmp_path, 2)  # not finished: not found
    (tmp_path / "notes").mkdir()  # not a run
    found = runs.find(tmp_path)
    assert [(run.config["deliver"], run.seed) for run in found] == [
        ("hard", 0), ("hard", 1), ("sls", 0), ("sls", 1),
    ]  # fmt: skip
    assert runs.find(tmp_path, deliver="sls", seed=1) == [found[3]]
    assert runs.find(tmp_path, deliver="p19") == []
    with pytest.raises(UnknownName, match=r"'delivr' \(did you mean 'deliver'\?\)"):
        runs.find(tmp_path, delivr="sls")
    with pytest.raises(FileError, match="no such folder"):
        runs.find(tmp_path / "other")
    assert len(list(runs.list_runs(tmp_path))) == 5


def test_groups_and_what_tells_runs_apart(tmp_path):
    made = [
        finished(tmp_path, seed, deliver=deliver, lr=lr, net=net)
        for seed in (0, 1)
        for deliver, lr, net in (("hard", 0.1, "a"), ("sls", 0.1, "a"), ("sls", 0.4, "b"))
    ]
    assert runs.find_differences(made) == ["deliver", "lr"]  # net says nothing that lr does not
    assert runs.find_differences(made[:1]) == []
    groups = runs.group(made, ["deliver", "lr"])
    assert list(groups) == ["hard, 0.1", "sls, 0.1", "sls, 0.4"]
    assert [run.seed for run in groups["sls, 0.4"]] == [0, 1]
    assert list(runs.group(made, "seed")) == ["0", "1"]
    assert list(runs.group(made, "seed", named=True)) == ["seed=0", "seed=1"]
    with pytest.raises(UnknownName, match="no setting of run"):
        runs.group(made, "rate")


def test_a_run_without_predictions_says_where_it_stands(tmp_path):
    with pytest.raises(DataError, match=r"has no predictions.npz: the run is waiting"):
        _ = start(tmp_path).predictions


def npz(path, **arrays):
    with path.open("wb") as file:
        np.savez(file, **arrays)


STRANGE = {  # what stands in the place of predictions.npz -> what is said of it
    "empty": (lambda path: path.write_bytes(b""), "no .npz file"),
    "text": (lambda path: path.write_text("item,x,y\na,.5,.5\n"), "no .npz file"),
    "other arrays": (lambda path: npz(path, weights=np.zeros(3)), "has the arrays weights"),
    "objects": (
        lambda path: npz(path, item=np.array([{}]), labels=["x"], probs=[[1.0]]),
        "Object arrays cannot be loaded",
    ),
    "counts": (lambda path: npz(path, item=["a"], labels=["x"], probs=[[3.0]]), "row 0: .* 3.0"),
    "another shape": (lambda path: npz(path, item=["a"], labels=["x"], probs=[1.0]), "shape"),
    "numbers for names": (lambda path: npz(path, item=[1], labels=["x"], probs=[[1.0]]), "text"),
}


@pytest.mark.parametrize("strange", STRANGE)
def test_predictions_that_are_not_ours_are_told(tmp_path, strange):
    run = start(tmp_path)
    run.finish(PREDICTIONS, SCORES)
    write, complaint = STRANGE[strange]
    write(run.path / "predictions.npz")
    with pytest.raises(FileError, match=rf"predictions\.npz: .*{complaint}"):
        start(tmp_path).predictions.probs  # noqa: B018  (reading it is the test)


@pytest.mark.parametrize("name", ["seed", "config.json", "labels.sha256"])
@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"[1, 2]", b"{" * 9999])
def test_damaged_files_of_a_run_are_told(tmp_path, name, data):
    run = start(tmp_path)
    (run.path / name).write_bytes(data)
    strange = runs.Run(run.path)
    try:
        strange.seed, strange.labels, strange.value("deliver")
    except FileError as error:
        assert str(run.path / name) in str(error)  # noqa: PT017
    else:
        assert name == "labels.sha256"  # any text will do
