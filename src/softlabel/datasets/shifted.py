"""Pictures that a model was not trained on, made of what is at hand: no download.

Near to far: classes held out of training, pictures whose patches are permuted, scikit-learn's
handwritten digits, noise.
"""

import numpy as np
import numpy.typing as npt

from softlabel.errors import DataError, MissingExtra
from softlabel.tables import Ints

Pictures = npt.NDArray[np.uint8]


def held_out(classes: Ints, out: Ints) -> tuple[Ints, Ints]:
    """Return the rows of items inside, and of those whose class is held ``out`` of training.

    >>> held_out([3, 0, 5, 3], [3])
    (array([1, 2]), array([0, 3]))
    """
    codes = np.asarray(classes)
    absent = sorted(set(np.asarray(out).tolist()) - set(codes.tolist()))
    if absent:
        raise DataError(f"no item has class {absent[0]}, so it cannot be held out")
    gone = np.isin(codes, out)
    if gone.all():
        raise DataError("every class is held out; nothing is left inside")
    return np.flatnonzero(~gone), np.flatnonzero(gone)


def permuted_patches(images: Pictures, grid: int = 4, seed: int = 0) -> Pictures:
    """Cut each picture into ``grid`` x ``grid`` patches and permute them: its colours and textures
    stay, what it shows does not.

    Every picture has its own permutation, which is never the identity.
    """
    images = np.asarray(images)
    if images.dtype != np.uint8 or images.ndim != 4:
        raise DataError(f"pictures are uint8 (m, h, w, c); got {images.dtype} {images.shape}")
    m, height, width, colours = images.shape
    if grid < 2 or height % grid or width % grid:
        raise DataError(f"grid = {grid}: {height} x {width} points do not divide so, or not at all")
    rows, columns = height // grid, width // grid
    patches = images.reshape(m, grid, rows, grid, columns, colours).swapaxes(2, 3)
    patches = patches.reshape(m, grid * grid, rows, columns, colours)
    rng, identity = np.random.default_rng(seed), np.arange(grid * grid)
    order = rng.permuted(np.tile(identity, (m, 1)), axis=1)
    while len(still := np.flatnonzero((order == identity).all(axis=1))):
        order[still] = rng.permuted(order[still], axis=1)
    moved = np.take_along_axis(patches, order[:, :, None, None, None], axis=1)
    laid = moved.reshape(m, grid, grid, rows, columns, colours).swapaxes(2, 3)
    return np.ascontiguousarray(laid.reshape(images.shape))


def uniform_noise(m: int, size: int = 32, seed: int = 0) -> Pictures:
    """Return (m, size, size, 3) points drawn uniformly from 0 to 255."""
    return np.random.default_rng(seed).integers(0, 256, (m, size, size, 3), dtype=np.uint8)


def gaussian_noise(
    m: int, size: int = 32, seed: int = 0, mean: float = 127.5, std: float = 64.0
) -> Pictures:
    """Return (m, size, size, 3) points drawn from a normal distribution, clipped to 0 to 255."""
    drawn = np.random.default_rng(seed).normal(mean, std, (m, size, size, 3))
    return np.clip(np.rint(drawn), 0, 255).astype(np.uint8)


def digits(size: int = 32) -> tuple[Pictures, Ints]:
    """Return (1797, size, size, 3) the handwritten digits of scikit-learn, in grey, each of their
    8 x 8 points repeated; and which digit each is.

    Alpaydin & Kaynak 1998, "Optical Recognition of Handwritten Digits" (UCI).
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as missing:
        raise MissingExtra("the digits of scikit-learn", "sklearn") from missing

    if size < 8 or size % 8:
        raise DataError(f"size = {size} is not a multiple of 8, the size of the digits")
    small, classes = load_digits(return_X_y=True)
    grey = np.rint(small.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)  # from 0..16
    large = grey.repeat(size // 8, axis=1).repeat(size // 8, axis=2)
    return np.repeat(large[..., None], 3, axis=3), np.asarray(classes, dtype=np.int64)
