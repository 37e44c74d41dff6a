"""CIFAR-10: 60,000 colour images of 32 x 32 points in ten classes, 50,000 train and 10,000 test.

Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images".  The authors state no
licence.  CIFAR-10H and CIFAR-10S number the test images, CIFAR-10N the train images.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.datasets.base import Dataset, File, Info, find, locate
from softlabel.datasets.reading import number_names, read_npz, reading
from softlabel.errors import FileError
from softlabel.tables import Index, Ints, names

CLASSES = names(
    ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
)
ARCHIVE = "cifar-10-binary.tar.gz"
RECORD = 1 + 3 * 32 * 32  # a label, then the three colour planes

# split: how many images, the batches that hold them, and smaller .npz files that will do as well
SPLITS: dict[str, tuple[int, tuple[str, ...], tuple[str, ...]]] = {
    "test": (10_000, ("test_batch",), ("test.npz",)),
    "train": (50_000, tuple(f"data_batch_{i}" for i in range(1, 6)), ()),
    "train10k": (10_000, ("data_batch_1",), ("dev3k.npz", "train_3000_9999.npz")),
    "dev3k": (3_000, ("data_batch_1",), ("dev3k.npz",)),
}

INFO = Info(
    name="cifar10",
    title="CIFAR-10",
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
    licence="none stated",
    files=(
        File(
            ARCHIVE,
            "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
            "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        ),
        File("test.npz", "d6266870e05f511f648dbb16af5efca06cb11079f49073c0d58bba822ac50298"),
        File("dev3k.npz", "fa8195f0e0e2950902d3222345e4547aeb7d7892a436ed4ca1f1cc0dde209663"),
        File(
            "train_3000_9999.npz",
            "d2c30fee7ec9bc69e3bd460a6cac2cbd25fc8534a301b4d84814b4a3f310e1ce",
        ),
    ),
    parts=tuple(SPLITS),
    cite="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
)


def load(split: str = "test") -> Dataset:
    """Load ``arrays["images"]`` uint8 (m, 32, 32, 3) and the class of each image as gold.

    ``train10k`` are the first 10,000 train images, ``dev3k`` the first 3,000.
    """
    count, _, _ = SPLITS[INFO.part(split)]
    pieces = list(_read_pieces(split, "images", "labels"))
    arrays = {
        name: np.concatenate([piece[name] for piece in pieces])[:count]
        for name in ("images", "labels")
    }
    before = "" if split == "test" else "train/"
    index = Index(number_names(range(count), before), names([]), CLASSES)
    return Dataset(f"cifar10/{split}", INFO, index, gold=arrays["labels"], arrays=arrays)


def gold_of_test() -> Ints | None:
    """Return the class of each test image if CIFAR-10 is here: gold for sets that relabel it."""
    if not any(find(INFO, name) for name in (ARCHIVE, "test.npz")):
        return None
    (part,) = _read_pieces("test", "labels")
    return part["labels"].astype(np.int64)


def _read_pieces(split: str, *wanted: str) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Read the arrays of a split, piece by piece, from the .npz files or else from the archive."""
    _, batches, files = SPLITS[split]
    here = [find(INFO, name) for name in files]
    if files and all(here):
        yield from (read_npz(path, *wanted) for path in here if path)
        return
    path = locate(INFO, ARCHIVE)
    with reading(path), tarfile.open(path) as tape:
        for batch in batches:
            member = tape.extractfile(f"cifar-10-batches-bin/{batch}.bin")
            rows: npt.NDArray[np.uint8] = np.frombuffer(member.read() if member else b"", np.uint8)
            if len(rows) != 10_000 * RECORD:
                raise FileError(path, f"{batch}.bin has {len(rows)} bytes, not 10,000 images")
            rows = rows.reshape(-1, RECORD)
            planes = rows[:, 1:].reshape(-1, 3, 32, 32)
            yield {"labels": rows[:, 0], "images": planes.transpose(0, 2, 3, 1)}
