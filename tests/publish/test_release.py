"""What a release holds: compared with the export and with the commands that label it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest

from softlabel import publish, study
from softlabel.aggregate import Majority, Mean
from softlabel.cli import main
from softlabel.errors import FileError, SoftlabelError

FILES = {
    *("README.md", "DATASTATEMENT.md", "CITATION.cff", "GUIDELINES.md", "SHA256SUMS"),
    *("croissant.json", "labels.parquet", "answers.parquet", "annotators.parquet", "items.parquet"),
}


def rows(folder, table):
    return pl.read_parquet(folder / f"{table}.parquet").to_dicts()


# ── tables ───────────────────────────────────────────────────────────────────────────────────


def test_pooled_labels_are_those_of_softlabel_label(release, shapes, tmp_path, capsys):
    out = release()
    file = tmp_path / "labels.parquet"
    options = ["--aggregate", "dirichlet", "--intervals"]
    assert main(["label", str(shapes.export), str(file), *options]) == 0
    expected = {row["item"]: row for row in pl.read_parquet(file).to_dicts()}
    published = rows(out, "labels")
    assert {row["item"] for row in published} == set(expected)
    names = study.read(shapes.folder).labels
    for row in published:
        own = expected[row["item"]]
        assert np.allclose(row["soft_label"], [own[name] for name in names], atol=1e-6)
        assert np.allclose(row["low"], [own[f"low:{name}"] for name in names], atol=1e-6)
        assert np.allclose(row["high"], [own[f"high:{name}"] for name in names], atol=1e-6)
        assert row["n_answers"] == own["count"]
        assert row["label"] == int(np.argmax([own[name] for name in names]))


def test_answers_are_those_of_the_export(release, shapes, tmp_path, capsys):
    out = release()
    published = rows(out, "answers")
    assert len(published) == len(shapes.records)

    def key(record):
        return record["item"], record["presentation"]["position"], json.dumps(record["answer"])

    stored = Counter(map(key, shapes.records))
    assert stored == Counter((row["item"], row["position"], row["answer"]) for row in published)
    # the soft labels, made by another command
    votes = tmp_path / "votes.jsonl"
    options = ["--construct", "clamp", "--repeats", "first"]
    assert main(["export", str(shapes.export), str(votes), *options]) == 0
    names = study.read(shapes.folder).labels
    soft = Counter(
        (row["item"], *(round(row[name], 5) for name in names))
        for row in map(json.loads, votes.read_text().splitlines())
    )
    assert soft == Counter(
        (row["item"], *(round(share, 5) for share in row["soft_label"]))
        for row in published
        if row["counted"]
    )


def test_nothing_of_the_database_names_a_person(release, shapes):
    out = release(items=True)
    secrets = {
        str(record[key])
        for record in shapes.records
        for key in ("annotator", "session", "response_uuid")
    }
    assert len(secrets) > 100
    words = [path.read_text() for path in out.iterdir() if path.suffix in (".md", ".json", ".cff")]
    for table in ("labels", "answers", "annotators", "items"):
        words.append(pl.read_parquet(out / f"{table}.parquet").write_ndjson())
    everything = "\n".join(words)
    assert not [secret for secret in secrets if secret in everything]
    people = {row["annotator"] for row in rows(out, "answers")}
    assert people == {f"a{number}" for number in range(1, 7)}


def test_pseudonyms_keep_people_apart(release, shapes):
    published = Counter(row["annotator"] for row in rows(release(), "answers"))
    stored = Counter(record["annotator"] for record in shapes.records)
    assert sorted(published.values()) == sorted(stored.values())


def test_people_left_out_are_marked_and_do_not_count(release, shapes):
    out_of = shapes.records[0]["annotator"]
    marked = [
        record | ({"excluded": "answered at random"} if record["annotator"] == out_of else {})
        for record in shapes.records
    ]
    kept = [record for record in shapes.records if record["annotator"] != out_of]
    with_mark, without = release(marked, out="marked"), release(kept, out="without")
    answers = rows(with_mark, "answers")
    assert len(answers) == len(shapes.records)
    excluded = [row for row in answers if row["excluded"]]
    assert len(excluded) == len(marked) - len(kept)
    assert not any(row["counted"] for row in excluded)
    assert all(row["soft_label"] for row in excluded)
    assert rows(with_mark, "labels") == rows(without, "labels")
    assert [row["excluded"] for row in rows(with_mark, "annotators")].count(True) == 1
    assert "answered at random" not in (with_mark / "answers.parquet").read_bytes().decode("latin1")
    assert "left 1 annotators out" in (with_mark / "README.md").read_text()


def test_skips_have_a_reason_and_no_label(release, shapes):
    one = next(r for r in shapes.records if r["presentation"]["kind"] == "target")
    skipped = [
        r | {"answer": None, "skip": "cannot_judge"} if r is one else r for r in shapes.records
    ]
    out = release(skipped)
    (row,) = [row for row in rows(out, "answers") if row["skip"]]
    assert (row["skip"], row["answer"], row["label"], row["soft_label"]) == (
        *("cannot_judge", None, -1, None),
    )
    assert "Skipped: 1 cannot_judge." in (out / "README.md").read_text()


def test_items_with_and_without_what_people_saw(release, shapes):
    bare, whole = release(out="bare"), release(out="whole", items=True)
    assert not (bare / "media").exists()
    assert "image" not in rows(bare, "items")[0]
    first = rows(whole, "items")[0]
    copied = whole / first["image"]
    assert hashlib.sha256(copied.read_bytes()).hexdigest() == first["media"]
    assert copied.stem == first["media"]
    assert rows(whole, "labels")[0]["image"] == first["image"]
    assert "On what terms each of them may be shared" in (whole / "media/README.md").read_text()
    kinds = Counter(row["shown"] for row in rows(bare, "items"))
    own = study.read(shapes.folder)
    assert kinds["target"] == len(own.items)
    assert kinds["training"] == len(own.practice)


def test_simulated_people_are_never_called_people(release):
    out = release()
    assert {row["kind"] for row in rows(out, "answers")} == {"simulated"}
    card = (out / "README.md").read_text()
    assert "**6 of 6 annotators are simulated**" in card
    assert 'annotations_creators: ["machine-generated"]' in card


def test_a_pool_without_intervals_says_why(release):
    out = release(aggregate=Majority())
    assert "low" not in rows(out, "labels")[0]
    card = (out / "README.md").read_text()
    assert "There are no intervals: the shares themselves say how sure the class is." in card
    assert "They do not say how people split." in card
    card = (release(aggregate=Mean(), out="mean") / "README.md").read_text()
    assert "this pool has no model of how sure its labels are" in card


# ── the folder ───────────────────────────────────────────────────────────────────────────────


def test_the_same_study_gives_the_same_bytes(release, folder_bytes):
    assert folder_bytes(release(out="one")) == folder_bytes(release(out="two"))


def test_checksums_cover_every_file(release, folder_bytes):
    out = release(items=True)
    files = folder_bytes(out)
    listed = dict(line.split("  ")[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
    assert listed == {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}


def test_only_an_earlier_release_is_replaced(release, folder_bytes):
    out = release(items=True)
    assert (out / "media").is_dir()
    with pytest.raises(FileError, match=r"is not empty; .* --replace"):
        release()
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").write_text("ref")
    release(replacing=True)
    assert {path.name for path in out.iterdir()} == {*FILES, ".git"}
    assert (out / ".git" / "HEAD").read_text() == "ref"
    (out / "notes.txt").write_text("mine")
    before = folder_bytes(out)
    with pytest.raises(FileError, match=r"holds 'notes\.txt', which no release wrote"):
        release(replacing=True)
    assert folder_bytes(out) == before


def test_an_export_is_published_without_the_words_of_the_study(release, shapes):
    out = release(study_is=None)
    assert rows(out, "labels") == rows(release(out="with"), "labels")
    assert "Pay: *To be written by you.*" in (out / "README.md").read_text()
    with pytest.raises(SoftlabelError, match="--include-items needs the study folder"):
        release(study_is=None, items=True, out="more")


def test_nobody_has_answered(shapes, tmp_path):
    empty = publish.Material("shapes", ())
    with pytest.raises(SoftlabelError, match="nobody has answered"):
        publish.publish(empty, tmp_path / "out", publish.Choices("CC0-1.0"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("choices", "told"),
    [({"date": "16.11.2026"}, "write it as 2026-11-16"), ({"url": "a.org"}, "begin it with https")],
)
def test_choices_are_checked_when_given(choices, told):
    with pytest.raises(SoftlabelError, match=told):
        publish.Choices("CC0-1.0", **choices)


# ── the command ──────────────────────────────────────────────────────────────────────────────


def run(*words):
    return main([str(word) for word in ("publish", *words)])


def test_the_command(shapes, tmp_path, capsys, folder_bytes, release):
    out = tmp_path / "out"
    options = ["--licence", "cc-by-4.0", "--db", shapes.database, "--author", "A. Researcher"]
    assert run(shapes.folder, out, *options) == 0
    said = capsys.readouterr()
    assert "licence     CC-BY-4.0" in said.out
    assert said.err == ""
    assert {path.name for path in out.iterdir()} == FILES
    assert run(shapes.folder, out, *options) == 1
    assert "is not empty" in capsys.readouterr().err
    assert run(shapes.export, tmp_path / "two", "--licence", "CC0-1.0") == 0
    assert "nobody is named as author" in capsys.readouterr().err
    assert run(shapes.export, tmp_path / "three", "--licence", "CC0-1.0", "--db", "x") == 1
    assert "has no database" in capsys.readouterr().err


def test_the_licence_is_asked_for(shapes, tmp_path, capsys, monkeypatch):
    assert run(shapes.export, tmp_path / "out") == 1
    told = capsys.readouterr().err
    assert "--licence is missing" in told
    assert "CC-BY-NC-4.0     as CC-BY, but not for commercial use" in told
    assert run(shapes.export, tmp_path / "out", "--licence", "CC-BY") == 1
    assert "did you mean" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    answers = iter(["nonsense", "ODbL-1.0"])
    monkeypatch.setattr("softlabel.cli.wizard.is_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *words, **more: next(answers))
    assert run(shapes.export, tmp_path / "out") == 0
    asked = capsys.readouterr().out
    assert "databases made of it must be under the same licence" in asked
    assert "licence     ODbL-1.0" in asked
