"""Published data sets, from the command line."""

from __future__ import annotations

import csv
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from softlabel import datasets, metrics


def test_list_names_every_data_set(run):
    out = run("data", "list").out
    for info in datasets.list_infos():
        assert f"{info.name}: {info.title}" in out
        assert info.licence in out


def test_where_says_what_is_not_here(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "rte").mkdir()
    first = datasets.DATASETS["rte"].INFO.files[0].name
    (tmp_path / "rte" / first).write_text("x")
    facts = {key: value.strip() for key, value in run("data", "where", "rte").facts.items()}
    assert facts[first] == str(tmp_path / "rte" / first)
    assert set(facts.values()) == {facts[first], "missing"}
    assert run("data", "where", "rtf").code == 1


def test_missing_data_say_how_to_get_them(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
    done = run("label", "dataset:cifar10s", tmp_path / "s.csv")
    assert (done.code, done.out) == (1, "")
    assert "softlabel data fetch cifar10s" in done.err


def test_instructions_for_fetching_by_hand_can_be_copied(run, tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path))
    monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
    done = run("label", "dataset:rte", tmp_path / "s.csv")
    assert done.code == 1
    assert datasets.DATASETS["rte"].INFO.by_hand.rstrip() in done.err  # line breaks and all


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A data set called tiny, of one file, at a real address on this machine."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "a.txt").write_bytes(b"x" * 100_000)
    handler = partial(QuietHandler, directory=tmp_path / "web")
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/a.txt"
        sum_ = sha256(b"x" * 100_000).hexdigest()
        info = datasets.Info(
            "tiny", "Tiny", "nowhere", "none", (datasets.File("a.txt", sum_, url),)
        )
        monkeypatch.setitem(datasets.DATASETS, "tiny", SimpleNamespace(INFO=info))
        monkeypatch.setenv("SOFTLABEL_CACHE", str(tmp_path / "cache"))
        monkeypatch.delenv("SOFTLABEL_DATA", raising=False)
        yield tmp_path / "cache" / "data" / "tiny" / "a.txt"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


def test_fetch_lists_new_files_and_does_not_fetch_twice(run, served):
    done = run("data", "fetch", "tiny")
    assert (done.code, done.out) == (0, f"{served}\n")
    assert served.read_bytes() == b"x" * 100_000
    assert run("data", "fetch", "tiny").out == "tiny: all files are present\n"


def test_where_can_check_the_files(run, served):
    run("data", "fetch", "tiny")
    assert run("data", "where", "tiny", "--check").code == 0
    served.write_bytes(b"y")
    done = run("data", "where", "tiny", "--check")
    assert (done.code, "sha256 is" in done.err) == (1, True)


@pytest.fixture
def own_data(tmp_path, monkeypatch):
    """A folder in the place of the released data."""
    monkeypatch.setenv("SOFTLABEL_DATA", str(tmp_path / "own"))
    for name in ("crowd", "cifar10h"):
        (tmp_path / "own" / name).mkdir(parents=True)
    return tmp_path / "own"


def test_data_sets_keep_first_answers_and_the_order_of_their_items(run, tmp_path, own_data):
    votes = "item,worker,label\n2,0,1\n1,0,1\n2,0,0\n2,1,0\n"
    (own_data / "crowd" / "dog.label.csv").write_text(votes)
    (own_data / "crowd" / "dog.truth.csv").write_text("item,truth\n1,1\n")
    done = run("label", "dataset:crowd/dog", tmp_path / "s.csv")
    assert done.facts["repeats dropped"].strip() == "1"
    expected = {"item": [1, 2], "0": [0, 0.5], "1": [1, 0.5], "count": [1, 2]}
    assert datasets.load("crowd/dog").index.items.tolist() == ["1", "2"]
    assert pl.read_csv(tmp_path / "s.csv").to_dict(as_series=False) == expected
    done = run("label", "dataset:crowd/dog", tmp_path / "s.csv", "--repeats", "error")
    assert (done.code, "in row 1 and again in row 3" in done.err) == (1, True)
    assert run("label", "dataset:crowd/dog", tmp_path / "s.csv", "--labels", "0,1").code == 0
    done = run("label", "dataset:crowd/dog", tmp_path / "s.csv", "--labels", "0,2")
    assert "has its own classes" in done.err


