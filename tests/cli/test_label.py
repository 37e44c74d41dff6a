"""``softlabel label``: labels counted by hand, refusals in one line, nothing left behind."""

from __future__ import annotations

import csv
import json
import random
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest

from softlabel import SoftLabels
from softlabel.metrics import entropy

VOTES = "item,annotator,label\nb,w1,cat\na,w1,dog\nb,w2,cat\na,w2,dog\nb,w3,ant\n"
SOFT = "item,annotator,x,y\ni,w1,0.5,0.5\ni,w2,1,0\nj,w1,0.25,0.75\n"
CLASSIC = (
    "item,annotator,top,p1,second,p2,impossible\n"
    "i,w1,a,80,,,\n"  # the rest, 20, on b and c
    "i,w2,b,100,,,a\n"  # spread 0.1 on c
    "j,w1,a,8p,,,a\n"  # mended to 80; ruled out what it named
    "k,w2,b,50,c,50,a\n"
)


def labels_in(path) -> dict[str, dict[str, float]]:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {row.pop("item"): {key: float(cell) for key, cell in row.items()} for row in rows}


def test_vote_shares_are_those_counted_by_hand(run, tmp_path):
    rng = random.Random(1)
    votes = [(f"i{i}", f"w{w}", f"c{rng.randrange(12)}") for i in range(40) for w in range(7)]
    rng.shuffle(votes)
    (tmp_path / "v.csv").write_text(
        "item,annotator,label\n" + "".join(f"{','.join(v)}\n" for v in votes)
    )
    assert run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--aggregate", "share").code == 0
    counts = defaultdict(Counter)
    for item, _, choice in votes:
        counts[item][choice] += 1
    found = labels_in(tmp_path / "s.csv")
    assert list(found) == list(counts), "items in order of first appearance"
    for item, row in found.items():
        assert row.pop("count") == 7
        assert row == {name: counts[item][name] / 7 for name in sorted({v[2] for v in votes})}


def test_every_kind_of_output_holds_the_same(run, tmp_path):
    (tmp_path / "v.csv").write_text(VOTES)
    for kind in ("csv", "parquet", "jsonl", "npz"):
        assert run("label", tmp_path / "v.csv", tmp_path / f"s.{kind}").code == 0
    expected = {
        "item": ["b", "a"],
        "ant": [1 / 3, 0],
        "cat": [2 / 3, 0],
        "dog": [0.0, 1.0],
        "count": [3, 2],
    }
    assert pl.read_csv(tmp_path / "s.csv").to_dict(as_series=False) == expected
    assert pl.read_parquet(tmp_path / "s.parquet").to_dict(as_series=False) == expected
    lines = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert {key: [line[key] for line in lines] for key in lines[0]} == expected
    soft = SoftLabels.load(tmp_path / "s.npz")
    assert soft.index.items.tolist() == ["b", "a"]
    np.testing.assert_array_equal(soft.probs.T, [expected[key] for key in ("ant", "cat", "dog")])


def test_the_table_on_stdout(run, tmp_path):
    (tmp_path / "r.csv").write_text(CLASSIC)
    done = run("label", tmp_path / "r.csv", tmp_path / "s.csv")
    found = labels_in(tmp_path / "s.csv")
    assert found["i"] == pytest.approx({"a": 0.4, "b": 0.5, "c": 0.1, "count": 2}, abs=1e-12)
    assert found["j"] == pytest.approx({"a": 0.8, "b": 0.1, "c": 0.1, "count": 1}, abs=1e-12)
    mean = np.mean([entropy([[row[c] for c in "abc"]])[0] for row in found.values()])
    shown = {
        "items": "3",
        "annotators": "2",
        "classes": "3",
        "answers": "4",
        "repeats dropped": "0",
        "contradictory answers": "1",
        "repaired answers": "p-is-0 1",
        "construction": "clamp:top=all,spread=0.1,mode=strict",
        "pool": "mean",
        "estimates": "how people split",
        "mean entropy": f"{mean:.4f} nats (how people split)",
    }
    assert {key: value.strip() for key, value in done.facts.items()} == shown
    assert done.err == ""


