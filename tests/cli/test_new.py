"""``softlabel new`` with options, and its questions on a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from softlabel import study
from softlabel.cli import wizard
from softlabel.study import shapes


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with some pictures and a table."""
    for name in ("cat/one.png", "dog/two.png"):
        path = tmp_path / "pets" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(shapes.encode_png(np.zeros((4, 4, 3), dtype=np.uint8)))
    (tmp_path / "said.csv").write_text("id,premise,hypothesis\n1,He walks.,He moves.\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_pictures_and_labels(run, place):
    made = run("new", "own", "--images", "pets", "--labels", "cat,dog")
    assert (made.code, made.err) == (0, "")
    assert "wrote 2 pictures in own/images\n" in made.out
    assert run("check", "own").code == 0
    (place / "labels.txt").write_text("\n".join(f"kind {n:02d}" for n in range(30)))
    made = run("new", "many", "--images", "pets", "--labels", "labels.txt")
    assert "note: with 30 labels people type to find one (mode search)" in made.err
    assert run("check", "many").facts["mode"].strip().startswith("search")


def test_texts(run, place):
    made = run(
        "new", "own", "--table", "said.csv", "--text", "premise,hypothesis", "--labels", "a,b"
    )
    assert made.code == 0
    assert run("check", "own").code == 0
    (item,) = study.read("own").items
    assert [heading for heading, _ in item.texts] == ["Premise", "Hypothesis"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--images pets", "--labels is missing: write the labels to choose from as --labels "
         "cat,dog, such as the names of the sub-folders: cat,dog, or name a file"),
        ("--images pets --labels cat", "found one label, 'cat'; give at least two"),
        ("--images pets --labels cat;dog", "separate them by commas: cat,dog"),
        ("--images pets --labels none.txt", "--labels none.txt: is not a file"),
        ("--images pets --table said.csv", "--images and --table: give one of them"),
        ("--images pets --labels a,b --seed 1", "--seed is for the drawn shapes of the example"),
        ("--text premise", "--text 'premise' needs a table: add --table FILE.csv"),
        ("--labels a,b", "--labels needs items: add --images, --audio, --video or --table"),
        ("--table said.csv --labels a,b", "name the column that people read: --text premise"),
        ("--audio pets --labels a,b", "for pictures write --images pets"),
        ("--images pets --labels a,b --mode quik", "did you mean 'quick'?"),
    ],
)  # fmt: skip
def test_mistakes_say_what_to_write(run, place, words, message):
    done = run("new", "own", *words.split())
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert not (place / "own").exists()


