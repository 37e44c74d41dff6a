"""CIFAR-10 and the sets that relabel it by plain votes."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile

import numpy as np
import pytest

from softlabel import datasets
from softlabel.datasets import MissingData, cifar10, cifar10h, cifar10n
from softlabel.errors import FileError, UnknownName


def batch(images, labels):
    """Images in the official binary form."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([labels[:, None], planes], axis=1).astype(np.uint8).tobytes()


def archive(path, batches):
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as tape:
        for name, data in batches.items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            member.size = len(data)
            tape.addfile(member, io.BytesIO(data))


# ── images ───────────────────────────────────────────────────────────────────────────────────


def test_cifar10_test(released):
    data = released("cifar10")
    images = data.arrays["images"]
    assert data.name == "cifar10/test"
    assert images.shape == (10_000, 32, 32, 3)
    assert images.dtype == np.uint8
    assert np.bincount(data.gold).tolist() == [1000] * 10
    assert data.index.items[:2].tolist() == ["0", "1"]
    assert data.index.labels.tolist()[3] == "cat"
    official = "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"
    assert hashlib.sha256(batch(images, data.gold)).hexdigest() == official


def test_cifar10_train10k_is_the_first_official_batch(released):
    data, dev = released("cifar10/train10k"), released("cifar10/dev3k")
    official = "5dd7e06a14cb22eb9f671a540d1b7c25"
    assert hashlib.md5(batch(data.arrays["images"], data.gold)).hexdigest() == official
    assert data.index.items[-1] == "train/9999"
    assert len(dev.index.items) == 3000
    assert np.array_equal(dev.arrays["images"], data.arrays["images"][:3000])


def test_cifar10_from_the_archive(own_folder):
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (10_000, 32, 32, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, 10_000, dtype=np.uint8)
    archive(own_folder / "cifar10" / cifar10.ARCHIVE, {"test_batch": batch(images, labels)})
    data = cifar10.load("test")
    assert np.array_equal(data.arrays["images"], images)
    assert np.array_equal(data.arrays["labels"], labels)
    assert np.array_equal(cifar10.gold_of_test(), labels)


def test_cifar10_train_is_five_batches_in_order(own_folder):
    record = 10_000 * cifar10.RECORD
    batches = {f"data_batch_{i}": bytes([i]) * record for i in range(1, 6)}
    archive(own_folder / "cifar10" / cifar10.ARCHIVE, batches)
    data = cifar10.load("train")
    assert data.arrays["images"].shape == (50_000, 32, 32, 3)
    assert data.arrays["labels"][::10_000].tolist() == [1, 2, 3, 4, 5]
    assert data.index.items[-1] == "train/49999"
    assert len(cifar10.load("dev3k").arrays["images"]) == 3000


def test_cifar10_short_batch(own_folder):
    archive(own_folder / "cifar10" / cifar10.ARCHIVE, {"test_batch": b"12345"})
    with pytest.raises(FileError, match=r"test_batch\.bin has 5 bytes, not 10,000 images"):
        cifar10.load()


def test_cifar10_unknown_split():
    with pytest.raises(UnknownName, match=r"no part of cifar10 called 'trains'.*'train'"):
        cifar10.load("trains")


# ── CIFAR-10H ────────────────────────────────────────────────────────────────────────────────


def test_cifar10h_counts(released, data_folder, accuracy):
    released("cifar10h")
    data = cifar10h.load("counts")
    said, counts = data.annotations, data.arrays["counts"]
    assert len(said) == 511_000
    assert said.anonymous
    assert data.index.shape == (10_000, 0, 10)
    per_image = said.votes_per_item()
    assert (per_image.min(), per_image.max(), per_image.mean()) == (47, 63, 51.1)
    assert np.array_equal(said.counts(), counts)
    probs = np.load(data_folder / "cifar10h" / "cifar10h-probs.npy")
    assert np.array_equal(counts / counts.sum(axis=1, keepdims=True), probs)
    assert round(accuracy.labels(data), 4) == 0.9524
    assert (counts.argmax(axis=1) == data.gold).mean() == 0.9921
    classes = (counts > 0).sum(axis=1)
    assert ((classes == 1).sum(), (classes == 2).sum()) == (4393, 3322)
    assert "anonymous votes" in data.notes[0]


