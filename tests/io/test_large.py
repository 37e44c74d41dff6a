"""Large files are read in batches, and to the same tables and complaints as small ones."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import FileError
from softlabel import io as files
from softlabel.io import large, source
from softlabel.io.large import compact_names, order_by_appearance, read_large

NAMES = st.text("abcd0 é漢.-_=", min_size=1, max_size=6).filter(lambda name: name.strip() != "")
VOTES = st.lists(st.tuples(NAMES, NAMES, NAMES), min_size=1, max_size=30)


@pytest.fixture
def all_large(monkeypatch):
    """Every file is large, and comes in many batches."""
    monkeypatch.setattr(source, "LARGE", 0)
    monkeypatch.setattr(large, "BATCH", 7)
    monkeypatch.setattr(large, "CHUNK", 10)


def same(one, other) -> None:
    assert one.index.items.tolist() == other.index.items.tolist()
    assert one.index.annotators.tolist() == other.index.annotators.tolist()
    assert one.index.labels.tolist() == other.index.labels.tolist()
    for name in ("item", "annotator", "label"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def both(path, labels=None):
    """The table as read in batches (never None here) and as read at once."""
    told = []
    keep = files.Reading(spelling="keep")
    found = read_large(path, path.suffix[1:], labels, lambda *step: told.append(step), keep)
    assert found is not None
    assert told, "it is told how far it is"
    return found, files.read_answers(path, labels, reading=keep).answers


@given(votes=VOTES)
def test_any_csv_without_quotes(votes, tmp_path_factory):
    path = tmp_path_factory.mktemp("v") / "v.csv"
    path.write_text("item,annotator,label\n" + "".join(f"{','.join(row)}\n" for row in votes))
    same(*both(path))


@given(votes=VOTES)
def test_any_parquet(votes, tmp_path_factory):
    path = tmp_path_factory.mktemp("v") / "v.parquet"
    pl.DataFrame(votes, schema=["item", "annotator", "label"], orient="row").write_parquet(path)
    same(*both(path))


def test_many_rows_in_many_batches(all_large, tmp_path, monkeypatch):
    rng = random.Random(3)
    rows = [
        (f"i{rng.randrange(90)}", f"w{rng.randrange(9)}", str(rng.randrange(12)))
        for _ in range(999)
    ]
    path = tmp_path / "v.csv"
    path.write_text("label,task,worker\r\n" + "".join(f"{c},{i},{w}\r\n" for i, w, c in rows))
    found = files.read_answers(path)
    monkeypatch.setattr(source, "LARGE", 10**9)
    same(found.answers, files.read_answers(path).answers)
    assert found.answers.index.labels.tolist() == [str(j) for j in range(12)], "by number"
    assert found.line_of(0) == 2


@pytest.mark.parametrize("kind", [pl.Int64, pl.UInt8, pl.Categorical, pl.Boolean])
def test_names_of_any_kind(tmp_path, kind):
    column = pl.Series(["1", "0", "1"])
    column = column.cast(pl.Int8).cast(pl.Boolean) if kind is pl.Boolean else column.cast(kind)
    frame = pl.DataFrame({"item": column, "annotator": [3, 4, 5], "label": column})
    frame.write_parquet(tmp_path / "v.parquet")
    same(*both(tmp_path / "v.parquet"))


def test_declared_classes_and_those_asked_for(tmp_path):
    said = pl.Series(["b", "c", "b"], dtype=pl.Enum(["c", "never", "b"]))
    frame = pl.DataFrame({"item": [1, 1, 2], "annotator": [3, 4, 5], "label": said})
    frame.write_parquet(tmp_path / "v.parquet")
    found, other = both(tmp_path / "v.parquet")
    same(found, other)
    assert found.index.labels.tolist() == ["c", "never", "b"]
    same(*both(tmp_path / "v.parquet", ["a", "b", "c"]))


HEAD = "item,annotator,label\n"
BAD = [
    (HEAD + "i,w,x\n,w,x\n", "line 3, column 'item': the cell is empty"),
    (HEAD + "i,w,x\nj,  ,x\n", "line 3, column 'annotator', value '  ': the cell is empty"),
    (HEAD + "i,w,x\nj,w\n", "line 3: has 2 fields"),
    (HEAD + "i,w,x\nj,w,x,y\n", "line 3: has 4 fields"),
    (HEAD + 'i,w,x\nj,w,"x\n', "line 3: a quoted cell is not closed"),
    (HEAD + "i,w,x\nj,w,nan\n", "line 3, column 'label', value 'nan': looks like a missing value"),
    (HEAD + "i,w,x\nj,w\r,x\n", "line 3: a carriage return stands inside"),
    (HEAD, "has a header but no rows"),
    ("item,item,label\ni,w,x\n", "line 1, column 'item': two columns have this name"),
    ("item,rater_name,label\ni,w,x\n", "column 'annotator': no such column"),
    (HEAD + "i,w,x\nj,w,\0\n", "line 3: byte 5 (0x00)"),
]


@pytest.mark.parametrize(("text", "complaint"), BAD)
def test_complaints_are_those_of_the_careful_reader(all_large, tmp_path, text, complaint):
    path = tmp_path / "v.csv"
    path.write_text(text, newline="")
    with pytest.raises(FileError) as error:
        files.read_answers(path)
    assert complaint in str(error.value)


def test_a_class_nobody_announced_is_found_by_its_line(all_large, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(HEAD + "i,w,x\nj,w,z\n")
    with pytest.raises(FileError, match="line 3, column 'label', value 'z': no such class"):
        files.read_answers(path, ["x", "y"])


def test_a_repeat_is_found_by_its_line(all_large, tmp_path):
    path = tmp_path / "v.csv"
    path.write_text(HEAD + "i,w,x\nj,w,x\ni,w,y\n")
    with pytest.raises(FileError, match="line 4: 'w' answered item 'i' on line 2 and again here"):
        files.read_answers(path).refuse_repeats()


@pytest.mark.parametrize("bad", [b"PAR1 nothing PAR1", b"no Parquet at all"])
def test_a_broken_parquet_file_is_refused_as_ever(all_large, tmp_path, bad):
    (tmp_path / "v.parquet").write_bytes(bad)
    with pytest.raises(FileError, match="Parquet"):
        files.read_answers(tmp_path / "v.parquet")


def test_an_empty_cell_of_parquet_is_found_by_its_row(all_large, tmp_path):
    frame = pl.DataFrame({"item": ["i", None], "annotator": ["a", "a"], "label": ["x", "x"]})
    frame.write_parquet(tmp_path / "v.parquet")
    with pytest.raises(FileError, match=r"column 'item': the cell is empty \(row 2 of the table\)"):
        files.read_answers(tmp_path / "v.parquet")


@pytest.mark.parametrize(
    "text",
    [
        "item,annotator,x,y\ni,a,1,0\n",
        "item,annotator,top,p1,second,p2,impossible\ni,a,x,50,y,50,\n",
    ],
)
def test_other_shapes_are_read_as_ever(all_large, tmp_path, text):
    (tmp_path / "v.csv").write_text(text)
    assert len(files.read_answers(tmp_path / "v.csv").answers) == 1


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_codes_are_renumbered_by_first_appearance(monkeypatch, rows):
    monkeypatch.setattr("softlabel.io.large.ROWS", rows)
    order, codes = order_by_appearance(np.array([2, 2, 0, 1, 0]))
    assert order.tolist() == [2, 0, 1]
    assert codes.tolist() == [0, 0, 1, 2, 1]


def test_many_names_become_an_array(monkeypatch):
    monkeypatch.setattr("softlabel.io.large.PIECE", 3)
    names = [f"a name of any length {i}" * (i % 3) for i in range(10)]
    assert compact_names(pl.Series(names)).tolist() == names


@pytest.mark.parametrize("name", ["", " ", "\t \n", "\u00a0", "\u2003", "\u3000 \u0085"])
def test_names_that_are_nothing_but_space(name):
    assert name.strip() == ""
    assert large.has_blank(pl.Series(["a", "~", "é", " b", name]))
    assert not large.has_blank(pl.Series(["a", "~", "é", " b", "\u00a0c", "!", "\u2003."]))
