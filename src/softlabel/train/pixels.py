"""Pictures as an attacker sees them: numbers in [0, 1], normalised inside the network's door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from softlabel.errors import DataError
from softlabel.metrics import one_hot
from softlabel.tables import Floats
from softlabel.train.data import MEAN, STD

Array = npt.NDArray[Any]
Model = Callable[[Tensor], Tensor]  # from what a network takes to logits


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
                "normalising: say normalise=None"
            )
        mean, std = (pixels.new_tensor(each).view(1, -1, 1, 1) for each in (self.mean, self.std))
        return (pixels - mean) / std


CIFAR = Normalise(MEAN, STD)


def as_pixels(images: Array, like: Tensor) -> Tensor:
    """Pictures (m, h, w, c), bytes or numbers in [0, 1], as (m, c, h, w) in [0, 1]; features
    (m, d) as they are; of the type and on the device of ``like``."""
    array = np.asarray(images)
    if array.dtype == np.uint8:
        made = torch.from_numpy(array).to(like.device, like.dtype) / 255
    elif array.dtype.kind == "f":
        made = torch.from_numpy(np.ascontiguousarray(array)).to(like.device, like.dtype)
    else:
        raise DataError(f"images are bytes or numbers in [0, 1]; got {array.dtype}")
    if made.ndim not in (2, 4):
        raise DataError(f"images have shape (m, h, w, c), features (m, d); got {array.shape}")
    return made.permute(0, 3, 1, 2) if made.ndim == 4 else made


def as_images(pixels: Tensor) -> Array:
    """Back to arrays, colours last."""
    laid = pixels.permute(0, 2, 3, 1) if pixels.ndim == 4 else pixels
    array: Array = laid.detach().cpu().contiguous().numpy()
    return array


def as_targets(target: Array, m: int, k: int) -> Floats:
    """(m, k) soft labels, given as such or as one class per item."""
    array = np.asarray(target)
    soft = one_hot(array, k) if array.ndim == 1 else array.astype(np.float64)
    if soft.shape != (m, k):
        raise DataError(f"targets have shape {soft.shape}; {m} items of {k} classes were scored")
    return soft


def first_parameter(net: Model) -> Tensor:
    """What says on which device and in which precision a model computes."""
    found = next(net.parameters(), None) if isinstance(net, nn.Module) else None
    return torch.zeros(()) if found is None else found


@contextmanager
def evaluating(net: Model) -> Iterator[None]:
    """Every layer as in evaluation (batch statistics frozen), and afterwards as it was."""
    layers = list(net.modules()) if isinstance(net, nn.Module) else []
    before = [layer.training for layer in layers]
    try:
        if isinstance(net, nn.Module):
            net.eval()
        yield
    finally:
        for layer, training in zip(layers, before, strict=True):
            layer.training = training
