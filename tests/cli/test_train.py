"""``train``, ``grid`` and ``evaluate`` as they are typed."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from softlabel import Annotations, Index, SoftLabels
from softlabel.io import write_answers
from softlabel.train import runs

EPOCHS = 30
GRID = f"""
recipe = "small"
images = "toy.npz"
labels = "votes.csv"
deliver = ["aggregate", "hard"]
seeds = 2
[set]
epochs = {EPOCHS}
batch = 24
checkpoint_seconds = 0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Fifty small pictures, dark or light, and three people's votes."""
    rng = np.random.default_rng(5)
    light = rng.integers(0, 2, 50)
    images = np.clip(rng.normal(80 + 90 * light[:, None, None, None], 25, (50, 8, 8, 3)), 0, 255)
    items = [f"p{i}" for i in range(50)]
    np.savez(tmp_path / "toy.npz", images=images.astype(np.uint8), items=np.array(items))
    vote = np.where(rng.random((50, 3)) < 0.2, 1 - light[:, None], light[:, None])
    index = Index(items, ["ann", "bob", "cleo"], ["dark", "light"])
    who = np.tile(np.arange(3), 50)
    said = Annotations(index, np.repeat(np.arange(50), 3), who, label=vote.ravel())
    write_answers(said, tmp_path / "votes.csv")
    (tmp_path / "grid.toml").write_text(GRID)
    monkeypatch.chdir(tmp_path)
    return tmp_path


QUICK = ("--images", "toy.npz", "--labels", "votes.csv", "--set", "epochs=2", "--set", "batch=24")


def test_one_run_from_first_to_last(run, folder):
    words = ("train", "small", *QUICK, "--deliver", "hard", "--seeds", 1)
    done = run(*words)
    assert (done.code, done.err) == (0, "")
    cost, *rest = done.out.splitlines()
    assert re.fullmatch(r"1 run; 1 to do, about \S+ s each, 1 at a time: about \S+ s", cost)
    assert "trained from scratch, interval over items:" in rest
    assert any(re.match(r"  deliver=hard +1 +[01]\.\d{4} \[", line) for line in rest)
    (made,) = runs.find("runs")
    before = {path: path.stat().st_mtime_ns for path in made.path.iterdir()}
    again = run(*words)
    assert again.out.splitlines() == ["1 run, 1 finished already: nothing to do", *rest]
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_finished_run_predicts(run, folder):
    assert run("train", "small", *QUICK, "--set", "augment=none", "--seeds", 1).code == 0
    (made,) = runs.find("runs")
    # the command in its README makes the same run
    page = (made.path / "README.md").read_text()
    (command,) = [line for line in page.splitlines() if line.startswith("softlabel train")]
    again = run(*shlex.split(command)[1:])
    assert again.out.startswith("1 run, 1 finished already: nothing to do\n")
    assert all(f"| {key} | " in page for key in made.scores)
    # predictions of all items agree with those kept of the held-out ones
    for name in ("p.csv", "p.parquet", "p.jsonl", "p.npz"):
        done = run("predict", made.path, "toy.npz", name)
        assert (done.code, done.err) == (0, "")
        assert done.out == f"{name}: 50 items, 2 classes (dark, light)\n"
    frames = [pl.read_csv("p.csv"), pl.read_parquet("p.parquet"), pl.read_ndjson("p.jsonl")]
    with np.load("p.npz") as file:
        table = {"item": file["item"].tolist()}
        table |= dict(zip(file["labels"].tolist(), file["probs"].T, strict=True))
        frames.append(pl.DataFrame(table))
    held = made.predictions
    for frame in frames:
        assert frame.columns == ["item", "dark", "light"]
        of = dict(zip(frame["item"], frame.select("dark", "light").iter_rows(), strict=True))
        got = [of[item] for item in held.index.items.tolist()]
        np.testing.assert_allclose(got, held.probs, atol=1e-6)
    with np.load("toy.npz") as file:
        fresh = made.predict(file["images"][:3])
    assert fresh.index.items.tolist() == ["0", "1", "2"]
    assert fresh.index.labels.tolist() == ["dark", "light"]
    assert fresh.probs[0].tolist() == pytest.approx(frames[0].row(0)[1:], abs=1e-6)


