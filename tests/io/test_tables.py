"""Tables as people have them: without annotators, with counts, gaps, odd spellings and tabs."""

from __future__ import annotations

import io
import sys

import numpy as np
import polars as pl
import pytest

from softlabel import DataError, FileError
from softlabel import io as files
from softlabel.aggregate import DawidSkene, Mean
from softlabel.tables import Annotations, Index, Statements, names


def write(tmp_path, text: str, name: str = "v.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def votes(answers) -> list[tuple[str, str | None, str]]:
    index = answers.index
    people = [*index.annotators.tolist(), None]
    return [
        (index.items[i], people[w], index.labels[c])
        for i, w, c in zip(answers.item, answers.annotator, answers.label, strict=True)
    ]


# ── without annotators ───────────────────────────────────────────────────────────────────────

ANONYMOUS = [("i", "cat"), ("i", "dog"), ("i", "cat"), ("j", "dog")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("v.csv", "item,label\ni,cat\ni,dog\ni,cat\nj,dog\n"),
        ("v.tsv", "item\tlabel\ni\tcat\ni\tdog\ni\tcat\nj\tdog\n"),
        ("v.csv", "item\tlabel\ni\tcat\ni\tdog\ni\tcat\nj\tdog\n"),
        ("v.csv", "label,note,item\ncat,x,i\ndog,,i\ncat,,i\ndog,,j\n"),
        ("v.jsonl", "".join(f'{{"item":"{i}","label":"{c}"}}\n' for i, c in ANONYMOUS)),
    ],
)
def test_votes_without_annotators(tmp_path, name, text):
    source = files.read_answers(write(tmp_path, text, name))
    assert votes(source.answers) == [(item, None, label) for item, label in ANONYMOUS]
    source.refuse_repeats()  # answers without an author are nobody's repeats


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.csv", "item,cat,dog\ni,2,1\nj,0,1\nk,0,0\n"),
        ("c.csv", "item,cat,dog,count\ni,2,1,3\nj,0,1,1\nk,0,0,0\n"),
        ("c.csv", "item,cat,dog\ni,2.0,1.0\nj,0,1\nk,0,0\n"),
        (
            "c.jsonl",
            '{"item":"i","cat":2,"dog":1}\n{"item":"j","cat":0,"dog":1}\n'
            '{"item":"k","cat":0,"dog":0}\n',
        ),
    ],
)
def test_counts_of_votes(tmp_path, name, text):
    source = files.read_answers(write(tmp_path, text, name))
    assert source.answers.hard
    assert source.answers.anonymous
    assert source.answers.counts().tolist() == [[2, 1], [0, 1], [0, 0]]
    assert source.answers.index.labels.tolist() == ["cat", "dog"], "in the order of the columns"
    told = "counts of votes, without annotators: the classes are cat, dog"
    assert source.facts["read as"] == told


def test_probabilities_without_annotators_are_no_counts(tmp_path):
    source = files.read_answers(write(tmp_path, "item,cat,dog\ni,0.5,0.5\ni,1,0\n"))
    assert not source.answers.hard
    assert source.answers.probs.tolist() == [[0.5, 0.5], [1, 0]]
    assert "read as" not in source.facts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,cat,dog\ni,2,1\ni,0,1\n", "line 3, column 'item', value 'i': this item has counts"),
        ("item,cat,dog\ni,2,0.5\n", "line 2: the probabilities sum to 2.5, not to 1"),
        ("item,cat,dog\ni,2,-1\n", "line 2, column 'dog', value '-1'"),
        ("item,cat,dog\ni,2,few\n", "line 2, column 'dog', value 'few': not a number"),
        ("item,cat,dog,count\ni,2,1,4\n", "line 2, column 'count', value 4.0: is not the sum"),
        ("item,cat,dog,count\ni,0.5,0.5,4\n", "column 'count': is a file of soft labels"),
        ("item,cat,dog\ni,0.5,0.5\nj,1,0\n", "these are labels or predictions, not answers"),
    ],
)
def test_numbers_that_are_neither(tmp_path, text, words):
    with pytest.raises(FileError, match=words):
        files.read_answers(write(tmp_path, text))


AGGREGATED = {
    "c.csv": "item,label,count\ni,cat,2\ni,dog,1\nj,cat,0\nj,dog,1\n",
    "v.csv": "item,label,n_votes\ni,cat,2.0\ni,dog,1.0\nj,cat,0\nj,dog,1\n",
    "c.jsonl": '{"item":"i","label":"cat","count":2}\n{"item":"i","label":"dog","count":1}\n'
    '{"item":"j","label":"dog","count":1.0}\n',
    "n.jsonl": '{"item":"i","annotator":null,"label":"cat","count":2}\n'
    '{"item":"i","annotator":null,"label":"dog","count":"1"}\n'
    '{"item":"j","annotator":null,"label":"dog","count":1}\n',
}


