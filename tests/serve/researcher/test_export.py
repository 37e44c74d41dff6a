"""Exports: everything, exactly, and whatever the size."""

from __future__ import annotations

import contextlib
import csv
import gzip
import json
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softlabel import io as files
from softlabel.errors import FileError, SoftlabelError
from softlabel.io.csv_files import NUMBER, escape_formula, unescape_formula
from softlabel.labelling import Plan, label_source
from softlabel.serve.researcher.export import columns, export_answers
from softlabel.study import Item

CLASSIC = {"top": "cat", "p1": "90", "second": "dog", "p2": 10.5, "impossible": ["fox"]}


def lines_of(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def collected(visited_world, **settings):
    """Four people, one of whom corrects an answer and skips another."""
    world = visited_world(3, **settings)
    who = world.enter("last")
    every = world.store.lease(who.id, world.plan, world.now).result().showings
    first, second, *_ = (shown for shown in every if shown.kind == "target")
    believe = world.believer("last")
    wrong = world.send(who, first, believe(first))
    world.send(who, first, believe(first), supersedes=wrong)
    world.send(who, second, None)
    return world


def test_json_lines_are_what_the_browser_sent(visited_world, tmp_path):
    world = collected(visited_world, mode="classic:strict=true")
    path = tmp_path / "responses.jsonl"
    assert export_answers(world.study, world.store, path) == len(world.sent)
    found = lines_of(path)
    assert [one["response_uuid"] for one in found] == list(world.sent)
    for one in found:
        sent = world.sent[one["response_uuid"]]
        for key in ("answer", "skip", "touched", "timing", "events", "client", "delivery"):
            assert one[key] == sent[key]
        assert one["supersedes"] == sent["supersedes"]
        assert one["presentation"]["position"] == sent["position"]
        assert one["presentation"]["mode_options"] == {"strict": True}
        assert one["labels"] == list(world.study.labels)
        assert sorted(one["presentation"]["label_order"]) == sorted(world.study.labels)
    orders = {tuple(one["presentation"]["label_order"]) for one in found}
    assert len(orders) == 2, "the order in which each person saw them"
    assert found[0]["received_at"].endswith("+00:00")


def test_numbers_and_letters_survive_to_the_last_digit(make_world, tmp_path):
    world = make_world()
    who = world.enter("odd")
    shown = world.store.lease(who.id, world.plan, world.now).result().showings[0]
    odd = {"big": 2**70, "small": 1e-300, "third": 1 / 3, "text": "é\u2028\ud800\n\0x=1"}
    world.send(who, shown, CLASSIC, client=odd)
    export_answers(world.study, world.store, tmp_path / "r.jsonl")
    (found,) = [json.loads(text) for text in (tmp_path / "r.jsonl").read_bytes().split(b"\n")[:-1]]
    assert found["client"] == odd


@pytest.mark.parametrize("mode", ["classic", "quick", "chips", "search", "hard"])
def test_what_was_collected_can_be_labelled(visited_world, tmp_path, mode):
    world = collected(visited_world, mode=mode)
    path = tmp_path / "responses.jsonl"
    export_answers(world.study, world.store, path)
    source = files.read_answers(path)
    facts = label_source(source, tmp_path / "labels.csv", Plan(repeats="first"))
    table = pl.read_csv(tmp_path / "labels.csv")
    assert table.columns == ["item", *world.study.labels, "count"]
    per_item = world.store.answers_per_item(world.study.name)
    for item, count in table.select("item", "count").rows():
        assert count == per_item[item]
    assert "1 skipped" in facts["left out"]
    assert "practice" in facts["left out"]


def test_labels_of_the_json_are_labels_of_the_lines(visited_world, tmp_path):
    world = collected(visited_world)
    slip = CLASSIC | {"p1": "8p"}
    world.visit("slips", lambda shown: slip)
    assert export_answers(world.study, world.store, tmp_path / "r.jsonl") == len(world.sent)
    written = export_answers(world.study, world.store, tmp_path / "r.json")
    assert written == sum(world.store.answers_per_item(world.study.name).values())
    labels = []
    for name in ("r.jsonl", "r.json"):
        source = files.read_answers(tmp_path / name, world.study.labels)
        label_source(source, tmp_path / "labels.csv", Plan(repeats="first"))
        labels.append(sorted(pl.read_csv(tmp_path / "labels.csv").rows()))
    assert labels[0] == labels[1]


def test_only_classic_answers_have_the_shape_of_cifar10s(make_world, tmp_path):
    quick = make_world(mode="quick")
    with pytest.raises(SoftlabelError, match=r"\.json holds answers of the mode classic"):
        export_answers(quick.study, quick.store, tmp_path / "r.json")
    named = make_world(name="named", labels=("cat", "No"))
    with pytest.raises(SoftlabelError, match=r"'No', which in \.json means no alternative"):
        export_answers(named.study, named.store, tmp_path / "r.json")
    assert not list(tmp_path.glob("*.json*"))


def test_answers_of_an_earlier_mode_are_not_written_as_classic(make_world, tmp_path):
    world = make_world(mode="quick")
    world.visit("early")
    classic = make_world(mode="classic").study
    with pytest.raises(SoftlabelError, match=r"given in the mode 'quick' .* write to \.jsonl"):
        export_answers(classic, world.store, tmp_path / "r.json")
    export_answers(classic, world.store, tmp_path / "r.jsonl")
    assert {one["presentation"]["mode"] for one in lines_of(tmp_path / "r.jsonl")} == {"quick"}


def test_a_study_without_answers_has_empty_exports(make_world, tmp_path):
    world = make_world()
    for name in ("r.jsonl", "r.csv", "r.json", "r.parquet"):
        assert export_answers(world.study, world.store, tmp_path / name) == 0
    assert (tmp_path / "r.jsonl").read_text() == ""
    assert (tmp_path / "r.csv").read_bytes().decode() == ",".join(columns(world.study)) + "\r\n"
    assert (tmp_path / "r.json").read_text() == "{}"
    assert pl.read_parquet(tmp_path / "r.parquet").columns == list(columns(world.study))


def test_csv_and_parquet_are_the_same_table(visited_world, tmp_path):
    world = collected(visited_world)
    for name in ("r.csv", "r.parquet"):
        export_answers(world.study, world.store, tmp_path / name)
    text = pl.read_csv(tmp_path / "r.csv", infer_schema_length=None)
    typed = pl.read_parquet(tmp_path / "r.parquet")
    assert text.columns == typed.columns
    assert text["response_uuid"].to_list() == typed["response_uuid"].to_list() == list(world.sent)
    assert text["active_ms"].to_list() == typed["active_ms"].to_list()
    assert typed.schema["answer_p1"] == pl.Float64
    one = typed.row(1, named=True)
    sent = world.sent[one["response_uuid"]]
    assert json.loads(one["answer"]) == sent["answer"]
    assert one["answer_top"] == sent["answer"]["top"]
    assert one["answer_p1"] == float(sent["answer"]["p1"])
    assert json.loads(one["answer_impossible"]) == sent["answer"]["impossible"]
    assert one["top_ms"] == sent["timing"]["fields"]["top"]
    assert typed["superseded"].sum() == 1
    assert typed["skip"].drop_nulls().to_list() == ["cannot_judge"]


FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # how a cell begins that a spreadsheet would run
FORMULAS = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "=cmd|' /C calc'!A0"]


