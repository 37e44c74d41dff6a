"""The same votes in every kind of file give the same table, counted by hand."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import FileError
from softlabel import io as files
from softlabel.elicit import Classic
from softlabel.io.csv_files import read_csv
from softlabel.io.votes import sort_naturally

VOTES = [
    ("b", "w1", "cat"),
    ("a", "w2", "dog"),
    ("b", "w2", "cat"),
    ("a", "w1", "ant"),
    ("é", "w1", "dog"),
]


def csv_text(rows, header=("item", "annotator", "label"), **style) -> str:
    out = io.StringIO()
    csv.writer(out, **style).writerows([header, *rows])
    return out.getvalue()


def json_lines(rows, header=("item", "annotator", "label")) -> bytes:
    lines = (json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) for row in rows)
    return "\n".join(lines).encode()


def parquet(rows, header=("item", "annotator", "label")) -> bytes:
    out = io.BytesIO()
    pl.DataFrame(rows, schema=list(header), orient="row").write_parquet(out)
    return out.getvalue()


HEADER = ("item", "annotator", "label")
MORE = ("", *HEADER, "note")
PLAIN = csv_text(VOTES, lineterminator="\n").encode()
SAME_VOTES = {
    "plain": ("v.csv", PLAIN),
    "no newline at the end": ("v.csv", PLAIN.rstrip()),
    "Windows line ends": ("v.csv", csv_text(VOTES).encode()),
    "byte order mark": ("v.csv", b"\xef\xbb\xbf" + PLAIN),
    "everything quoted": ("v.csv", csv_text(VOTES, quoting=csv.QUOTE_ALL).encode()),
    "blank lines": ("v.csv", PLAIN.replace(b"\n", b"\n\n")),
    "blank Windows lines": ("v.csv", PLAIN.replace(b"\n", b"\r\n\r\n")),
    "blank lines first": ("v.csv", b"\n\n" + PLAIN),
    "more columns": ("v.csv", csv_text([(1, *row, "") for row in VOTES], MORE).encode()),
    "other order": ("v.csv", csv_text([row[::-1] for row in VOTES], HEADER[::-1]).encode()),
    "other names": ("v.csv", csv_text(VOTES, ("task", "worker", "label")).encode()),
    "capital suffix": ("V.CSV", PLAIN),
    "gzip": ("v.csv.gz", gzip.compress(PLAIN, mtime=0)),
    "two gzip members": (
        "v.csv.gz",
        gzip.compress(PLAIN[:30], mtime=0) + gzip.compress(PLAIN[30:], mtime=0),
    ),
    "json lines": ("v.jsonl", json_lines(VOTES)),
    "json lines, gzip": ("v.jsonl.gz", gzip.compress(json_lines(VOTES), mtime=0)),
    "json lines, blank lines": ("v.jsonl", json_lines(VOTES).replace(b"\n", b"\r\n\n") + b"\n\n"),
    "parquet": ("v.parquet", parquet(VOTES)),
}


def rows_of(said) -> list[tuple[str, str, str]]:
    """The votes by name again."""
    index = said.index
    return [
        (index.items[i], index.annotators[w], index.labels[c])
        for i, w, c in zip(said.item, said.annotator, said.label, strict=True)
    ]


@pytest.mark.parametrize(("name", "content"), SAME_VOTES.values(), ids=SAME_VOTES)
def test_hard_votes(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    said = files.read_answers(path).answers
    assert rows_of(said) == VOTES
    assert said.index.items.tolist() == ["b", "a", "é"], "items come in order of first appearance"
    assert said.index.labels.tolist() == ["ant", "cat", "dog"], "classes come in natural order"


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_the_time_of_votes_is_kept(tmp_path, kind):
    """Where it is known; a row that is left out takes its time along."""
    path = tmp_path / "votes.csv"
    path.write_text("item,annotator,label,seconds\na,p,x,3.5\na,q,,8\nb,p,y,\nb,q,x,2\n")
    read = files.read_answers(path, reading=files.Reading(missing="drop"))
    np.testing.assert_array_equal(read.seconds, [3.5, np.nan, 2])
    again = tmp_path / f"again.{kind}"
    files.write_answers(read.answers, again, read.seconds)
    found = files.read_answers(again)
    np.testing.assert_array_equal(found.seconds, read.seconds)
    assert found.answers.label.tolist() == read.answers.label.tolist()
    for odd in ("3 s", "-1"):
        path.write_text(f"item,annotator,label,seconds\na,p,x,{odd}\nb,p,y,2\n")
        told = files.read_answers(path)
        assert told.seconds is None
        assert told.facts["note"].startswith("the column 'seconds' is not read")


def test_names_keep_everything_but_the_quotes(tmp_path):
    odd = [('say "hi", twice', "=1+1", "a\nb"), ("two\r\nlines", "'", "x"), (" 1", "01", "y ")]
    path = tmp_path / "v.csv"
    path.write_bytes(csv_text(odd).encode())
    assert rows_of(files.read_answers(path).answers) == odd


def test_a_cell_may_be_long(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text('item,annotator,label,text\ni,w,x,"' + "a,b\n" * 100_000 + '"\n')
    assert rows_of(files.read_answers(path).answers) == [("i", "w", "x")]


def test_a_name_with_glob_characters_is_one_file(tmp_path):
    for name in ("v[1].csv", "v*.csv", "~v.csv"):
        (tmp_path / name).write_bytes(PLAIN)
        assert len(files.read_answers(tmp_path / name).answers) == len(VOTES)


def test_whole_numbers_are_names_in_json_and_parquet(tmp_path):
    rows = [(10, 7, 2), (9, 7, 10)]
    for name, write in (("v.jsonl", json_lines), ("v.parquet", parquet)):
        (tmp_path / name).write_bytes(write(rows))
        said = files.read_answers(tmp_path / name).answers
        assert rows_of(said) == [("10", "7", "2"), ("9", "7", "10")]
        assert said.index.labels.tolist() == ["2", "10"]


def test_the_class_list_is_kept_in_its_order_with_classes_nobody_chose(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(PLAIN)
    assert files.read_answers(path, ["dog", "cow", "cat", "ant"]).answers.index.labels.tolist() == [
        *("dog", "cow", "cat", "ant")
    ]


def test_parquet_enum_is_a_class_list(tmp_path):
    path = tmp_path / "v.parquet"
    frame = pl.DataFrame(VOTES, schema=["item", "annotator", "label"], orient="row")
    classes = ["dog", "cow", "cat", "ant"]
    frame.cast({"label": pl.Enum(classes), "annotator": pl.Categorical}).write_parquet(path)
    said = files.read_answers(path).answers
    assert said.index.labels.tolist() == classes
    assert rows_of(said) == VOTES


def test_json_lines_may_say_that_nobody_is_known(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_bytes(json_lines([(item, None, label) for item, _, label in VOTES * 2]))
    source = files.read_answers(path)
    source.refuse_repeats()  # answers without an author are nobody's repeats
    assert source.answers.anonymous
    assert len(source.answers) == 2 * len(VOTES)


SOFT = [("b", "w1", 0.7, 0.2, 0.1), ("a", "w2", 1, 0, 0), ("b", "w2", 1e-3, 0.999, 0.0)]
SOFT_HEADER = ("item", "annotator", "z", "10", "9")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("s.csv", csv_text(SOFT, SOFT_HEADER).encode()),
        ("s.csv.gz", gzip.compress(csv_text(SOFT, SOFT_HEADER).encode(), mtime=0)),
        ("s.csv", csv_text(SOFT, ("task", "worker", *SOFT_HEADER[2:])).encode()),
        ("s.jsonl", json_lines(SOFT, SOFT_HEADER)),
        ("s.parquet", parquet([tuple(map(str, row)) for row in SOFT], SOFT_HEADER)),
        ("s.parquet", parquet([(*r[:2], *map(float, r[2:])) for r in SOFT], SOFT_HEADER)),
    ],
)
def test_soft_votes(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    said = files.read_answers(path).answers
    assert said.index.labels.tolist() == ["z", "10", "9"], "column order is class order"
    np.testing.assert_array_equal(said.probs, [row[2:] for row in SOFT])
    other = files.read_answers(path, ["9", "z", "10"]).answers
    np.testing.assert_array_equal(other.probs, said.probs[:, [2, 0, 1]])


CLASSES = ["ant", "bee", "cat", "dog"]
ANSWERS = [
    ("i1", "w1", {"top": "bee", "p1": 70, "second": "ant", "p2": 20, "impossible": ["cat", "dog"]}),
    ("i2", "w1", {"top": "cat", "p1": 100, "second": None, "p2": None, "impossible": []}),
    ("i1", "w2", {"top": "ant", "p1": 60.5, "second": "ant", "p2": None, "impossible": ["ant"]}),
    ("i2", "w2", {"top": "dog", "p1": 0, "second": None, "p2": None, "impossible": ["bee"]}),
]


def response(item, annotator, answer, **more) -> str:
    shown = {"kind": "target", "mode": "classic", "mode_version": 1, "position": 3}
    return json.dumps(
        {
            "schema": "softlabel.response/1",
            "item": item,
            "annotator": annotator,
            "labels": CLASSES,
            "presentation": shown,
            "answer": answer,
            "timing": {"submit_ms": 5},
        }
        | more
    )


def classic_csv() -> str:
    rows = [
        (item, who, *list(answer.values())[:4], "|".join(answer["impossible"]))
        for item, who, answer in ANSWERS
    ]
    return csv_text(rows, ("item", "annotator", "top", "p1", "second", "p2", "impossible"))


def same_statements(said, expected_classes=CLASSES):
    read = [Classic().read(answer, expected_classes) for _, _, answer in ANSWERS]
    assert said.index.labels.tolist() == expected_classes
    for row, answer in enumerate(read):
        width = len(answer.named)
        assert tuple(said.named[row, :width]) == answer.named
        np.testing.assert_array_equal(said.percent[row, :width], answer.percent)
        np.testing.assert_array_equal(said.possible[row], answer.possible)
        assert {name for name, rows in said.repairs.items() if rows[row]} == set(answer.repairs)


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.csv", "r.parquet"])
def test_responses(tmp_path, name):
    path = tmp_path / name
    lines = "\n".join(response(*answer) for answer in ANSWERS).encode()
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(lines, mtime=0))
    elif name == "r.csv":
        path.write_text(classic_csv(), newline="")
    elif name == "r.parquet":
        pl.read_csv(classic_csv().encode()).write_parquet(path)
    else:
        path.write_bytes(lines)
    said = files.read_answers(path).answers
    same_statements(said)
    assert [said.index.items[i] for i in said.item] == ["i1", "i2", "i1", "i2"]
    assert [said.index.annotators[w] for w in said.annotator] == ["w1", "w1", "w2", "w2"]
    assert said.contradictory.tolist() == [False, False, True, False]
    same_statements(files.read_answers(path, CLASSES[::-1]).answers, CLASSES[::-1])


def test_parquet_may_be_packed_again(tmp_path):
    path = tmp_path / "v.parquet.gz"
    plain = io.BytesIO()
    pl.DataFrame({"item": ["a"], "annotator": ["w"], "label": ["cat"]}).write_parquet(plain)
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=0))
    assert files.read_answers(path).answers.index.labels.tolist() == ["cat"]


def test_responses_of_the_hard_mode(tmp_path):
    path = tmp_path / "r.jsonl"
    hard = {"kind": "repeat", "mode": "hard", "mode_version": 1}
    path.write_text(response("i", "w", {"label": "cat"}, presentation=hard))
    said = files.read_answers(path).answers
    assert said.hard, "plain votes stay votes: nobody's doubt is invented for them"
    assert said.label.tolist() == [2]


def test_cifar10s_json(tmp_path):
    records: dict[str, list] = {}
    for item, _, answer in sorted(ANSWERS, key=lambda row: row[0]):
        record = {
            "Most Probable Class": answer["top"],
            "Most Probable Class Prob": answer["p1"],
            "Second Most Probable Class": answer["second"] or "No",
            "Second Most Probable Class Prob": answer["p2"],
            "Impossible Class(es)": answer["impossible"],
        }
        records.setdefault(item, []).append(record)
    for name, pack in (("c.json", bytes), ("c.json.gz", gzip.compress)):
        (tmp_path / name).write_bytes(pack(json.dumps(records).encode()))
        said = files.read_answers(tmp_path / name).answers
        assert said.anonymous
        assert Counter(said.index.items[i] for i in said.item) == {"i1": 2, "i2": 2}
        assert said.index.labels.tolist() == CLASSES


@pytest.mark.parametrize(
    ("names", "ordered"),
    [
        (["10", "9", "1"], ["1", "9", "10"]),
        (["-1", "0.5", "0"], ["-1", "0", "0.5"]),
        (["10", "9", "x"], ["10", "9", "x"]),
        (["nan", "inf", "1"], ["1", "inf", "nan"]),
        (["1.0", "1", "0"], ["0", "1", "1.0"]),
        (["dog", "Cat"], ["Cat", "dog"]),
    ],
)
def test_natural_order(names, ordered):
    assert sort_naturally(names) == ordered


# cells, quotes and line ends in any order: what is accepted is what the csv module reads
PIECES = st.sampled_from(["a", "b", ",", ",", '"', '""', '"a"', "\n", "\n", "\r\n", "\r", " "])


@given(st.lists(PIECES, max_size=25).map("".join))
def test_whatever_is_accepted_reads_as_the_csv_module_reads_it(tmp_path_factory, body):
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    path.write_text("x,y,z\n" + body, newline="")
    try:
        sheet = read_csv(path)
    except FileError:
        return
    text = io.StringIO(path.read_bytes().decode(), newline="\n")
    numbered = [(text_row, line) for text_row, line in numbered_rows(text) if text_row]
    rows = [[cell or "" for cell in row] for row in sheet.frame.iter_rows()]
    assert rows == [row for row, _ in numbered[1:]]
    assert [sheet.line_of(i) for i in range(len(rows))] == [line for _, line in numbered[1:]]


def numbered_rows(text):
    """Rows with the line on which they begin, found by counting newlines instead of asking."""
    reader, begin = csv.reader(text, strict=True), 1
    for row in reader:
        yield row, begin
        begin = reader.line_num + 1
