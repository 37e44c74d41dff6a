"""An array of pixels as a PNG file (ISO/IEC 15948), with nothing but the standard library."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError

COLOUR_TYPE = {1: 0, 3: 2, 4: 6}  # channels -> grey, RGB, RGBA


def encode(pixels: npt.NDArray[np.uint8]) -> bytes:
    """uint8 (h, w), (h, w, 3) or (h, w, 4) -> the bytes of a PNG file."""
    array = np.ascontiguousarray(pixels)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or not array.size:
        raise DataError(f"a picture is uint8 (h, w[, 3 or 4]), not {array.dtype} {array.shape}")
    height, width = array.shape[:2]
    channels = array.shape[2] if array.ndim == 3 else 1
    if channels not in COLOUR_TYPE:
        raise DataError(f"a picture has 1, 3 or 4 channels, not {channels}")
    header = struct.pack(">2I5B", width, height, 8, COLOUR_TYPE[channels], 0, 0, 0)
    rows = array.reshape(height, width * channels)
    unfiltered = np.hstack(
        [np.zeros((height, 1), np.uint8), rows]
    )  # each row: filter 0, then bytes
    body = zlib.compress(unfiltered.tobytes(), 9)
    chunks = [(b"IHDR", header), (b"IDAT", body), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def data_uri(pixels: npt.NDArray[np.uint8]) -> str:
    """The same as text that can stand in ``<img src>``."""
    return "data:image/png;base64," + base64.b64encode(encode(pixels)).decode("ascii")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
