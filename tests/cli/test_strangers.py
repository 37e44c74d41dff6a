"""Files of other people, given to every command that reads: an error in one line, never 70."""

from __future__ import annotations

import gzip
import io
import zipfile

import numpy as np
import polars as pl
import pytest

VOTES = "item,annotator,label\n1,a,x\n1,b,y\n2,a,x\n"


def npz(**arrays) -> bytes:
    box = io.BytesIO()
    np.savez(box, **arrays)
    return box.getvalue()


def parquet(**columns) -> bytes:
    box = io.BytesIO()
    pl.DataFrame(columns).write_parquet(box)
    return box.getvalue()


def archive() -> bytes:
    box = io.BytesIO()
    with zipfile.ZipFile(box, "w") as file:
        file.writestr("notes.txt", "hello")
    return box.getvalue()


SOFT = npz(item=["1", "2"], labels=["x", "y"], probs=np.eye(2), count=[1, 1])
FOREIGN = {
    "empty": b"",
    "text": b"hello world\nthis is text\n",
    "binary": bytes(range(256)),
    "arrays": npz(weights=np.arange(3)),
    "objects": npz(item=np.array([{"a": 1}])),
    "torn arrays": SOFT[: len(SOFT) // 2],
    "one text for all items": npz(item="a", labels=["x"], probs=[[1.0]], count=[1]),
    "text for numbers": npz(item=["a"], labels=["x"], probs=[["1"]], count=["?"]),
    "archive": archive(),
    "table": parquet(x=[1, 2], y=["a", "b"]),
    "lists in a table": parquet(item=[[1], [2]], annotator=["a", "b"], label=["x", "y"]),
    "html": b"<!doctype html><p>hi</p>",
    "list": b"[1, 2]",
    "object": b'{"a": 1}',
    "deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "gzip": gzip.compress(b"hello world"),
    "columns": b"x,y\n1,2\n",
    "header": b"item,annotator,label\n",
    "predictions": b"item,cat,dog\n1,0.2,0.8\n",
}
ENDINGS = (".csv", ".jsonl", ".json", ".parquet", ".npz", ".csv.gz", "")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text(VOTES)
    return tmp_path


def refused(done, words) -> None:
    assert done.code in (1, 2), (words, done)
    assert done.err.startswith(("error: ", "Usage: ")), (words, done.err)
    assert "Traceback" not in done.err


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_refused(run, here, kind):
    for ending in ENDINGS:
        name = f"it{ending}"
        (here / name).write_bytes(FOREIGN[kind])
        for words in (
            ("label", name, "out.csv"),
            ("export", name, "out.jsonl"),
            *((command, name) for command in ("inspect", "agree", "annotators", "evaluate")),
            ("report", name, "page.html"),
            ("inspect", "votes.csv", "--gold", name),
            ("evaluate", "runs", "--against", name),
        ):
            refused(run(*words), (kind, *words))
    assert not (here / "out.csv").exists()


@pytest.mark.parametrize("name", ["missing.csv", "folder", "folder.csv", ".", "", "/dev/null"])
def test_what_is_no_file_is_refused(run, here, name):
    (here / "folder").mkdir()
    (here / "folder.csv").mkdir()
    for command in ("inspect", "agree", "annotators", "evaluate"):
        refused(run(command, name), (command, name))
    refused(run("label", name, "out.csv"), name)
    refused(run("report", name, "page.html"), name)


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_in_a_run_folder_are_refused(run, here, kind):
    folder = here / "runs" / "one"
    folder.mkdir(parents=True)
    ours = {
        "config.json": b'{"kind": "scratch", "deliver": "hard"}',
        **{"seed": b"0", "labels.sha256": b"x", "scores.json": b'{"scores": {}}'},
    }
    for name in (*ours, "predictions.npz"):
        for file, data in ours.items():
            (folder / file).write_bytes(data)
        (folder / "predictions.npz").write_bytes(FOREIGN["arrays"])
        (folder / name).write_bytes(FOREIGN[kind])
        for words in (("evaluate", "runs"), ("report", "runs", "page.html")):
            refused(run(*words), (kind, name, *words))
    assert f"{folder.relative_to(here)}/predictions.npz: " in run("evaluate", "runs").err