def test_mistakes_of_predict_are_one_line(run, folder):
    assert run("train", "small", *QUICK, "--seeds", 1).code == 0
    (made,) = runs.find("runs")
    np.savez("features.npz", features=np.zeros((2, 5), dtype=np.float32))
    items = np.array(["a", "b"], dtype=object)  # as of a column of pandas
    np.savez("objects.npz", features=np.zeros((2, 5), dtype=np.float32), items=items)
    for words, message in (
        ((folder, "toy.npz", "p.csv"), "is no run folder: it has no"),
        ((made.path, "toy.png", "p.csv"), "no set of images called 'toy.png'"),
        ((made.path, "none.npz", "p.csv"), "none.npz: there is no such file"),
        ((made.path, "features.npz", "p.csv"), r"inputs of the shape \(2, 5\): the network was "),
        ((made.path, "objects.npz", "p.csv"), "objects.npz: does not hold plain items, as of np.a"),
        ((made.path, "toy.npz", "p.txt"), "p.txt"),
    ):
        done = run("predict", *words)
        assert (done.code, done.out) == (1, "")
        assert re.search(message, done.err), done.err
        assert done.err.count("\n") == 1
    (made.path / "weights.pt").unlink()
    done = run("predict", made.path, "toy.npz", "p.csv")
    assert "the run is finished, and its recipe, small, does not keep a network" in done.err
    assert not Path("p.csv").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smol", *QUICK], r"no recipe called 'smol' \(did you mean 'small'\?\)"),
        (["small", *QUICK, "--set", "epoch=3"], r"no setting called 'epoch' \(did you mean 'epo"),
        (["small", *QUICK, "--set", "lr"], "--set 'lr' is not of the form key=value"),
        (["small", *QUICK, "--deliver", "sl"], r"no deliver called 'sl'"),
        (["small", "--images", "toy.npz"], "toy.npz has no labels of its own; say --labels FILE"),
        (["small", "--images", "cifar10"], r"'cifar10' \(did you mean 'cifar10"),
        (["small", *QUICK, "--against", "none.npz"], "none.npz"),
    ],
)
def test_mistakes_are_one_line(run, folder, words, message):
    done = run("train", *words)
    assert (done.code, done.out) == (1, "")
    assert re.search(message, done.err)
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["train", "grid", "evaluate"])
def test_no_command_has_more_than_seven_options(run, command):
    lines = run(command, "--help").out.splitlines()
    options = [line for line in lines if line.startswith("  --")]
    assert len({line.split()[0] for line in options} - {"--help", "--load"}) <= 7
    for line, below in pairwise([*lines, ""]):
        if line not in options:
            continue
        assert line.strip().partition("  ")[2] or below.startswith("     "), f"{line} has no help"