CHOICES = [
    (VOTES, [], [2 / 3, 0]),
    (VOTES, ["--aggregate", "majority"], [1, 0]),
    (VOTES, ["--construct", "smooth:beta=0.3"], [0.1 + 0.7 * 2 / 3, 0.1]),
    (VOTES, ["--construct", "hard", "--aggregate", "share"], [2 / 3, 0]),
    (VOTES, ["--aggregate", "softmax:tau=1"], [np.e**2 / (np.e**2 + np.e + 1), 1 / (2 + np.e**2)]),
]


@pytest.mark.parametrize(("votes", "options", "cat"), CHOICES)
def test_strategies_and_their_options(run, tmp_path, votes, options, cat):
    (tmp_path / "v.csv").write_text(votes)
    assert run("label", tmp_path / "v.csv", tmp_path / "s.csv", *options).code == 0
    found = labels_in(tmp_path / "s.csv")
    assert [found[item]["cat"] for item in ("b", "a")] == pytest.approx(cat)


def test_soft_votes_are_pooled_as_they_are(run, tmp_path):
    (tmp_path / "v.csv").write_text(SOFT)
    done = run("label", tmp_path / "v.csv", tmp_path / "s.csv")
    assert labels_in(tmp_path / "s.csv")["i"] == {"x": 0.75, "y": 0.25, "count": 2}
    assert done.facts["construction"].strip() == "none (soft votes)"
    refused = run("label", tmp_path / "v.csv", tmp_path / "t.csv", "--construct", "clamp")
    assert refused.code == 1
    assert "error: --construct clamp: these are soft votes" in refused.err


def test_the_class_list_adds_classes_and_fixes_their_order(run, tmp_path):
    (tmp_path / "v.csv").write_text(VOTES)
    run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--labels", "dog, cow,cat,ant")
    assert list(labels_in(tmp_path / "s.csv")["a"]) == ["dog", "cow", "cat", "ant", "count"]


REPEATED = "item,annotator,label\ni,w1,x\ni,w2,y\ni,w1,y\n"


@pytest.mark.parametrize(
    ("repeats", "x", "count"), [("first", 1 / 2, 2), ("all", 1 / 3, 3), ("mean", 1 / 4, 2)]
)
def test_repeats(run, tmp_path, repeats, x, count):
    (tmp_path / "v.csv").write_text(REPEATED)
    done = run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--repeats", repeats)
    assert done.code == 0
    assert labels_in(tmp_path / "s.csv")["i"] == pytest.approx({"x": x, "y": 1 - x, "count": count})
    assert done.facts["repeats dropped"].split()[0] == ("1" if repeats == "first" else "0")


def test_repeats_of_statements_are_averaged_after_construction(run, tmp_path):
    rows = "item,annotator,top,p1,second,p2,impossible\ni,w1,a,80,,,\ni,w1,b,60,,,\n"
    (tmp_path / "r.csv").write_text(rows)
    assert run("label", tmp_path / "r.csv", tmp_path / "s.csv", "--repeats", "mean").code == 0
    assert labels_in(tmp_path / "s.csv")["i"] == pytest.approx({"a": 0.6, "b": 0.4, "count": 1})


def test_sampling_takes_m_people_per_item_and_repeats_itself(run, tmp_path):
    votes = "".join(f"i{i},w{w},{w}\n" for i in range(30) for w in range(6))
    (tmp_path / "v.csv").write_text("item,annotator,label\n" + votes)
    seen = []
    for seed in (1, 1, 2):
        run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--sample", 2, "--seed", seed)
        seen.append((tmp_path / "s.csv").read_text())
        rows = labels_in(tmp_path / "s.csv")
        assert {row["count"] for row in rows.values()} == {2}
        assert all(sorted(row.values())[-3:] == [0.5, 0.5, 2] for row in rows.values())
    assert seen[0] == seen[1] != seen[2]
    (tmp_path / "v.csv").write_text(REPEATED)
    both = run("label", tmp_path / "v.csv", tmp_path / "s.csv", "--sample", 1, "--repeats", "all")
    assert (both.code, "drawn twice" in both.err) == (1, True)


