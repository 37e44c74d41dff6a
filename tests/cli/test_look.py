"""``inspect`` and ``agree``: looking at people."""

from __future__ import annotations

import csv

import pytest

HEAD = "item,annotator,top,p1,second,p2,impossible\n"
STEADY = "".join(
    f"i{i},{who},cat,80,dog,20,fish\n" for i in range(6) for who in ("ann", "bob", "cleo")
)
CARELESS = "".join(f"i{i},eve,fish,150,,,fish\n" for i in range(6))


@pytest.fixture
def answers(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(HEAD + STEADY + CARELESS)
    return path


def test_inspect_says_who_falls_out_why_and_what_changes(run, answers, tmp_path):
    done = run("inspect", answers, "--rules", "reference", "--output", tmp_path / "people.csv")
    assert (done.code, done.err) == (0, "")
    assert "24 by 4 annotators on 6 items" in done.out
    assert "1 of 4 annotators excluded by rules 'reference' (version 1)" in done.out
    assert "eve" in done.out
    assert "6 contradictory, at most 1 allowed" in done.out
    # eve says fish .9, cat .05, dog .05 and is a quarter of each label: total variation .9 / 4
    assert "labels move by         0.2250 on average" in done.out
    assert "top class changes      on 0 items" in done.out
    with (tmp_path / "people.csv").open() as file:
        assert [row["annotator"] for row in csv.DictReader(file)] == ["ann", "bob", "cleo", "eve"]


def test_inspect_reports_repeats_only_where_there_are_some(run, answers, tmp_path):
    assert "repeats" not in run("inspect", answers).out
    again = tmp_path / "again.csv"
    again.write_text(HEAD + STEADY + "i0,ann,dog,80,,,\n")
    assert "1: top class changed in 100.00 %" in run("inspect", again).out


def test_inspect_refuses_unknown_rules(run, answers):
    done = run("inspect", answers, "--rules", "papre")
    assert (done.code, "did you mean 'paper'" in done.err) == (1, True)


@pytest.fixture
def votes(tmp_path):
    """Five people agree on twelve items; eve says fish of all, and ann took back one answer."""
    path = tmp_path / "votes.csv"
    right = ["cat", "dog"] * 6
    rows = [f"i{i},{who},{what}" for i, what in enumerate(right) for who in ("ann", *"bcde")]
    rows += [f"i{i},eve,fish" for i in range(12)] + ["i0,ann,dog"]
    path.write_text("item,annotator,label\n" + "\n".join(rows) + "\n")
    return path


def test_inspect_takes_votes(run, votes, tmp_path):
    done = run("inspect", votes, "--output", tmp_path / "people.csv")
    assert (done.code, done.err) == (0, "")
    assert "73 by 6 annotators on 12 items" in done.out
    assert "1: top class changed in 100.00 %" in done.out
    assert "votes state none and break none" in done.out
    assert "0 of 6 annotators excluded by rules 'paper' (version 1)" in done.out
    assert "ruled anything out" not in done.out  # nobody was asked to
    with (tmp_path / "people.csv").open() as file:
        why = {row["annotator"]: row["why"] for row in csv.DictReader(file)}
    assert "the same top class on 12 pages in a row" in why["eve"]
    assert "agrees with the others by 0.00" in why["eve"]
    assert "another top class on every repeat (1)" in why["ann"]
    assert why["b"] == ""


def test_inspect_of_votes_with_gold_says_how_often_each_is_right(run, votes, tmp_path):
    gold = tmp_path / "gold.csv"
    gold.write_text("item,label\n" + "".join(f"i{i},cat\n" for i in range(4)))
    run("inspect", votes, "--gold", gold, "--output", tmp_path / "people.csv")
    with (tmp_path / "people.csv").open() as file:
        right = {row["annotator"]: row["accuracy"] for row in csv.DictReader(file)}
    assert (right["b"], right["eve"], right["ann"]) == ("0.50", "0.00", "0.40")


def test_inspect_takes_soft_votes(run, tmp_path):
    path = tmp_path / "soft.csv"
    rows = [f"i{i},{who},0.9,0.1\n" for i in range(3) for who in "ab"]
    path.write_text("item,annotator,cat,dog\n" + "".join(rows))
    done = run("inspect", path)
    assert (done.code, "6 by 2 annotators on 3 items" in done.out) == (0, True)


def test_inspect_of_votes_needs_no_construction_and_needs_names(run, votes, tmp_path):
    done = run("inspect", votes, "--construct", "clamp")
    assert (done.code, "these are votes" in done.err) == (1, True)
    unknown = tmp_path / "unknown.jsonl"
    unknown.write_text('{"item": "a", "annotator": null, "label": "cat"}\n')
    assert "some answers do not say who gave them" in run("inspect", unknown).err


def test_inspect_of_items_that_only_they_answered(run, answers):
    """An item that loses its last answer has no label to compare, and spoils no mean."""
    answers.write_text(answers.read_text() + "only,eve,fish,150,,,fish\n")
    out = run("inspect", answers, "--rules", "reference").out
    assert "labels move by         0.2250 on average" in out
    assert "items without answers  1" in out
    alone = answers.with_name("alone.csv")
    alone.write_text(HEAD + "i0,eve,fish,150,,,fish\ni0,bob,fish,150,,,fish\n")
    assert "no item keeps a label" in run("inspect", alone, "--rules", "reference").out


def test_inspect_with_gold_applies_the_accuracy_clause(run, tmp_path):
    path, gold = tmp_path / "answers.csv", tmp_path / "gold.csv"
    path.write_text(HEAD + STEADY + "i6,ann,cat,80,,,cat\n")  # one contradiction
    out = run("inspect", path).out
    assert "unknown without --gold" in out
    assert "0 of 3 annotators excluded" in out
    gold.write_text("item,label\n" + "".join(f"i{i},dog\n" for i in range(7)) + "other,cat\n")
    out = run("inspect", path, "--gold", gold).out
    assert "1 error(s) and accuracy 0.00 under 0.75" in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "item,label\ni0,dgo\n",
            "line 2, column 'label', value 'dgo': no such class (did you mean",
        ),
        (
            "item,label\ni0,dog\ni0,cat\n",
            "line 3, column 'item', value 'i0': this item has another",
        ),
        ("item,truth\ni0,dog\n", "column 'label': must have this column; it has item, truth"),
        ("item,label\nx,dog\n", "names none of the items"),
        ("item,label\ni0,\n", "line 2, column 'label'"),
    ],
)
def test_bad_gold_is_refused(run, answers, tmp_path, text, words):
    (tmp_path / "gold.csv").write_text(text)
    done = run("inspect", answers, "--gold", tmp_path / "gold.csv")
    assert (done.code, words in done.err) == (1, True), done.err