def freeze_a_run(seconds: float) -> int:
    """Stop a worker in the midst of a run that is not the first; its process id.

    A frozen worker cannot finish before the signal comes, however slow the machine is.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        every = list(runs.list_runs("runs")) if Path("runs").exists() else []
        busy = [one for one in every if 3 < len(one.log) < EPOCHS and one.state == "running"]
        if busy and any(one.finished for one in every):
            worker = int(re.match(r"process (\d+)", (busy[0].path / "running").read_text())[1])
            os.kill(worker, signal.SIGSTOP)
            if len(busy[0].log) < EPOCHS:
                return worker
            os.kill(worker, signal.SIGCONT)
        time.sleep(0.005)
    raise AssertionError(f"no run was seen half-way in {seconds} s")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_grid_goes_on(run, folder):
    """Ctrl-C in the midst: nobody is left behind, nothing is lost, and nothing is done twice."""
    # a shell starts background jobs with SIGINT ignored, so the handler is set by hand
    start = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from softlabel.cli import main; sys.exit(main(['grid', 'grid.toml', '--processes', '1']))"
    )
    with subprocess.Popen([sys.executable, "-c", start], stderr=subprocess.PIPE) as grid:
        worker = freeze_a_run(600)
        grid.send_signal(signal.SIGINT)
        time.sleep(1)  # in which it asks its worker to stop
        with suppress(ProcessLookupError):
            os.kill(worker, signal.SIGCONT)
        _, err = grid.communicate(timeout=300)
    assert (grid.returncode, err) == (130, b"")
    with pytest.raises(ProcessLookupError):
        os.kill(worker, 0)
    states = [one.state for one in runs.list_runs("runs")]
    assert 1 <= states.count("finished") < 4
    assert "running" not in states
    files = [path for one in runs.find("runs") for path in one.path.iterdir()]
    kept = {path: path.stat().st_mtime_ns for path in files}

    done = run("grid", "grid.toml", "--processes", 1)
    assert (done.code, done.err) == (0, "")
    assert re.match(r"4 runs, [123] finished already; [123] to do, about .* 1 at a time", done.out)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    made = runs.find("runs")
    assert [len(one.log) for one in made] == [EPOCHS] * 4
    begun = sorted((one.path / "environment.txt").read_text().count("begun ") for one in made)
    assert begun == [1, 1, 1, 2]  # one was interrupted, and went on

    compared(run)


def compared(run) -> None:
    """The same four runs, evaluated."""
    done = run("evaluate", "runs", "--metric", "kl:floor=1e-9", "--metric", "accuracy")
    assert (done.code, done.err) == (0, "")
    assert re.search(r"trained from scratch, \d+ items, mean over seeds:", done.out)
    assert re.search(r"difference from deliver=hard, seed by seed, over items and", done.out)
    assert re.search(r"^  deliver=aggregate +2 +-?\d\.\d{4} \[-?\d", done.out, re.MULTILINE)
    told = json.loads(run("evaluate", "runs", "--metric", "accuracy", "--json").out)["scratch"]
    assert told["by"] == ["deliver"]
    by_hand = [
        [one.scores["accuracy"].value for one in runs.find("runs", deliver=name)]
        for name in ("aggregate", "hard")
    ]
    mean = told["runs"]["deliver=aggregate"]["accuracy"]
    assert mean["value"] == pytest.approx(np.mean(by_hand[0]))
    assert 0 <= mean["low"] <= mean["high"] <= 1  # two seeds: Student's interval is wider
    difference = told["differences"]["deliver=aggregate"]["accuracy"]
    assert difference["value"] == pytest.approx(np.mean(by_hand[0]) - np.mean(by_hand[1]))
    for name in ("aggregate", "deliver=aggregate"):
        turned = run("evaluate", "runs", "--metric", "kl", "--than", name).out
        assert "difference from deliver=aggregate" in turned
    by_rate = run("evaluate", "runs", "--metric", "kl", "--by", "deliver,lr").out
    assert re.search(r"^  deliver=hard, lr=\S+ +2 ", by_rate, re.MULTILINE)
    assert run("evaluate", "runs", "--than", "sls").code == 1
    everybody = SoftLabels(
        Index([f"p{i}" for i in range(50)], [], ["light", "dark"]),
        np.full((50, 2), 0.5),
        np.full(50, 3),
    )
    everybody.save("flat.npz")  # of more items than were predicted, classes the other way round
    flat = run("evaluate", "runs", "--against", "flat.npz", "--metric", "total-variation")
    assert flat.code == 0
    probs = np.stack([one.predictions.probs for one in runs.find("runs", deliver="hard")])
    shown = float(re.search(r"^  deliver=hard +2 +(\d\.\d{4})", flat.out, re.MULTILINE)[1])
    assert shown == pytest.approx(abs(probs - 0.5).sum(axis=2).mean() / 2, abs=1e-4)


def test_a_grid_says_what_it_would_cost(run, folder):
    done = run("grid", "grid.toml", "--dry")
    assert re.fullmatch(r"4 runs; 4 to do, about \S+ s each, \d at a time: about .*\n", done.out)
    assert all(one.state == "waiting" for one in runs.list_runs("runs"))
    (folder / "grid.toml").write_text(GRID.replace("seeds", "seedz"))
    done = run("grid", "grid.toml")
    assert (done.code, "no key called 'seedz' (did you mean 'seeds'?)" in done.err) == (1, True)


def test_runs_that_do_not_finish_are_an_error(run, folder):
    (folder / "grid.toml").write_text(
        GRID.replace("[set]", "[set]\nlr = 1e30").replace("hard", "sls")
    )
    done = run("grid", "grid.toml", "--processes", 1)
    assert done.code == 1
    assert "training diverged" in done.err.splitlines()[0]
    assert re.search(r"error: 4 of 4 runs did not finish; the first, runs/\w+, failed", done.err)


@pytest.fixture
def points(folder) -> Path:
    """Sixty features, the votes on forty, and two opinions about the other twenty."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 60)
    rows = rng.normal(size=(60, 5)) + 2 * kind[:, None]
    items = [f"it{i:02}" for i in range(60)]
    np.savez("feat.npz", features=rows.astype(np.float32), items=np.array(items))
    vote = np.where(rng.random((40, 4)) < 0.2, 1 - kind[:40, None], kind[:40, None])
    index = Index(items[:40], list("abcd"), ["x", "y"])
    said = Annotations(index, np.repeat(np.arange(40), 4), np.tile(range(4), 40), vote.ravel())
    write_answers(said, folder / "v40.csv")
    sure = rng.uniform(0.6, 0.95, (20, 1))
    for name, right in (("ag.npz", kind[40:]), ("turned.npz", 1 - kind[40:])):
        soft = np.where(np.eye(2)[right] == 1, sure, 1 - sure)
        SoftLabels(Index(items[40:], [], ["x", "y"]), soft, np.full(20, 10)).save(name)
    return folder


