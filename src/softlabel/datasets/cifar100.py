"""CIFAR-100: 60,000 colour images of 32 x 32 points in 100 classes, 50,000 train and 10,000 test.

Krizhevsky 2009, "Learning Multiple Layers of Features from Tiny Images".  The authors state no
licence.  The binary version is read; the Python version is a pickle, which can hold a program.
"""

from __future__ import annotations

import tarfile

import numpy as np

from softlabel.datasets.base import Dataset, File, Info, find, locate
from softlabel.datasets.reading import number_names, read_bytes, reading
from softlabel.errors import FileError
from softlabel.tables import Index, names

ARCHIVE = "cifar-100-binary.tar.gz"
RECORD = 2 + 3 * 32 * 32  # the coarse label, the fine one, then the three colour planes
COUNTS = {"test": 10_000, "train": 50_000}

# fmt: off
COARSE = names([
    "aquatic_mammals", "fish", "flowers", "food_containers", "fruit_and_vegetables",
    "household_electrical_devices", "household_furniture", "insects", "large_carnivores",
    "large_man-made_outdoor_things", "large_natural_outdoor_scenes",
    "large_omnivores_and_herbivores", "medium_mammals", "non-insect_invertebrates", "people",
    "reptiles", "small_mammals", "trees", "vehicles_1", "vehicles_2",
])
CLASSES = names([
    "apple", "aquarium_fish", "baby", "bear", "beaver", "bed", "bee", "beetle", "bicycle", "bottle",
    "bowl", "boy", "bridge", "bus", "butterfly", "camel", "can", "castle", "caterpillar", "cattle",
    "chair", "chimpanzee", "clock", "cloud", "cockroach", "couch", "crab", "crocodile", "cup",
    "dinosaur", "dolphin", "elephant", "flatfish", "forest", "fox", "girl", "hamster", "house",
    "kangaroo", "keyboard", "lamp", "lawn_mower", "leopard", "lion", "lizard", "lobster", "man",
    "maple_tree", "motorcycle", "mountain", "mouse", "mushroom", "oak_tree", "orange", "orchid",
    "otter", "palm_tree", "pear", "pickup_truck", "pine_tree", "plain", "plate", "poppy",
    "porcupine", "possum", "rabbit", "raccoon", "ray", "road", "rocket", "rose", "sea", "seal",
    "shark", "shrew", "skunk", "skyscraper", "snail", "snake", "spider", "squirrel", "streetcar",
    "sunflower", "sweet_pepper", "table", "tank", "telephone", "television", "tiger", "tractor",
    "train", "trout", "tulip", "turtle", "wardrobe", "whale", "willow_tree", "wolf", "woman",
    "worm",
])
# fmt: on

INFO = Info(
    name="cifar100",
    title="CIFAR-100",
    home="https://www.cs.toronto.edu/~kriz/cifar.html",
    licence="none stated",
    files=(
        File(
            ARCHIVE,
            "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
            "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        ),
        File("test.bin", "d8b1e6b7b3bee4020055f0699b111f60b1af1e262aeb93a0b659061746f8224a"),
        File("train.bin", "f31298fc616915fa142368359df1c4ca2ae984d6915ca468b998a5ec6aeebf29"),
    ),
    parts=tuple(COUNTS),
    cite="Krizhevsky 2009, Learning Multiple Layers of Features from Tiny Images",
)


def load(split: str = "test") -> Dataset:
    """Load ``arrays["images"]`` uint8 (m, 32, 32, 3), the fine class of each image as gold, and
    ``arrays["coarse"]``, its group among ``COARSE``."""
    count, name = COUNTS[INFO.part(split)], f"{split}.bin"
    path = find(INFO, name)
    if path is not None:
        data = read_bytes(path)
    else:
        path = locate(INFO, ARCHIVE)
        with reading(path), tarfile.open(path) as tape:
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
