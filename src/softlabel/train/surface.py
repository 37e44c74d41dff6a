"""The loss of a network as a function of its parameters, on one fixed set of items.

Networks are compared on the same function: the mean soft cross-entropy, in evaluation mode with
frozen batch statistics, whatever they were trained with.  A point of the surface is one flat
vector of all parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from softlabel.train.losses import soft_cross_entropy
from softlabel.train.pixels import (
    CIFAR,
    Array,
    Model,
    as_pixels,
    as_targets,
    evaluating,
    first_parameter,
)

BATCH = 250


@dataclass(frozen=True, eq=False)
class Surface:
    """Parameters, and the parts (batches) whose sum is the loss at them."""

    params: tuple[Tensor, ...]
    parts: Sequence[Callable[[], Tensor]]

    def loss(self) -> float:
        """At the present parameters."""
        with torch.no_grad():
            return float(sum(part().double() for part in self.parts))

    def gradient(self) -> Tensor:
        """(d,) of the loss."""
        total = torch.zeros_like(self.point())
        for part in self.parts:
            total += flat(torch.autograd.grad(part(), self.params))
        return total

    def curvature(self, direction: Tensor) -> Tensor:
        """(d,) the Hessian times a direction (Pearlmutter 1994), without the Hessian."""
        total = torch.zeros_like(direction)
        for part in self.parts:
            slope = flat(torch.autograd.grad(part(), self.params, create_graph=True))
            if not slope.requires_grad:
                continue  # a loss that is linear in the parameters has no curvature
            again = torch.autograd.grad(slope @ direction, self.params, materialize_grads=True)
            total += flat(again)
        return total

    def point(self) -> Tensor:
        """(d,) a copy of the parameters."""
        return flat([param.detach() for param in self.params]).clone()

    def put(self, point: Tensor) -> None:
        """Set the parameters."""
        start = 0
        with torch.no_grad():
            for param in self.params:
                size = param.numel()
                param.copy_(point[start : start + size].view(param.shape))
                start += size

    @contextmanager
    def moved(self) -> Iterator[Tensor]:
        """The parameters may be set inside; afterwards they are bit for bit what they were."""
        before = self.point()
        try:
            yield before.clone()
        finally:
            self.put(before)


def surface(
    net: nn.Module, inputs: Array, target: Array, *, normalise: Model | None = CIFAR
) -> Surface:
    """The surface of a network on these items: pictures (m, h, w, c), which are normalised, or
    features (m, d), which are not; targets (m, k) soft or (m,) classes."""
    like = first_parameter(net)
    x = as_pixels(inputs, like)
    if normalise is not None and x.ndim == 4:
        x = normalise(x)
    with evaluating(net), torch.no_grad():
        classes = net(x[:1]).shape[1]
    goal = torch.from_numpy(as_targets(target, len(x), classes)).to(like.device, like.dtype)
    batches = zip(torch.split(x, BATCH), torch.split(goal, BATCH), strict=True)
    parts = [partial(_share, net, a, b, len(x)) for a, b in batches]
    return Surface(tuple(p for p in net.parameters() if p.requires_grad), parts)


def _share(net: nn.Module, x: Tensor, goal: Tensor, items: int) -> Tensor:
    """What one batch adds to the mean over all items."""
    with evaluating(net):
        return soft_cross_entropy(net(x), goal, "sum") / items


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """All entries, one after the other."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])
