"""A new study runs as it is, in every mode, and says nothing that it should not."""

from __future__ import annotations

import csv
import re
import tomllib
from itertools import pairwise

import numpy as np
import pytest

from softlabel import registry, study
from softlabel.errors import StudyError, UnknownName
from softlabel.study import shapes
from softlabel.study.findings import FILE
from softlabel.study.schema import SECTIONS, StudyFile

MODES = sorted(registry.members("mode"))


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """The study as ``softlabel new`` writes it, and the files it names."""
    folder = tmp_path_factory.mktemp("new") / "deep" / "shapes"
    return folder, study.write_new(folder)


@pytest.mark.parametrize("mode", MODES)
def test_a_new_study_in_every_mode_can_be_read(tmp_path, mode):
    study.write_new(tmp_path, mode=mode)
    found = study.read(tmp_path)
    assert found.mode == registry.parse("mode", mode)
    assert (len(found.items), len(found.practice), len(found.checks)) == (24, 3, 2)
    assert found.frame == ("third_person" if mode == "classic" else "self")
    assert all(item.gold is not None for item in (*found.practice, *found.checks))
    assert all(item.feedback for item in found.practice)
    assert all(item.gold is None for item in found.items)
    assert sorted(item.kind for item in found.checks) == ["attention", "gold"]
    assert found.notes == ()


def test_options_of_the_mode_are_kept(tmp_path):
    study.write_new(tmp_path, mode="chips:n=50")
    found = study.read(tmp_path)
    assert (found.mode.n, found.mode_text) == (50, "chips:n=50")
    assert "50 chips" in found.instructions[2]


def test_the_files_it_says_it_wrote(shown):
    folder, paths = shown
    assert [path.name for path in paths] == [
        "checks.csv",
        "consent.md",
        "instructions.md",
        "items.csv",
        "practice.jsonl",
        "study.toml",
        "truth.csv",
    ]
    assert all(path.parent == folder for path in paths)
    assert len(list((folder / "images").iterdir())) == 29


def test_every_key_stands_in_the_file_and_is_explained(shown):
    lines = (shown[0] / FILE).read_text(encoding="utf-8").splitlines()
    table = ""
    above: dict[str, str] = {}
    for before, line in pairwise(lines):
        if opened := re.fullmatch(r"#?\[{1,2}([a-z.]+)\]{1,2}", line):
            table = opened[1]
        elif setting := re.match(r"#?([a-z_]+) = ", line):
            above[f"{table}.{setting[1]}"] = before
    for name, model in SECTIONS.items():
        for key in set(model.model_fields) - {"question"}:
            if "." not in name:
                assert above.get(f"{name}.{key}", "").startswith("# "), f"{name}.{key}"


def test_settings_that_are_commented_out_are_the_defaults(shown, tmp_path):
    """Taking the # away from what has a default changes nothing."""
    text = (shown[0] / FILE).read_text(encoding="utf-8")
    keys = ("language", "label_order", "seed", "lease_minutes", "ask", "tries", "kind")
    opened = re.sub(rf"^#(?=({'|'.join(keys)}) = )", "", text, flags=re.MULTILINE)
    assert opened.count("\n#") == text.count("\n#") - 8
    before = study.read(shown[0])
    try:
        (shown[0] / FILE).write_text(opened, encoding="utf-8")
        after = study.read(shown[0])
    finally:
        (shown[0] / FILE).write_text(text, encoding="utf-8")
    for key in ("language", "label_order", "seed", "lease_minutes", "quiz", "recruit", "debrief"):
        assert getattr(after, key) == getattr(before, key)


def test_the_texts_it_writes_are_those_it_would_have_without(shown, tmp_path):
    found = study.read(shown[0])
    for name in ("consent", "instructions"):
        assert (shown[0] / f"{name}.md").is_file()
    assert "19 pictures" in found.instructions[0]
    assert found.quiz.questions[1].options[found.quiz.questions[1].right] == "What I believe myself"
    assert len(found.debrief) == 6


CHANGES = [
    ('mode = "quick"', 'mode = "chips"', "explains the mode quick, but the study has chips"),
    ("per_annotator = 12", "per_annotator = 6", "says 19 items, but a person answers 13"),
    ("per_item = 6", "per_item = 5", None),
]


@pytest.mark.parametrize(("before", "after", "note"), CHANGES)
def test_written_instructions_that_no_longer_fit_are_noted(tmp_path, before, after, note):
    study.write_new(tmp_path)
    path = tmp_path / FILE
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    notes = [str(one) for one in study.read(tmp_path).notes if one.key == "pages.instructions"]
    assert len(notes) == (note is not None)
    assert all(f"'instructions.md': {note}; correct it" in one for one in notes)


def test_every_example_in_the_file_is_toml_and_known(shown):
    """What a person gets by removing the # of every setting of a table."""
    text = (shown[0] / FILE).read_text(encoding="utf-8")
    for part in re.split(r"\n(?=#?\[)", text)[1:]:
        lines = (line.removeprefix("#") for line in part.splitlines() if not line.startswith("# "))
        StudyFile.model_validate(tomllib.loads("\n".join(lines)))


def test_the_truth_covers_what_was_drawn_and_no_check(shown):
    found = study.read(shown[0])
    with (shown[0] / "truth.csv").open(encoding="utf-8", newline="") as file:
        rows = {row.pop("id"): row for row in csv.DictReader(file)}
    assert set(rows) == {item.id for item in (*found.items, *found.practice)}
    table = np.array([[float(row[label]) for label in found.labels] for row in rows.values()])
    assert np.allclose(table.sum(axis=1), 1, atol=1e-9)
    assert (table > 0).all()
    assert set(table.argmax(axis=1)) == set(range(len(shapes.LABELS)))


def test_no_name_says_what_is_shown(shown):
    names = [path.name for path in (shown[0] / "images").iterdir()]
    text = (shown[0] / "items.csv").read_text(encoding="utf-8") + " ".join(names)
    for label in shapes.LABELS:
        assert label not in text
    found = study.read(shown[0])
    kinds = [
        item.kind for item in sorted((*found.items, *found.practice, *found.checks), key=id_of)
    ]
    assert kinds != sorted(kinds), "numbers are given at random"


def id_of(item: study.Item) -> str:
    return item.id


def test_a_seed_is_a_set_of_pictures(shown, tmp_path):
    study.write_new(tmp_path / "same", seed=0)
    study.write_new(tmp_path / "other", seed=1)
    first, same, other = (
        [item.image.sha256 for item in study.read(folder).items]
        for folder in (shown[0], tmp_path / "same", tmp_path / "other")
    )
    assert first == same
    assert not set(first) & set(other)
    assert len(set(first)) == 24


def test_nothing_is_written_over(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(StudyError, match="exists already and is not empty"):
        study.write_new(tmp_path)
    with pytest.raises(StudyError, match="exists already and is not empty"):
        study.write_new(tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_mode_that_does_not_exist_writes_nothing(tmp_path):
    with pytest.raises(UnknownName, match="did you mean 'quick'"):
        study.write_new(tmp_path / "new", mode="quik")
    assert not (tmp_path / "new").exists()
