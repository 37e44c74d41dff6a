"""The three things of Collins et al.: pictures, labels, and an allocation in two forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from softlabel import study
from softlabel.elicit import Classic
from softlabel.study import shapes

NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
TOML = '[study]\nlabels = "labels.txt"\n[items]\nsource = "images"\nallocation = "a.json"\n'


def published(count: int = 12, size: int = 6) -> list[dict[str, list[dict[str, str]]]]:
    batches: dict[str, list[dict[str, str]]] = {}
    for n in range(count):
        entry = {"filename": f"{n:02d}.png", "data_split": "train"}
        entry |= {"example_idx": str(100 + n), "label": "cat" if n % 2 else "dog"}
        batches.setdefault(str(n // size), []).append(entry)
    return [batches]


def ours(**more: object) -> dict[str, object]:
    entries = [{"id": f"i{n}", "file": f"{n:02d}.png", "gold": None} for n in range(12)]
    return {"classes": ["cat", "dog"], "batches": {"a": entries[:6], "b": entries[6:]}, **more}


def files(allocation: object, **more: str) -> dict[str, str]:
    return {"labels.txt": "cat\ndog\n", "a.json": json.dumps(allocation), **more}


def test_the_published_form(make):
    found = study.read(make(TOML, files(published())))
    assert found.batches == {
        "0": tuple(str(100 + n) for n in range(6)),
        "1": tuple(str(106 + n) for n in range(6)),
    }
    first = found.items[0]
    assert (first.id, first.gold, first.meta) == ("100", (0.0, 1.0), {"data_split": "train"})
    assert first.image.path.name == "00.png"
    assert (found.mode.name, found.frame) == ("quick", "self")
    assert (found.items_per_person, found.repeat_positions) == (6, (5,))


def test_our_own_form_brings_labels_and_repeats(make):
    allocation = ours(repeats={"count": 2, "positions": [1, 3]})
    toml = '[items]\nsource = "images"\nallocation = "a.json"\n'
    found = study.read(make(toml, files(allocation)))
    assert found.labels == ("cat", "dog")
    assert found.batches["b"] == ("i6", "i7", "i8", "i9", "i10", "i11")
    assert found.repeat_positions == (1, 3)
    assert found.items[0].gold is None
    changed = study.read(make(f"{toml}repeats = 1\n", files(allocation)))
    assert changed.repeat_positions == (5,)


@pytest.mark.parametrize("script", [False, True], ids=["json", "js"])
@pytest.mark.parametrize("labels", ["txt", "json"])
def test_three_things_and_no_file_of_settings(make, script, labels):
    text = json.dumps(published())
    folder = make(
        None,
        {
            f"labels.{labels}": "cat\ndog\n" if labels == "txt" else '["cat", "dog"]',
            "batches.js" if script else "allocation.json": f"var batches = {text};" * script
            or text,
            ".softlabel/answers.db": b"",
        },
    )
    found = study.read(folder)
    assert (found.name, found.mode, found.frame) == ("birds", Classic(), "third_person")
    assert (len(found.items), len(found.batches), found.per_item) == (12, 2, 6)
    assert 'mode = "classic"' in found.toml


def test_anything_beside_the_three_things_needs_settings(make, wrong):
    more = {"labels.txt": "cat\ndog\n", "a.json": json.dumps(published()), "notes.md": "?"}
    assert wrong(make(None, more)) == ["study.toml: no such file"]


def test_pictures_in_no_batch_are_left_out_and_noted(make):
    found = study.read(make(TOML, files(published(count=10, size=5))))
    assert len(found.items) == 10
    (note,) = found.notes
    assert str(note) == "images/10.png: is in no batch and is not shown (2 files in all)"


def test_a_table_of_items_with_an_allocation(make, wrong):
    toml = TOML.replace('"images"', '"items.csv"')
    rows = "id,image,alt\n" + "".join(f"i{n},images/{n:02d}.png,a pet\n" for n in range(12))
    found = study.read(make(toml, files(ours(), **{"items.csv": rows})))
    assert found.items[3].alt == "a pet"
    assert found.batches["a"] == ("i0", "i1", "i2", "i3", "i4", "i5")
    batches = {"a": [{"id": "i0"}, {"id": "i0"}, {"id": "i1x"}, {"id": "i1", "gold": "dgo"}]}
    some = "id,text\ni0,x\ni1,y\ni2,z\n"
    assert wrong(make(toml, files({"batches": batches}, **{"items.csv": some}))) == [
        "a.json, batch a[1], id = 'i0': is in a batch already",
        "a.json, batch a[2], id = 'i1x': no such item (did you mean 'i1'?)",
        "a.json, batch a[3], gold = 'dgo': no such label (did you mean 'dog'?)",
        "items.csv, line 4, id = 'i2': is in no batch of a.json",
    ]


@pytest.mark.parametrize(
    ("allocation", "line"),
    [
        ([], "a.json: must be a list that holds one object of batches, or an object with the key"),
        ({"0": []}, "a.json: must be a list that holds one object of batches"),
        ([{}], "a.json: contains no batch"),
        ([{"0": []}], "a.json, batch 0: contains no item"),
        ([{"0": ["00.png"]}], "a.json, batch 0: must be a list of objects"),
        (
            [{"0": [{"filename": "00.pgn"}]}],
            "a.json, batch 0[0], filename = '00.pgn': no such file (did you mean '00.png'?)",
        ),
        ([{"0": [{"file": "00.png"}]}], "a.json, batch 0[0], filename: there must be an image"),
        (
            [{"0": [{"filename": "../study.toml"}]}],
            "a.json, batch 0[0], filename = '../study.toml': is of an unknown type",
        ),
        (
            [{"0": [{"filename": "../../x.png"}]}],
            "a.json, batch 0[0], filename = '../../x.png': leads out of the study folder",
        ),
        (
            [{"0": [{"filename": "00.png", "label": "Cat"}]}],
            "a.json, batch 0[0], label = 'Cat': no such label (did you mean 'cat'?)",
        ),
        (
            [{"0": [{"filename": "00.png"}], "1": [{"filename": "00.png"}]}],
            "a.json, batch 1[0], example_idx = '00': is the id of another item, too",
        ),
        (ours(classes="cat"), 'a.json, classes: must be a list of labels: ["cat", "dog"]'),
        (ours(classes=["cat", "cow"]), "a.json, classes = ['cat', 'cow']: are not those of study"),
        (ours(repeats=2), 'a.json, repeats: must be {"count": 2, "positions": [5, 10]}'),
        (ours(repeats={"count": -1}), "a.json, repeats: must be"),
        (ours(klasses=[]), "a.json, klasses: no such key (did you mean 'classes'?)"),
    ],
)
def test_mistakes_in_an_allocation(make, wrong, allocation, line):
    found = wrong(make(TOML, files(allocation)))
    assert any(one.startswith(line) for one in found), found


def test_an_allocation_that_is_not_json(make, wrong):
    assert wrong(make(TOML, files([]) | {"a.json": "[{"})) == [
        "a.json: is not JSON: Expecting property name enclosed in double quotes (line 1, column 3)"
    ]


def test_the_batches_of_cifar10s(data_folder, tmp_path):
    """The 40 batches as they were, in the form in which they were published."""
    given = json.loads((data_folder / "cifar10s" / "batches.json").read_text())
    with np.load(data_folder / "cifar10" / "test.npz") as arrays:
        pixels, classes = arrays["images"], arrays["labels"]
    folder, batches = tmp_path / "CIFAR 10S", {}
    (folder / "imgs").mkdir(parents=True)
    for batch, images in given.items():
        batches[batch] = []
        for image in images:
            label = NAMES[classes[image]].title()
            name = f"cifar10_train_{image}_{label}.png"
            (folder / "imgs" / name).write_bytes(shapes.encode_png(pixels[image]))
            entry = {"filename": name, "data_split": "train"}
            batches[batch].append(entry | {"example_idx": str(image), "label": label})
    (folder / "labels.txt").write_text("\n".join(map(str.title, NAMES)))
    (folder / "batches.js").write_text(f"var batches = {json.dumps([batches])}\n")
    found = study.read(folder)
    assert (found.name, len(found.items), len(found.batches)) == ("cifar-10s", 1000, 40)
    assert {len(ids) for ids in found.batches.values()} == {25}
    assert (found.showings_per_person, found.repeat_positions) == (27, (5, 10))
    assert found.people_needed == 240
    right = [found.labels[np.argmax(item.gold)].lower() for item in found.items]
    assert right == [NAMES[classes[int(item.id)]] for item in found.items]