RAW = """\
"","annotator_id","trial_index","is_attn_check","true_label","chosen_label","cifar10_test_test_idx","reaction_time"
"0",7,0,0,3,3,12,1500.5
"1",7,1,1,0,0,-99999,900.0
"2",9,0,0,3,5,12,1700.0
"3",9,1,0,1,1,9999,-3.0
"""


@pytest.mark.parametrize("kind", ["csv", "zip"])
def test_cifar10h_raw(kind, own_folder):
    folder = own_folder / "cifar10h"
    folder.mkdir()
    if kind == "csv":
        (folder / "cifar10h-raw.csv").write_text(RAW)
    else:
        with zipfile.ZipFile(folder / "cifar10h-raw.zip", "w") as box:
            box.writestr("cifar10h-raw.csv", RAW)
    data = cifar10h.load()
    said = data.annotations
    assert not said.anonymous
    assert data.index.annotators.tolist() == ["7", "9"]
    assert said.item.tolist() == [12, 12, 9999]  # the attention check is gone
    assert said.annotator.tolist() == [0, 1, 1]
    assert said.label.tolist() == [3, 5, 1]
    assert data.arrays["rt_ms"].tolist() == [1500.5, 1700.0, -3.0]
    assert data.arrays["counts"][12].tolist() == [0, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    assert data.gold is None  # CIFAR-10 itself is not here
    assert "with their annotators" in data.notes[0]


def test_cifar10h_raw_without_times(own_folder):
    (own_folder / "cifar10h").mkdir()
    text = "annotator_id,cifar10_test_test_idx,chosen_label\n1,5,2\n"
    (own_folder / "cifar10h" / "cifar10h-raw.csv").write_text(text)
    assert "rt_ms" not in cifar10h.load("raw").arrays


def test_cifar10h_raw_must_be_there_when_asked_for(own_folder):
    with pytest.raises(MissingData, match=r"cifar10h-raw\.zip.*\n.*softlabel data fetch cifar10h"):
        cifar10h.load("raw")
    with pytest.raises(UnknownName, match="no source of cifar10h called 'row'"):
        cifar10h.load("row")


def test_cifar10h_counts_of_another_shape(own_folder):
    (own_folder / "cifar10h").mkdir()
    np.save(own_folder / "cifar10h" / "cifar10h-counts.npy", np.ones((3, 10), dtype=int))
    with pytest.raises(FileError, match=r"\(3, 10\) is not counts of 10,000 images"):
        cifar10h.load("counts")


# ── CIFAR-10N ────────────────────────────────────────────────────────────────────────────────


def test_cifar10n(released):
    data = released("cifar10n")
    said, gold = data.annotations, data.gold
    assert len(said) == 150_000
    assert said.anonymous
    assert set(said.votes_per_item().tolist()) == {3}
    assert data.index.shape == (50_000, 0, 10)

    def noise(labels):
        return round(100 * float((labels != gold).mean()), 2)

    assert noise(data.arrays["aggre"]) == 9.01
    assert noise(data.arrays["worse"]) == 40.21
    assert [noise(column) for column in data.arrays["random"].T] == [17.23, 18.12, 17.64]
    counts = said.counts()
    split = counts.max(axis=1) == 1
    assert split.sum() == 3041
    assert np.array_equal(counts.argmax(axis=1)[~split], data.arrays["aggre"][~split])


def test_cifar10n_joins_cifar10_train(released):
    votes, images = released("cifar10n"), released("cifar10/train10k")
    assert np.array_equal(votes.index.items[:10_000], images.index.items)
    assert np.array_equal(votes.gold[:10_000], images.gold)


def test_cifar10n_says_how_to_convert_the_pickle(own_folder):
    with pytest.raises(MissingData, match=r"by hand[^#]*CIFAR-10_human\.pt") as caught:
        cifar10n.load()
    assert "np.savez_compressed" in str(caught.value)
    assert str(own_folder / "cifar10n") in str(caught.value)


def test_test_sets_join_by_name(released):
    images, votes, said = (released(name) for name in ("cifar10", "cifar10h", "cifar10s"))
    assert np.array_equal(images.index.items, votes.index.items)
    where = {name: i for i, name in enumerate(images.index.items.tolist())}
    picked = [where[name] for name in said.index.items.tolist()]
    assert np.array_equal(images.gold[picked], said.gold)
    assert datasets.load("cifar10h").index.labels.tolist() == said.index.labels.tolist()
