"""A study of somebody's own items: pictures, recordings, texts, and what can be wrong with them."""

from __future__ import annotations

import csv
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from softlabel import study
from softlabel.errors import SoftlabelError, StudyError
from softlabel.study import setup, shapes

MANY = [f"kind {n:02d}" for n in range(30)]
PNG = shapes.encode_png(np.full((4, 4, 3), 90, dtype=np.uint8))
WAV = b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + bytes(28)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    for n, name in enumerate(("cat/one.png", "dog/two.png", "dog/three.png")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(shapes.encode_png(np.full((4, 4, 3), 40 * n, dtype=np.uint8)))
    return folder


def write_table(folder: Path, text: str, name: str = "mine.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_folder_of_pictures_becomes_a_study_that_speaks_of_them(tmp_path, pictures):
    (pictures / "notes.txt").write_text("mine")
    (pictures / ".DS_Store").write_text("x")
    material = setup.find_media(pictures, "image")
    assert material.folders == ("cat", "dog")
    made, notes = setup.write_own(tmp_path / "Pets 1", material, ["cat", "dog"])
    assert notes == (f"left out of {pictures}, because they are no pictures: notes.txt",)
    names = ["consent.md", "instructions.md", "items.csv", "study.toml"]
    assert [path.name for path in made] == names
    found = study.read(tmp_path / "Pets 1")
    assert (found.name, found.labels, found.mode_text) == ("pets-1", ("cat", "dog"), "quick")
    assert [item.id for item in found.items] == ["cat/one", "dog/three", "dog/two"]
    assert "3 pictures" in found.instructions[0]
    assert "cat, dog" in found.instructions[1]
    assert found.per_annotator == 3
    assert found.notes == ()


def test_files_are_linked_or_copied(tmp_path, pictures, monkeypatch):
    setup.write_own(tmp_path / "a", setup.find_media(pictures, "image"), ["x", "y"])
    linked = tmp_path / "a" / "images" / "cat" / "one.png"
    assert linked.samefile(pictures / "cat" / "one.png")

    def refuse(*_: object) -> None:
        raise OSError("another disk")

    monkeypatch.setattr(os, "link", refuse)
    setup.write_own(tmp_path / "b", setup.find_media(pictures, "image"), ["x", "y"])
    copied = tmp_path / "b" / "images" / "cat" / "one.png"
    assert not copied.samefile(linked)
    assert copied.read_bytes() == linked.read_bytes()


def test_recordings_are_called_recordings(tmp_path):
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "a.wav").write_bytes(WAV)
    setup.write_own(tmp_path / "own", setup.find_media(tmp_path / "calls", "audio"), ["x", "y"])
    found = study.read(tmp_path / "own")
    assert found.items[0].audio is not None
    text = " ".join((found.title, found.consent, *found.instructions))
    assert "recording" in text
    assert "picture" not in text
    assert "see." not in text


def test_one_column_becomes_the_text_and_keeps_the_others(tmp_path):
    path = write_table(tmp_path, 'sentence,author\n"Hello, you",Ann\nBye,Bob\n')
    setup.write_own(tmp_path / "own", setup.read_material(path, ["sentence"]), ["warm", "cold"])
    found = study.read(tmp_path / "own")
    assert [item.text for item in found.items] == ["Hello, you", "Bye"]
    assert [item.id for item in found.items] == ["1", "2"]
    assert found.items[0].meta == {"author": "Ann"}
    text = " ".join((found.title, found.consent, *found.instructions))
    assert "2 texts" in text
    assert "picture" not in text


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_several_columns_get_headings_in_the_order_given(tmp_path, kind):
    rows = [{"id": "p", "hypothesis": "He moves.", "the_premise": "He walks.", "gold": "yes"}]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    if kind == "csv":
        text = "id,hypothesis,the_premise,gold\np,He moves.,He walks.,yes\n"
    path = write_table(tmp_path, text, f"pairs.{kind}")
    material = setup.read_material(path, ["the_premise", "hypothesis"])
    setup.write_own(tmp_path / "own", material, ["yes", "no"])
    (item,) = study.read(tmp_path / "own").items
    assert item.texts == (("The premise", "He walks."), ("Hypothesis", "He moves."))
    assert (item.id, item.gold) == ("p", (1.0, 0.0))


def test_a_table_brings_its_pictures_along(tmp_path):
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "a.png").write_bytes(PNG)
    path = write_table(tmp_path, "image,text,batch\nimg/a.png,Look,1\n")
    setup.write_own(tmp_path / "own", setup.read_material(path), ["x", "y"])
    (item,) = study.read(tmp_path / "own").items
    assert item.image is not None
    assert item.image.path.is_relative_to(tmp_path / "own")
    write_table(tmp_path, "image\nimg/b.png\n")
    with pytest.raises(SoftlabelError, match=r"line 2, image = 'img/b.png': no such file in"):
        setup.read_material(path)
    write_table(tmp_path, "image\n../b.png\n")
    with pytest.raises(SoftlabelError, match="must be in the folder of the table"):
        setup.read_material(path)


