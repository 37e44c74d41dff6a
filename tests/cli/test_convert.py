"""``softlabel convert``, formats behind the other commands, standard input and output."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

VOTES = "item,annotator,label\ni,ann@example.org,cat\ni,bob,dog\nj,bob,=cat\n"
TASKS = [
    {
        "id": number,
        "data": {"text": f"text {number}"},
        "annotations": [
            {
                "id": who,
                "completed_by": who,
                "lead_time": 2.5,
                "result": [{"from_name": "animal", "value": {"choices": [choice]}}],
            }
            for who, choice in enumerate(choices, 1)
        ],
    }
    for number, choices in ((1, ["cat", "cat", "dog"]), (2, ["dog", "dog"]))
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "votes.csv").write_text(VOTES)
    (tmp_path / "export").write_text(json.dumps(TASKS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def rows(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def test_people_get_other_names_unless_asked(run, place):
    done = run("convert", "votes.csv", "out.csv", "--to", "crowd-kit")
    assert done.code == 0, done.err
    written = rows(place / "out.csv")
    assert list(written[0]) == ["task", "worker", "label"]
    assert {row["worker"] for row in written} == {"a1", "a2"}
    assert [row["label"] for row in written] == ["cat", "dog", "'=cat"], "no formula"
    assert run("convert", "votes.csv", "out.tsv", "--to", "crowd-kit", "--keep-ids").code == 0
    assert [row["worker"] for row in rows(place / "out.tsv")] == ["ann@example.org", "bob", "bob"]
    assert run("convert", "out.tsv", "back.csv", "--keep-ids").code == 0
    assert (place / "back.csv").read_text() == VOTES.replace("=cat", "'=cat")


def test_the_format_is_named_and_what_is_lost_is_said(run, place):
    done = run("convert", "export", "out.csv")
    assert done.facts["read as"].strip() == "label-studio"
    assert done.err.splitlines() == ["note: not kept: what people saw of 2 items"]
    done = run("convert", "export", "out.json", "--to", "lewidi", "--keep-ids")
    assert done.err == "note: not kept: the time that 5 answers took\n"
    again = json.loads((place / "out.json").read_text())
    assert again["1"]["text"] == "text 1"
    assert again["1"]["soft_label"] == {"cat": 2 / 3, "dog": 1 / 3}
    done = run("convert", "export", "again.json", "--to", "label-studio:task=animal")
    assert "who gave the 5 answers: label-studio takes one label per item" in done.err
    task = json.loads((place / "again.json").read_text())[0]
    assert task["data"] == {
        "text": "text 1",
        "item": "1",
        "softlabel": {"cat": 2 / 3, "dog": 1 / 3},
    }
    assert task["predictions"][0]["score"] == 2 / 3
    assert task["predictions"][0]["result"][0]["value"] == {"choices": ["cat"]}


@pytest.mark.parametrize(
    ("to", "name", "first"),
    [
        ("potato", "x.jsonl", {"id": "1", "text": "text 1"}),
        ("doccano", "x.jsonl", {"text": "text 1", "item": "1", "label": ["cat"]}),
        (
            "prodigy",
            "x.jsonl",
            {
                "text": "text 1",
                "options": [{"id": "cat", "text": "cat"}, {"id": "dog", "text": "dog"}],
                "meta": {"id": "1"},
            },
        ),
    ],
)
def test_input_of_other_programs(run, place, to, name, first):
    done = run("convert", "export", name, "--to", to)
    assert done.code == 0, done.err
    assert "not kept: " in done.err
    assert json.loads((place / name).read_text().splitlines()[0]) == first


def test_suggestions_for_argilla(run, place):
    assert run("convert", "export", "x.json", "--to", "argilla").code == 0
    (first, _) = json.loads((place / "x.json").read_text())
    assert first["suggestions"]["label"]["value"] == "cat"
    assert first["fields"] == {"text": "text 1"}
    assert run("label", "x.json", "y.csv", "--from", "argilla:who=machines").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("export x.csv --to toloka", "--to toloka: is read only; written are label-studio"),
        ("export x.csv --to lewidi", "x.csv: unknown kind of file; the name must end in .json"),
        ("export x.csv --to lewedi", "no format called 'lewedi' (did you mean 'lewidi'?)"),
        ("export x.csv --from label-studio:tusk=a", "no option of format 'label-studio' called"),
        (
            "export x.csv --from argilla",
            "export: does not look like argilla, but like label-studio",
        ),
        ("votes.csv x.csv --from lewidi", "votes.csv: is not sound lewidi"),
        ("votes.csv x.csv --columns item", "'item' is not one of item=NAME"),
        ("votes.csv x.csv --columns item=no", "--columns item=no: no such column"),
    ],
)
def test_refusals(run, place, words, message):
    done = run("convert", *words.split())
    assert (done.code, done.out) == (1, "")
    assert message in done.err
    assert not (place / "x.csv").exists()


def test_every_command_reads_other_formats(run, place):
    assert run("label", "export", "labels.csv").facts["read as"].strip() == "label-studio"
    assert rows(place / "labels.csv")[0] == {
        "item": "1", "cat": "0.6666666666666666", "dog": "0.3333333333333333", "count": "3",
    }  # fmt: skip
    assert run("export", "export", "votes.jsonl").code == 0
    assert "annotators     3, 0 with flags" in run("annotators", "export").out
    assert run("agree", "export").code == 0
    done = run("inspect", "export", "--from", "label-studio:task=animal")
    assert "label-studio" in done.out


def test_of_two_answers_one_is_written(run, place):
    (place / "twice.csv").write_text("item,annotator,label\ni,w,cat\ni,w,dog\n")
    done = run("convert", "twice.csv", "x.json", "--to", "alt-test")
    assert "answered item 'i' on line 2 and again here; say what to do with --repeats" in done.err
    done = run("convert", "twice.csv", "x.json", "--to", "alt-test", "--repeats", "all")
    assert "alt-test holds one answer per person and item" in done.err
    for repeats, label in (("first", "cat"), ("last", "dog")):
        words = ("--to", "alt-test", "--repeats", repeats)
        assert run("convert", "twice.csv", "x.json", *words).code == 0
        assert json.loads((place / "x.json").read_text()) == {"a1": {"i": label}}


def test_standard_input_and_output(place):
    """Facts go to stderr when the labels go to stdout."""
    done = subprocess.run(
        [sys.executable, "-m", "softlabel", "label", "-", "-", "--missing", "drop"],
        input="task\tworker\tchoice\ni\ta\tcat\ni\tb\tdog\nj\ta\t\n",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "item,cat,dog,count\ni,0.5,0.5,2\n"
    assert "left out" in done.stderr
    assert "1 without choice" in done.stderr
