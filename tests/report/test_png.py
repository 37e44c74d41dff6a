"""A PNG decodes back to the same pixels, read here by the letter of the standard."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest

from softlabel.errors import DataError
from softlabel.study import shapes


def decode(data: bytes) -> np.ndarray:
    """An independent reader of the few PNGs we write: 8 bits, filter 0, no interlace."""
    assert data[:8] == bytes([137, 80, 78, 71, 13, 10, 26, 10])
    place, chunks = 8, []
    while place < len(data):
        (size,) = struct.unpack(">I", data[place : place + 4])
        name, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        (crc,) = struct.unpack(">I", data[place + 8 + size : place + 12 + size])
        assert crc == zlib.crc32(name + body)
        chunks.append((name, body))
        place += 12 + size
    assert [name for name, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert (depth, rest) == (8, [0, 0, 0])
    channels = {0: 1, 2: 3, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(chunks[1][1]), np.uint8).reshape(height, -1)
    assert (rows[:, 0] == 0).all()
    pixels = rows[:, 1:].reshape(height, width, channels)
    return pixels[:, :, 0] if channels == 1 else pixels


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (7, 4, 3), (2, 9, 4)])
def test_pixels_come_back(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.testing.assert_array_equal(decode(shapes.encode_png(pixels)), pixels)


def test_a_view_that_is_not_contiguous_comes_back():
    pixels = np.arange(60, dtype=np.uint8).reshape(6, 10)[::2, ::-1]
    np.testing.assert_array_equal(decode(shapes.encode_png(pixels)), pixels)


def test_the_uri_holds_the_same_bytes():
    pixels = np.zeros((2, 2), dtype=np.uint8)
    head, _, body = shapes.png_data_uri(pixels).partition(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(body) == shapes.encode_png(pixels)


@pytest.mark.parametrize(
    ("pixels", "named"),
    [
        (np.zeros((2, 2)), "float64"),
        (np.zeros((2, 2, 2), np.uint8), "not 2"),
        (np.zeros(4, np.uint8), r"\(4,\)"),
        (np.zeros((0, 4), np.uint8), r"\(0, 4\)"),
    ],
)
def test_what_is_no_picture_is_refused(pixels, named):
    with pytest.raises(DataError, match=named):
        shapes.encode_png(pixels)
