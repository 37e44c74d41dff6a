"""Numeric arrays of a MATLAB file, version 5, read strictly.

scipy's reader takes more kinds of file, and ends the whole process on some damaged ones.
Format: "MAT-File Format", The MathWorks.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

HEADER = 128
MATRIX, COMPRESSED = 14, 15
TYPES = {1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8"}
TYPES |= {12: "<i8", 13: "<u8"}
# what an array is, which can be wider than how its numbers are kept
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4"}
CLASSES |= {14: "i8", 15: "u8"}
COMPLEX = 0x0800


def matrices(data: bytes, *wanted: str) -> dict[str, npt.NDArray[Any]]:
    """These arrays of a file's bytes; ``ValueError`` if they are not there or not as they should
    be, ``zlib.error`` if they cannot be unpacked."""
    if len(data) < HEADER or data[126:128] != b"IM":
        raise ValueError("not a MATLAB file of version 5 in little-endian order")
    found = {}
    for kind, body in _elements(memoryview(data)[HEADER:]):
        if kind == COMPRESSED:
            ((kind, body),) = _elements(memoryview(zlib.decompress(body)))
        if kind == MATRIX:
            name, array = _matrix(body, wanted)
            if array is not None:
                found[name] = array
    absent = [name for name in wanted if name not in found]
    if absent:
        raise ValueError(f"there is no array {absent[0]!r} in it")
    return found


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The type and the bytes of each element; all of them lie within their parent."""
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


def _matrix(body: memoryview, wanted: tuple[str, ...]) -> tuple[str, npt.NDArray[Any] | None]:
    """The name of an array, and the array if it is wanted."""
    parts = list(islice(_elements(body), 4))
    if len(parts) < 4:
        return "", None  # an empty one, or of a kind without numbers
    flags, sizes, name, numbers = parts
    label = bytes(name[1]).decode("ascii")
    if label not in wanted:
        return label, None
    (flag,) = struct.unpack_from("<I", flags[1]) if len(flags[1]) == 8 else (0,)
    kind = CLASSES.get(flag & 0xFF)
    if kind is None or flag & COMPLEX or numbers[0] not in TYPES or sizes[0] != 5:
        raise ValueError(f"{label} is no array of real numbers")
    if len(sizes[1]) % 4:
        raise ValueError(f"{label} has {len(sizes[1])} bytes of sizes")
    shape = np.frombuffer(sizes[1], "<i4").tolist()
    values = np.frombuffer(numbers[1], TYPES[numbers[0]])
    count = 1
    for side in shape:
        count *= side
    if min(shape, default=-1) < 0 or count != len(values):
        raise ValueError(f"{label} has {len(values)} numbers, not {tuple(shape)}")
    return label, values.reshape(shape, order="F").astype(kind, copy=False)
