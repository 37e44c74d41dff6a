"""CIFAR-100: 60,000 colour images of 32 x 32 points in 100 classes, 50,000 train and 10,000 test.

Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images".  The authors state no
licence.  The binary version is read; the Python version is a pickle, which can hold a program.
"""

import tarfile

import numpy as np

from softlabel.datasets.base import ABOUT, Dataset, Info, find, locate
from softlabel.datasets.reading import explain_damage, number_names, read_bytes
from softlabel.errors import FileError
from softlabel.tables import Index, names

ARCHIVE = "cifar-100-binary.tar.gz"
RECORD = 2 + 3 * 32 * 32  # the coarse label, the fine one, then the three colour planes
COUNTS = {"test": 10_000, "train": 50_000}

CLASSES, COARSE = (names(ABOUT["classes"][key]) for key in ("cifar100", "cifar100_coarse"))
INFO = Info.of("cifar100")


def load(split: str = "test") -> Dataset:
    """Load ``arrays["images"]`` uint8 (m, 32, 32, 3), the fine class of each image as gold, and
    ``arrays["coarse"]``, its group among ``COARSE``."""
    count, name = COUNTS[INFO.part(split)], f"{split}.bin"
    path = find(INFO, name)
    if path is not None:
        data = read_bytes(path)
    else:
        path = locate(INFO, ARCHIVE)
        with explain_damage(path), tarfile.open(path) as tape:
            member = tape.extractfile(f"cifar-100-binary/{name}")
            data = member.read() if member else b""
    if len(data) != count * RECORD:
        raise FileError(path, f"{name} has {len(data):,} bytes, not {count:,} images of {RECORD:,}")
    rows = np.frombuffer(data, np.uint8).reshape(-1, RECORD)
    for level, codes, classes in (("coarse", rows[:, 0], COARSE), ("fine", rows[:, 1], CLASSES)):
        for row in np.flatnonzero(codes >= len(classes)):
            reason = f"{level} label {codes[row]} is not 0..{len(classes) - 1}"
            raise FileError(path, f"{name}, image {row}: {reason}")
    images = np.ascontiguousarray(rows[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    index = Index(number_names(range(count), f"{split}/"), names([]), CLASSES)
    gold, arrays = rows[:, 1].astype(np.int64), {"images": images, "coarse": rows[:, 0]}
    near = (
        "Some classes are near to CIFAR-10's (pickup_truck, bus, streetcar to truck and "
        "automobile, wolf and fox to dog, tiger and lion to cat): not all of it is far away."
    )
    return Dataset(f"cifar100/{split}", INFO, index, gold=gold, arrays=arrays, notes=(near,))
