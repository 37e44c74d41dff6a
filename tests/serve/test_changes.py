"""A study that changes while it is collected: every answer keeps how it was asked for."""

from __future__ import annotations

import json
import sqlite3

import polars as pl
import pytest

from softlabel.cli import main
from softlabel.errors import DataError, StoreError
from softlabel.serve.researcher.export import export_answers
from softlabel.serve.researcher.sample import Reader
from softlabel.train import splits

GUESS = {"top": "wren", "certainty": 1, "alternatives": [], "excluded": [], "rest": "possible"}


def third_person(folder):
    file = folder / "study.toml"
    file.write_text(file.read_text().replace("seed = 5", 'seed = 5\nframe = "third_person"'))


@pytest.fixture
def changed(serving):
    """The last of three servers of one study; one main item was answered through each.  This was
    possible until the mode was written down, and such databases are still there."""
    steps = [
        ({}, GUESS),
        ({"mode": "quick:certainty=30+60+100", "edit": third_person}, GUESS),
        ({"mode": "hard", "edit": third_person}, {"label": "owl"}),
    ]
    for settings, answer in steps:
        running = serving(**settings)
        with sqlite3.connect(running.folder / ".softlabel" / "answers.db") as database:
            database.execute("UPDATE study SET mode = NULL")  # the mode could change in 0.1
        ann = running.person().to_task()
        target = next(
            one.position
            for one in running.store.showings(running.store.sessions("birds")[-1].id)
            if one.kind == "target"
        )
        assert ann.give(target, answer=answer).status_code == 200
    return running


def test_an_item_taken_out_after_it_was_answered_is_in_no_count(serving):
    first = serving()
    ann = first.person().to_task()
    ann.answer_all()
    shown = [row.item for row in first.store.responses("birds")]
    gone = next(row.item for row in first.store.responses("birds") if row.kind == "target")

    def without(folder):
        file = folder / "items.csv"
        lines = file.read_text().splitlines(keepends=True)
        file.write_text("".join(line for line in lines if not line.startswith(f"{gone},")))

    again = serving(edit=without)
    bea = again.person()
    bea.cookies = ann.cookies
    plan = bea.plan()
    left = len(shown) - shown.count(gone)
    assert plan["total"] == plan["answered"] == left < len(shown)
    assert all(one["answered"] for one in plan["showings"])


def test_every_answer_is_exported_as_it_was_asked_for(changed, tmp_path):
    path = tmp_path / "r.jsonl"
    assert main(["export", str(changed.folder), str(path)]) == 0
    shown = [json.loads(text)["presentation"] for text in path.read_text().splitlines()]
    assert [(one["mode"], one.get("mode_options"), one["frame"]) for one in shown] == [
        ("quick", None, "self"),
        ("quick", {"certainty": "30+60+100"}, "third_person"),
        ("hard", None, "third_person"),
    ]


def test_answers_to_different_questions_are_not_pooled_unasked(changed, tmp_path, capsys):
    path, labels = tmp_path / "r.jsonl", tmp_path / "labels.csv"
    export_answers(changed.study, changed.store, path)
    assert main(["label", str(path), str(labels)]) == 1
    said = capsys.readouterr().err
    assert "asked for in 3 ways (1 by quick version 2, frame self; 1 by quick:certainty=30" in said
    assert "--mode NAME" in said
    with pytest.raises(DataError, match="asked for in 3 ways"):  # nor does training pool them
        splits.read_labels(str(path))
    for mode, count in (("quick", 2), ("hard", 1)):
        assert main(["label", str(path), str(labels), "--mode", mode]) == 0
        assert pl.read_csv(labels)["count"].sum() == count
        assert f"{3 - count} asked through another mode" in capsys.readouterr().out
    assert main(["inspect", str(path)]) == 0  # looking at people is no pooling of the two


def test_a_changed_picture_or_mode_stops_the_server(serving):
    first = serving()
    ann = first.person().to_task()
    ann.answer_all()
    (seen, *_) = [row.item for row in first.store.responses("birds") if row.kind == "target"]
    name = first.study.find(seen).image.path.name

    def repainted(folder):
        (folder / name).write_bytes((folder / name).read_bytes() + b"x")

    with pytest.raises(StoreError, match=rf"^{name}: item '{seen}' was shown .* another id"):
        serving(edit=repainted)
    with pytest.raises(StoreError, match="mode hard, frame self needs a new study name"):
        serving(mode="hard")
    assert serving().store.study("birds") is not None  # as it was, it goes on


def test_the_wording_is_kept_with_every_answer_and_cannot_change(serving, tmp_path):
    first = serving(mode="classic:wording=c22", edit=third_person)
    ann = first.person().to_task()
    assert ann.plan()["mode"]["rules"]["wording"]["no_alternative"] == "No Alternative"
    form = {"top": "wren", "p1": 80, "second": None, "p2": None, "impossible": []}
    for position in ann.open_positions():
        assert ann.give(position, answer=form).status_code == 200
    path = tmp_path / "r.jsonl"
    assert main(["export", str(first.folder), str(path)]) == 0
    shown = [json.loads(text)["presentation"] for text in path.read_text().splitlines()]
    assert {json.dumps(one["mode_options"]) for one in shown} == {'{"wording": "c22"}'}
    refused = r"mode classic:wording=c22, frame third_person.*new study"
    with pytest.raises(StoreError, match=refused):
        serving(mode="classic", edit=third_person)


def test_answers_are_looked_at_by_the_mode_that_asked(changed):
    reader = Reader(changed.study)
    for rows in (changed.store.responses("birds"), changed.store.timings("birds")):
        said = [reader.read_answer(row) for row in rows]
        assert [one.percent[0] for one in said[:2]] == [40, 30]
        assert [changed.study.labels[one.named[0]] for one in said] == ["wren", "wren", "owl"]


def test_the_change_is_written_down_and_the_first_file_kept(changed):
    assert 'mode = "quick"' in changed.store.study("birds").toml
    events = changed.store.events("birds", "study-changed")
    assert ["certainty=30" in each.detail["toml"] for each in events] == [True, False]
