"""Items as tensors on the device, and the pictures of an epoch made all at once.

Pictures stay bytes, in the order (item, row, column, colour): seen as (item, colour, row, column)
this is the layout ``channels_last`` that convolutions are fastest with, and no copy is needed.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional as F

from softlabel.deliver import Draws
from softlabel.errors import DataError, UnknownName
from softlabel.randomness import name_keys
from softlabel.tables import Ints, names

MEAN = (0.4914, 0.4822, 0.4465)  # of CIFAR-10, as in the papers
STD = (0.2023, 0.1994, 0.2010)
PAD = 4  # points of black around a picture, from which it is cut again
AUGMENTS = ("none", "frozen", "per_epoch")

# keys of their own, so that what is drawn here has nothing to do with what deliveries draw
ORDER, ROW, COLUMN, FLIP = name_keys(names(["order", "crop row", "crop column", "flip"])).tolist()


def on_device(inputs: npt.NDArray[Any], device: torch.device) -> Tensor:
    """uint8 pictures (m, h, w, c), or float32 features (m, d), as they are."""
    if inputs.dtype == np.uint8 and inputs.ndim == 4:
        return torch.from_numpy(np.ascontiguousarray(inputs)).to(device)
    if inputs.dtype.kind == "f" and inputs.ndim == 2:
        return torch.from_numpy(np.ascontiguousarray(inputs, dtype=np.float32)).to(device)
    raise DataError(
        f"inputs are {inputs.dtype} {inputs.shape}; training takes pictures as uint8 "
        "(m, h, w, 3) or features as float32 (m, d)"
    )


def normalise(images: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """(b, 3, h, w) as networks want them: minus the mean, over the standard deviation.

    Takes bytes (b, h, w, 3), or floats (b, 3, h, w) in [0, 1], through which gradients pass.
    """
    if images.dtype != torch.uint8:
        mean, std = (images.new_tensor(each).view(1, 3, 1, 1) for each in (MEAN, STD))
        return (images - mean) / std
    scale, shift = _line(images[0].numel() // 3, dtype, images.device)
    scaled = torch.addcmul(shift, images.flatten(1).to(dtype), scale)
    return scaled.view(images.shape).permute(0, 3, 1, 2)


@cache
def _line(points: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """What bytes are multiplied by, and what is added, for every number of a picture: long rows
    are several times faster than an inner loop over three colours."""
    mean, std = torch.tensor([MEAN, STD], dtype=dtype, device=device)
    return (1 / (255 * std)).repeat(points), (-mean / std).repeat(points)


def ready(inputs: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """A batch of pictures or features as the network takes it."""
    return normalise(inputs, dtype) if inputs.dtype == torch.uint8 else inputs.to(dtype)


def order(draws: Draws, epoch: int, count: int) -> Ints:
    """(m,) the items in the order of this epoch."""
    return np.argsort(draws.uniform(ORDER, epoch, np.arange(count)), kind="stable")


class Pictures:
    """The inputs of every epoch, in the order asked for, cropped and flipped as ``augment`` says.

    ``none`` leaves them; ``frozen`` moves each picture once for the whole run, which is what the
    papers' code does; ``per_epoch`` moves them anew in every epoch.  Features can only be left.
    """

    def __init__(self, inputs: Tensor, augment: str, draws: Draws) -> None:
        if augment not in AUGMENTS:
            raise UnknownName("augment", augment, AUGMENTS)
        if augment != "none" and inputs.ndim == 2:
            raise DataError(f"augment = {augment!r} moves pictures; features need augment = 'none'")
        self.augment, self.draws = augment, draws
        every = np.arange(len(inputs))
        self.inputs = inputs if augment != "frozen" else moved(framed(inputs), every, draws, 0)
        self.framed = framed(inputs) if augment == "per_epoch" else None

    def epoch(self, epoch: int, items: Ints) -> Tensor:
        """The inputs of these items, one after the other."""
        if self.framed is not None:
            return moved(self.framed, items, self.draws, epoch)
        return self.inputs.index_select(0, torch.from_numpy(items).to(self.inputs.device))


def framed(images: Tensor) -> Tensor:
    """(2, m, h + 8, w + 8, 3) with black around each picture, as it is and mirrored."""
    frames = F.pad(images, (0, 0, PAD, PAD, PAD, PAD))
    return torch.stack([frames, frames.flip(2)])


def moved(framed: Tensor, items: Ints, draws: Draws, epoch: int) -> Tensor:
    """Each item's picture cut out somewhere in its frame, half of them mirrored.

    Where and whether depends on seed, epoch and item, not on the batch or the order.
    """
    mirrored = draws.uniform(FLIP, epoch, items) < 0.5
    row, column = (
        (draws.uniform(key, epoch, items) * (2 * PAD + 1)).astype(np.int64) for key in (ROW, COLUMN)
    )
    _, count, high, wide, colours = framed.shape
    height, width = high - 2 * PAD, wide - 2 * PAD
    # a line of a picture is so many bytes in a row, wherever it begins: one copy for each line
    first = (((mirrored * count + items) * high + row) * wide + column)[:, None]
    start = torch.from_numpy((first + np.arange(height) * wide) * colours).to(framed.device)
    size = width * colours
    lines = framed.as_strided((framed.numel() - size + 1, size), (1, 1))
    return lines.index_select(0, start.flatten()).view(-1, height, width, colours)