def test_agree_shows_alpha_and_the_odd_one_first(run, answers):
    done = run("agree", answers)
    assert done.code == 0
    rows = done.out[done.out.index("annotators, least agreement") :].splitlines()
    assert rows[2].split()[0] == "eve"
    assert "24 on 6 items, 6 with two or more" in done.out


def test_agree_on_votes_is_nominal_alpha(run, tmp_path):
    """Two observers, 4 units, one disagreement: 1 - (n - 1) * 2 / (n^2 - sum n_c^2) by hand."""
    votes = tmp_path / "votes.csv"
    pairs = [("x", "x"), ("x", "x"), ("y", "y"), ("x", "y")]
    lines = [f"i{i},a,{first}\ni{i},b,{second}\n" for i, (first, second) in enumerate(pairs)]
    votes.write_text("item,annotator,label\n" + "".join(lines))
    by_hand = 1 - 2 / ((64 - 25 - 9) / 7)
    for distance in ("brier", "total-variation", "hellinger"):
        assert f"{by_hand:.4g} [" in run("agree", votes, "--distance", distance).out


@pytest.mark.parametrize("command", ["inspect", "agree"])
def test_a_table_that_cannot_be_written_stops_before_any_work(run, answers, tmp_path, command):
    done = run(command, answers, "--output", tmp_path / "people.txt")
    assert (done.code, done.out) == (1, "")
    assert "must end in .csv" in done.err
    assert "input itself" in run(command, answers, "--output", answers).err


def test_people_nobody_knows_cannot_be_written(run, tmp_path):
    votes = tmp_path / "votes.jsonl"
    line = '{"item": "a", "annotator": null, "label": "%s"}\n'
    votes.write_text(line % "cat" + line % "dog")
    done = run("agree", votes, "--output", tmp_path / "people.csv")
    assert (done.code, "does not say who answered" in done.err) == (1, True)
    assert not (tmp_path / "people.csv").exists()


def test_nothing_to_compare(run, tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("item,annotator,label\na,ann,cat\nb,bob,dog\n")
    assert "no item has two answers" in run("agree", votes).err


def test_real_people(run, data_folder):
    out = run("inspect", "dataset:cifar10s").out
    assert "496: top class changed in 6.85 %, its chance moved by 6.07 points" in out
    assert "0 of 248 annotators excluded by rules 'paper' (version 1)" in out