@pytest.mark.parametrize(("name", "text"), AGGREGATED.items())
def test_a_row_stands_for_as_many_votes_as_its_count_says(tmp_path, name, text):
    """As in a table in memory, and whatever else stands in the row comes along."""
    source = files.read_answers(write(tmp_path, text.replace("item", "unit"), name))
    assert votes(source.answers) == [(i, None, c) for i, c in sorted(ANONYMOUS)]
    assert source.facts["read as"].startswith("votes of unknown people, as many as '")


def test_counted_votes_in_parquet_with_gaps_and_times(tmp_path):
    columns = {"label": ["cat", None, "dog"], "count": [2, 5, 1], "seconds": [3.0, 4.0, None]}
    pl.DataFrame({"item": ["i"] * 3} | columns).write_parquet(tmp_path / "c.parquet")
    source = files.read_answers(tmp_path / "c.parquet", reading=files.Reading(missing="drop"))
    assert source.answers.counts().tolist() == [[2, 1]]
    np.testing.assert_array_equal(source.seconds, [3, 3, np.nan])
    assert source.left_out == {"without label": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,label,count\ni,x,1\ni,y,2.5\n", "line 3, column 'count', value '2.5': no number"),
        ("item,label,n\ni,x,1\ni,y,-1\n", "line 3, column 'n', value '-1': no number of votes"),
        ("item,label,count\ni,x,1\ni,y,\n", "line 3, column 'count': no number of votes"),
        ("item,label,count\ni,x,1e300\n", "line 2, column 'count', value '1e300': no number"),
        ("item,label,count\ni,x,0\n", "column 'count': every count is 0"),
        ("item,label,count,votes\ni,x,1,1\n", "both 'count' and 'votes' are there.*leave one out"),
        (
            "item,annotator,label,count\ni,p,x,1\ni,q,y,2\n",
            "line 3, column 'count', value '2': must be 1, as the row names an annotator",
        ),
    ],
)
def test_what_is_no_count_of_votes(tmp_path, monkeypatch, text, words):
    for size in (10**9, 0):  # the reader of large files, too
        monkeypatch.setattr("softlabel.io.source.LARGE", size)
        with pytest.raises(FileError, match=words):
            files.read_answers(write(tmp_path, text))


def test_a_vote_may_be_counted_as_one_or_have_another_number_beside_it(tmp_path):
    """With a named annotator only ``count`` itself is looked at."""
    for head in ("count", "n", "votes,count"):
        row = "1,1" if "," in head else "1"
        text = f"item,annotator,label,{head}\ni,p,x,{row}\ni,q,y,{row}\n"
        assert len(files.read_answers(write(tmp_path, text)).answers) == 2
    text = "item,annotator,label,frequency\ni,p,x,7\ni,q,y,2.5\n"
    assert len(files.read_answers(write(tmp_path, text)).answers) == 2


def test_what_needs_people_says_so_and_what_does_not(tmp_path):
    answers = files.read_answers(write(tmp_path, "item,label\ni,cat\ni,dog\n")).answers
    assert Mean()(answers).probs.tolist() == [[0.5, 0.5]]
    with pytest.raises(DataError, match=r"dawid-skene weighs people.*: mean, share, majority"):
        DawidSkene()(answers)


# ── names of columns ─────────────────────────────────────────────────────────────────────────


def test_columns_by_other_names(tmp_path):
    path = write(tmp_path, "picture,who,what,label\ni,w,cat,x\n")
    given = files.Reading(columns={"item": "picture", "annotator": "who", "label": "what"})
    assert votes(files.read_answers(path, reading=given).answers) == [("i", "w", "cat")]
    with pytest.raises(FileError, match="--columns item=photo: no such column"):
        files.read_answers(path, reading=files.Reading(columns={"item": "photo"}))


def test_a_form_with_a_column_that_is_called_like_a_label(tmp_path):
    path = write(tmp_path, "item,annotator,top,p1,second,p2,impossible,rating\ni,w,a,90,,,,5\n")
    assert isinstance(files.read_answers(path).answers, Statements)


def test_soft_votes_for_a_class_that_is_called_like_a_label_are_not_written(tmp_path):
    index = Index(names(["i"]), names(["w"]), names(["value", "cost"]))
    votes = Annotations(index, np.array([0]), np.array([0]), probs=np.array([[0.5, 0.5]]))
    with pytest.raises(DataError, match="a class is called 'value'"):
        files.write_answers(votes, tmp_path / "v.csv")