def test_many_labels_are_searched_for(tmp_path):
    path = write_table(tmp_path, "text\nHello\n")
    _, notes = setup.write_own(tmp_path / "own", setup.read_material(path), MANY)
    assert notes == (
        "with 30 labels people type to find one (mode search); another mode: --mode chips",
    )
    found = study.read(tmp_path / "own")
    assert (found.mode.name, list(found.labels), found.notes) == ("search", MANY, ())
    assert (tmp_path / "own" / "labels.txt").read_text().splitlines() == MANY
    _, notes = setup.write_own(tmp_path / "other", setup.read_material(path), MANY, mode="chips")
    assert "search is quicker to answer" in notes[0]


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("id;text\n1;a\n", [], "line 1: the columns are separated by semicolons, as in 'id;text'"),
        ("id\ttext\n1\ta\n", [], "line 1: the columns are separated by tabs"),
        (
            "id,sentence,author\n1,a,b\n",
            [],
            "no column is called text, image, audio or video; its columns are: id, sentence, "
            "author; name the column that people read: --text sentence",
        ),
        (
            "id,sentence\n1,a\n",
            ["sentense"],
            "has no column 'sentense', or nothing in it (did you mean 'sentence'?); its columns "
            "are: id, sentence",
        ),
        ("text\na\n", ["text", "text"], "--text names the column 'text' twice"),
        ("text\n", [], "contains no item below its first line"),
    ],
)
def test_mistakes_in_tables_say_what_was_found(tmp_path, text, columns, message):
    path = write_table(tmp_path, text)
    with pytest.raises(SoftlabelError) as caught:
        setup.read_material(path, columns)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


