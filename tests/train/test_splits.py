"""What is learned from and what is tested on, matched by name, as published where published."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from softlabel import Index, SoftLabels, datasets
from softlabel.errors import DataError, FileError, UnknownName
from softlabel.train import splits
from softlabel.train.splits import read_split


def test_answers_become_a_split(toy):
    made = read_split(toy.pictures, toy.votes)
    names = toy.said.index.items.tolist()
    held = made.index.items.tolist()
    learned = [name for name in names if name not in held]
    assert 8 <= len(held) <= 24  # about one in five
    assert (len(made.inputs), len(made.held)) == (len(learned), len(held))
    np.testing.assert_array_equal(made.inputs, toy.images[[names.index(n) for n in learned]])
    np.testing.assert_array_equal(made.held, toy.images[[names.index(n) for n in held]])
    each = made.teaching.each
    colours = made.index.labels.tolist()
    assert colours == ["blue", "green", "red"]  # as the file is read: by alphabet
    for row, name in enumerate(learned):
        votes = toy.said.label[toy.said.item == names.index(name)]
        said = toy.said.index.labels[votes].tolist()
        assert sorted(each.index.labels[each.label[each.item == row]].tolist()) == sorted(said)
        shares = [said.count(colour) / 5 for colour in colours]
        np.testing.assert_allclose(made.teaching.pooled[row], shares)
    assert made.named == {"images": toy.pictures, "labels": toy.votes}


def test_the_items_held_out_are_the_same_whatever_their_order(toy):
    first = set(read_split(toy.pictures, toy.votes).index.items.tolist())
    lines = (toy.folder / "votes.csv").read_text().splitlines()
    (toy.folder / "votes.csv").write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    assert set(read_split(toy.pictures, toy.votes).index.items.tolist()) == first


def test_soft_labels_become_a_split(toy):
    made = read_split(toy.pictures, toy.labels)
    assert made.teaching.each is None
    assert made.teaching.relabelled.all()


def against(toy, items: list[str]) -> str:
    index = Index(items, [], ["red", "green", "blue"])
    path = toy.folder / "held.npz"
    SoftLabels(index, np.full((len(items), 3), 1 / 3), np.full(len(items), 4)).save(path)
    return str(path)


def test_items_to_be_tested_on_are_not_learned_from(toy):
    made = read_split(toy.pictures, toy.votes, against(toy, ["picture 7", "picture 3"]))
    assert made.index.items.tolist() == ["picture 7", "picture 3"]
    assert len(made.inputs) == 78
    np.testing.assert_array_equal(made.held, toy.images[[7, 3]])
    # the classes of what is learned, in their order, whatever the order of what is tested on
    assert made.index.labels.tolist() == made.teaching.each.index.labels.tolist()
    assert made.people.index.labels.tolist() != made.index.labels.tolist()


def test_other_classes_cannot_be_tested_on(toy):
    index = Index(["picture 1"], [], ["red", "green"])
    path = toy.folder / "held.npz"
    SoftLabels(index, [[0.5, 0.5]], [4]).save(path)
    with pytest.raises(DataError, match="classes learned, blue, green, red, are not those tested"):
        read_split(toy.pictures, toy.votes, str(path))


def test_mistakes_are_named(toy):
    with pytest.raises(DataError, match=r"item 'dog' is not in .*toy.npz \(1 of 2 are not\)"):
        read_split(toy.pictures, toy.votes, against(toy, ["picture 1", "dog"]))
    with pytest.raises(DataError, match="no labels of its own; say --labels"):
        read_split(toy.pictures)
    with pytest.raises(UnknownName, match=r"'cifar10x' \(did you mean 'cifar10"):
        read_split("cifar10x")
    with pytest.raises(FileError, match="no such file"):
        read_split("nowhere.npz", toy.votes)
    few = against(toy, ["picture 1"])
    with pytest.raises(DataError, match="1 items are too few to hold one in 5 out"):
        read_split(toy.pictures, few)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"pixels": np.zeros(3)}, "holds pixels; one of images and features is needed"),
        ({"images": np.zeros((2, 8, 8, 3))}, "neither images, uint8"),
        ({"features": np.zeros((2, 8))}, "neither images, uint8"),
        ({"images": np.zeros((2, 8, 8, 1), np.uint8)}, "neither images, uint8"),
        ({"features": np.zeros((2, 3), np.float32), "items": np.array(["a"])}, "2 features and 1"),
    ],
)
def test_files_of_another_shape_are_refused(toy, arrays, message):
    path = toy.folder / "odd.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=message):
        read_split(str(path), toy.votes)


def test_numbers_are_names_where_there_are_none(toy):
    path = toy.folder / "bare.npz"
    np.savez(path, features=np.zeros((80, 4), np.float32))
    renamed = (toy.folder / "votes.csv").read_text().replace("picture ", "")
    (toy.folder / "votes.csv").write_text(renamed)
    assert read_split(str(path), toy.votes).inputs.shape[1:] == (4,)


# ── as published ─────────────────────────────────────────────────────────────────────────────


def test_the_list_held_out_of_cifar10s_is_the_published_draw():
    held = splits.read_held_10s()
    assert (len(held), len(set(held.tolist()))) == (100, 100)
    text = ",".join(map(str, sorted(held.tolist())))
    assert sha256(text.encode()).hexdigest().startswith("49e3e1ef1ef3fc40")
    assert {640, 6087, 298, 4864, 1325} <= set(held.tolist())  # the first five drawn


def test_cifar10h_is_split_as_published(data_folder):
    known = splits.load_cifar10h()
    assert (len(known.learn), len(known.held)) == (7000, 3000)
    assert np.bincount(known.gold).tolist() == [700] * 10
    train = np.load(data_folder / "cifar10s" / "train_indices.npy")
    assert sorted(map(int, known.learn)) == sorted(train.tolist())
    counts = np.load(data_folder / "cifar10h" / "cifar10h-counts.npy")
    shares = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(known.teaching.pooled, shares[[int(n) for n in known.learn]])
    np.testing.assert_allclose(
        known.people.probs, shares[[int(n) for n in known.people.index.items]]
    )
    assert not set(known.learn.tolist()) & set(known.held.tolist())


def test_cifar10s_learns_from_900_people_and_6000_classes(data_folder, tmp_path, monkeypatch):
    known = splits.load_cifar10s()
    monkeypatch.setitem(splits.PUBLISHED, "cifar10s", lambda: known)  # reading it takes a while
    made = read_split("cifar10s")
    assert (len(made.inputs), len(made.held), len(made.people)) == (6900, 3100, 3000)
    asked = made.teaching.relabelled
    assert (int(asked.sum()), int((~asked).sum())) == (900, 6000)
    assert (made.teaching.pooled[~asked].max(axis=1) == 1).all()
    assert (made.teaching.pooled[asked].max(axis=1) < 1).mean() > 0.5
    held = {str(i) for i in splits.read_held_10s()}
    assert held <= set(made.index.items.tolist())
    images = datasets.load("cifar10").arrays["images"]
    np.testing.assert_array_equal(made.held[-1], images[int(made.index.items[-1])])

    # other labels of five of them: these alone are relabelled, the rest is at its class
    index = Index(known.learn[:5], [], known.people.index.labels)
    SoftLabels(index, np.full((5, 10), 0.1), np.full(5, 3)).save(tmp_path / "mine.npz")
    other = read_split("cifar10s", str(tmp_path / "mine.npz"))
    assert np.flatnonzero(other.teaching.relabelled).tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(other.teaching.pooled[:5], 0.1)
    np.testing.assert_array_equal(other.teaching.pooled[5:], np.eye(10)[known.gold[5:]])
