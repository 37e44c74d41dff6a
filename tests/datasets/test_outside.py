"""Pictures from outside: files of the exact format made up here, and pictures made of pictures."""

from __future__ import annotations

import io
import sys
import tarfile

import numpy as np
import pytest
from scipy.io import savemat
from sklearn.datasets import load_digits

from softlabel import datasets
from softlabel.datasets import cifar10, cifar100, shifted, svhn
from softlabel.datasets.svhn import read_matlab
from softlabel.errors import DataError, FileError, MissingExtra

RNG = np.random.default_rng(0)


# ── SVHN ─────────────────────────────────────────────────────────────────────────────────────


def mat(folder, x, y, name="test_32x32.mat", **options):
    (folder / "svhn").mkdir(exist_ok=True)
    path = folder / "svhn" / name
    savemat(path, {"X": x, "y": y}, **options)
    return path


@pytest.fixture
def twenty(monkeypatch):
    """The test split as if it held 20 digits, in the layout of the release."""
    monkeypatch.setitem(svhn.COUNTS, "test", 20)
    x = RNG.integers(0, 256, (32, 32, 3, 20), dtype=np.uint8)
    return x, (np.arange(20, dtype=np.uint8) % 10 + 1)[:, None]


@pytest.mark.parametrize("compressed", [False, True])
def test_svhn(twenty, own_folder, compressed):
    x, y = twenty
    mat(own_folder, x, y, do_compression=compressed)
    data = datasets.load("svhn/test")
    images = data.arrays["images"]
    assert images.shape == (20, 32, 32, 3)
    assert images.dtype == np.uint8
    assert images.flags.c_contiguous
    np.testing.assert_array_equal(images[7, 3, 5], x[3, 5, :, 7])
    assert data.gold[:10].tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0]  # 10 is the digit 0
    assert data.index.items[0] == "test/0"
    assert svhn.load().name == "svhn/test"


def test_svhn_is_the_whole_split_or_refused(own_folder):
    path = mat(own_folder, np.zeros((32, 32, 3, 5), np.uint8), np.ones((5, 1), np.uint8))
    with pytest.raises(FileError, match=r"holds 5 digits, not the 26,032 of test") as caught:
        svhn.load()
    assert caught.value.path == path
    assert "sha256 is" in datasets.verify("svhn")[0]


WRONG = [
    ((32, 32, 3, 19), np.uint8, 1, "beside 20 labels"),
    ((32, 32, 20, 3), np.uint8, 1, "not uint8 (32, 32, 3, m)"),
    ((32, 32, 3, 20), np.float64, 1, "X is float64"),
    ((32, 32, 3, 20), np.uint8, 0, "label 0 is 0, not a digit 1..10"),
    ((32, 32, 3, 20), np.uint8, 11, "label 0 is 11"),
]


@pytest.mark.parametrize(("shape", "kind", "label", "words"), WRONG)
def test_svhn_of_another_shape(twenty, own_folder, shape, kind, label, words):
    path = mat(own_folder, np.zeros(shape, kind), np.full((20, 1), label, np.uint8))
    with pytest.raises(FileError) as caught:
        svhn.load()
    assert words in str(caught.value)
    assert str(path) in str(caught.value)


