"""SVHN: digits cut out of photographs of house numbers, 32 x 32 points in colour.

Netzer et al. 2011, "Reading Digits in Natural Images with Unsupervised Feature Learning".  For
non-commercial use.  73,257 train, 26,032 test and 531,131 easier extra digits.  Beside CIFAR-10 it
is the usual set of unfamiliar pictures: no class of one is in the other.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from softlabel.datasets.base import Dataset, Info, locate
from softlabel.datasets.reading import explain_damage, number_names, read_bytes
from softlabel.errors import FileError
from softlabel.tables import Index, names

CLASSES = names([str(digit) for digit in range(10)])
COUNTS = {"test": 26_032, "train": 73_257, "extra": 531_131}
INFO = Info.of("svhn")


def load(split: str = "test") -> Dataset:
    """Load ``arrays["images"]`` uint8 (m, 32, 32, 3) and the digit of each image as gold."""
    count = COUNTS[INFO.part(split)]
    path = locate(INFO, f"{split}_32x32.mat")
    with explain_damage(path):
        held = read_matlab(read_bytes(path), "X", "y")
    x, y = held["X"], held["y"].reshape(-1)
    if x.dtype != np.uint8 or x.shape != (32, 32, 3, len(y)):
        reason = f"X is {x.dtype} {x.shape} beside {len(y)} labels, not uint8 (32, 32, 3, m)"
        raise FileError(path, reason)
    wrong = np.flatnonzero(~np.isin(y, np.arange(1, 11)))
    if len(wrong):
        raise FileError(path, f"label {wrong[0]} is {y[wrong[0]]}, not a digit 1..10", column="y")
    if len(y) != count:
        raise FileError(path, f"holds {len(y):,} digits, not the {count:,} of {split}")
    index = Index(number_names(range(count), f"{split}/"), names([]), CLASSES)
    arrays = {"images": np.ascontiguousarray(x.transpose(3, 0, 1, 2))}
    digits = y.astype(np.int64) % 10  # 10 stands for the digit 0
    return Dataset(f"svhn/{split}", INFO, index, gold=digits, arrays=arrays)


# ── MATLAB files of version 5, read strictly ─────────────────────────────────────────────────
# scipy's reader takes more kinds of file, and ends the whole process on some damaged ones.
# Format: "MAT-File Format", The MathWorks.

HEADER = 128
MATRIX, COMPRESSED = 14, 15
STORED = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8"}
STORED |= {12: "<i8", 13: "<u8"}
# the type of an array, which can be wider than the type in which its numbers are stored
ARRAYS = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
ARRAYS |= {14: "i8", 15: "u8"}
COMPLEX = 0x0800


def read_matlab(data: bytes, *wanted: str) -> dict[str, npt.NDArray[Any]]:
    """Return these numeric arrays; raise ``ValueError`` if they are absent or not as they should
    be, ``zlib.error`` if they cannot be unpacked."""
    if len(data) < HEADER or data[126:128] != b"IM":
        raise ValueError("not a MATLAB file of version 5 in little-endian order")
    arrays = {}
    for kind, body in _elements(memoryview(data)[HEADER:]):
        if kind == COMPRESSED:
            ((kind, body),) = _elements(memoryview(zlib.decompress(body)))
        if kind == MATRIX:
            name, array = _parse_matrix(body, wanted)
            if array is not None:
                arrays[name] = array
    absent = [name for name in wanted if name not in arrays]
    if absent:
        raise ValueError(f"there is no array {absent[0]!r} in it")
    return arrays


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and the bytes of each element; all of them lie within their parent."""
    at = 0
    while at < len(data):
        if len(data) - at < 8:
            raise ValueError("breaks off within a tag")
        kind, size = struct.unpack_from("<II", data, at)
        if kind >> 16:  # a small element has its bytes inside the tag
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
            if size > 4:
                raise ValueError(f"an element of {size} bytes in a tag for 4")
        else:
            start = at + 8
            end = start + (size if kind == COMPRESSED else -(-size // 8) * 8)
        if start + size > len(data):
            raise ValueError(f"an element of {size} bytes, of which {len(data) - start} are here")
        yield kind, data[start : start + size]
        at = end


def _parse_matrix(body: memoryview, wanted: tuple[str, ...]) -> tuple[str, npt.NDArray[Any] | None]:
    """Return the name of an array, and the array if it is wanted."""
    parts = list(islice(_elements(body), 4))
    if len(parts) < 4:
        return "", None  # an empty one, or of a kind without numbers
    flags, sizes, name, numbers = parts
    label = bytes(name[1]).decode("ascii")
    if label not in wanted:
        return label, None
    (flag,) = struct.unpack_from("<I", flags[1]) if len(flags[1]) == 8 else (0,)
    kind = ARRAYS.get(flag & 0xFF)
    if kind is None or flag & COMPLEX or numbers[0] not in STORED or sizes[0] != 5:
        raise ValueError(f"{label} is no array of real numbers")
    if len(sizes[1]) % 4:
        raise ValueError(f"{label} has {len(sizes[1])} bytes of sizes")
    shape = np.frombuffer(sizes[1], "<i4").tolist()
    values = np.frombuffer(numbers[1], STORED[numbers[0]])
    if min(shape, default=-1) < 0 or math.prod(shape) != len(values):
        raise ValueError(f"{label} has {len(values)} numbers, not {tuple(shape)}")
    return label, values.reshape(shape, order="F").astype(kind, copy=False)
