"""``softlabel simulate``, as it is typed."""

from __future__ import annotations

import csv
import json
import re
import subprocess
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from softlabel import store
from softlabel.cli import main
from softlabel.serve import secret
from softlabel.serve.databases import put_study
from softlabel.simulate import draw_participants
from softlabel.store import NewResponse, Plan


@pytest.fixture
def simulate(run_softlabel):
    return partial(run_softlabel, "simulate")


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    rows = [line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line]
    return {name: value.strip() for name, value in rows}


def test_without_an_address_it_serves_the_study_itself(make_study, stored, simulate):
    study = make_study("hard", per_item=3, repeats=0)
    done = simulate(study.folder, "--seed", 4)
    assert (done.returncode, done.stderr) == (0, "")
    own = study.folder / ".softlabel"
    assert facts(done)["database"] == str(own / "rehearsal.db")
    assert not (own / "answers.db").exists()  # people's answers go there, and nobody else's
    assert facts(done)["people finished"] == "3 of 3"  # as many as the study needs
    _, token = secret.open_with_token(study.folder)
    assert token is not None, "the researcher's token was made where nobody could read it"
    assert facts(done)["answers acknowledged"] == str(len(stored(study))) == "24"
    assert facts(done)["errors"] == "0"


def test_with_an_address_it_goes_there_also_by_browser(make_study, stored, simulate, serve_study):
    study = make_study("quick", per_annotator=2, repeats=0)
    server = serve_study(study.folder, "--rehearsal")
    by_wire = simulate(study.folder, "--url", server.url, "--annotators", 2, "--faults", 0.5)
    by_hand = simulate(study.folder, "--url", server.url, "--annotators", 1, "--browser")
    assert (by_wire.returncode, by_wire.stderr) == (0, "")
    assert (by_hand.returncode, by_hand.stderr) == (0, "")
    assert facts(by_hand)["people finished"] == "1 of 1"
    assert len(stored(study)) == 6


def test_the_people_are_written_with_an_answer_that_identifies_each(make_study, tmp_path):
    study, people = make_study("hard", per_item=3, repeats=0), tmp_path / "people.csv"
    assert main(["simulate", str(study.folder), "--seed", "4", "--people", str(people)]) == 0
    rows = pl.read_csv(people)
    known = draw_participants(3, 4)
    assert rows["person"].to_list() == [1, 2, 3]
    for fault in ("noise", "sharpness", "carelessness", "wobble"):
        assert rows[fault].to_list() == [getattr(one.person, fault) for one in known]
    exported = tmp_path / "answers.jsonl"
    database = study.folder / ".softlabel" / "rehearsal.db"
    assert main(["export", str(study.folder), str(exported), "--db", str(database)]) == 0
    answers = [json.loads(line) for line in exported.read_text().splitlines()]
    pseudonyms = {answer["response_uuid"]: answer["annotator"] for answer in answers}
    assert len({pseudonyms[row] for row in rows["response_uuid"]}) == 3
    missing = str(tmp_path / "none" / "people.csv")
    assert main(["simulate", str(study.folder), "--people", missing]) == 1


# ── a rehearsal and the study itself are kept apart ──────────────────────────────────────────


@pytest.fixture
def somebody(make_study):
    """A study whose database holds two answers of one person."""
    study = make_study("hard", per_item=3, repeats=0)
    place = study.folder / ".softlabel" / "answers.db"
    secret.open_secret(study.folder)
    with store.open(place) as answers:
        put_study(study, answers, 0.0)
        who = answers.enter(
            study.name,
            "ann",
            "token",
            label_order_of=lambda number: study.labels,
            seed=0,
            recruiter_session=None,
            now=0.0,
        ).result()
        answers.lease(who.id, Plan(per_item=3), 0.0).result()
        for n in range(2):
            sent = NewResponse(f"r{n}", n, '{"label": "cat"}', '{"answer": {}}', "hard", 1, "d")
            answers.answer(who.id, sent, 1.0).result()
    return study, place


def test_simulated_people_are_kept_out_of_a_database_that_holds_people(somebody, simulate):
    study, place = somebody
    done = simulate(study.folder, "--db", place)
    assert done.returncode == 1
    assert f"{place} holds 2 answers of 1 people" in done.stderr
    assert "rehearse in another database" in done.stderr
    with store.open(place, read_only=True) as answers:
        assert answers.crowd() == (1, 2, 0, 0)


def test_people_are_kept_out_of_a_rehearsal(make_study, tmp_path, capsys, simulate):
    study, place = make_study("hard", per_item=3, repeats=0), tmp_path / "trial.db"
    assert simulate(study.folder, "--db", place).returncode == 0
    assert main(["serve", str(study.folder), "--db", str(place), "--port", "0"]) == 1
    told = capsys.readouterr().err
    assert f"{place} holds 24 answers of 3 simulated people" in told
    assert "use another database" in told


def test_simulated_people_go_to_no_server_that_takes_them_for_people(
    somebody, serve_study, simulate
):
    study, place = somebody
    served = serve_study(study.folder)
    for how in ((), ("--browser",)):
        done = simulate(study.folder, "--url", served.url, *how)
        assert done.returncode == 1
        assert "this server takes whoever comes for people" in done.stderr
    with store.open(place, read_only=True) as answers:
        assert answers.crowd().simulated == 0


def test_simulated_people_are_marked_for_ever(make_study, tmp_path, capsys, monkeypatch, simulate):
    """As docs/running.md tells people to rehearse."""
    study = make_study("hard", per_item=3, repeats=0)
    monkeypatch.chdir(tmp_path)
    folder, db = str(study.folder), "sqlite:///rehearsal.db"
    assert simulate(folder, "--db", db).returncode == 0
    assert main(["status", folder, "--db", db]) == 0
    assert re.search(r"simulated +3 of 3: this is a rehearsal", capsys.readouterr().out)
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        assert main(["export", folder, name, "--db", db]) == 0
    lines = [json.loads(line) for line in Path("r.jsonl").read_text().splitlines()]
    assert {line["simulated"] for line in lines} == {True}
    rows = list(csv.DictReader(Path("r.csv").read_text().splitlines()))
    assert ({row["simulated"] for row in rows}, len(rows)) == ({"True"}, 24)
    assert pl.read_parquet("r.parquet")["simulated"].to_list() == [True] * 24
    assert main(["status", folder, "--db", db, "--output", "people.csv"]) == 0
    people = list(csv.DictReader(Path("people.csv").read_text().splitlines()))
    assert {row["simulated"] for row in people} == {"True"}
    capsys.readouterr()
    assert main(["label", "r.jsonl", "labels.csv"]) == 0
    assert "r.jsonl: 24 of 24 answers were given by simulated people" in capsys.readouterr().err


def test_people_are_not_marked(somebody, tmp_path, capsys):
    study, _ = somebody
    assert main(["export", str(study.folder), str(tmp_path / "r.jsonl")]) == 0
    lines = (tmp_path / "r.jsonl").read_text()
    assert lines.count("\n") == 2
    assert "simulated" not in lines
    capsys.readouterr()
    assert main(["status", str(study.folder)]) == 0
    assert "simulated" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--url", "http://127.0.0.1:9"), "nobody answers there"),
        (("--url", "somewhere"), "is no address"),
    ],
)
def test_what_cannot_work_is_said_in_a_line(make_study, words, said, simulate):
    done = simulate(make_study().folder, *words)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
