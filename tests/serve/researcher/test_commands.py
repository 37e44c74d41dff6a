"""``softlabel status`` and ``softlabel export`` of a study folder."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys

import pytest

from softlabel import store, study
from softlabel.cli import main
from softlabel.study import write_new


@pytest.fixture
def run(capsys):
    def command(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="session")
def answered(tmp_path_factory, world_of):
    """A new study, answered by five people."""
    place = tmp_path_factory.mktemp("answered") / "shapes"
    write_new(place, mode="classic")
    (place / ".softlabel").mkdir(mode=0o700)
    with store.open(place / ".softlabel" / "answers.db") as answers:
        world = world_of(study.read(place), answers)
        for n in range(5):
            world.visit(f"person-{n}")
    return place


@pytest.fixture
def folder(tmp_path, answered):
    """A copy of it, whose database is open, as a server's would be."""
    place = tmp_path / "shapes"
    shutil.copytree(answered, place)
    with store.open(place / ".softlabel" / "answers.db"):
        yield place


def test_status_says_how_far_it_is(run, folder):
    code, out, err = run("status", folder)
    assert (code, err) == (0, "")
    facts = dict(line.split("  ", 1) for line in out.split("\n\n")[0].splitlines())
    assert facts["answers"].split() == ["60", "of", "144", "(41", "%)"]
    assert facts["stored"].split()[0] == "95"
    assert facts["agreement"].strip().startswith("alpha ")
    assert facts["repeats"].strip().startswith("10: top label changed in ")
    for table in ("people by stage", "items by number of answers", "seconds per answer"):
        assert table in out
    assert "  classic  top           " in out
    assert "of 5 annotators have flags" in out


