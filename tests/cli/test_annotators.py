"""``softlabel annotators``: report cards in the terminal and in files."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET

import pytest

HEAD = "item,annotator,top,p1,second,p2,impossible\n"
STEADY = "".join(
    f"i{i},{who},cat,80,dog,20,fish\n" for i in range(6) for who in ("ann", "bob", "cleo", "dan")
)
CARELESS = "".join(f"i{i},eve,fish,150,,,fish\n" for i in range(6))
VOTES = "item,annotator,label\n" + "".join(
    f"i{i},{who},{label}\n"
    for i in range(8)
    for who, label in (("ann", "xy"[i % 2]), ("bob", "xy"[i % 2]), ("cleo", "yx"[i % 2]))
)


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(HEAD + STEADY + CARELESS)
    return path


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(VOTES)
    return path


def test_the_terminal_says_who_is_odd_and_against_what(run, answers):
    done = run("annotators", answers)
    assert (done.code, done.err) == (0, "")
    assert "annotators     5, 1 with flags" in done.out
    assert "compared with  the mean of the other people's labels (leave-one-out" in done.out
    assert "for this report only" in done.out
    first = done.out[done.out.index("most flags first") :].splitlines()[2]
    assert first.split()[:2] == ["eve", "6"]
    assert "12 errors, at most 2 allowed" in first


def test_the_three_kinds_of_file_hold_the_same_people(run, answers, tmp_path):
    for kind in ("html", "json", "csv"):
        done = run("annotators", answers, "-o", tmp_path / f"cards.{kind}")
        assert (done.code, done.err) == (0, "")
        assert f"wrote {tmp_path / f'cards.{kind}'}" in done.out
    made = json.loads((tmp_path / "cards.json").read_text())
    names = [person["annotator"] for person in made["annotators"]]
    assert names[0] == "eve"
    assert made["schema"] == "softlabel.annotators/1"
    assert made["annotators"][0]["seconds"]["median"] is None, "what is not known is null"
    with (tmp_path / "cards.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["annotator"] for row in rows] == names
    assert rows[0]["seconds_median"] == "", "what is not known is an empty cell"
    assert float(rows[1]["agreement"]) == pytest.approx(made["annotators"][1]["agreement"])
    page = (tmp_path / "cards.html").read_text()
    headings = [one.text for one in ET.fromstring(page.partition("\n")[2]).iter("h3")]
    assert headings == names


def test_gold_is_what_people_are_held_against(run, votes, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"i{i},{'yx'[i % 2]}\n" for i in range(8)))
    run("annotators", votes, "--gold", gold, "-o", tmp_path / "c.json")
    made = json.loads((tmp_path / "c.json").read_text())
    assert made["reference"] == "gold (8 items)"
    people = {one["annotator"]: one for one in made["annotators"]}
    assert people["cleo"]["reliability"]["value"] == 1
    assert people["ann"]["confusion"] == [[0, 4], [4, 0]]


def test_a_truth_pool_is_what_people_are_held_against(run, votes, tmp_path):
    done = run("annotators", votes, "--aggregate", "majority", "-o", tmp_path / "c.json")
    assert (done.code, done.err) == (0, "")
    made = json.loads((tmp_path / "c.json").read_text())
    assert made["reference"].startswith("the truth posterior of Majority(")
    people = {one["annotator"]: one for one in made["annotators"]}
    assert people["ann"]["reliability"]["value"] == 1
    assert people["cleo"]["reliability"]["value"] == 0


def test_dawid_skene_tells_skill_and_takes_gold(run, votes, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\ni0,x\ni1,y\n")
    words = ("--aggregate", "dawid-skene", "--gold", gold, "-o", tmp_path / "c.json")
    done = run("annotators", votes, *words)
    assert (done.code, done.err) == (0, "")
    made = json.loads((tmp_path / "c.json").read_text())
    assert "DawidSkene(" in made["reference"]
    assert "2 items fixed" in made["reference"]
    people = {one["annotator"]: one for one in made["annotators"]}
    assert people["ann"]["skill"] > 0.5 > people["cleo"]["skill"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--aggregate", "mean"], "Mean(): it estimates how people split"),
        (["--aggregate", "men"], "no aggregate called 'men'"),
        (["--aggregate", "majority", "--gold", "gold.csv"], "majority does not learn from items"),
        (["--gold", "bad.csv"], "bad.csv, line 2, column 'label', value 'z': no such class"),
        (["--rules", "papre"], "did you mean 'paper'"),
        (["-o", "cards.txt"], "must end in .html, .json, .csv"),
        (["-o", "votes.csv"], "is the input itself"),
        (["-o", "nowhere/cards.csv"], "no folder 'nowhere'"),
    ],
)
def test_refusals_are_one_line_and_write_nothing(
    run, votes, tmp_path, monkeypatch, words, complaint
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.csv").write_text("item,label\ni0,x\n")
    (tmp_path / "bad.csv").write_text("item,label\ni0,z\n")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run("annotators", "votes.csv", *words)
    assert (done.code, done.out) == (1, "")
    assert complaint in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_people_nobody_knows(run, tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_text('{"item": "a", "annotator": null, "label": "x"}\n')
    done = run("annotators", path)
    assert (done.code, "some answers do not say who gave them" in done.err) == (1, True)


def test_repeats_are_told_and_speed_comes_from_a_studys_export(run, tmp_path):
    def line(item, kind, top, ms):
        return json.dumps(
            {
                "schema": "softlabel.response/1",
                "item": item,
                "annotator": "ann",
                "labels": ["cat", "deer"],
                "presentation": {"kind": kind, "mode": "hard", "mode_version": 1},
                "answer": {"label": top},
                "timing": {"active_ms": ms},
            }
        )

    path = tmp_path / "r.jsonl"
    rows = [
        ("i", "target", "cat", 1000),
        ("j", "target", "cat", 3000),
        ("i", "repeat", "deer", 2000),
    ]
    path.write_text("".join(line(*row) + "\n" for row in rows))
    done = run("annotators", path, "-o", tmp_path / "c.json")
    assert (done.code, done.err) == (0, "")
    assert "1: top class changed in 100.0 %" in done.out
    (person,) = json.loads((tmp_path / "c.json").read_text())["annotators"]
    assert (person["answers"], person["items"]) == (3, 2)
    assert person["seconds"]["median"] == 2
    assert person["repeats"] == {"pairs": 1, "changed": 1, "variation": 1.0}


def test_real_people(run, data_folder, tmp_path):
    done = run("annotators", "dataset:cifar10s", "-o", tmp_path / "cards.html")
    assert (done.code, done.err) == (0, "")
    assert "annotators     248," in done.out
    assert "answers        6,696 on 1,000 items" in done.out
    assert "496: top class changed in 6.9 %" in done.out
    assert (tmp_path / "cards.html").stat().st_size < 3e6