def test_svhn_damaged(twenty, own_folder):
    """Cut, emptied, overwritten, or with any byte of its headers changed: told by name, or read."""
    x, y = twenty
    path = mat(own_folder, x, y)
    whole = path.read_bytes()
    damaged = [b"", whole[:100], whole[: len(whole) // 2], b"x" * 500, whole[:-3], whole[4:]]
    rng = np.random.default_rng(1)
    places = np.r_[116:190, len(whole) - 80 : len(whole)]  # around X and y, not its points
    for _ in range(400):
        bad = bytearray(whole)
        bad[rng.choice(places)] = rng.integers(0, 256)
        damaged.append(bytes(bad))
    refused = 0
    for bad in damaged:
        path.write_bytes(bad)
        try:
            assert len(svhn.load().gold) == 20
        except FileError as error:
            refused += 1
            assert str(path) in str(error)  # noqa: PT017 - most damages are refused, not all
    assert refused >= 20


def test_svhn_without_its_arrays(own_folder):
    (own_folder / "svhn").mkdir()
    savemat(own_folder / "svhn" / "test_32x32.mat", {"z": np.zeros(3)})
    with pytest.raises(FileError, match=r"test_32x32\.mat: damaged or not what it should be"):
        svhn.load()


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8", "u8", "i8"])
def test_arrays_that_scipy_writes(tmp_path, kind, compressed):
    """Every type, with others beside it that are not asked for; small ones lie in their tags."""
    made = {
        "large": RNG.integers(0, 100, (3, 4, 5)).astype(kind),
        "y": np.array([[7]], dtype=kind),
        "empty": np.zeros((0, 3), dtype=kind),
        "text": "hello",
        "cell": np.array([1, "a"], dtype=object),
        "complex": np.array([1j]),
    }
    savemat(tmp_path / "a.mat", made, do_compression=compressed)
    found = read_matlab((tmp_path / "a.mat").read_bytes(), "large", "y", "empty")
    for name, array in found.items():
        assert array.dtype == made[name].dtype
        np.testing.assert_array_equal(array, made[name])
    for name in ("text", "cell", "complex", "nothing"):
        with pytest.raises(ValueError, match=name):
            read_matlab((tmp_path / "a.mat").read_bytes(), name)


# ── CIFAR-100 ────────────────────────────────────────────────────────────────────────────────


def records(images, coarse, fine):
    """Images in the official binary form."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    return np.concatenate([coarse[:, None], fine[:, None], planes], axis=1).astype(np.uint8)


@pytest.fixture
def hundred(monkeypatch):
    """The test split as if it held 100 images, one per class."""
    monkeypatch.setitem(cifar100.COUNTS, "test", 100)
    images = RNG.integers(0, 256, (100, 32, 32, 3), dtype=np.uint8)
    return images, np.arange(100) // 5, np.arange(100)


def put(folder, data, name):
    (folder / "cifar100").mkdir(exist_ok=True)
    path = folder / "cifar100" / name
    if name.endswith(".tar.gz"):
        with tarfile.open(path, "w:gz", compresslevel=1) as tape:
            member = tarfile.TarInfo("cifar-100-binary/test.bin")
            member.size = len(data)
            tape.addfile(member, io.BytesIO(data))
    else:
        path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", [cifar100.ARCHIVE, "test.bin"])
def test_cifar100(hundred, own_folder, name):
    images, coarse, fine = hundred
    put(own_folder, records(images, coarse, fine).tobytes(), name)
    data = datasets.load("cifar100/test")
    np.testing.assert_array_equal(data.arrays["images"], images)
    np.testing.assert_array_equal(data.gold, fine)
    np.testing.assert_array_equal(data.arrays["coarse"], coarse)
    assert data.index.labels[[0, 58, 99]].tolist() == ["apple", "pickup_truck", "worm"]
    assert "pickup_truck" in data.notes[0]


def test_cifar100_names():
    assert len(cifar100.CLASSES) == 100
    assert sorted(cifar100.CLASSES.tolist()) == cifar100.CLASSES.tolist()
    assert len(set(cifar100.COARSE.tolist())) == 20
    assert not set(cifar100.CLASSES.tolist()) & set(cifar10.CLASSES.tolist())


def test_cifar100_at_its_real_size(own_folder):
    put(own_folder, bytes(10_000 * 3074), "test.bin")
    assert cifar100.load().arrays["images"].shape == (10_000, 32, 32, 3)
    put(own_folder, bytes(10_000 * 3073), "test.bin")  # CIFAR-10 under another name
    with pytest.raises(FileError, match=r"test\.bin has 30,730,000 bytes, not 10,000 images"):
        cifar100.load()


def test_cifar100_damaged(hundred, own_folder):
    images, coarse, fine = hundred
    wrong = records(images, coarse, fine)
    wrong[7, 1] = 100
    put(own_folder, wrong.tobytes(), "test.bin")
    with pytest.raises(FileError, match=r"test\.bin, image 7: fine label 100 is not 0\.\.99"):
        cifar100.load()
    wrong[3, 0] = 20
    put(own_folder, wrong.tobytes(), "test.bin")
    with pytest.raises(FileError, match=r"image 3: coarse label 20 is not 0\.\.19"):
        cifar100.load()
    (own_folder / "cifar100" / "test.bin").unlink()
    path = put(own_folder, wrong.tobytes(), cifar100.ARCHIVE)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(FileError, match=r"cifar-100-binary\.tar\.gz: damaged"):
        cifar100.load()


# ── made of what is at hand ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("grid", [2, 4, 8])
def test_patches_change_places_and_nothing_else(grid):
    images = RNG.integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    moved = shifted.permuted_patches(images, grid, seed=1)
    side = 32 // grid

    def patches(picture):
        return [
            picture[r : r + side, c : c + side].tobytes()
            for r in range(0, 32, side)
            for c in range(0, 32, side)
        ]

    orders = set()
    for before, after in zip(images, moved, strict=True):
        places = {patch: place for place, patch in enumerate(patches(before))}
        order = tuple(places[patch] for patch in patches(after))
        assert sorted(order) == list(range(grid * grid))
        assert order != tuple(range(grid * grid))
        orders.add(order)
    assert len(orders) > 1  # each picture its own
    np.testing.assert_array_equal(moved, shifted.permuted_patches(images, grid, seed=1))
    assert (moved != shifted.permuted_patches(images, grid, seed=2)).any()


def test_no_picture_stays_as_it_was():
    """Of 4 patches one permutation in 24 changes nothing; of 500 pictures none has it."""
    images = np.tile(np.arange(4, dtype=np.uint8).reshape(1, 2, 2, 1), (500, 1, 1, 3))
    moved = shifted.permuted_patches(images, 2)
    assert (moved != images).any(axis=(1, 2, 3)).all()


def test_noise():
    flat, bell = shifted.uniform_noise(50), shifted.gaussian_noise(50)
    for noise in (flat, bell):
        assert noise.shape == (50, 32, 32, 3)
        assert noise.dtype == np.uint8
        assert noise.mean() == pytest.approx(127.5, abs=0.5)
    assert flat.std() == pytest.approx(255 / np.sqrt(12), rel=0.01)
    assert bell.std() == pytest.approx(62.2, rel=0.02)  # a little under 64: the ends are cut
    assert set(np.unique(flat)) == set(range(256))
    np.testing.assert_array_equal(flat, shifted.uniform_noise(50))
    assert (flat != shifted.uniform_noise(50, seed=1)).any()
    assert shifted.gaussian_noise(2, size=8, mean=0, std=0).max() == 0


def test_held_out_classes():
    classes = RNG.integers(0, 5, 100)
    inside, outside = shifted.held_out(classes, [1, 4])
    assert sorted([*inside, *outside]) == list(range(100))
    assert set(classes[outside]) == {1, 4}
    assert set(classes[inside]) == {0, 2, 3}


def test_digits():
    pictures, classes = shifted.digits()
    small, expected = load_digits(return_X_y=True)
    assert pictures.shape == (1797, 32, 32, 3)
    assert pictures.dtype == np.uint8
    np.testing.assert_array_equal(classes, expected)
    assert (pictures.min(), pictures.max()) == (0, 255)
    np.testing.assert_array_equal(pictures[..., 0], pictures[..., 2])
    np.testing.assert_array_equal(
        pictures[:, ::4, ::4, 0], np.rint(small * 255 / 16).reshape(-1, 8, 8)
    )
    np.testing.assert_array_equal(pictures[:, 3::4, 2::4], pictures[:, ::4, ::4])


def test_digits_need_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match=r"scikit-learn needs .* 'softlabel\[sklearn\]'"):
        shifted.digits()


REFUSED = [
    (lambda: shifted.permuted_patches(np.zeros((1, 32, 32, 3), np.uint8), 5), "grid = 5"),
    (lambda: shifted.permuted_patches(np.zeros((1, 32, 32, 3), np.uint8), 1), "grid = 1"),
    (lambda: shifted.permuted_patches(np.zeros((1, 32, 32, 3))), "uint8"),
    (lambda: shifted.held_out([0, 1], [2]), "no item has class 2"),
    (lambda: shifted.held_out([0, 1], [0, 1]), "nothing is left inside"),
    (lambda: shifted.digits(20), "size = 20 is not a multiple of 8"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()