# options or input that end in exit code 1, and words of the one line on stderr
REFUSED = [
    (["missing.csv", "s.csv"], "missing.csv: there is no such file"),
    (["v.csv", "s.txt"], "s.txt: unknown kind of file"),
    (["v.csv", "nowhere/s.csv"], "there is no folder 'nowhere'"),
    (["v.csv", "v.csv"], "v.csv: is the input itself"),
    (
        ["v.csv", "s.csv", "--construct", "clam"],
        "no construct called 'clam' (did you mean 'clamp'?)",
    ),
    (["v.csv", "s.csv", "--construct", "clamp:sprad=1"], "called 'sprad'"),
    (["v.csv", "s.csv", "--aggregate", "softmax:tau=hot"], "tau = 'hot'"),
    (["v.csv", "s.csv", "--aggregate", "softmax:tau=0"], "tau"),
    (
        ["v.csv", "s.csv", "--labels", "cat,dog"],
        "line 6, column 'label', value 'ant': no such class",
    ),
    (["v.csv", "s.csv", "--labels", "cat,,dog"], "contains an empty name"),
    (["v.csv", "s.csv", "--labels", "cat,cat"], "names 'cat' twice"),
    (["twice.csv", "s.csv"], "twice.csv, line 4: 'w1' answered item 'i' on line 2 and again here"),
    (["count.csv", "s.csv"], "s.csv: a class is called 'count', which is a column of the file"),
    (["dataset:cifar10z", "s.csv"], "no data set called 'cifar10z' (did you mean 'cifar10"),
    (["dataset:chaosnli/x", "s.csv"], "'x'"),
]


@pytest.mark.parametrize(("words", "complaint"), REFUSED)
def test_refusals(run, tmp_path, monkeypatch, words, complaint):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.csv").write_text(VOTES)
    (tmp_path / "twice.csv").write_text(REPEATED)
    (tmp_path / "count.csv").write_text(VOTES.replace("ant", "count"))
    (tmp_path / "s.csv").write_text("what was there before")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = run("label", *words)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1, "one line"
    assert complaint in done.err
    assert (tmp_path / "s.csv").read_text() == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == before, "nothing is left behind"


def test_a_failed_write_leaves_nothing(run, tmp_path, monkeypatch):
    (tmp_path / "v.csv").write_text(VOTES)

    def full(self, path):
        with open(path, "w") as file:
            file.write("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_csv", full)
    done = run("label", tmp_path / "v.csv", tmp_path / "s.csv")
    assert (done.code, "cannot be written: No space left" in done.err) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["v.csv"]


def test_a_folder_is_no_file_whatever_its_name(run, tmp_path):
    for name in ("votes", "votes.csv"):
        (tmp_path / name).mkdir()
        assert "is a folder" in run("label", tmp_path / name, tmp_path / "s.csv").err
    assert "there is no such file" in run("label", tmp_path / "no", tmp_path / "s.csv").err


def test_a_missing_label_is_no_class_unless_it_is_named(run, tmp_path):
    votes = tmp_path / "v.csv"
    votes.write_text("item,annotator,label\na,ann,cat\na,bob,NaN\n")
    done = run("label", votes, tmp_path / "s.csv")
    assert (done.code, "line 3, column 'label', value 'NaN'" in done.err) == (1, True)
    assert run("label", votes, tmp_path / "s.csv", "--labels", "cat,NaN").code == 0


def test_class_names_may_hold_commas(run, tmp_path):
    votes = tmp_path / "v.csv"
    votes.write_text('item,annotator,label\na,ann,"cat, big"\n')
    done = run("label", votes, tmp_path / "s.csv", "--labels", '"cat, big",dog')
    assert done.code == 0
    assert (tmp_path / "s.csv").read_text().startswith('item,"cat, big",dog,count')


def test_what_was_shown_first_counts_as_first(run, tmp_path):
    def line(kind, top):
        return json.dumps(
            {
                "schema": "softlabel.response/1",
                "item": "i",
                "annotator": "ann",
                "labels": ["cat", "deer"],
                "presentation": {"kind": kind, "mode": "hard", "mode_version": 1},
                "answer": {"label": top},
            }
        )

    path = tmp_path / "r.jsonl"
    path.write_text(f"{line('repeat', 'cat')}\n{line('target', 'deer')}\n")
    assert run("label", path, tmp_path / "s.csv", "--repeats", "first").code == 0
    assert (tmp_path / "s.csv").read_text() == "item,cat,deer,count\ni,0.0,1.0,1\n"
    done = run("label", path, tmp_path / "s.csv")
    assert "repeats dropped  1" in done.out, "the study asked for it: nobody needs to be asked"
    path.write_text(f"{line('target', 'cat')}\n{line('target', 'deer')}\n")
    done = run("label", path, tmp_path / "s.csv")
    assert "line 2: 'ann' answered item 'i' on line 1 and again here" in done.err