def test_votes_without_authors_go_round_through_json_lines(run, tmp_path, own_data):
    counts = np.zeros((10_000, 10), dtype=np.int64)
    counts[:, 3] = 1
    counts[0, 0] = 3
    np.save(own_data / "cifar10h" / "cifar10h-counts.npy", counts)
    assert run("export", "dataset:cifar10h", tmp_path / "v.jsonl").code == 0
    done = run("label", tmp_path / "v.jsonl", tmp_path / "s.csv")
    assert done.facts["annotators"].strip() == "not known"
    assert pl.read_csv(tmp_path / "s.csv")["airplane"].to_list()[:2] == [0.75, 0.0]


# ── real data ────────────────────────────────────────────────────────────────────────────────


def labels_in(path) -> dict[str, list[float]]:
    with path.open(newline="") as file:
        _, *rows = csv.reader(file)
    return {row[0]: [float(cell) for cell in row[1:-1]] for row in rows}


def test_cifar10s_counts_each_person_once_per_image(run, data_folder, tmp_path):
    once = run("label", "dataset:cifar10s", tmp_path / "once.csv")
    shown = ("items", "annotators", "answers", "repeats dropped")
    assert {key: once.facts[key].strip() for key in shown} == {
        "items": "1,000",
        "annotators": "248",
        "answers": "6,200",
        "repeats dropped": "523",
    }
    assert once.facts["repaired answers"].strip() == "p-is-0 1, zero-is-100 6"
    every = run("label", "dataset:cifar10s", tmp_path / "all.csv", "--repeats", "all")
    assert every.facts["answers"].strip() == "6,723"


def test_cifar10s_with_all_rows_is_what_the_authors_released(run, data_folder, tmp_path):
    options = ("--repeats", "all", "--construct", "clamp:mode=reference")
    assert run("label", "dataset:cifar10s", tmp_path / "s.csv", *options).code == 0
    ours = labels_in(tmp_path / "s.csv")
    theirs = {name: each.mean(axis=0) for name, each in datasets.cifar10s.released_labels().items()}
    assert ours.keys() == theirs.keys()
    far = [metrics.total_variation([ours[name]], [theirs[name]])[0] for name in ours]
    assert max(far) < 1e-12


@pytest.mark.parametrize("name", ["cifar10s", "rte", "crowd/ms", "popquorn/offensiveness"])
def test_items_are_in_the_order_that_python_gives(run, data_folder, tmp_path, name):
    assert run("label", f"dataset:{name}", tmp_path / "s.csv").code == 0
    assert list(labels_in(tmp_path / "s.csv")) == datasets.load(name).index.items.tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "json"])
def test_cifar10s_goes_round(run, data_folder, tmp_path, kind):
    run("label", "dataset:cifar10s", tmp_path / "1.csv")
    assert run("export", "dataset:cifar10s", tmp_path / f"copy.{kind}").code == 0
    assert run("label", tmp_path / f"copy.{kind}", tmp_path / "2.csv").code == 0
    assert labels_in(tmp_path / "2.csv") == labels_in(tmp_path / "1.csv")


def test_the_released_json_holds_the_same_answers(run, data_folder, tmp_path):
    released = next((data_folder / "cifar10s").glob("human_soft_labels_data.json*"))
    assert run("label", released, tmp_path / "json.csv").facts["answers"].strip() == "6,723"
    run("label", "dataset:cifar10s", tmp_path / "all.csv", "--repeats", "all")
    ours, theirs = labels_in(tmp_path / "all.csv"), labels_in(tmp_path / "json.csv")
    assert ours.keys() == theirs.keys()
    for name, row in ours.items():
        assert row == pytest.approx(theirs[name], abs=1e-12)


def test_released_crowd_votes_are_a_file_like_any_other(run, data_folder, tmp_path):
    path = data_folder / "crowd" / "adult.label.csv.gz"
    assert run("label", path, tmp_path / "1.csv", "--repeats", "first").code == 0
    assert run("label", "dataset:crowd/adult", tmp_path / "2.csv").code == 0
    first, second = labels_in(tmp_path / "1.csv"), labels_in(tmp_path / "2.csv")
    assert len(first) == len(second)
