"""Items as tensors on the device, and the pictures of an epoch made all at once.

Pictures stay bytes, in the order (item, row, column, colour): seen as (item, colour, row, column)
this is the layout ``channels_last`` that convolutions are fastest with, and no copy is needed.
"""

from __future__ import annotations

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
    mean, std = (torch.tensor(each, dtype=dtype, device=images.device) for each in (MEAN, STD))
    if images.dtype != torch.uint8:
        return (images - mean.view(1, 3, 1, 1)) / std.view(1, 3, 1, 1)
    flat = images.flatten(1)  # every point has its own scale here: long rows, no short inner loop
    points = flat.shape[1] // 3
    scaled = torch.addcmul(
        (-mean / std).repeat(points), flat.to(dtype), (1 / (255 * std)).repeat(points)
    )
    return scaled.view(images.shape).permute(0, 3, 1, 2)


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
    """(m, h + 8, w + 8, 3) with black around each picture."""
    return F.pad(images, (0, 0, PAD, PAD, PAD, PAD))


def moved(framed: Tensor, items: Ints, draws: Draws, epoch: int) -> Tensor:
    """Each item's picture cut out somewhere in its frame, half of them mirrored.

    Where and whether depends on seed, epoch and item, not on the batch or the order.
    """
    places = 2 * PAD + 1
    row, column = (
        torch.from_numpy((draws.uniform(key, epoch, items) * places).astype(np.int64))
        for key in (ROW, COLUMN)
    )
    flip = torch.from_numpy(draws.uniform(FLIP, epoch, items) < 0.5)
    count, height, width, colours = framed.shape
    step = framed.stride()
    windows = framed.as_strided(  # every window of every picture, without a copy
        (count, places, places, height - 2 * PAD, width - 2 * PAD, colours),
        (step[0], step[1], step[2], step[1], step[2], step[3]),
    )
    device = framed.device
    cut = windows[torch.from_numpy(items).to(device), row.to(device), column.to(device)]
    rows = flip.nonzero()[:, 0].to(device)
    cut[rows] = cut[rows].flip(2)
    return cut
