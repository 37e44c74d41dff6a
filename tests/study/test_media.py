"""Files are what their first bytes say, and stay inside the study folder."""

from __future__ import annotations

import os
from hashlib import sha256

import pytest

from softlabel import study
from softlabel.study.items import detect_type

TABLE = '[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "items.csv"\n'
HEADS = {
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "image/gif": b"GIF89a\x01\x00",
    "image/webp": b"RIFF\x24\x00\x00\x00WEBPVP8 ",
    "image/avif": b"\x00\x00\x00\x1cftypmif1\x00\x00\x00\x00avifmif1miaf",
    "audio/wav": b"RIFF\x24\x00\x00\x00WAVEfmt ",
    "audio/mpeg": b"ID3\x04\x00\x00",
    "audio/ogg": b"OggS\x00\x02",
    "audio/flac": b"fLaC\x00\x00\x00\x22",
    "video/webm": b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm\x42\x87\x81\x04",
    "video/mp4": b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00isom",
}
REFUSED = {
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "svg with a declaration": b'<?xml version="1.0"?><svg/>',
    "html": b"<!DOCTYPE html><script>alert(1)</script>",
    "html after blanks": b"\xef\xbb\xbf \n <HTML>",
}


@pytest.mark.parametrize("mime", HEADS)
def test_a_type_is_known_by_its_first_bytes(mime):
    assert detect_type(HEADS[mime]) == mime


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"\x89PNG",
        b"RIFF\x24\x00\x00\x00AVI ",
        b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska",
        b"\x00\x00\x00\x18ftypM4A \x00\x00\x00\x00isom",  # sound only
        b"\x00\x00\x00\x18ftypqt  \x00\x00\x00\x00qt  ",
        b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1",
        b"\xff\xf1\x50\x80",  # AAC
        b"\xff\xff\xff\xff",
        b"%PDF-1.7",
        b"MZ",
        *REFUSED.values(),
    ],
)
def test_anything_else_has_no_type(head):
    assert detect_type(head) is None


def test_an_mpeg_frame_without_a_tag_is_sound():
    assert detect_type(b"\xff\xfb\x90\x64\x00") == "audio/mpeg"


@pytest.mark.parametrize("kind", REFUSED)
def test_markup_is_refused_whatever_its_name(make, wrong, kind):
    reason = "is SVG, HTML or XML, which can contain scripts; save the picture as PNG"
    files = {"items.csv": "image\nimages/bad.png\n", "images/bad.png": REFUSED[kind]}
    assert wrong(make(TABLE, files)) == [f"items.csv, line 2, image = 'images/bad.png': {reason}"]
    folder = make(TABLE.replace("items.csv", "images"), {"images/bad.png": REFUSED[kind]})
    assert wrong(folder) == [f"images/bad.png: {reason}"]


def test_a_file_of_no_known_type_and_one_of_the_wrong_kind(make, wrong):
    files = {
        "items.csv": "image\nimages/a.png\nimages/b.png\n",
        "images/a.png": b"hello",
        "images/b.png": HEADS["audio/wav"],
    }
    shown = "what can be shown is PNG, JPEG, GIF, WebP and AVIF"
    assert wrong(make(TABLE, files)) == [
        f"items.csv, line 2, image = 'images/a.png': is of an unknown type; {shown}",
        f"items.csv, line 3, image = 'images/b.png': is audio/wav; {shown}",
    ]


def test_media_are_known_by_their_content(make, picture):
    item = study.read(make()).items[0]
    assert (item.id, item.image.mime) == ("00", "image/png")
    assert item.image.sha256 == sha256(picture).hexdigest()
    assert item.media == (item.image,)


OUT = "leads out of the study folder; copy the file into it"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../secret.png", OUT),
        ("images/../../secret.png", OUT),
        ("link.png", OUT),
        ("linked/secret.png", OUT),
        ("../birds-sibling/secret.png", OUT),
        (
            "{tmp}/secret.png",
            "must be a path inside the study folder, not an absolute path",
        ),
        ("images\\00.png", "is not the name of a file; separate folders by /"),
        (".softlabel/media.png", "lies in .softlabel, where answers and secrets are kept"),
        ("images", "is a folder, but a file is needed"),
        ("circle.png", "cannot be looked up (RuntimeError)"),
        ("a" * 300 + ".png", "cannot be looked up (OSError)"),
    ],
)
def test_no_path_leads_out_of_the_folder(make, wrong, tmp_path, picture, name, reason):
    folder = make(TABLE, {".softlabel/media.png": picture})
    for place in (tmp_path, tmp_path / "birds-sibling"):
        place.mkdir(exist_ok=True)
        (place / "secret.png").write_bytes(picture)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "linked").symlink_to(tmp_path)
    (folder / "circle.png").symlink_to(folder / "circle.png")
    name = name.format(tmp=tmp_path)
    (folder / "items.csv").write_text(f"id,image\na,{name}\n")
    (line,) = wrong(folder)
    assert line.startswith(f"items.csv, line 2, image = {name!r}: ")
    assert line.endswith((reason, "no such file"))  # newer Pythons look up any name
    (folder / "study.toml").write_text(f"{TABLE}[pages]\nconsent = {name!r}\n")
    assert any(line.startswith("study.toml, pages.consent") for line in wrong(folder))


def test_a_path_inside_may_go_up_and_down(make, wrong):
    files = {"tables/items.csv": "image\n../images/00.png\n"}
    folder = make(TABLE.replace("items.csv", "tables/items.csv"), files)
    assert wrong(folder) == []
    (folder / "images" / "twin.png").symlink_to(folder / "images" / "00.png")
    assert wrong(folder) == []


def test_links_in_a_folder_of_pictures(make, wrong, tmp_path, picture):
    folder = make()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.png").write_bytes(picture)
    (folder / "images" / "all").symlink_to(tmp_path / "elsewhere")
    (folder / "images" / "one.png").symlink_to(tmp_path / "elsewhere" / "a.png")
    assert wrong(folder) == [
        "images/all: is a link to a folder; copy the folder",
        f"images/one.png: {OUT}",
    ]
    (folder / "study.toml").write_text(
        '[study]\nlabels = ["a", "b"]\n[items]\nsource = "images/all"\n'
    )
    assert wrong(folder) == [f"study.toml, items.source = 'images/all': {OUT}"]


def test_a_name_that_is_no_text_is_shown_and_refused(make, wrong, picture):
    folder = make()
    name = os.fsencode(folder / "images") + b"/a\xff\nb.png"
    with open(name, "wb") as file:
        file.write(picture)
    (line,) = wrong(folder)
    assert line.encode()  # can be printed
    assert line == (
        "images/a\\udcff\\nb.png, the name, id = 'a\\udcff\\nb': contains a control character"
    )