def test_a_spreadsheet_a_folder_and_another_encoding_are_no_table(tmp_path):
    (tmp_path / "mine.xlsx").write_bytes(b"PK")
    with pytest.raises(SoftlabelError, match="save it as CSV in UTF-8, separated by commas"):
        setup.read_material(tmp_path / "mine.xlsx")
    with pytest.raises(SoftlabelError, match=f"for pictures write --images {tmp_path}"):
        setup.read_material(tmp_path)
    (tmp_path / "old.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    with pytest.raises(SoftlabelError, match=r"is not UTF-8 text .* save it as CSV in UTF-8"):
        setup.read_material(tmp_path / "old.csv")


def test_a_folder_without_pictures_says_what_it_contains(tmp_path):
    folder = tmp_path / "stuff"
    with pytest.raises(SoftlabelError, match="no such folder; name the folder that contains"):
        setup.find_media(folder, "image")
    folder.mkdir()
    with pytest.raises(SoftlabelError, match="contains no pictures; it is empty"):
        setup.find_media(folder, "image")
    (folder / "a.wav").write_bytes(WAV)
    (folder / "b.txt").write_text("b")
    with pytest.raises(SoftlabelError) as caught:
        setup.find_media(folder, "image")
    found = f"found 1 .wav, 1 .txt; for recordings write --audio {folder}"
    assert str(caught.value) == f"{folder}: contains no pictures; {found}"
    (folder / "a.wav").unlink()
    (folder / "mine.csv").write_text("text\na\n")
    with pytest.raises(SoftlabelError, match=r"for a table write --table .*mine\.csv"):
        setup.find_media(folder, "image")


def test_pictures_that_cannot_be_shown_are_refused(tmp_path, pictures):
    (pictures / "old.tif").write_bytes(b"II*\0")
    (pictures / "drawn.svg").write_text("<svg/>")
    with pytest.raises(SoftlabelError) as caught:
        setup.find_media(pictures, "image")
    assert "drawn.svg: is SVG, HTML or XML" in str(caught.value)
    assert "old.tif: is of an unknown type" in str(caught.value)
    assert str(caught.value).endswith("WebP and AVIF, or remove them")


def test_two_files_cannot_have_one_id(tmp_path, pictures):
    (pictures / "cat" / "one.jpg").write_bytes(b"\xff\xd8\xff\xe0")
    with pytest.raises(SoftlabelError, match=r"cat/one\.jpg and cat/one\.png would both have"):
        setup.find_media(pictures, "image")


def test_a_mistake_writes_nothing(tmp_path):
    path = write_table(tmp_path, "id,text\na,x\na,y\n")
    for folder in (tmp_path / "new", tmp_path / "there"):
        if folder.name == "there":
            folder.mkdir()
        with pytest.raises(StudyError, match="line 3, id = 'a': is the id of another item, too"):
            setup.write_own(folder, setup.read_material(path), ["x", "y"])
        with pytest.raises(StudyError, match="differs from 'cat' only in case"):
            setup.write_own(folder, setup.read_material(path), ["cat", "Cat"])
    assert not (tmp_path / "new").exists()
    assert list((tmp_path / "there").iterdir()) == []


def test_an_empty_folder_is_filled_and_a_full_one_is_not(tmp_path, pictures):
    material = setup.find_media(pictures, "image")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / ".git").mkdir()
    setup.write_own(tmp_path / "there", material, ["x", "y"])
    assert len(study.read(tmp_path / "there").items) == 3
    with pytest.raises(StudyError, match="exists already and is not empty"):
        setup.write_own(tmp_path / "there", material, ["x", "y"])


def test_labels(tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("cat\n\n dog \n")
    assert setup.read_label_file(path) == ["cat", "dog"]
    (tmp_path / "labels.json").write_text('["cat", "dog"]')
    assert setup.read_label_file(tmp_path / "labels.json") == ["cat", "dog"]
    path.write_text("cat\n")
    with pytest.raises(SoftlabelError, match="found 1 label; write at least two, one per line"):
        setup.read_label_file(path)
    path.write_text("cat\ndog\ncat\n")
    with pytest.raises(SoftlabelError, match="names 'cat' 2 times"):
        setup.read_label_file(path)
    with pytest.raises(SoftlabelError, match="separate them by commas: cat,dog"):
        setup.check_labels("cat; dog", ["cat; dog"])
    with pytest.raises(SoftlabelError, match="found one label, 'cat'; give at least two"):
        setup.check_labels("cat", ["cat"])


def test_guesses(tmp_path, pictures):
    path = write_table(tmp_path, "id,remark,said\n1,a,a long sentence\n")
    assert setup.guess_text(path) == "said"
    assert setup.list_columns(path) == ("id", "remark", "said")
    assert setup.contains(pictures, "image")
    assert not setup.contains(pictures, "audio")
    assert "en" in setup.list_languages()
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["text", "said"], ["a", "much longer"]])
    assert setup.guess_text(tmp_path / "rows.csv") == "text"