# ── ids ──────────────────────────────────────────────────────────────────────────────────────

SPACED = {
    "v.csv": "item,annotator,label\na,ann,cat\n{},{},dog\n",
    "s.csv": "item,annotator,cat,dog\na,ann,1,0\n{},{},0,1\n",
    "c.csv": "item,annotator,top,p1,second,p2,impossible\na,ann,cat,90,,,\n{},{},dog,90,,,\n",
    "v.jsonl": '{{"item":"a","annotator":"ann","label":"cat"}}\n'
    '{{"item":"{}","annotator":"{}","label":"dog"}}\n',
    "mturk.csv": "HITId,AssignmentId,WorkerId,AssignmentStatus,Input.x,Answer.y\n"
    "1,1,ann,Approved,a,cat\n1,2,{1},Approved,{0},dog\n",
}


@pytest.mark.parametrize("size", [10**9, 0])
@pytest.mark.parametrize("name", SPACED)
@pytest.mark.parametrize(
    ("item", "person", "words"),
    [("a ", "bob", "'a' and 'a '"), ("b", "\u00a0ann", r"'ann' and '\\xa0ann'")],
)
def test_ids_that_differ_by_space_only(tmp_path, monkeypatch, size, name, item, person, words):
    """As with labels: the small reader, the large one and those of other programs ask."""
    monkeypatch.setattr("softlabel.io.source.LARGE", size)
    path = write(tmp_path, SPACED[name].format(item, person), name)
    with pytest.raises(FileError, match=f"{words} differ by the space around them only; say --sp"):
        files.read_answers(path)
    found = {
        how: files.read_answers(path, reading=files.Reading(spelling=how)).answers.index.shape
        for how in ("merge", "keep")
    }
    assert found["keep"][0] + found["keep"][1] == found["merge"][0] + found["merge"][1] + 1


def test_one_person_in_two_spellings_is_found_to_repeat(tmp_path):
    path = write(tmp_path, SPACED["v.csv"].format("a ", "ann "))
    merged = files.read_answers(path, reading=files.Reading(spelling="merge"))
    with pytest.raises(FileError, match="line 3: 'ann' answered item 'a' on line 2 and again here"):
        merged.refuse_repeats()
    path = write(tmp_path, "item,cat,dog\na,1,0\na ,0,1\n")
    with pytest.raises(FileError, match="'a' and 'a ' differ by the space"):
        files.read_answers(path)


# ── missing ──────────────────────────────────────────────────────────────────────────────────

GAPS = "item,annotator,label\ni,w,cat\n,w,cat\nj,,cat\nk,w,\nl,w,NaN\nm,w,dog\nm,w,cat\n"


def test_rows_with_gaps_are_refused_or_dropped_and_counted(tmp_path):
    path = write(tmp_path, GAPS)
    with pytest.raises(FileError, match="line 3, column 'item': the cell is empty"):
        files.read_answers(path)
    source = files.read_answers(path, reading=files.Reading(missing="drop"))
    assert votes(source.answers) == [("i", "w", "cat"), ("m", "w", "dog"), ("m", "w", "cat")]
    assert source.left_out == {"without item": 1, "without annotator": 1, "without label": 2}
    assert len(source.answers) + sum(source.left_out.values()) == GAPS.count("\n") - 1
    with pytest.raises(FileError, match="on line 7 and again here") as caught:
        source.refuse_repeats()
    assert caught.value.line == 8, "a row keeps its line when others are dropped"


def test_gaps_in_soft_votes_and_in_json(tmp_path):
    drop = files.Reading(missing="drop")
    path = write(tmp_path, "item,annotator,a,b\ni,w,0.5,0.5\nj,w,,1\nk,w,nan,1\n")
    source = files.read_answers(path, reading=drop)
    assert (len(source.answers), source.left_out) == (1, {"without a": 2})
    lines = '{"item":"i","annotator":"w","label":"x"}\n{"item":"j","annotator":null,"label":""}\n'
    source = files.read_answers(write(tmp_path, lines, "v.jsonl"), reading=drop)
    assert votes(source.answers) == [("i", "w", "x")]
    assert sum(source.left_out.values()) == 1


def test_a_file_of_gaps_only(tmp_path):
    path = write(tmp_path, "item,annotator,label\ni,,x\n")
    with pytest.raises(FileError, match="no row is complete"):
        files.read_answers(path, reading=files.Reading(missing="drop"))


# ── spelling ─────────────────────────────────────────────────────────────────────────────────

