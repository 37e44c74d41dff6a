"""``softlabel export``: an export is labelled like the original."""

from __future__ import annotations

import json

import polars as pl
import pytest

VOTES = "item,annotator,label\nb,w1,cat\na,w1,dog\nb,w2,cat\na,w2,dog\nb,w3,ant\n=x,@w,cat\n"
SOFT = "item,annotator,x,y\ni,w1,0.3,0.7\ni,w2,1,0\nj,w1,0.25,0.75\n"
CLASSIC = (
    "item,annotator,top,p1,second,p2,impossible\n"
    "i,w1,a,33.3,b,7,c|d\ni,w2,b,100,,,a\nj,w1,a,8p,a,5,a\nj,w2,d,0,,,\n"
)

ROUND_TRIPS = [
    (VOTES, "csv", [], []),
    (VOTES, "parquet", [], []),
    (VOTES, "jsonl", [], []),
    (VOTES, "csv", ["--construct", "smooth"], ["--construct", "smooth"]),
    (SOFT, "csv", [], []),
    (SOFT, "parquet", [], []),
    (SOFT, "jsonl", [], []),
    (CLASSIC, "csv", [], []),
    (CLASSIC, "parquet", [], []),
    (CLASSIC, "jsonl", [], []),
    (CLASSIC, "json", [], []),
    (CLASSIC, "csv", ["--construct", "clamp"], []),
    (CLASSIC, "parquet", ["--construct", "clamp:top=1"], ["--construct", "clamp:top=1"]),
    (CLASSIC, "jsonl", ["--construct", "hard"], ["--construct", "hard"]),
]


@pytest.mark.parametrize(("text", "kind", "exporting", "labelling"), ROUND_TRIPS)
def test_label_of_an_export_equals_label_of_the_original(
    run, tmp_path, text, kind, exporting, labelling
):
    original, copy = tmp_path / "in.csv", tmp_path / f"copy.{kind}"
    original.write_text(text)
    assert run("export", original, copy, *exporting).code == 0
    assert run("label", original, tmp_path / "1.csv", *labelling).code == 0
    assert run("label", copy, tmp_path / "2.csv").code == 0
    assert (tmp_path / "2.csv").read_text() == (tmp_path / "1.csv").read_text()


def test_hard_votes_are_written_as_they_were(run, tmp_path):
    (tmp_path / "in.csv").write_text(VOTES)
    run("export", tmp_path / "in.csv", tmp_path / "out.csv")
    escaped = VOTES.replace("=x,@w", "'=x,'@w")  # a spreadsheet would run them
    assert (tmp_path / "out.csv").read_text() == escaped != VOTES
    run("export", tmp_path / "out.csv", tmp_path / "again.jsonl")
    names = [json.loads(line)["item"] for line in (tmp_path / "again.jsonl").read_text().split()]
    assert names == [line.split(",")[0] for line in VOTES.split()[1:]], "names are not altered"


def test_responses_carry_schema_mode_and_classes(run, tmp_path):
    (tmp_path / "in.csv").write_text(CLASSIC)
    run("export", tmp_path / "in.csv", tmp_path / "out.jsonl")
    first, *_ = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert first == {
        "schema": "softlabel.response/1",
        "item": "i",
        "annotator": "w1",
        "labels": ["a", "b", "c", "d"],
        "presentation": {"kind": "target", "mode": "classic", "mode_version": 1},
        "answer": {"top": "a", "p1": 33.3, "second": "b", "p2": 7.0, "impossible": ["c", "d"]},
    }


def test_soft_votes_have_one_column_per_class(run, tmp_path):
    (tmp_path / "in.csv").write_text(CLASSIC)
    done = run("export", tmp_path / "in.csv", tmp_path / "out.csv", "--construct", "hard")
    assert done.facts["construction"].strip() == "hard"
    frame = pl.read_csv(tmp_path / "out.csv")
    assert frame.columns == ["item", "annotator", "a", "b", "c", "d"]
    assert frame.row(0) == ("i", "w1", 1.0, 0.0, 0.0, 0.0)


