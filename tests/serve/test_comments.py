"""Comments on items over HTTP: stored with the answer, exported, and shown to the researcher."""

from __future__ import annotations

import csv
import json

import pytest

from softlabel.cli import main


def allow_comments(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("[pages]", "comment = true\n[pages]"))


@pytest.fixture
def running(serving):
    return serving(edit=allow_comments)


def test_a_comment_is_in_every_export_and_on_the_dashboard(running, tmp_path, capsys):
    ann = running.person().to_task()
    assert ann.plan()["comment"] is True
    text = '=HYPERLINK("x") <b>dark</b>\nand wet'
    ann.give(0)
    ann.give(1, comment=text)
    ann.give(2, answer=None, skip="cannot_judge", comment="no light")
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.csv"
    for path in (lines, table, tmp_path / "a.parquet"):
        assert main(["export", str(running.folder), str(path)]) == 0
    capsys.readouterr()
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [record.get("comment") for record in records] == [None, text, "no light"]
    assert "comment" not in records[0], "only where somebody wrote one"
    with table.open(newline="") as file:
        said = [row["comment"] for row in csv.DictReader(file)]
    assert said == ["", f"'{text}", "no light"]
    assert main(["label", str(lines), str(tmp_path / "labels.csv")]) == 0
    researcher = running.person()
    researcher.post("/research/login", data={"token": running.token})
    page = researcher.get("/research/answers").text
    assert "&lt;b&gt;dark&lt;/b&gt;\nand wet</p>" in page
    assert "no light" in page


def test_two_deliveries_with_another_comment_are_a_conflict(running, answer_body):
    ann = running.person().to_task()
    body = answer_body(0, comment="first")
    assert ann.post("/api/answers", json=body).status_code == 200
    assert ann.post("/api/answers", json=body).status_code == 200
    assert ann.post("/api/answers", json=body | {"comment": "second"}).status_code == 409


@pytest.mark.parametrize(
    ("comment", "status"),
    [("x" * 2000, 200), ("x" * 2001, 422), (7, 422), ("", 200), (None, 200), ("\0", 200)],
)
def test_a_comment_is_a_text_of_limited_length(running, comment, status):
    ann = running.person().to_task()
    assert ann.give(0, comment=comment).status_code == status


def test_without_the_key_nobody_is_asked(serving):
    usual = serving()
    assert usual.person().to_task().plan()["comment"] is False