ODD = "item,annotator,label\ni,a,cat\ni,b,Cat\ni,c, cat\nj,a,cat\nj,b,dog\n"


def test_labels_that_differ_by_case_or_space(tmp_path):
    path = write(tmp_path, ODD)
    with pytest.raises(FileError) as caught:
        files.read_answers(path)
    message = str(caught.value)
    for words in ("'cat' (2 times)", "'Cat' (1 times)", "' cat' (1 times)", "--spelling merge"):
        assert words in message
    merged = files.read_answers(path, reading=files.Reading(spelling="merge")).answers
    assert merged.index.labels.tolist() == ["cat", "dog"]
    assert merged.counts().tolist() == [[3, 0], [1, 1]]
    kept = files.read_answers(path, reading=files.Reading(spelling="keep")).answers
    assert kept.index.labels.tolist() == [" cat", "Cat", "cat", "dog"]


def test_a_list_of_classes_decides_on_spelling(tmp_path):
    path = write(tmp_path, ODD)
    with pytest.raises(FileError, match=r"value 'Cat': no such class .did you mean 'cat'"):
        files.read_answers(path, ["cat", "dog"])
    merge = files.Reading(spelling="merge")
    assert files.read_answers(path, ["CAT", "dog"], reading=merge).answers.counts().tolist() == [
        [3, 0],
        [1, 1],
    ]
    both = files.read_answers(path, ["cat", "Cat", " cat", "dog"]).answers
    assert both.counts().tolist() == [[1, 1, 1, 0], [1, 0, 0, 1]], "named, so meant"


def test_columns_of_classes_that_differ_by_case(tmp_path):
    path = write(tmp_path, "item,annotator,cat,Cat\ni,a,0.5,0.5\n")
    with pytest.raises(FileError, match="the columns 'Cat' and 'cat' differ by case or space only"):
        files.read_answers(path)
    kept = files.read_answers(path, reading=files.Reading(spelling="keep")).answers
    assert kept.index.labels.tolist() == ["cat", "Cat"]


def test_one_number_written_in_two_ways_is_noticed(tmp_path):
    with pytest.raises(FileError, match=r"'1' .1 times. and '1.0'"):
        files.read_answers(write(tmp_path, "item,annotator,label\ni,a,1\ni,b,1.0\n"))


# ── kinds of cells ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("values", [[True, False, True], [1.0, 0.5, 1.0], [3, 1, 3]])
def test_csv_and_parquet_read_the_same_labels(tmp_path, values):
    frame = pl.DataFrame({"item": [1.0, 2.0, 3.0], "annotator": [True, True, False]})
    frame = frame.with_columns(label=pl.Series(values))
    frame.write_parquet(tmp_path / "v.parquet")
    rows = [("item", "annotator", "label"), *frame.rows()]
    write(tmp_path, "".join(f"{','.join(map(str, row))}\n" for row in rows))  # as Python writes it
    text = votes(files.read_answers(tmp_path / "v.csv").answers)
    assert votes(files.read_answers(tmp_path / "v.parquet").answers) == text
    assert text[0] == ("1.0", "True", str(values[0]))


def test_a_number_that_is_none_is_missing(tmp_path):
    path = tmp_path / "v.parquet"
    frame = pl.DataFrame({"item": ["i", "j"], "label": [1.0, float("nan")]})
    frame.write_parquet(path)
    with pytest.raises(FileError, match="row 2 of the table"):
        files.read_answers(path)
    dropped = files.read_answers(path, reading=files.Reading(missing="drop"))
    assert dropped.left_out == {"without label": 1}


# ── standard input ───────────────────────────────────────────────────────────────────────────


@pytest.fixture
def stdin(monkeypatch):
    from softlabel.io import sheet

    def give(data: bytes) -> None:
        sheet._read_stdin.cache_clear()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    yield give
    sheet._read_stdin.cache_clear()


def test_standard_input_is_told_from_its_content(stdin):
    frame = pl.DataFrame({"item": ["i"], "annotator": ["w"], "label": ["cat"]})
    parquet = io.BytesIO()
    frame.write_parquet(parquet)
    line = b'{"item": "i", "annotator": "w", "label": "cat"}\n'
    for data in (b"item\tworker\tlabel\ni\tw\tcat\n", line, parquet.getvalue()):
        stdin(data)
        assert votes(files.read_answers("-").answers) == [("i", "w", "cat")]
    stdin(b"item,annotator,label\ni,w,cat\nj,w,\n")
    with pytest.raises(FileError, match=r"^-, line 3, column 'label'"):
        files.read_answers("-")