POINTS = ("features-linear", "--images", "feat.npz", "--labels", "v40.csv")
TWICE = ("--seeds", 2, "--set", "lr=0.05", "--set")


def test_mistakes_in_files_of_features_are_one_line(run, points):
    with np.load("feat.npz") as file:
        rows, items = file["features"], file["items"]
    np.savez("items.npz", features=rows, items=items.astype(object))
    np.savez("rows.npz", features=rows.astype(object), items=items)
    Path("text.npz").write_text("features")
    votes = Path("v40.csv").read_text()
    Path("again.csv").write_text(votes + votes.splitlines()[1] + "\n")
    for file, message in (
        ("items.npz", r"^error: items.npz: does not hold plain items, as of np\.array\(items, dty"),
        ("rows.npz", r"^error: rows.npz: does not hold plain features, as of np\.array\(feature"),
        ("text.npz", "^error: text.npz: is no .npz file, or a damaged one"),
    ):
        done = run("train", "features", "--images", file, "--labels", "v40.csv")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert re.search(message, done.err)
    done = run("train", *POINTS[:-1], "again.csv")
    assert done.err.startswith(
        "error: again.csv, line 162: 'a' answered item 'it00' on line 2 and "
    )
    (command,) = re.findall("train on these: (.* --repeats first) ", done.err)
    assert run(*shlex.split(command)[1:]).code == 0
    words = ("--labels", "labels.npz", "--against", "ag.npz", "--seeds", 1)
    assert run("train", *POINTS[:-2], *words).code == 0


