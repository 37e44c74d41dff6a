"""A study as a paper ran it: its settings, and pictures enlarged as it enlarged them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from softlabel import study
from softlabel.cli import main
from softlabel.errors import SoftlabelError
from softlabel.study import presets, setup, shapes

# not so bright or dark that a filter that overshoots leaves 0 to 255
SMALL = np.random.default_rng(3).integers(90, 166, (32, 32, 3), dtype=np.uint8)


def filter_lanczos(pixels, side, a=3):
    """Enlarge with the sinc window of three lobes, in exact arithmetic: (side, side, channels)."""

    def weights(before):
        centre = (np.arange(side) + 0.5) * before / side
        x = np.arange(before) + 0.5 - centre[:, None]
        near = np.where(abs(x) < a, np.sinc(x) * np.sinc(x / a), 0.0)
        return near / near.sum(axis=1, keepdims=True)

    rows = np.einsum("ij,jkc->ikc", weights(len(pixels)), pixels.astype(float))
    return np.einsum("ij,kjc->kic", weights(pixels.shape[1]), rows)


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    for n in range(30):
        (folder / f"{n:02d}.png").write_bytes(shapes.encode_png(SMALL if n == 0 else 255 - SMALL))
    return folder


def test_a_preset_is_refused_by_name_and_beside_a_mode(tmp_path, capsys):
    for words, reason in (
        (["--preset", "c23"], "no preset called 'c23' (did you mean 'c22'?)"),
        (["--preset", "c22", "--mode", "hard"], "--preset c22 sets the mode, classic:wording=c22"),
        (["--enlarge", "160"], "--enlarge 160 needs pictures: add --images or --table"),
    ):
        assert main(["new", str(tmp_path / "own"), *words]) == 1
        assert reason in capsys.readouterr().err
        assert not (tmp_path / "own").exists()


def test_the_example_asks_as_the_paper_did(tmp_path):
    assert main(["new", str(tmp_path / "own"), "--preset", "c22"]) == 0
    found = study.read(tmp_path / "own")
    assert (found.mode_text, found.frame) == ("classic:wording=c22", "third_person")
    assert (found.per_item, found.notes) == (6, ())


def test_settings_never_ask_for_more_items_than_there_are():
    preset = presets.find_preset("c22")
    few = setup.Material("text", "items.csv", [{"text": "a"}, {"text": "b"}])
    many = setup.Material("text", "items.csv", [{"text": str(n)} for n in range(99)])
    batched = setup.Material("text", "items.csv", [{"text": "a", "batch": "0"}])
    assert preset.fit_items(few) == {"per_item": 6, "per_annotator": 2, "batch_size": 2}
    assert preset.fit_items(many) == {"per_item": 6, "per_annotator": 25, "batch_size": 25}
    assert preset.fit_items(batched) == {"per_item": 6}


# ── pictures ─────────────────────────────────────────────────────────────────────────────────


def open_picture(path):
    image = pytest.importorskip("PIL.Image")
    with image.open(path) as opened:
        return opened.mode, np.asarray(opened)


def test_the_preset_enlarges_pictures_with_the_filter_of_pillow(tmp_path, pictures):
    image = pytest.importorskip("PIL.Image")
    own = tmp_path / "own"
    words = ["new", str(own), "--preset", "c22", "--images", str(pictures), "--labels", "cat,dog"]
    assert main(words) == 0
    found = study.read(own)
    assert (found.per_annotator, found.per_item, found.repeat_positions) == (25, 6, (5, 10))
    mode, larger = open_picture(own / "images" / "00.png")
    assert (mode, larger.shape) == ("RGB", (160, 160, 3))
    theirs = image.fromarray(SMALL).resize((160, 160), image.Resampling.LANCZOS)
    assert (larger == np.asarray(theirs)).all()
    # Pillow rounds after each direction: the first half step grows by at most the sum of 1.5
    # that the absolute weights of a pixel have
    assert abs(larger - filter_lanczos(SMALL, 160)).max() < 0.5 * 1.5 + 0.5
    assert open_picture(pictures / "00.png")[1].shape == (32, 32, 3)  # the source is as it was


def test_the_longer_side_is_enlarged_and_larger_pictures_stay(tmp_path, pictures):
    pytest.importorskip("PIL.Image")
    (pictures / "00.png").write_bytes(shapes.encode_png(SMALL[:, :20]))
    (pictures / "01.png").write_bytes(shapes.encode_png(np.zeros((50, 64, 3), dtype=np.uint8)))
    material = presets.enlarge_material(setup.find_media(pictures, "image"), 64)
    setup.write_own(tmp_path / "own", material, ["cat", "dog"])
    placed = tmp_path / "own" / "images"
    assert open_picture(placed / "00.png")[1].shape == (64, 40, 3)
    assert (placed / "01.png").samefile(pictures / "01.png")


def test_other_formats_become_png_under_the_same_ids(tmp_path):
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "table"
    folder.mkdir()
    grey = image.fromarray(SMALL[:, :, 0])
    grey.quantize(8).save(folder / "palette.gif")
    grey.save(folder / "photo.jpg")
    rows = [{"id": "p", "image": "palette.gif"}, {"id": "q", "image": ["photo.jpg"]}]
    (folder / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)))
    material = presets.enlarge_material(setup.read_material(folder / "mine.jsonl"), 48)
    setup.write_own(tmp_path / "own", material, ["cat", "dog"])
    found = study.read(tmp_path / "own")
    assert [item.id for item in found.items] == ["p", "q"]
    assert [item.image.mime for item in found.items] == ["image/png"] * 2
    mode, larger = open_picture(tmp_path / "own" / "palette.png")
    assert (mode, larger.shape) == ("RGB", (48, 48, 3))
    assert len(np.unique(larger)) > 8, "a palette is averaged, not repeated"


def test_what_cannot_be_enlarged_is_refused(tmp_path, pictures):
    image = pytest.importorskip("PIL.Image")
    frames = [image.fromarray(one) for one in (SMALL, 255 - SMALL)]
    frames[0].save(tmp_path / "moves.gif", save_all=True, append_images=frames[1:])
    image.fromarray(SMALL[:, :, 0].astype(np.uint16) * 257).save(tmp_path / "deep.png")
    for name, reason in (("moves.gif", "moves, so"), ("deep.png", "more than 8 bits")):
        with pytest.raises(SoftlabelError, match=f"{name}: .*{reason}"):
            presets.write_enlarged(tmp_path / name, tmp_path / "out.png", 160)
    frames[0].save(pictures / "00.gif")
    files = {f"images/00{ending}": pictures / f"00{ending}" for ending in (".gif", ".png")}
    material = setup.Material("image", "items.csv", [{"image": name} for name in files], files)
    with pytest.raises(SoftlabelError, match=r"00\.gif and .*00\.png would both become .*00\.png"):
        presets.enlarge_material(material, 160)
