"""What identifies a person is found; free text is reviewed before it is published."""

from __future__ import annotations

import csv
import os
from dataclasses import replace

import polars as pl
import pytest

from softlabel import study
from softlabel.errors import FileError, SoftlabelError
from softlabel.publish import find_personal


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I am 5f3e2a1b9c8d7e6f5a4b3c2d, pay me", "Prolific id"),
        ("worker A2ZQ7WXE9KLM3P here", "Mechanical Turk id"),
        ("write to jane.doe+x@mail.example.co.uk!", "e-mail address"),
        ("from 192.168.10.77 again", "IP address"),
        ("at 2001:db8::8a2e:370:7334", "IP address"),
        ("call +44 20 7946 0958", "telephone number"),
        ("call (555) 123-4567", "telephone number"),
        ("call 555-123-4567 now", "telephone number"),
        ("Tel. 030/1234567", "telephone number"),
    ],
)
def test_what_identifies_people_is_found(text, kind):
    assert [found for found, _ in find_personal(text)] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "33.333333333333336",
        '{"top": "cat", "p1": 80, "p2": 12.5}',
        "2026-11-18T00:26:47+00:00",
        "12:34:56",
        "softlabel 1.2.3",
        "n02109047_2662.png",
        "0123456789abcdef" * 4,  # a checksum
        "ABRACADABRACADABRA",
        "a facade, decade::added",
        "1,234,567 of 8,901,234",
        "train/31415926535",
        "user@host",
    ],
)
def test_what_does_not_identify_people_is_left_alone(text):
    assert list(find_personal(text)) == []


def comment(records, text, number=0):
    """The records with a comment in one of the answers that count."""
    counted = [r for r in records if r["presentation"]["kind"] == "target"]
    one = counted[number]
    return [record | {"comment": text} if record is one else record for record in records]


def questions(shapes):
    who = shapes.records[0]["annotator"]
    line = {"annotator": who, "stage": "debrief", "question": "q1", "text": "How was it?"}
    return [
        line | {"answer": "=fine, ask me@example.org"},
        line | {"question": "q2", "answer": None},
    ]


def review(tmp_path):
    with (tmp_path / "out.review.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def decide(tmp_path, **decisions):
    """Write yes or no beside the texts of a kind."""
    rows = review(tmp_path)
    with (tmp_path / "out.review.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, rows[0])
        table.writeheader()
        table.writerows(row | {"publish": decisions.get(row["what"], "")} for row in rows)


def test_free_text_is_left_out_and_listed(release, shapes, tmp_path):
    records = comment(shapes.records, "the left one is blurred")
    out = release(records, questions=questions(shapes))
    assert "comment" not in pl.read_parquet_schema(out / "answers.parquet")
    assert not (out / "questions.parquet").exists()
    listed = {row["what"]: row for row in review(tmp_path)}
    assert listed["comment"]["text"] == "the left one is blurred"
    assert listed["debrief"]["text"] == "'=fine, ask me@example.org"  # a spreadsheet opens it
    assert listed["debrief"]["looks_like"] == "e-mail address"
    assert (tmp_path / "out.review.csv").stat().st_mode & 0o077 == 0 or os.name == "nt"
    assert (
        "Free texts are not published: 1 (comment), 1 (debrief)." in (out / "README.md").read_text()
    )


def test_reviewed_text_is_published(release, shapes, tmp_path):
    records, file = comment(shapes.records, "blurred"), tmp_path / "out.review.csv"
    release(records, questions=questions(shapes))
    decide(tmp_path, comment="Yes", debrief="no")
    release(records, questions=questions(shapes), replacing=True)  # what was decided stays
    out = release(records, questions=questions(shapes), text=file, replacing=True)
    answers = pl.read_parquet(out / "answers.parquet")
    assert answers["comment"].drop_nulls().to_list() == ["blurred"]
    assert not (out / "questions.parquet").exists()
    decide(tmp_path, comment="", debrief="y")
    with pytest.raises(SoftlabelError, match="questions, column answer, row 0: looks like e-mail"):
        release(records, questions=questions(shapes), text=file, replacing=True)
    out = release(records, questions=questions(shapes), text=file, replacing=True, accept=True)
    said = pl.read_parquet(out / "questions.parquet").to_dicts()
    assert [(row["asked"], row["answer"]) for row in said] == [
        ("How was it?", "=fine, ask me@example.org")
    ]
    assert "found 1 × e-mail address" in (out / "README.md").read_text()


def test_a_review_of_other_texts_is_refused(release, shapes, tmp_path):
    file = tmp_path / "out.review.csv"
    with pytest.raises(FileError, match="there is no such file; publish without --include-text"):
        release(text=file)
    release(comment(shapes.records, "blurred"))
    decide(tmp_path, comment="yes")
    with pytest.raises(
        FileError, match=r"line 2, column 'text', value 'blurred': the study has no"
    ):
        release(comment(shapes.records, "sharp"), text=file, out="other")
    decide(tmp_path, comment="perhaps")
    with pytest.raises(FileError, match="column 'publish', value 'perhaps': say yes or no"):
        release(comment(shapes.records, "blurred"), text=file, out="other")
    file.write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="is no review file"):
        release(comment(shapes.records, "blurred"), text=file, out="other")
    assert not (tmp_path / "other").exists()


def test_what_looks_personal_stops_the_release(release, shapes, tmp_path):
    def renamed(folder):
        own = study.read(folder)
        first = replace(own.items[0], meta={"source": "sent by 5f3e2a1b9c8d7e6f5a4b3c2d"})
        return replace(own, items=(first, *own.items[1:]))

    with pytest.raises(SoftlabelError, match="items, column meta, row 0: looks like Prolific id"):
        release(study_is=renamed)
    assert not (tmp_path / "out").exists()
    assert [row["looks_like"] for row in review(tmp_path)] == ["Prolific id"]
    assert (release(study_is=renamed, accept=True) / "README.md").exists()


def test_the_contact_of_the_study_is_no_participant(release, shapes):
    def contacted(folder):
        own = study.read(folder)
        text = "Questions? lab@example.org"
        return replace(own, contact="lab@example.org", instructions=(text,))

    assert "lab@example.org" in (release(study_is=contacted) / "GUIDELINES.md").read_text()
