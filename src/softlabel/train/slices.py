"""The loss along lines: around one network, and from one network to another."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.errors import DataError
from softlabel.tables import Floats
from softlabel.train.pixels import CIFAR, Array, Model, as_pixels, evaluating, first_parameter
from softlabel.train.surface import BATCH, Surface, flat, surface

Norm = nn.modules.batchnorm._BatchNorm  # the base of all kinds of batch normalisation


@dataclass(frozen=True, eq=False)
class Curve:
    """The loss at places along a line."""

    at: Floats
    loss: Floats


@dataclass(frozen=True, eq=False)
class Barrier(Curve):
    """``height``: by how much the loss between two networks rises above the straight line between
    their own losses, at most; 0 if it nowhere does."""

    height: float


def slice_1d(on: Surface, points: int = 21, reach: float = 1.0, seed: int = 0) -> Curve:
    """The loss at w + a d for a from -reach to reach, d a random direction of which every filter
    has the length of the network's own (Li et al. 2018).  Biases and scales stay.

    Multiplying the weights of a layer and dividing those of the next leaves the curve as it is.
    """
    generator = torch.Generator().manual_seed(seed)
    direction = flat([_like_filters(param.detach(), generator) for param in on.params])
    at = np.linspace(-reach, reach, points)
    loss = np.empty(points)
    with on.moved() as here:
        for place, a in enumerate(at):
            on.put(here + float(a) * direction)
            loss[place] = on.loss()
    return Curve(at, loss)


def _like_filters(param: Tensor, generator: torch.Generator) -> Tensor:
    """A random tensor whose rows (the weights into one unit) are as long as those of ``param``."""
    if param.ndim < 2:
        return torch.zeros_like(param)
    drawn = torch.randn(param.shape, generator=generator, dtype=torch.float64).to(param)
    length, own = (rows.flatten(1).norm(dim=1) for rows in (drawn, param))
    scale: Tensor = (own / length).view(-1, *[1] * (param.ndim - 1))
    return drawn * scale


def barrier(
    first: nn.Module,
    second: nn.Module,
    inputs: Array,
    target: Array,
    *,
    points: int = 21,
    reestimate: Array | None = None,
    normalise: Model | None = CIFAR,
) -> Barrier:
    """The loss of the networks (1 - a) first + a second, a from 0 to 1 (Frankle et al. 2020).

    Batch statistics are mixed like weights, unless ``reestimate`` gives inputs (the training
    ones) from which they are taken anew at every point, the ends included: mixed statistics alone
    can raise a barrier.
    """
    one, two = (_numbers(net) for net in (first, second))
    if one.keys() != two.keys() or any(one[key].shape != two[key].shape for key in one):
        raise DataError("a barrier lies between two networks of one architecture; these differ")
    between = deepcopy(first)
    on = surface(between, inputs, target, normalise=normalise)
    mixed = _numbers(between)
    at = np.linspace(0, 1, points)
    loss = np.empty(points)
    for place, a in enumerate(at):
        for key, tensor in mixed.items():
            tensor.copy_(torch.lerp(one[key], two[key].to(one[key]), float(a)))
        if reestimate is not None:
            estimate_statistics(between, reestimate, normalise=normalise)
        loss[place] = on.loss()
    rise = loss - (1 - at) * loss[0] - at * loss[-1]
    return Barrier(at, loss, float(rise.max()))


def estimate_statistics(net: nn.Module, inputs: Array, *, normalise: Model | None = CIFAR) -> None:
    """Take the means and variances of batch normalisation anew from these inputs; nothing else
    of the network changes."""
    layers = [layer for layer in net.modules() if isinstance(layer, Norm)]
    if not layers:
        return
    x = as_pixels(inputs, first_parameter(net))
    momenta = [layer.momentum for layer in layers]
    with evaluating(net), torch.no_grad():
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum, layer.training = None, True  # None: the plain mean over batches
        for part in torch.split(x, BATCH):
            net(normalise(part) if normalise is not None and part.ndim == 4 else part)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum


def _numbers(net: nn.Module) -> dict[str, Tensor]:
    """Parameters and statistics, not the counters."""
    return {key: value for key, value in net.state_dict().items() if value.is_floating_point()}
