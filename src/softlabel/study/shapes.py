"""Small pictures that are ambiguous by a known amount: drawn shapes that blend into each other.

A picture blends the signed distances (how far is this pixel inside or outside the outline?) of
one to three shapes with known weights.  Its true distribution is a *definition*, a function of
those weights: nobody has measured how real people see these pictures.

Pictures are written as PNG files (ISO/IEC 15948) with the standard library alone.
"""

import base64
import struct
import zlib

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError
from softlabel.tables import Floats

SIZE = 64  # pixels
SHARPNESS = 1.5  # a blend of 70 and 30 is seen as the first shape a little more often than 70 %
LAPSE = 0.02  # probability that is shared by all classes, whatever the picture shows
PAPER, INK = np.array([246.0, 242.0, 233.0]), np.array([52.0, 78.0, 104.0])
COLOUR_TYPE = {1: 0, 3: 2, 4: 6}  # PNG: channels -> grey, RGB, RGBA

Pixels = npt.NDArray[np.uint8]


def _around(count: int, radius: float = 1.0, start: float = 0.25) -> Floats:
    """Return (count, 2) corners on a circle, the first at ``start`` turns (0.25 is the top)."""
    angle = 2 * np.pi * (start + np.arange(count) / count)
    return radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _heart() -> Floats:
    t = 2 * np.pi * np.arange(60) / 60
    x = 16 * np.sin(t) ** 3
    y = 13 * np.cos(t) - 5 * np.cos(2 * t) - 2 * np.cos(3 * t) - np.cos(4 * t)
    return np.stack([x, y + 2.5], axis=1) / 23


def _cross(arm: float = 0.22) -> Floats:
    """Return the corners of one arm of half-width ``arm``, turned four times."""
    corners = np.array([(arm, arm), (arm, 0.7), (-arm, 0.7)])
    turns = [((1, 0), (0, 1)), ((0, 1), (-1, 0)), ((-1, 0), (0, -1)), ((0, -1), (1, 0))]
    return np.concatenate([corners @ np.array(turn) for turn in turns])


OUTLINES: dict[str, Floats] = {
    "circle": _around(60, 0.6),
    "square": _around(4, 0.76, 0.125),
    "triangle": _around(3, 0.84) - [0.0, 0.08],
    "star": np.stack([_around(5, 0.82), _around(5, 0.34, 0.25 + 0.1)], axis=1).reshape(10, 2),
    "cross": _cross(),
    "heart": _heart(),
}
LABELS = tuple(OUTLINES)


def draw_weights(count: int, rng: np.random.Generator) -> Floats:
    """Draw (count, k) weights of the shapes in each picture: about a third are nearly pure, half
    blend two shapes, the rest blend three."""
    rows = np.zeros((count, len(LABELS)))
    for row in rows:
        kind = rng.choice(3, p=[0.3, 0.5, 0.2])
        chosen = rng.permutation(len(LABELS))[: kind + 1 if kind else 2]
        main = rng.uniform(0.92, 1.0) if kind == 0 else rng.uniform(0.4, 0.85)
        rest = rng.dirichlet(np.full(len(chosen) - 1, 4.0))
        row[chosen] = [main, *(1 - main) * rest]
    return rows


def compute_truth(blend: Floats) -> Floats:
    """Return the (m, k) distribution by which simulated people see blends: the weights to the power
    1.5, normalised, with 2 % shared equally by all classes."""
    seen = np.asarray(blend) ** SHARPNESS
    seen = seen / seen.sum(axis=1, keepdims=True)
    return np.asarray((1 - LAPSE) * seen + LAPSE / seen.shape[1])


def distance(points: Floats, outline: Floats) -> Floats:
    """Return the (n,) signed distances of (n, 2) points to a closed polygon: negative inside."""
    nearest, inside = np.full(len(points), np.inf), np.zeros(len(points), dtype=np.bool_)
    x, y = points.T
    for (ax, ay), (bx, by) in zip(outline, np.roll(outline, -1, axis=0), strict=True):
        dx, dy = bx - ax, by - ay
        along = np.clip(((x - ax) * dx + (y - ay) * dy) / (dx**2 + dy**2), 0, 1)
        nearest = np.minimum(nearest, (x - ax - along * dx) ** 2 + (y - ay - along * dy) ** 2)
        if dy:  # a ray to the right that crosses the outline an odd number of times starts inside
            inside ^= ((ay > y) != (by > y)) & (x < ax + (y - ay) / dy * dx)
    return np.asarray(np.where(inside, -1, 1) * np.sqrt(nearest))


def draw(blend: Floats, rng: np.random.Generator, size: int = SIZE) -> Pixels:
    """Draw one (k,) blend, slightly turned, moved and scaled, with grain: (size, size, 3)."""
    turn, scale = rng.normal(0, 0.08), rng.uniform(1.05, 1.2)
    shift = rng.normal(0, 0.04, 2)
    step = 2 / size
    grid = np.arange(size) * step - 1 + step / 2
    x, y = np.meshgrid(grid - shift[0], -grid - shift[1])
    turned = [x * np.cos(turn) - y * np.sin(turn), x * np.sin(turn) + y * np.cos(turn)]
    points = np.stack([axis.ravel() for axis in turned], axis=1) / scale
    level = np.zeros(len(points))
    for weight, outline in zip(blend, OUTLINES.values(), strict=True):
        if weight > 0:
            level += weight * distance(points, outline)
    cover = np.clip(0.5 - level.reshape(size, size) * scale / (1.5 * step), 0, 1)  # soft edge
    picture = PAPER + cover[:, :, None] * (INK - PAPER)
    grain = rng.normal(0, 5, (size, size, 1))
    return np.asarray(np.clip(np.round(picture + grain), 0, 255), dtype=np.uint8)


def encode_png(pixels: Pixels) -> bytes:
    """Return the bytes of a PNG file of uint8 pixels (h, w), (h, w, 3) or (h, w, 4)."""
    array = np.ascontiguousarray(pixels)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or not array.size:
        raise DataError(f"a picture is uint8 (h, w[, 3 or 4]), not {array.dtype} {array.shape}")
    height, width = array.shape[:2]
    channels = array.shape[2] if array.ndim == 3 else 1
    if channels not in COLOUR_TYPE:
        raise DataError(f"a picture has 1, 3 or 4 channels, not {channels}")
    header = struct.pack(">2I5B", width, height, 8, COLOUR_TYPE[channels], 0, 0, 0)
    rows = array.reshape(height, width * channels)
    unfiltered = np.hstack([np.zeros((height, 1), np.uint8), rows])  # each row: filter 0, bytes
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(unfiltered.tobytes(), 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def png_data_uri(pixels: Pixels) -> str:
    """Return the PNG file as text for ``<img src>``."""
    return "data:image/png;base64," + base64.b64encode(encode_png(pixels)).decode("ascii")