def test_status_for_programs(run, folder):
    code, out, _ = run("status", folder, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["progress"]["answers"] == 60
    assert [mode["mode"] for mode in found["seconds"]] == ["classic"]
    assert found["seconds"][0]["steps"]["top"]["n"] == 70
    assert len(found["people"]) == 5
    assert "NaN" not in out, "JSON has none"


def test_the_table_of_people_holds_what_they_said_at_the_end(run, folder, tmp_path):
    found = study.read(folder)
    with store.open(folder / ".softlabel" / "answers.db") as answers:
        said = {f"Q{n}": f"=answer {n}" for n in range(len(found.debrief))}
        answers.event(found.name, "person-1", "debrief", said, 0.0).result()
    code, out, _ = run("status", folder, "--output", tmp_path / "people.csv")
    assert code == 0
    assert out.endswith(f"wrote {tmp_path / 'people.csv'}\n")
    with (tmp_path / "people.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["annotator"] for row in rows] == [f"person-{n}" for n in range(5)]
    assert {row["answered"] for row in rows} == {"19"}
    assert {row["skipped"] for row in rows} == {"0"}
    assert {row["targets_and_repeats"] for row in rows} == {"14"}
    asked = [question.text for question in found.debrief]
    assert asked
    assert [rows[1][text] for text in asked] == [f"'=answer {n}" for n in range(len(asked))]
    assert [rows[0][text] for text in asked] == [""] * len(asked)


def test_an_untouched_study_has_a_status(run, tmp_path, capsys):
    write_new(tmp_path / "new")
    code, _, err = run("status", tmp_path / "new")
    assert code == 1
    assert "there is no database at" in err
    assert f"nobody has taken part yet; softlabel serve {tmp_path / 'new'}" in err
    rehearsal = tmp_path / "new" / ".softlabel" / "rehearsal.db"
    rehearsal.parent.mkdir()
    rehearsal.touch()
    assert (
        f"the answers of a rehearsal are in --db {rehearsal}" in run("status", tmp_path / "new")[2]
    )


@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_from_folder_to_labels(run, folder, tmp_path, name):
    code, out, err = run("export", folder, tmp_path / name)
    assert (code, err) == (0, "")
    assert out.split() == ["answers", "95", "wrote", str(tmp_path / name)]
    code, out, _ = run("label", tmp_path / name, tmp_path / "labels.csv", "--repeats", "first")
    assert code == 0
    assert "15 practice, 10 checks" in out


def test_the_classic_json_gives_the_same_labels(run, folder, tmp_path):
    labels = ",".join(study.read(folder).labels)
    for name in ("r.jsonl", "r.json"):
        assert run("export", folder, tmp_path / name)[0] == 0
        words = ("label", tmp_path / name, tmp_path / f"{name}.csv", "--labels", labels)
        repeats = ("--repeats", "first") if name == "r.jsonl" else ()
        assert run(*words, *repeats)[0] == 0
    lines, objects = (
        sorted((tmp_path / f"{name}.csv").read_text().splitlines())
        for name in ("r.jsonl", "r.json")
    )
    assert lines == objects


REFUSED = [
    (["--construct", "clamp"], "--construct clamp: a study folder is exported as it is"),
    (["--repeats", "first"], "--repeats first: a study folder is exported as it is"),
    (["--db", "nowhere.db"], "there is no database at"),
]


@pytest.mark.parametrize(("options", "complaint"), REFUSED)
def test_refusals(run, folder, tmp_path, monkeypatch, options, complaint):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("export", folder, "r.jsonl", *options)
    assert (code, err.count("\n")) == (1, 1)
    assert complaint in err
    assert not (tmp_path / "r.jsonl").exists()


def test_a_file_has_no_database(run, tmp_path):
    (tmp_path / "votes.csv").write_text("item,annotator,label\ni,w,x\n")
    code, _, err = run("export", tmp_path / "votes.csv", tmp_path / "o.csv", "--db", "x.db")
    assert code == 1
    assert "is no study folder" in err


def test_another_database(run, folder, postgres_url, world_of, tmp_path):
    with store.open(postgres_url) as answers:
        world_of(study.read(folder), answers).visit("elsewhere")
        _, out, _ = run("status", folder, "--db", postgres_url)
        assert "19 with practice" in out
        code, out, _ = run("export", folder, tmp_path / "r.csv", "--db", postgres_url)
        assert (code, out.split()[:2]) == (0, ["answers", "19"])


def test_help_is_quick_because_nothing_heavy_is_loaded():
    script = (
        "import sys; from softlabel.cli import status; "
        "print(sorted({'numpy', 'polars', 'sqlalchemy', 'fastapi'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_labels_that_were_changed_afterwards_are_refused(run, folder, tmp_path):
    """Else answers would be exported beside labels that nobody was shown."""
    settings = folder / "study.toml"
    settings.write_text(settings.read_text().replace('"heart"]', '"heart", "zebra"]'))
    for words in (("status", folder), ("export", folder, tmp_path / "r.jsonl")):
        code, _, err = run(*words)
        assert code == 1
        assert "heart, zebra, but people were asked about" in err
    assert not (tmp_path / "r.jsonl").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_export_for_spreadsheets_says_that_it_is_not_for_labels(run, folder, tmp_path, kind):
    assert run("export", folder, tmp_path / f"r.{kind}")[0] == 0
    code, _, err = run("label", tmp_path / f"r.{kind}", tmp_path / "labels.csv")
    assert code == 1
    assert "labels are made from its .jsonl" in err


def test_nobody_else_may_read_an_export(run, folder, tmp_path):
    for name in ("r.jsonl", "r.jsonl.gz", "r.csv", "r.parquet", "r.json"):
        assert run("export", folder, tmp_path / name)[0] == 0
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600, name
    assert run("status", folder, "--output", tmp_path / "people.csv")[0] == 0
    assert (tmp_path / "people.csv").stat().st_mode & 0o777 == 0o600


def test_an_export_of_an_export_is_as_private(run, folder, tmp_path):
    assert run("export", folder, tmp_path / "r.jsonl")[0] == 0
    for name in ("again.jsonl", "again.csv", "again.parquet"):
        assert run("export", tmp_path / "r.jsonl", tmp_path / name)[0] == 0
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
