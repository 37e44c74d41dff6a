"""SVHN: digits cut out of photographs of house numbers, 32 x 32 points in colour.

Netzer et al. 2011, "Reading Digits in Natural Images with Unsupervised Feature Learning".  For
non-commercial use.  73,257 train, 26,032 test and 531,131 easier extra digits.  Beside CIFAR-10 it
is the usual set of pictures that a model was not taught about: no class of one is in the other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from softlabel.datasets._fetch import locate
from softlabel.datasets._matlab import matrices
from softlabel.datasets._read import content, numbered, reading
from softlabel.datasets.base import Dataset, File, Info
from softlabel.errors import FileError
from softlabel.tables import Index, names

CLASSES = names([str(digit) for digit in range(10)])
COUNTS = {"test": 26_032, "train": 73_257, "extra": 531_131}

INFO = Info(
    name="svhn",
    title="Street View House Numbers, cropped digits",
    home="http://ufldl.stanford.edu/housenumbers/",
    licence="non-commercial use only",
    files=(
        File("test_32x32.mat", "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b"),
        File("train_32x32.mat", "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8"),
        File("extra_32x32.mat", "a133a4beb38a00fcdda90c9489e0c04f900b660ce8a316a5e854838379a71eb3"),
    ),
    parts=tuple(COUNTS),
    by_hand="""\
Download test_32x32.mat (64 MB; train_32x32.mat 182 MB, extra_32x32.mat 1.3 GB) from
http://ufldl.stanford.edu/housenumbers/ (Format 2: Cropped Digits).""",
    cite="Netzer et al. 2011, Reading Digits in Natural Images with Unsupervised Feature Learning",
)


def load(split: str = "test") -> Dataset:
    """``arrays["images"]`` uint8 (m, 32, 32, 3) and the digit of each image as gold."""
    count = COUNTS[INFO.part(split)]
    path = locate(INFO, f"{split}_32x32.mat")
    images, digits = _arrays(path)
    if len(digits) != count:
        raise FileError(path, f"holds {len(digits):,} digits, not the {count:,} of {split}")
    index = Index(numbered(range(count), f"{split}/"), names([]), CLASSES)
    return Dataset(f"svhn/{split}", INFO, index, gold=digits, arrays={"images": images})


def _arrays(path: Path) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Images (m, 32, 32, 3) and digits (m,) of a MATLAB file."""
    with reading(path):
        held = matrices(content(path), "X", "y")
    x, y = held["X"], held["y"].reshape(-1)
    if x.dtype != np.uint8 or x.shape != (32, 32, 3, len(y)):
        told = f"X is {x.dtype} {x.shape} beside {len(y)} labels, not uint8 (32, 32, 3, m)"
        raise FileError(path, told)
    wrong = np.flatnonzero(~np.isin(y, np.arange(1, 11)))
    if len(wrong):
        raise FileError(path, f"label {wrong[0]} is {y[wrong[0]]}, not a digit 1..10", column="y")
    # 10 stands for the digit 0
    return np.ascontiguousarray(x.transpose(3, 0, 1, 2)), y.astype(np.int64) % 10
