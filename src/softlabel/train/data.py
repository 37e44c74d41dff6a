"""Items as tensors: the inputs of an epoch, made all at once, and pictures as pixels in [0, 1].

Pictures stay bytes, in the order (item, row, column, colour): seen as (item, colour, row, column)
this is the layout ``channels_last`` that convolutions are fastest with, and no copy is needed.
Attacks, ODIN and sharpness work in pixel space, with the normalisation as part of the model.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from softlabel.deliver import Draws
from softlabel.errors import DataError, UnknownName
from softlabel.metrics import one_hot
from softlabel.randomness import name_keys
from softlabel.tables import Floats, Ints, names

Array = npt.NDArray[Any]
Model = Callable[[Tensor], Tensor]  # from what a network takes to logits

MEAN = (0.4914, 0.4822, 0.4465)  # of CIFAR-10, as in the papers
STD = (0.2023, 0.1994, 0.2010)
PAD = 4  # points of black around a picture, from which it is cut again
AUGMENTS = ("none", "frozen", "per_epoch")

# keys of their own, so that these draws are independent of those of deliveries
ORDER, ROW, COLUMN, FLIP = name_keys(names(["order", "crop row", "crop column", "flip"])).tolist()


def to_device(inputs: Array, device: torch.device) -> Tensor:
    """Return uint8 pictures (m, h, w, c) or float32 features (m, d) as a tensor, unchanged."""
    if inputs.dtype == np.uint8 and inputs.ndim == 4:
        return torch.from_numpy(np.ascontiguousarray(inputs)).to(device)
    if inputs.dtype.kind == "f" and inputs.ndim == 2:
        return torch.from_numpy(np.ascontiguousarray(inputs, dtype=np.float32)).to(device)
    raise DataError(
        f"inputs are {inputs.dtype} {inputs.shape}; training takes pictures as uint8 "
        "(m, h, w, 3) or features as float32 (m, d)"
    )


def normalise(images: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return (b, 3, h, w) as networks take them: minus the mean, over the standard deviation.

    Takes bytes (b, h, w, 3), or floats (b, 3, h, w) in [0, 1], through which gradients pass.
    """
    if images.dtype != torch.uint8:
        return CIFAR(images)
    scale, shift = _make_factors(images[0].numel() // 3, dtype, images.device)
    scaled = torch.addcmul(shift, images.flatten(1).to(dtype), scale)
    return scaled.view(images.shape).permute(0, 3, 1, 2)


@cache
def _make_factors(points: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the factor and the summand for every number of a picture: long rows are several
    times faster than an inner loop over three colours."""
    mean, std = torch.tensor([MEAN, STD], dtype=dtype, device=device)
    return (1 / (255 * std)).repeat(points), (-mean / std).repeat(points)


def prepare(inputs: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return a batch of pictures or features as the network takes it."""
    return normalise(inputs, dtype) if inputs.dtype == torch.uint8 else inputs.to(dtype)


def epoch_order(draws: Draws, epoch: int, count: int) -> Ints:
    """Return (m,), the items in the order of this epoch."""
    return np.argsort(draws.uniform(ORDER, epoch, np.arange(count)), kind="stable")


class Pictures:
    """The inputs of every epoch, in the order asked for, cropped and flipped as ``augment`` says.

    ``none`` leaves them as they are; ``frozen`` crops each picture once for the whole run, as the
    papers' code does; ``per_epoch`` crops them anew in every epoch.  Features need ``none``.
    """

    def __init__(self, inputs: Tensor, augment: str, draws: Draws) -> None:
        if augment not in AUGMENTS:
            raise UnknownName("augment", augment, AUGMENTS)
        if augment != "none" and inputs.ndim == 2:
            raise DataError(f"augment = {augment!r} crops pictures; features need augment = 'none'")
        self.augment, self.draws = augment, draws
        self.inputs = inputs
        self.frames = frame_images(inputs) if augment == "per_epoch" else None
        if augment == "frozen":
            self.inputs = crop_images(frame_images(inputs), np.arange(len(inputs)), draws, 0)

    def epoch(self, epoch: int, items: Ints) -> Tensor:
        """Return the inputs of these items, in this order."""
        if self.frames is not None:
            return crop_images(self.frames, items, self.draws, epoch)
        return self.inputs.index_select(0, torch.from_numpy(items).to(self.inputs.device))


def frame_images(images: Tensor) -> Tensor:
    """Return (2, m, h + 8, w + 8, 3): black around each picture, as it is and mirrored."""
    frames = F.pad(images, (0, 0, PAD, PAD, PAD, PAD))
    return torch.stack([frames, frames.flip(2)])


def crop_images(frames: Tensor, items: Ints, draws: Draws, epoch: int) -> Tensor:
    """Cut each item's picture out of its frame at random, half of them mirrored.

    The cut depends on seed, epoch and item, not on the batch or the order.
    """
    mirrored = draws.uniform(FLIP, epoch, items) < 0.5
    row, column = (
        (draws.uniform(key, epoch, items) * (2 * PAD + 1)).astype(np.int64) for key in (ROW, COLUMN)
    )
    _, count, high, wide, colours = frames.shape
    height, width = high - 2 * PAD, wide - 2 * PAD
    # a row of a picture is a run of bytes, wherever it begins: one copy for each row
    first = (((mirrored * count + items) * high + row) * wide + column)[:, None]
    start = torch.from_numpy((first + np.arange(height) * wide) * colours).to(frames.device)
    size = width * colours
    lines = frames.as_strided((frames.numel() - size + 1, size), (1, 1))
    return lines.index_select(0, start.flatten()).view(-1, height, width, colours)


# ── pixels ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Normalise:
    """(x - mean) / std per colour of pictures (b, c, h, w): the first layer of an attacked model.

    >>> Normalise((0.5,), (0.25,))(torch.ones(1, 1, 1, 1)).item()
    2.0
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __call__(self, pixels: Tensor) -> Tensor:
        if pixels.ndim != 4:
            raise DataError(
                f"pictures have four dimensions, these inputs {pixels.ndim}; features need no "
                "normalising: pass normalise=None"
            )
        mean, std = (pixels.new_tensor(each).view(1, -1, 1, 1) for each in (self.mean, self.std))
        return (pixels - mean) / std


CIFAR = Normalise(MEAN, STD)


def as_pixels(images: Array, like: Tensor) -> Tensor:
    """Return pictures (m, h, w, c), bytes or numbers in [0, 1], as (m, c, h, w) in [0, 1], and
    features (m, d) as they are; of the type and on the device of ``like``."""
    array = np.asarray(images)
    if array.dtype == np.uint8:
        tensor = torch.from_numpy(array).to(like.device, like.dtype) / 255
    elif array.dtype.kind == "f":
        tensor = torch.from_numpy(np.ascontiguousarray(array)).to(like.device, like.dtype)
    else:
        raise DataError(f"images are bytes or numbers in [0, 1]; got {array.dtype}")
    if tensor.ndim not in (2, 4):
        raise DataError(f"images have shape (m, h, w, c), features (m, d); got {array.shape}")
    return tensor.permute(0, 3, 1, 2) if tensor.ndim == 4 else tensor


def as_images(pixels: Tensor) -> Array:
    """Return pixels as arrays, colours last."""
    last = pixels.permute(0, 2, 3, 1) if pixels.ndim == 4 else pixels
    array: Array = last.detach().cpu().contiguous().numpy()
    return array


def as_targets(target: Array, m: int, k: int) -> Floats:
    """Return soft labels (m, k), given as such or as one class per item."""
    array = np.asarray(target)
    soft = one_hot(array, k) if array.ndim == 1 else array.astype(np.float64)
    if soft.shape != (m, k):
        raise DataError(f"targets have shape {soft.shape}; {m} items of {k} classes were scored")
    return soft


def first_parameter(net: Model) -> Tensor:
    """Return a parameter of the model, for its device and its precision."""
    first = next(net.parameters(), None) if isinstance(net, nn.Module) else None
    return torch.zeros(()) if first is None else first


@contextmanager
def evaluation_mode(net: Model) -> Iterator[None]:
    """Put every layer into evaluation mode (batch statistics frozen), and back afterwards."""
    layers = list(net.modules()) if isinstance(net, nn.Module) else []
    before = [layer.training for layer in layers]
    try:
        if isinstance(net, nn.Module):
            net.eval()
        yield
    finally:
        for layer, training in zip(layers, before, strict=True):
            layer.training = training