def test_votes_collected_as_responses_are_the_votes(run, tmp_path):
    """The same three votes in a table and as responses give the same shares."""
    rows = [("i", "ann", "cat"), ("i", "bob", "cat"), ("i", "cleo", "dog")]
    table, lines = tmp_path / "v.csv", tmp_path / "v.jsonl"
    table.write_text("item,annotator,label\n" + "".join(f"{','.join(row)}\n" for row in rows))
    shown = {"kind": "target", "mode": "hard", "mode_version": 1}
    lines.write_text(
        "".join(
            json.dumps(
                {
                    "schema": "softlabel.response/1",
                    "item": item,
                    "annotator": who,
                    "labels": ["cat", "dog"],
                    "presentation": shown,
                    "answer": {"label": label},
                }
            )
            + "\n"
            for item, who, label in rows
        )
    )
    for path in (table, lines):
        assert run("label", path, path.with_suffix(".out.csv"), "--aggregate", "share").code == 0
    assert table.with_suffix(".out.csv").read_text() == lines.with_suffix(".out.csv").read_text()
    assert "3 by 3 annotators on 1 items" in run("inspect", lines).out


def response(item, kind="target", answer=None, **more):
    return {
        "schema": "softlabel.response/1",
        "response_uuid": f"{item}-{kind}",
        "item": item,
        "annotator": "ann",
        "labels": ["cat", "dog", "fish"],
        "supersedes": None,
        "presentation": {"kind": kind, "mode": "quick", "mode_version": 1},
        "answer": answer or {"top": "cat", "certainty": 3, "alternatives": ["dog"]},
        "skip": None,
    } | more


@pytest.mark.parametrize("command", ["label", "export", "inspect", "agree"])
def test_what_is_left_out_of_a_study_is_told(run, tmp_path, command):
    path = tmp_path / "r.jsonl"
    rows = [
        response("t", "training"),
        response("g", "gold"),
        response("i"),
        response("i", annotator="bob", response_uuid="other"),
        response("j", answer=None) | {"answer": None, "skip": "cannot_judge"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run(command, path, *([tmp_path / "s.jsonl"] if command in ("label", "export") else []))
    assert (done.code, done.err) == (0, "")
    told = next(line for line in done.out.splitlines() if line.startswith("left out"))
    assert told.split("  ")[-1].strip() == "1 practice, 1 checks, 1 skipped"


def test_nothing_is_told_where_nothing_is_left_out(run, tmp_path):
    (tmp_path / "r.jsonl").write_text(json.dumps(response("i")))
    assert "left out" not in run("label", tmp_path / "r.jsonl", tmp_path / "s.csv").facts


def test_a_third_class_is_not_dropped(run, tmp_path):
    said = {"top": "cat", "certainty": 2, "alternatives": ["dog", "fish"], "rest": "ruled_out"}
    (tmp_path / "r.jsonl").write_text(json.dumps(response("i", answer=said)))
    assert run("label", tmp_path / "r.jsonl", tmp_path / "s.csv").code == 0
    label = labels_in(tmp_path / "s.csv")["i"]
    assert label == pytest.approx({"cat": 0.6, "dog": 0.8 / 3, "fish": 0.4 / 3, "count": 1})
    done = run("export", tmp_path / "r.jsonl", tmp_path / "s.json")
    assert (done.code, "the classic form asks for two" in done.err) == (1, True)
    assert run("export", tmp_path / "r.jsonl", tmp_path / "v.csv", "--construct", "clamp").code == 0
    assert run("label", tmp_path / "v.csv", tmp_path / "again.csv").code == 0
    assert (tmp_path / "again.csv").read_text() == (tmp_path / "s.csv").read_text()