def test_the_page_of_a_run_tells_how_to_use_it(run, points):
    """Its command and its Python predict the same, of pictures and of features."""
    assert run("train", *POINTS, "--against", "ag.npz", "--seeds", 1, "--out", "my runs").code == 0
    assert run("train", "small", *QUICK, "--seeds", 1).code == 0
    for out, count in (("my runs", 60), ("runs", 50)):
        (made,) = runs.find(out)
        page = (made.path / "README.md").read_text()
        (command,) = re.findall(r"^softlabel predict .*$", page, re.MULTILINE)
        assert run(*shlex.split(command)[1:]).code == 0
        (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        known: dict = {}
        exec(block, known)
        table = pl.read_csv("predictions.csv")
        assert table["item"].to_list() == known["predictions"].index.items.tolist()
        assert len(table) == count
        probs = table.drop("item").to_numpy()
        np.testing.assert_allclose(probs, known["predictions"].probs, atol=1e-6)


def test_a_group_is_scored_against_its_own_labels(run, points):
    for deliver, against in (("aggregate", "turned.npz"), ("hard", "ag.npz")):
        words = ("--deliver", deliver, "--against", against, *TWICE, "epochs=9")
        assert run("train", *POINTS, *words).code == 0
    done = run("evaluate", "runs", "--metric", "accuracy", "--json")
    told = json.loads(done.out)["features"]
    for deliver, low, high in (("aggregate", 0, 0.4), ("hard", 0.6, 1)):
        kept = [one.arrays("probs", "people") for one in runs.find("runs", deliver=deliver)]
        right = [(one["probs"].argmax(1) == one["people"].argmax(1)).mean() for one in kept]
        value = told["runs"][f"deliver={deliver}"]["accuracy"]["value"]
        assert value == pytest.approx(np.mean(right))
        assert low <= value <= high
    assert told["differences"] == {}
    assert done.err == (
        "note: deliver=aggregate: tested against other labels than deliver=hard, so not compared "
        "with it; say --against\n"
    )
    same = run("evaluate", "runs", "--metric", "accuracy", "--against", "ag.npz")
    assert (same.err, "difference from deliver=hard" in same.out) == ("", True)
    mixed = run("evaluate", "runs", "--by", "recipe")
    assert (mixed.code, "were tested against different labels; say" in mixed.err) == (1, True)
    page = run("report", "runs", "page.html")
    assert (page.code, Path("page.html").read_text().count(", test 2 of 2</h2>")) == (0, 1)
    assert "Difference from" not in Path("page.html").read_text()


def test_what_else_differs_is_noted(run, points):
    words = ("--against", "ag.npz", *TWICE)
    for deliver, epochs in (("aggregate", 5), ("hard", 6)):
        assert run("train", *POINTS, "--deliver", deliver, *words, f"epochs={epochs}").code == 0
    note = "note: these runs also differ in: epochs (5, 6)\n"
    assert run("evaluate", "runs", "--metric", "kl").err == note
    assert run("report", "runs", "page.html").err == note
    for deliver, recipe in (("aggregate", "features-linear"), ("hard", "features")):
        more = ("--deliver", deliver, "--out", "others", *words, "epochs=5")
        assert run("train", recipe, *POINTS[1:], *more).code == 0
    for than in ((), ("--than", "deliver=hard"), ("--than", "hard"), ("--than", "features")):
        done = run("evaluate", "others", "--metric", "kl", *than)
        assert "difference from recipe=features, seed by seed" in done.out
        assert "also differ in: deliver (aggregate, hard), net (linear, mlp)" in done.err


def test_evaluate_of_nothing(run, folder):
    assert "no such folder of runs" in run("evaluate", "runs").err
    (folder / "runs").mkdir()
    assert "has no finished run" in run("evaluate", "runs").err


def test_runs_of_other_code_are_noted(run, folder, monkeypatch):
    words = ("train", "small", *QUICK, "--deliver", "hard", "--seeds", 2)
    assert run(*words).code == 0
    for command in (["evaluate", "runs", "--json"], ["report", "runs", "page.html"]):
        assert run(*command).err == ""
    monkeypatch.setattr(runs.identity, "code_digest", lambda: "0123456789abcdef")
    note = "2 of 2 runs were made with other code"
    told = run("evaluate", "runs", "--metric", "accuracy", "--json")
    assert (told.code, told.err) == (0, f"note: {note}\n")
    assert "scratch" in json.loads(told.out)
    page = run("report", "runs", "page.html")
    assert (page.code, page.out, page.err) == (0, "wrote page.html\n", f"note: {note}\n")
    assert f"{note}." in Path("page.html").read_text()


def test_the_table_shows_every_run(folder):
    from rich.console import Console

    from softlabel.cli.train import table
    from softlabel.train import JobState, read_grid

    standings = [JobState(job, job.start_run()) for job in read_grid(Path("grid.toml"))]
    standings[2].state, standings[2].epoch, standings[2].loss = "running", 7, 0.512
    standings[2].left = 66.0
    standings[3].state = "died"
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(table(standings, 20))
    lines = console.export_text().splitlines()
    assert lines[0].strip() == "1 running, 1 died, 2 waiting"
    assert lines[1].split() == ["run", "deliver", "seed", "state", "epoch", "loss", "left"]
    name = standings[2].run.name
    assert lines[2].split() == [name, "hard", "0", "running", "7/30", "0.512", "66", "s"]
    assert len(lines) == 6
