"""What is written can be read again, and is either whole or not there."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from softlabel import Annotations, DataError, FileError, Index, SoftLabels, Statements
from softlabel import io as files
from softlabel._util.files import write_atomically
from softlabel.aggregate import Mean
from softlabel.construct import Clamp
from softlabel.tables import ANONYMOUS
from softlabel.testing import example_soft, example_statements, example_votes

NAMES = ["i,1", 'i"2', "i\n3", "=4"]


def soft_labels(labels=("a", "b c", "d")) -> SoftLabels:
    index = Index(NAMES, ["w"], list(labels))
    probs = np.array([[1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7], [1, 0, 0], [np.nan] * 3])
    return SoftLabels(index, probs, np.array([3, 10, 1, 0]))


def test_soft_labels_as_csv(tmp_path):
    files.write_soft_labels(soft_labels(), tmp_path / "s.csv")
    with (tmp_path / "s.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["item", "a", "b c", "d", "count"]
    assert [row[0] for row in rows] == [*NAMES[:3], "'=4"]  # a spreadsheet would run it
    assert [float(cell) for cell in rows[1][1:4]] == [0.1, 0.2, 0.7]
    assert rows[3][1:] == ["", "", "", "0"], "an item nobody answered has empty cells"


def test_soft_labels_as_json_lines(tmp_path):
    files.write_soft_labels(soft_labels(), tmp_path / "s.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert rows[0] == {"item": "i,1", "a": 1 / 3, "b c": 1 / 3, "d": 1 / 3, "count": 3}
    assert rows[3] == {"item": "=4", "a": None, "b c": None, "d": None, "count": 0}


def test_soft_labels_as_parquet_and_npz(tmp_path):
    soft = soft_labels()
    files.write_soft_labels(soft, tmp_path / "s.parquet")
    frame = pl.read_parquet(tmp_path / "s.parquet")
    assert frame.columns == ["item", "a", "b c", "d", "count"]
    np.testing.assert_array_equal(frame.select("a", "b c", "d").to_numpy(), soft.probs)
    files.write_soft_labels(soft, tmp_path / "s.npz")
    again = SoftLabels.load(tmp_path / "s.npz")
    np.testing.assert_array_equal(again.probs, soft.probs)
    assert again.index.items.tolist() == NAMES


def test_of_many_classes_json_lines_name_each_once(tmp_path):
    labels = [f"kind {n}" for n in range(1000)]
    index = Index(["a", "b"], ["w"], labels)
    probs = np.full((2, 1000), 1 / 1000)
    probs[1] = np.nan
    soft = SoftLabels(index, probs, np.array([3, 0]))
    more = {"low": probs / 2, "gain": np.array([0.25, np.nan])}
    files.write_soft_labels(soft, tmp_path / "s.jsonl", more)
    text = (tmp_path / "s.jsonl").read_text()
    assert text.count("kind 999") == 1
    first, *rows = map(json.loads, text.splitlines())
    assert first == {"schema": "softlabel.labels/1", "labels": labels}
    assert rows[0] == {
        "item": "a",
        "count": 3,
        "gain": 0.25,
        "probs": probs[0].tolist(),
        "low": (probs[0] / 2).tolist(),
    }
    assert rows[1] == {"item": "b", "count": 0, "gain": None, "probs": None, "low": None}


@pytest.mark.parametrize("name", ["item", "count"])
@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "npz"])
def test_a_class_with_the_name_of_a_column_is_refused(tmp_path, name, suffix):
    said = f"s.{suffix}: a class is called '{name}', .*; give the class another name in the answers"
    with pytest.raises(DataError, match=said):
        files.write_soft_labels(soft_labels(("a", name, "b")), tmp_path / f"s.{suffix}")
    assert not list(tmp_path.iterdir())


KINDS_OF_VOTES = ["csv", "parquet", "jsonl"]


@pytest.mark.parametrize("kind", KINDS_OF_VOTES)
def test_hard_votes_come_back(tmp_path, kind):
    votes, _ = example_votes()
    files.write_answers(votes, tmp_path / f"v.{kind}")
    again = files.read_answers(tmp_path / f"v.{kind}").answers
    for name in ("items", "annotators", "labels"):
        codes = {"items": "item", "annotators": "annotator", "labels": "label"}[name]
        before = getattr(votes.index, name)[getattr(votes, codes)]
        assert (getattr(again.index, name)[getattr(again, codes)] == before).all()


@pytest.mark.parametrize("kind", KINDS_OF_VOTES)
def test_soft_votes_come_back_to_the_last_bit(tmp_path, kind):
    votes = example_soft()
    files.write_answers(votes, tmp_path / f"v.{kind}")
    again = files.read_answers(tmp_path / f"v.{kind}").answers
    np.testing.assert_array_equal(again.probs, votes.probs)


def writable_statements() -> Statements:
    """Answers the form could have recorded: the first class has a chance, and it is not zero."""
    said = example_statements()
    return said.take(said.percent[:, 0] > 0)


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_statements_come_back(tmp_path, kind):
    said = writable_statements()
    files.write_answers(said, tmp_path / f"r.{kind}")
    again = files.read_answers(tmp_path / f"r.{kind}").answers
    np.testing.assert_array_equal(again.named, said.named)
    np.testing.assert_array_equal(again.percent, said.percent)
    np.testing.assert_array_equal(again.possible, said.possible)


def test_statements_as_cifar10s_json_give_the_same_labels(tmp_path):
    said = writable_statements()
    files.write_answers(said, tmp_path / "r.json")
    again = files.read_answers(tmp_path / "r.json").answers
    assert again.anonymous
    before, after = (Mean()(Clamp()(each)) for each in (said, again))
    rows = [before.index.items.tolist().index(name) for name in after.index.items]
    np.testing.assert_array_equal(after.probs, before.probs[rows])


def test_a_second_answer_is_written_as_a_repeat(tmp_path):
    said = writable_statements()
    files.write_answers(said.take([0, 1, 0]), tmp_path / "r.jsonl")
    lines = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert [line["presentation"]["kind"] for line in lines] == ["target", "target", "repeat"]


def anonymous(said):
    fields = {"named": said.named, "percent": said.percent, "possible": said.possible}
    return Statements(said.index, said.item, np.full(len(said), ANONYMOUS), **fields)


def test_authors_of_statements_who_are_not_known_fit_into_json_only(tmp_path):
    said = anonymous(writable_statements())
    for kind in ("csv", "parquet"):
        with pytest.raises(DataError, match=r"write to \.jsonl or \.json"):
            files.write_answers(said, tmp_path / f"r.{kind}")
    for kind in ("jsonl", "json"):
        files.write_answers(said, tmp_path / f"r.{kind}")
        assert files.read_answers(tmp_path / f"r.{kind}").answers.anonymous
    votes = Annotations(said.index, said.item, said.annotator, label=said.named[:, 0])
    for kind in ("jsonl", "csv", "parquet"):
        files.write_answers(votes, tmp_path / f"v.{kind}")
        again = files.read_answers(tmp_path / f"v.{kind}", said.index.labels.tolist()).answers
        assert again.anonymous
        np.testing.assert_array_equal(again.label, votes.label)


def renamed(said, *labels):
    index = Index(said.index.items, said.index.annotators, list(labels))
    return type(said)(**(vars_of(said) | {"index": index}))


def vars_of(said):
    return {name: getattr(said, name) for name in said.__dataclass_fields__}


REFUSED = [
    ("r.csv", renamed(writable_statements(), "a|b", "c", "d", "e"), "separates classes"),
    ("r.json", renamed(writable_statements(), "No", "c", "d", "e"), "means no alternative"),
    ("v.csv", renamed(example_soft(), "label", "b", "c"), "a class is called 'label'"),
    ("v.json", example_votes()[0], "these are votes; write to .jsonl"),
    ("v.npz", example_votes()[0], "must end in .csv, .parquet, .jsonl, .json"),
]


@pytest.mark.parametrize(("name", "said", "words"), REFUSED)
def test_what_could_not_be_read_again_is_not_written(tmp_path, name, said, words):
    with pytest.raises(DataError, match=words):
        files.write_answers(said, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_answers_the_form_has_no_room_for(tmp_path):
    said = writable_statements().take([0])
    for named, percent, words in (
        ([[0, 1, 2]], [[50.0, 30, 20]], "a third class"),
        ([[0, 1]], [[np.nan, 3]], "no first class with a chance"),
        (np.empty((1, 0), int), np.empty((1, 0)), "no first class with a chance"),
    ):
        odd = Statements(said.index, said.item, said.annotator, named, percent, said.possible)
        with pytest.raises(DataError, match=words):
            files.write_answers(odd, tmp_path / "r.jsonl")


def test_nothing_is_left_when_writing_fails(tmp_path):
    target = tmp_path / "s.csv"
    target.write_text("before")

    def half(error):
        with write_atomically(target) as part:
            part.write_text("half")
            raise error

    for error in (RuntimeError, KeyboardInterrupt):
        with pytest.raises(error):
            half(error)
        assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("before")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    files.write_soft_labels(soft_labels(), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("item,")


def test_targets_are_checked_before_the_work(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "in.csv").write_text("x")
    for path, words in (
        (tmp_path / "s.txt", "unknown kind of file"),
        (tmp_path / "folder.csv", "is a folder"),
        (tmp_path / "nowhere" / "s.csv", "there is no folder"),
        (tmp_path / "in.csv", "is the input itself"),
    ):
        with pytest.raises(FileError, match=words):
            files.check_output(path, files.write.LABEL_KINDS, str(tmp_path / "in.csv"))


MORE = {
    "low": np.array([[0.1, 0.1, 0.1], [0.0, 0.1, 0.5], [0.8, 0, 0], [np.nan] * 3]),
    "gain": np.array([0.1, 0.02, 0.3, np.nan]),
}


def test_what_is_believed_stands_behind_the_count(tmp_path):
    for kind in ("csv", "parquet", "jsonl", "npz"):
        files.write_soft_labels(soft_labels(), tmp_path / f"s.{kind}", MORE)
    frame = pl.read_csv(tmp_path / "s.csv").with_columns(item=pl.Series(NAMES))
    assert frame.columns == ["item", "a", "b c", "d", "count", "low:a", "low:b c", "low:d", "gain"]
    assert frame["low:d"].to_list() == [0.1, 0.5, 0.0, None]
    assert frame["gain"].to_list() == [0.1, 0.02, 0.3, None]
    assert pl.read_parquet(tmp_path / "s.parquet").equals(frame)
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    assert rows == frame.to_dicts()
    with np.load(tmp_path / "s.npz") as file:
        np.testing.assert_array_equal(file["low"], MORE["low"])
        np.testing.assert_array_equal(file["gain"], MORE["gain"])


@pytest.mark.parametrize("name", ["gain", "low:a", "low"])
def test_a_class_called_like_a_column_of_beliefs_is_refused(tmp_path, name):
    with pytest.raises(DataError, match=f"called '{name}'"):
        files.write_soft_labels(soft_labels(("a", name, "d")), tmp_path / "s.csv", MORE)
    assert not list(tmp_path.iterdir())
    files.write_soft_labels(soft_labels(("a", name, "d")), tmp_path / "s.csv")


# ── spreadsheets ─────────────────────────────────────────────────────────────────────────────

ODD = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "'=1", "''=1", "'x", "'", "＝1", "x=1"]
ODD += ["-1", "+2.5e3"]  # numbers


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_names_that_look_like_formulas_go_round(tmp_path, kind):
    index = Index(ODD, ["=A1", "bob"], ["=cat", "-dog", "-1"])
    item = np.repeat(np.arange(len(ODD)), 2)
    votes = Annotations(index, item, item * 0 + [0, 1] * len(ODD), label=item % 3)
    files.write_answers(votes, tmp_path / f"v.{kind}")
    keep = files.Reading(spelling="keep")  # two of them differ by the space before an x only
    again = files.read_answers(tmp_path / f"v.{kind}", ["=cat", "-dog", "-1"], reading=keep).answers
    assert again.index.items.tolist() == ODD
    assert again.index.annotators.tolist() == ["=A1", "bob"]
    assert again.label.tolist() == votes.label.tolist()
    soft = Annotations(index, votes.item, votes.annotator, probs=votes.soft())
    files.write_answers(soft, tmp_path / f"s.{kind}")
    again = files.read_answers(tmp_path / f"s.{kind}", reading=keep).answers
    assert again.index.labels.tolist() == ["=cat", "-dog", "-1"]


def test_no_cell_of_a_csv_file_is_a_formula(tmp_path):
    index = Index(ODD, [], ["=cat", "@dog"])
    probs = np.tile([0.25, 0.75], (len(ODD), 1))
    files.write_soft_labels(SoftLabels(index, probs, np.ones(len(ODD), int)), tmp_path / "s.csv")
    files.write_table([{"annotator": name, "=why": -1.5} for name in ODD], tmp_path / "r.csv")
    for name in ("s.csv", "r.csv"):
        with (tmp_path / name).open(newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        risky = [cell for cell in cells if cell.startswith(tuple("=+-@\t\r＝"))]
        assert set(risky) <= {"-1", "+2.5e3", "-1.5"}  # numbers stay numbers
        assert "'=1+1" in cells


def test_large_files_are_unescaped_too(tmp_path, monkeypatch):
    monkeypatch.setattr("softlabel.io.source.LARGE", 0)
    index = Index(["=1+1", "b"], ["+ann"], ["x", "y"])
    votes = Annotations(index, np.array([0, 1]), np.array([0, 0]), label=np.array([0, 1]))
    files.write_answers(votes, tmp_path / "v.csv")
    again = files.read_answers(tmp_path / "v.csv").answers.index
    assert (again.items.tolist(), again.annotators.tolist()) == (["=1+1", "b"], ["+ann"])


# ── files in the making ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_whatever_interrupts_leaves_no_part(tmp_path, error):
    def interrupted():
        with write_atomically(tmp_path / "a.csv") as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from softlabel._util.files import write_atomically
with write_atomically(Path(sys.argv[1])) as part:
    part.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    target = tmp_path / "a.csv"
    subprocess.run([sys.executable, "-c", KILLED, str(target)], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    with write_atomically(tmp_path / "other.csv") as part:
        part.write_text("whole")
    assert len(list(tmp_path.glob(".a.csv.*.part"))) == 1  # not the part of this file
    with write_atomically(target) as part:
        part.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "other.csv"]


def test_the_part_of_a_process_at_work_stays(tmp_path):
    target = tmp_path / "a.csv"
    with write_atomically(target) as first:
        first.write_text("one")
        with write_atomically(target) as second:
            second.write_text("two")
        assert first.read_text() == "one"
    old = tmp_path / f".a.csv.{'0' * 32}.part"  # of somebody unknown
    old.write_text("half")
    with write_atomically(target) as part:
        part.write_text("three")
    assert old.exists()
    os.utime(old, (0, 0))
    with write_atomically(target) as part:
        part.write_text("four")
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
