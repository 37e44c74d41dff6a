"""Whatever is wrong with a file is said in one sentence, with the place where it is wrong."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc

import polars as pl
import pytest

from softlabel import FileError
from softlabel import io as files
from softlabel.io import sheet

HEAD = b"item,annotator,label\n"
SOFT = b"item,annotator,cat,dog\n"
CLASSIC = b"item,annotator,top,p1,second,p2,impossible\n"

# file name, content, line, column, value, words of the reason
TABLES = [
    ("a.xls", HEAD, None, None, None, "must end in .csv, .jsonl, .parquet"),
    ("a.csv", b"", None, None, None, "is empty"),
    ("a.csv", b" \n\n", None, None, None, "is empty"),
    ("a.csv", HEAD, None, None, None, "has a header but no rows"),
    ("a.csv", HEAD + b"\n\n", None, None, None, "has a header but no rows"),
    ("a.csv", b"item,text\ni,x\n", None, "label", None, "there are 'item', 'text'; accepted"),
    ("a.csv", b"item,rater_name,label\ni,w,x\n", None, "annotator", None, "is it 'rater_name'?"),
    ("a.csv", b"item,anntator,label\ni,w,x\n", None, "annotator", None, "is it 'anntator'?"),
    ("a.csv", b"item,annotator\ni,w\n", None, "label", None, "accepted are hard votes"),
    ("a.csv", b"item;annotator;label\ni;w;x\n", None, "item", None, "commas or tabs, not by ';'"),
    ("a.csv", b"item,task,annotator,label\ni,i,w,x\n", None, None, None, "both 'item' and 'task'"),
    ("a.csv", b"item,item,annotator,label\ni,i,w,x\n", 1, "item", None, "two columns have this"),
    ("a.csv", b"item,annotator,top\ni,w,x\n", None, "p1", None, "no such column"),
    ("a.csv", b"item,annotator,cat,\ni,w,1,0\n", None, None, None, "has no name"),
    ("a.csv", HEAD + b"i,w,x\n,w,x\n", 3, "item", None, "the cell is empty"),
    ("a.csv", HEAD + b"i,w,x\nj,,x\n", 3, "annotator", None, "the cell is empty"),
    ("a.csv", HEAD + b"i,w,x\nj,w,\n", 3, "label", None, "the cell is empty"),
    ("a.csv", HEAD + b'i,w,x\nj,w,""\n', 3, "label", "", "the cell is empty"),
    ("a.csv", HEAD + b"i,w,x\nj,  ,x\n", 3, "annotator", "  ", "the cell is empty"),
    ("a.csv", HEAD + b"i,w,x\n,,\n", 3, "item", None, "the cell is empty"),
    ("a.csv", HEAD + b"i,w,x\nj,w\n", 3, None, None, "has 2 fields, but the header has 3"),
    ("a.csv", HEAD + b"i,w,x\nj,w,x,y\n", 3, None, None, "has 4 fields, but the header has 3"),
    ("a.csv", HEAD + b"i,w,x\nj,w,x,", 3, None, None, "has 4 fields, but the header has 3"),
    ("a.csv", b"item,annotator,label,note\ni,w,x,\nj,w,x\n", 3, None, None, "has 3 fields"),
    ("a.csv", HEAD + b'i,w,x\nj,"w,x\nk,w,x\n', 3, None, None, "not closed"),
    ("a.csv", HEAD + b'i,w,x\nj,"w"v,x\n', 3, None, None, "is not doubled"),
    ("a.csv", b"item,annotator,label\ri,w,x\r", 1, None, None, "carriage return"),
    ("a.csv", HEAD + b"i,w\r,x\n", 2, None, None, "carriage return"),
    ("a.csv", HEAD + b"i,w,x\r\r\n", 2, None, None, "line ends are broken"),
    ("a.csv", HEAD + b'i,w,x\nj,w,"a b\nc"\nk,w,x\nl,,x\n', 6, "annotator", None, "empty"),
    ("a.csv", HEAD + b'"i\n\n1",w,x\nj,w,"a\n"\n,w,x\n', 7, "item", None, "the cell is empty"),
    ("a.csv", b"\n\n" + HEAD + b"\ni,w,x\n\n,w,x\n", 7, "item", None, "the cell is empty"),
    ("a.csv", SOFT + b"i,w,0.5,0.5\nj,w,NaN,1\n", 3, "cat", "NaN", "must be a finite number"),
    ("a.csv", SOFT + b"i,w,0.5,0.5\nj,w,0,inf\n", 3, "dog", "inf", "must be a finite number"),
    ("a.csv", SOFT + b"i,w,0.5,0.5\nj,w,0.5,half\n", 3, "dog", "half", "not a number"),
    ("a.csv", SOFT + b"i,w,0.5,0.5\nj,w,-0.5,1.5\n", 3, "cat", "-0.5", "must not be negative"),
    ("a.csv", SOFT + b"i,w,0.5,0.5\nj,w,0.5,0.6\n", 3, None, None, "sum to 1.1, not to 1"),
    ("a.csv", SOFT + b"i,w,0.5,0.5\nj,w,,1\n", 3, "cat", None, "the cell is empty"),
    ("a.csv", CLASSIC + b"i,w,a,90,,,\nj,w,,90,,,\n", 3, "top", None, "must be answered"),
    ("a.csv", CLASSIC + b"i,w,a,90,,,\nj,w,a,lots,,,\n", 3, "p1", "lots", "a number from 0 to 100"),
    ("a.csv", CLASSIC + b"i,w,a,90,,,\nj,w,a,-3,,,\n", 3, "p1", "-3", "cannot be negative"),
    (
        "a.csv",
        HEAD + b"i,w,fa\xe7ade\n",
        2,
        None,
        None,
        "byte 7 (0xe7) is not UTF-8 text: it looks",
    ),
    ("a.csv", HEAD + b"i,w,fa\xe7ade\n", 2, None, None, "latin-1"),
    ("a.csv", HEAD + "i,w,façade\n".encode() + b"j,w,fa\xe7ade\n", 3, None, None, "are mixed"),
    ("a.csv", "item,annotator,label\n".encode("utf-16"), 1, None, None, "UTF-16"),
    ("a.csv", "item,annotator,label\n".encode("utf-16-le"), 1, None, None, "UTF-16"),
    ("a.csv", gzip.compress(HEAD, mtime=0), 1, None, None, "should end in .gz"),
    ("a.csv", b"PAR1" + HEAD, 1, None, None, "should end in .parquet"),
    ("a.csv", b"PK\x03\x04" + HEAD, 1, None, None, "spreadsheet"),
    ("a.csv.gz", HEAD, None, None, None, "not sound gzip"),
    (
        "a.csv.gz",
        gzip.compress(HEAD * 50, mtime=0)[:-9],
        None,
        None,
        None,
        "break off before their end",
    ),
    (
        "a.csv.gz",
        gzip.compress(HEAD * 50, mtime=0)[:5],
        None,
        None,
        None,
        "break off before their end",
    ),
    (
        "a.csv.gz",
        gzip.compress(HEAD, mtime=0)[:12] + b"!!" + gzip.compress(HEAD, mtime=0)[14:],
        None,
        None,
        None,
        "gzip",
    ),
    ("a.csv", b"\xef\xbb\xbf", None, None, None, "is empty"),
    ("a.parquet", b"", None, None, None, "is empty"),
    ("a.parquet.gz", gzip.compress(b"x", mtime=0), None, None, None, "is not Parquet"),
    ("a.csv", b"\xef\xbb\xbf\n \n", None, None, None, "is empty"),
    ("a.jsonl", b"\xef\xbb\xbf\n", None, None, None, "is empty"),
    ("a.csv.gz", gzip.compress(b"", mtime=0), None, None, None, "is empty"),
    (
        "a.csv.gz",
        gzip.compress(HEAD + b"i,,x\n", mtime=0),
        2,
        "annotator",
        None,
        "the cell is empty",
    ),
    ("a.parquet", HEAD, None, None, None, "is not Parquet"),
    ("a.parquet", b"PAR1 but what follows is no Parquet PAR1", None, None, None, "are corrupt"),
]

RESPONSE = {
    "schema": "softlabel.response/1",
    "item": "i",
    "annotator": "w",
    "labels": ["a", "b"],
    "presentation": {"kind": "target", "mode": "classic", "mode_version": 1},
    "answer": {"top": "a", "p1": 90, "second": None, "p2": None, "impossible": []},
}
VOTE = {"item": "i", "annotator": "w", "label": "x"}
BELIEF = {"item": "i", "annotator": "w", "cat": 0.5, "dog": 0.5}


def changed(base: dict, path: str, value: object) -> dict:
    """A copy of a JSON object with one value, found by a dotted path, replaced."""
    key, _, rest = path.partition(".")
    return base | {key: changed(base[key], rest, value) if rest else value}


def without(base: dict, key: str) -> dict:
    return {name: value for name, value in base.items() if name != key}


# a good first line, a bad second line (an object or raw text), column, value, words of the reason
LINES = [
    (VOTE, b'{"item": "i",', None, None, "is not JSON: Expecting property name"),
    (VOTE, b'{"item": "i" \r', None, None, "Expecting ',' delimiter at character 13"),
    (VOTE, b"[1, 2]", None, None, "must be a JSON object {…}, not a list"),
    (VOTE, b"null", None, None, "must be a JSON object {…}, not null"),
    (VOTE, b'{"item": "i", "item": "j"}', None, None, "the key 'item' stands twice"),
    (VOTE, b'{"a":' * 9999, None, None, "is not JSON"),
    (VOTE, without(VOTE, "label"), "label", None, "this key is missing"),
    (VOTE, without(VOTE, "annotator"), "annotator", None, "this key is missing"),
    (VOTE, changed(VOTE, "label", None), "label", None, "not null"),
    (VOTE, changed(VOTE, "label", ""), "label", "", "is empty"),
    (VOTE, changed(VOTE, "label", 0.5), "label", 0.5, "must be text or a whole number"),
    (VOTE, changed(VOTE, "item", True), "item", True, "not true or false"),
    (VOTE, changed(VOTE, "item", ["i"]), "item", ["i"], "not a list"),
    (VOTE, changed(VOTE, "item", "\ud800"), "item", "\ud800", "a lone surrogate"),
    (VOTE, changed(VOTE, "item", "i\0"), "item", "i\0", "NUL"),
    (VOTE, changed(VOTE, "annotator", None), "annotator", None, "null here but named elsewhere"),
    (BELIEF, changed(BELIEF, "cat", "0.5"), "cat", "0.5", "not a number"),
    (BELIEF, changed(BELIEF, "cat", True), "cat", True, "not a number"),
    (BELIEF, changed(BELIEF, "cat", 10**400), "cat", None, "must be a finite number"),
    (BELIEF, changed(BELIEF, "cat", float("inf")), "cat", float("inf"), "must be a finite number"),
    (BELIEF, changed(BELIEF, "cat", -0.5), "cat", -0.5, "must not be negative"),
    (BELIEF, changed(BELIEF, "cat", 0.75), None, None, "sum to 1.25"),
    (BELIEF, BELIEF | {"cow": 0.0}, "cow", None, "the first line has no such class"),
    (RESPONSE, VOTE, "schema", None, "a response must have this key"),
    (RESPONSE, without(RESPONSE, "answer"), "answer", None, "a response must have this key"),
    (RESPONSE, changed(RESPONSE, "schema", "x/2"), "schema", "x/2", "'softlabel.response/1'"),
    (RESPONSE, changed(RESPONSE, "item", ""), "item", "", "is empty"),
    (RESPONSE, changed(RESPONSE, "annotator", None), "annotator", None, "null here but named"),
    (RESPONSE, changed(RESPONSE, "labels", ["b", "a"]), "labels", ["b", "a"], "of line 1: a, b"),
    (RESPONSE, changed(RESPONSE, "presentation", 3), "presentation", 3, "must be an object"),
    (
        RESPONSE,
        changed(RESPONSE, "presentation.kind", "practice"),
        "presentation.kind",
        "practice",
        "must be one of target, repeat, training, gold, attention",
    ),
    (
        RESPONSE,
        changed(RESPONSE, "presentation.mode", "klassic"),
        "presentation.mode",
        None,
        "no mode called 'klassic' (did you mean 'classic'?)",
    ),
    (
        RESPONSE,
        changed(RESPONSE, "presentation.mode_version", 2),
        "presentation.mode_version",
        2,
        "in version 1 only",
    ),
    (RESPONSE, changed(RESPONSE, "answer", [1]), "answer", [1], "a set of named fields"),
    (RESPONSE, changed(RESPONSE, "answer.top", "A"), "answer.top", "A", "no such class"),
    (RESPONSE, changed(RESPONSE, "answer.p1", "lots"), "answer.p1", "lots", "from 0 to 100"),
    (RESPONSE, changed(RESPONSE, "answer.impossible", "a"), "answer.impossible", "a", "a list"),
    (RESPONSE, changed(RESPONSE, "answer.mood", 1), "answer.mood", 1, "no such field"),
]

RECORD = {
    "Most Probable Class": "Cat",
    "Most Probable Class Prob": 95.0,
    "Second Most Probable Class": "Dog",
    "Second Most Probable Class Prob": 5.0,
    "Impossible Class(es)": ["Frog"],
}
# the content of a .json, column, value, words of the reason
COLLINS = [
    ([RECORD], None, None, "is none of the JSON files that softlabel knows"),
    ([VOTE], None, None, "write answers as JSON lines, one object per line such as"),
    (VOTE, None, None, "is none of the JSON files"),
    (
        {"images": [], "annotations": [{"id": 1, "category_id": 2}], "categories": [{"id": 2}]},
        None,
        None,
        "exports of other programs (see 'softlabel list format') and the JSON of CIFAR-10S",
    ),
    ({}, None, None, "holds no answers"),
    ({"7": []}, None, None, "holds no answers"),
    ({"7": RECORD}, "7", None, "must be a list of answers"),
    ({"7": [RECORD, 3]}, None, 3, "item '7', answer 2: must be an object"),
    ({"": [RECORD]}, None, "", "an item is empty"),
    (
        {"7": [changed(RECORD, "Impossible Class(es)", "Frog")]},
        "Impossible Class(es)",
        "Frog",
        "list",
    ),
    (
        {"7": [changed(RECORD, "Second Most Probable Class", 3)]},
        "Second Most Probable Class",
        3,
        "must be a class or null",
    ),
    ({"7": [without(RECORD, "Most Probable Class")]}, "top", None, "must be answered"),
    ({"7": [changed(RECORD, "Most Probable Class Prob", "x")]}, "p1", "x", "item '7', answer 1"),
]


def complaint(path) -> FileError:
    with pytest.raises(FileError) as caught:
        files.read_answers(path).refuse_repeats()
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1, "one sentence, on one line"
    return caught.value


@pytest.mark.parametrize(("name", "content", "line", "column", "value", "words"), TABLES)
def test_a_bad_table_is_refused_with_its_place(tmp_path, name, content, line, column, value, words):
    path = tmp_path / name
    path.write_bytes(content)
    error = complaint(path)
    assert (error.line, error.column, error.value) == (line, column, value), str(error)
    assert words in str(error)


@pytest.mark.parametrize(("first", "second", "column", "value", "words"), LINES)
def test_a_bad_line_is_refused_with_its_number(tmp_path, first, second, column, value, words):
    path = tmp_path / "a.jsonl"
    bad = second if isinstance(second, bytes) else json.dumps(second).encode()
    path.write_bytes(json.dumps(first).encode() + b"\n\n" + bad + b"\n")  # a blank line counts
    error = complaint(path)
    assert (error.line, error.column) == (3, column), str(error)
    assert words in str(error)
    if value is not None:
        assert error.value == value


@pytest.mark.parametrize(("content", "column", "value", "words"), COLLINS)
def test_bad_json_of_cifar10s_is_refused(tmp_path, content, column, value, words):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    error = complaint(path)
    assert error.column == column
    assert words in str(error)
    if value is not None:
        assert error.value == value


def test_json_lines_in_a_file_of_another_name(tmp_path):
    path = tmp_path / "a.json"
    path.write_text((json.dumps(VOTE) + "\n") * 2)
    assert "the name of a file of JSON lines must end in .jsonl" in str(complaint(path))


def test_json_that_breaks_off_names_the_line(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('{"7": [\n{"Most Probable Class": "Cat",\n')
    assert complaint(path).line == 3


def test_what_is_not_a_file(tmp_path):
    assert "there is no such file" in str(complaint(tmp_path / "a.csv"))
    (tmp_path / "b.csv").mkdir()
    assert "is a folder" in str(complaint(tmp_path / "b.csv"))


PARQUET = [
    ({"item": ["i"], "annotator": ["w"], "label": [[1]]}, "label", "names must be text or numbers"),
    (
        {"item": [["i"]], "annotator": ["w"], "label": ["x"]},
        "item",
        "names must be text or numbers",
    ),
    ({"item": ["i", None], "annotator": ["w", "w"], "label": ["x", "x"]}, "item", "row 2 of the"),
    ({"item": ["i"], "annotator": ["w"], "cat": [float("nan")]}, "cat", "must be a finite number"),
    ({"item": ["i"], "annotator": ["w"], "cat": [[1.0]]}, "cat", "no probabilities"),
    ({"item": ["i"], "annotator": ["w"], "cat": [True]}, "cat", "no probabilities"),
    ({"item": ["i"], "annotator": ["w"], "cat": [0.5]}, None, "sum to 0.5, not to 1 (row 1 of"),
    ({"item": pl.Series([], dtype=pl.String)}, None, "has columns but no rows"),
]


@pytest.mark.parametrize(("columns", "column", "words"), PARQUET)
def test_bad_parquet_is_refused(tmp_path, columns, column, words):
    path = tmp_path / "a.parquet"
    pl.DataFrame(columns).write_parquet(path)
    error = complaint(path)
    assert error.column == column
    assert words in str(error)


def test_damaged_parquet_is_refused_in_silence(tmp_path, capfd):
    buffer = io.BytesIO()
    pl.DataFrame({"item": ["i"] * 99, "annotator": ["w"] * 99}).write_parquet(buffer)
    whole = buffer.getvalue()
    path = tmp_path / "a.parquet"
    for damaged in (whole[:-20], whole[:20] + whole[60:], whole[:4] + b"\xff" * 99 + whole[103:]):
        path.write_bytes(damaged)
        complaint(path)
    assert capfd.readouterr().err == ""


REPEATED = [
    (
        "a.csv",
        HEAD + b"i,w,x\ni,v,x\nj,w,x\ni,w,y\n",
        "'w' answered item 'i' on line 2 and again",
        5,
    ),
    ("a.csv", HEAD + b"i,w,x\ni,w,x\n", "on line 2 and again here", 3),  # equal rows too
    ("a.csv", HEAD + b'"i\n",w,x\n"i\n",w,x\n', "on line 2 and again here", 4),
    ("a.csv", CLASSIC + b"i,w,a,90,,,\ni,w,a,90,,,\n", "on line 2 and again here", 3),
    ("a.jsonl", (json.dumps(VOTE) + "\n\n" + json.dumps(VOTE)).encode(), "on line 1 and again", 3),
    ("a.jsonl", (json.dumps(RESPONSE) + "\n").encode() * 3, "(2 answers are repeats); say what", 2),
]


@pytest.mark.parametrize(("name", "content", "words", "line"), REPEATED)
def test_an_answer_given_twice_is_refused_with_both_lines(tmp_path, name, content, words, line):
    path = tmp_path / name
    path.write_bytes(content)
    error = complaint(path)
    assert words in str(error)
    assert "--repeats first, last, mean or all" in str(error)
    assert error.line == line


def test_a_class_outside_the_list_is_refused_with_the_nearest(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(HEAD + b"i,w,cat\nj,w,kat\n")
    with pytest.raises(FileError, match=r"no such class \(did you mean 'cat'\?\)") as caught:
        files.read_answers(path, ["cat", "dog"])
    assert (caught.value.line, caught.value.column, caught.value.value) == (3, "label", "kat")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", SOFT + b"i,w,0.5,0.5\n"),
        ("a.jsonl", json.dumps(BELIEF).encode()),
        ("a.jsonl", json.dumps(RESPONSE).encode()),
    ],
)
def test_a_file_with_other_classes_than_asked_for_is_refused(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"not (those|the classes) asked for"):
        files.read_answers(path, ["cat", "cow"])


def test_long_values_are_cut(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(SOFT + b"i,w," + b"x" * 5000 + b",1\n")
    assert len(str(complaint(path))) < 500


# ── gzip ─────────────────────────────────────────────────────────────────────────────────────


def test_a_gzip_bomb_is_bounded(tmp_path, monkeypatch):
    """A file of 100 kB that unpacks to 100 MB stops early, says so, and can be allowed."""
    monkeypatch.setattr(sheet, "MODEST", 5_000_000)
    path = tmp_path / "votes.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"item,annotator,label\n")
        for _ in range(100):
            file.write(b"a" * 1_000_000)
    monkeypatch.setattr(sheet, "CHUNK", 1_000_000)
    tracemalloc.start()
    with pytest.raises(FileError, match=r"gz: its [\d,]+ bytes unpack to more than") as e:
        files.read_answers(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40_000_000
    assert "set SOFTLABEL_UNPACKED_MB" in str(e.value)
    monkeypatch.setenv("SOFTLABEL_UNPACKED_MB", "150")
    assert len(sheet.read_bytes(path)) > 100_000_000
    monkeypatch.setenv("SOFTLABEL_UNPACKED_MB", "lots")
    with pytest.raises(FileError, match="SOFTLABEL_UNPACKED_MB = 'lots'"):
        files.read_answers(path)


def test_gzip_of_what_repeats_itself_is_read(tmp_path):
    path = tmp_path / "votes.csv.gz"
    rows = "".join(f"item {i},ann,cat\n" for i in range(200_000))
    path.write_bytes(gzip.compress(f"item,annotator,label\n{rows}".encode(), 9))
    assert len(files.read_answers(path).answers) == 200_000