def test_a_spreadsheet_does_not_run_what_people_typed(make_world, world_of, answers, tmp_path):
    study = make_world(mode="hard", labels=("=1+1", "-1", "fox", "@x")).study
    items = tuple(Item(name, "target", text="x") for name in FORMULAS)
    bare = {"practice": (), "checks": (), "repeats": 0, "repeat_positions": ()}
    world = world_of(replace(study, name="risky", items=items, **bare), answers)
    world.visit("=person", lambda shown: {"label": "=1+1"})
    export_answers(world.study, world.store, tmp_path / "r.csv")
    with (tmp_path / "r.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    cells = [dict(zip(head, row, strict=True)) for row in rows]
    assert len(cells) == 6
    for row in cells:
        assert row["item"].startswith("'")
        assert row["item"][1:] in FORMULAS
        assert row["annotator"] == "'=person"
        assert row["answer_label"] == "'=1+1"
        assert not any(cell.startswith(FORMULA) for cell in row.values())


SIGNS = st.text("'=+-@\t\r\n＝1e.x")


@given(SIGNS | st.text() | st.floats() | st.integers() | st.booleans() | st.none())
def test_escaping_touches_text_alone_and_can_be_undone(cell):
    found = escape_formula(cell)
    if isinstance(cell, str):
        assert not found.startswith(FORMULA) or re.match(NUMBER, cell)
        assert found in (cell, f"'{cell}")
        assert unescape_formula(found) == cell
    else:
        assert found is cell


def test_text_exports_can_be_packed(visited_world, tmp_path):
    world = collected(visited_world)
    for name in ("r.jsonl", "r.csv", "r.json"):
        export_answers(world.study, world.store, tmp_path / name)
        export_answers(world.study, world.store, tmp_path / f"{name}.gz")
        packed = gzip.decompress((tmp_path / f"{name}.gz").read_bytes())
        assert packed == (tmp_path / name).read_bytes()


def test_an_export_is_whole_or_not_there(visited_world, tmp_path):
    world = collected(visited_world)
    old = tmp_path / "r.jsonl"
    old.write_text("what was there before")

    def stop(answers, skips):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_answers(world.study, world.store, old, stop)
    assert old.read_text() == "what was there before"
    with pytest.raises(KeyboardInterrupt):
        export_answers(world.study, world.store, tmp_path / "r.parquet", stop)
    assert sorted(path.name for path in tmp_path.iterdir() if "answers.db" not in path.name) == [
        "r.jsonl"
    ]
    with pytest.raises(FileError, match=r"must end in \.jsonl, \.csv"):
        export_answers(world.study, world.store, tmp_path / "r.xlsx")


CLONE = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
INSERT INTO response ({columns}) SELECT {values} FROM response, n WHERE study = :study
"""
MEASURE = """
import resource, sys
from pathlib import Path
from softlabel import store
from softlabel.serve.researcher.export import export_answers
sys.path.insert(0, sys.argv[1])
import conftest
folder = Path(sys.argv[2])
studies = [conftest.make_study(folder, name=name) for name in ("few", "many")]
with store.open(folder / "answers.db") as answers:
    for kind in ("jsonl", "parquet"):
        for study in studies:
            export_answers(study, answers, folder / f"r.{kind}")
            print(kind, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def multiply(world, count):
    """So many copies of the one answer there is, written past the store because that is quick."""
    path = world.store.name
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(response)")]
        names.remove("seq")
        values = ["id || i" if name == "id" else name for name in names]
        clone = CLONE.format(columns=", ".join(names), values=", ".join(values))
        connection.execute(clone, {"count": count - 1, "study": world.study.name})


def test_memory_stays_the_same_at_any_size(make_world, tmp_path):
    """Ten times as many answers need no more memory (CSV is made of the same rows as Parquet)."""
    for name, count in (("few", 2_500), ("many", 25_000)):
        world = make_world(name=name)
        who = world.enter("one")
        shown = world.store.lease(who.id, world.plan, world.now).result().showings[0]
        world.send(who, shown, CLASSIC, events=[[n, "key", "Digit3", "cat"] for n in range(60)])
        multiply(world, count)
    run = [sys.executable, "-c", MEASURE, str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, timeout=300, check=True)
    told = [line.split() for line in done.stdout.splitlines()]
    assert [kind for kind, _ in told] == [k for k in ("jsonl", "parquet") for _ in range(2)]
    peaks = [int(megabytes) for _, megabytes in told]
    size = (tmp_path / "r.jsonl").stat().st_size / 2**20
    assert size > 60
    for few, many in zip(peaks[::2], peaks[1::2], strict=True):
        assert many - few < 25, f"{done.stdout} and the lines alone are {size:.0f} MB"
    rows = pl.scan_parquet(tmp_path / "r.parquet").select(pl.len()).collect().item()
    assert rows == 25_000


def test_the_count_is_told_while_it_goes_on(visited_world, tmp_path):
    world = collected(visited_world)
    told = []
    export_answers(
        world.study, world.store, tmp_path / "r.jsonl", lambda *counts: told.append(counts)
    )
    skips = sum(row.skip is not None for row in world.store.responses(world.study.name))
    assert skips
    assert told[-1] == (len(world.sent) - skips, skips)