def press_enter(words: list[str], folder: Path) -> str:
    """Run a command on a real terminal; press Enter whenever it asks."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "softlabel", *words]
    process = subprocess.Popen(command, cwd=folder, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = ""
    while True:
        ready, _, _ = select.select([master], [], [], 60)
        assert ready, f"it waits: {said}"
        try:
            part = os.read(master, 10_000).decode()
        except OSError:  # the other side is closed
            break
        if not part:
            break
        said += part
        if re.search(r"\[[^\]\n]*\]: $", said):
            os.write(master, b"\n")
            said += "\n"
    os.close(master)
    assert process.wait(60) == 0, said
    return said


def test_a_terminal_is_asked_and_every_question_has_a_default(place):
    said = press_enter(["new", "own"], place)
    assert said.count("]: ") == 9
    assert "What people choose from" in said
    found = study.read(place / "own")
    assert (found.labels, len(found.items), found.mode_text) == (("cat", "dog"), 2, "quick")
    assert found.contact == "you@example.org"


@pytest.fixture
def type_lines(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], None]:
    """Type these lines on what passes for a terminal."""

    def type_them(lines: list[str]) -> None:
        monkeypatch.setattr(wizard, "is_terminal", lambda: True)
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_them


def test_a_terminal_asks_again_until_it_can_go_on(run, place, type_lines):
    lines = ["tabel", "t", "nothing.csv", "said.csv", "hypotesis", "premise,hypothesis", "yes"]
    type_lines([*lines, "yes,no", "hard", "Does it follow?", "0", "3", "", "en", "me@example.org"])
    said = run("new", "own").out
    for message in ("did you mean 'table'?", "no such file", "did you mean 'hypothesis'?"):
        assert message in said
    assert "found one label" in said
    assert "write a whole number from 1 to 1,000" in said
    found = study.read(place / "own")
    assert (found.title, found.mode_text, found.per_item) == ("Does it follow?", "hard", 3)
    assert (found.contact, found.labels) == ("me@example.org", ("yes", "no"))


def test_a_terminal_can_have_the_example(run, place, type_lines):
    type_lines(["example"])
    assert run("new", "own").code == 0
    assert study.read(place / "own").title == "Which shape is it?"


def test_options_are_not_asked_for(run, place, type_lines):
    type_lines([])
    assert run("new", "own", "--mode", "hard").code == 0
    assert study.read(place / "own").mode_text == "hard"


# ── from the export of another program ───────────────────────────────────────────────────────


def annotate(number: int, data: dict, *choices: str) -> dict:
    answers = [
        {"id": n, "completed_by": n, "result": [{"from_name": "animal", "value": {"choices": [c]}}]}
        for n, c in enumerate(choices, 1)
    ]
    return {"id": number, "data": data, "annotations": answers}


def test_texts_of_an_export(run, place):
    tasks = [
        annotate(1, {"text": "Purrs.", "source": "a"}, "cat", "dog"),
        annotate(2, {"text": "Barks.", "source": "b"}),
    ]
    (place / "export.json").write_text(json.dumps(tasks))
    made = run("new", "own", "--from", "label-studio", "export.json")
    assert made.code == 0, made.err
    assert "note: fields that are not shown: source" in made.err
    assert run("check", "own").code == 0
    made = study.read("own")
    assert made.labels == ("cat", "dog")
    assert [(item.id, item.text) for item in made.items] == [("1", "Purrs."), ("2", "Barks.")]
    assert run("new", "other", "export.json", "--labels", "a,b", "--text", "source").code == 0
    assert [item.text for item in study.read("other").items] == ["a", "b"]


def test_pictures_of_an_export(run, place):
    (place / "one.png").write_bytes((place / "pets/cat/one.png").read_bytes())
    tasks = [annotate(1, {"image": "/data/upload/1/one.png"}, "cat", "dog")]
    (place / "export.json").write_text(json.dumps(tasks))
    assert run("new", "own", "export.json").code == 0
    assert run("check", "own").code == 0
    assert (place / "own/images/one.png").is_file()
    tasks[0]["data"]["image"] = "https://example.org/two.png"
    (place / "export.json").write_text(json.dumps(tasks))
    made = run("new", "no", "export.json")
    assert "item '1', image = 'https://example.org/two.png': no such file beside" in made.err
    assert not (place / "no").exists()


def test_texts_in_parts_get_headings(run, place):
    item = {"annotation task": "nli", "text": {"context": "He walks.", "statement": "He moves."},
            "annotators": "A,B", "annotations": {"A": "yes", "B": "no"},
            "soft_label": {"yes": 0.5, "no": 0.5}, "split": "dev", "lang": "en"}  # fmt: skip
    (place / "data.json").write_text(json.dumps({"7": item}))
    assert run("new", "own", "data.json").code == 0
    (made,) = study.read("own").items
    assert [heading for heading, _ in made.texts] == ["Context", "Statement"]
    assert study.read("own").labels == ("yes", "no")


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("a,b\n1,2\n", [], "is no export of a program that softlabel knows"),
        ('{"ann": {"i": "x"}}', [], "a file of alt-test does not contain what people saw"),
        ('[{"id": 1, "data": {"a": "x y", "b": "z"}, "annotations": []}]', ["--labels", "x,y"],
         "its fields are: a, b; name those that people read: --text a"),
        ('[{"id": 1, "data": {"a": "x y"}, "annotations": []}]', ["--text", "c"],
         "--text c: no such field; there are: a"),
        ('[{"id": 1, "data": {"text": "x"}, "annotations": []}]', [], "--labels is missing"),
    ],
)  # fmt: skip
def test_exports_that_make_no_study(run, place, content, words, message):
    (place / "export.json").write_text(content)
    made = run("new", "own", "export.json", *words)
    assert (made.code, made.out) == (1, "")
    assert message in made.err
    assert not (place / "own").exists()