def test_classes_that_a_table_of_votes_forgets_are_told(run, tmp_path):
    (tmp_path / "in.csv").write_text(VOTES)
    options = ("--labels", "dog,cow,cat,ant")
    done = run("export", tmp_path / "in.csv", tmp_path / "out.csv", *options)
    assert done.facts["to read it again"].strip() == "--labels dog,cow,cat,ant"
    run("export", tmp_path / "in.csv", tmp_path / "out.parquet", *options)
    run("label", tmp_path / "out.parquet", tmp_path / "1.csv")
    assert pl.read_csv(tmp_path / "1.csv").columns == ["item", "dog", "cow", "cat", "ant", "count"]


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_classes_that_answers_never_mention_are_told(run, tmp_path, kind):
    (tmp_path / "in.csv").write_text(CLASSIC)
    options = ("--labels", "d,c,b,a,z")
    done = run("export", tmp_path / "in.csv", tmp_path / f"out.{kind}", *options)
    assert done.facts["to read it again"].strip() == "--labels d,c,b,a,z"
    done = run("export", tmp_path / "in.csv", tmp_path / "out.jsonl", *options)
    assert "to read it again" not in done.facts, "each line names all classes"
    run("label", tmp_path / "out.jsonl", tmp_path / "1.csv")
    run("label", tmp_path / f"out.{kind}", tmp_path / "2.csv", *options)
    assert (tmp_path / "1.csv").read_text() == (tmp_path / "2.csv").read_text()


def test_repeats_are_an_error_unless_told(run, tmp_path):
    (tmp_path / "in.csv").write_text("item,annotator,label\ni,w,x\ni,w,y\n")
    assert run("export", tmp_path / "in.csv", tmp_path / "out.csv").code == 1
    for repeats, rows in (("all", 2), ("first", 1), ("mean", 1)):
        done = run("export", tmp_path / "in.csv", tmp_path / "out.csv", "--repeats", repeats)
        assert done.code == 0
        assert len(pl.read_csv(tmp_path / "out.csv")) == rows


REFUSED = [
    (["in.csv", "out.npz"], "must end in .csv, .parquet, .jsonl, .json"),
    (["in.csv", "out.json"], "these are votes"),
    (["soft.csv", "out.csv", "--construct", "clamp"], "these are soft votes"),
    (["anyone.json", "out.csv"], "who answered is not known"),
]


@pytest.mark.parametrize(("words", "complaint"), REFUSED)
def test_refusals(run, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text(VOTES)
    (tmp_path / "soft.csv").write_text(SOFT)
    record = {"Most Probable Class": "a", "Most Probable Class Prob": 50}
    (tmp_path / "anyone.json").write_text(json.dumps({"1": [record]}))
    done = run("export", *words)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert complaint in done.err
    assert not (tmp_path / words[1]).exists()


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_an_export_remembers_what_was_mended(run, tmp_path, kind):
    """Else a quality rule would judge the copy more kindly than the original."""
    path = tmp_path / "answers.csv"
    head = "item,annotator,top,p1,second,p2,impossible\n"
    path.write_text(head + "i,ann,cat,0,,,dog\nj,ann,cat,8p,,,dog\nk,ann,cat,70,,,dog\n")
    assert run("export", path, tmp_path / f"copy.{kind}").code == 0
    for source in (path, tmp_path / f"copy.{kind}"):
        facts = run("label", source, tmp_path / "s.csv").facts
        assert facts["repaired answers"].strip() == "p-is-0 1, zero-is-100 1"
        assert "zero-first  1" in run("inspect", source).out


def test_repairs_can_be_switched_off(run, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("item,annotator,top,p1,second,p2,impossible\ni,ann,cat,0,,,dog\n")
    off = ("--mode", "classic:repairs=none")
    facts = run("label", path, tmp_path / "s.csv", *off, "--labels", "cat,dog,fish").facts
    assert facts["repaired answers"].strip() == "0"
    assert (tmp_path / "s.csv").read_text() == "item,cat,dog,fish,count\ni,0.5,0.0,0.5,1\n"
    path.write_text(path.read_text().replace(",0,", ",8p,"))
    done = run("export", path, tmp_path / "r.jsonl", *off)
    assert (done.code, "line 2, column 'p1', value '8p'" in done.err) == (1, True)
