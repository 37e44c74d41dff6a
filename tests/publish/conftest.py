"""A study that simulated people have answered, and the same as a release."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from softlabel import publish, study
from softlabel.cli import main

DATABASE = ".softlabel/rehearsal.db"


@pytest.fixture(scope="package")
def shapes(tmp_path_factory):
    """A study folder with the answers of six simulated people, and its export."""
    place = tmp_path_factory.mktemp("publish")
    folder = place / "shapes"
    study.write_new(folder)
    assert main(["simulate", str(folder), "--annotators", "6", "--seed", "3"]) == 0
    assert (
        main(["export", str(folder), str(place / "shapes.jsonl"), "--db", f"{folder}/{DATABASE}"])
        == 0
    )
    lines = (place / "shapes.jsonl").read_text().splitlines()
    return SimpleNamespace(
        folder=folder,
        database=f"{folder}/{DATABASE}",
        export=place / "shapes.jsonl",
        records=tuple(json.loads(line) for line in lines),
    )


@pytest.fixture
def release(shapes, tmp_path):
    """Publish the study with other records or choices; return the folder."""

    def write(records=None, study_is=study.read, out="out", replacing=False, **choices):
        own = study_is(shapes.folder) if study_is else None
        questions = choices.pop("questions", ())
        material = publish.Material("shapes", records or shapes.records, own, questions)
        chosen = replace(publish.Choices("CC-BY-4.0"), **choices)
        publish.publish(material, tmp_path / out, chosen, replacing)
        return tmp_path / out

    return write


@pytest.fixture
def folder_bytes():
    """Every file of a folder, by its name."""

    def read(folder):
        files = [path for path in folder.rglob("*") if path.is_file()]
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}

    return read
