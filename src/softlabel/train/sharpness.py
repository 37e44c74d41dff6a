"""How sharp the minimum is that a network has reached: curvature, slices and barriers of the loss.

The surface is the loss of a network as a function of its parameters, on one fixed set of items.
Networks are compared on the same function: the mean soft cross-entropy, in evaluation mode with
frozen batch statistics, whatever they were trained with.  A point of the surface is one flat
vector of all parameters.

None of these measures but the filter-normalised slice is free of the scale of the weights, and a
network that has learned nothing can be the flattest of all: print its accuracy beside them.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.errors import DataError
from softlabel.tables import Floats
from softlabel.train import data
from softlabel.train.data import CIFAR, Array, Model
from softlabel.train.losses import soft_cross_entropy

BATCH = 250


@dataclass(frozen=True, eq=False)
class Surface:
    """Parameters, and the parts (batches) whose sum is the loss at them."""

    params: tuple[Tensor, ...]
    parts: Sequence[Callable[[], Tensor]]

    def loss(self) -> float:
        """Return the loss at the present parameters."""
        with torch.no_grad():
            return float(sum(part().double() for part in self.parts))

    def gradient(self) -> Tensor:
        """Return the gradient of the loss (d,)."""
        total = torch.zeros_like(self.point())
        for part in self.parts:
            total += flatten(torch.autograd.grad(part(), self.params))
        return total

    def curvature(self, direction: Tensor) -> Tensor:
        """Return the Hessian times a direction (d,) (Pearlmutter 1994), without the Hessian."""
        total = torch.zeros_like(direction)
        for part in self.parts:
            slope = flatten(torch.autograd.grad(part(), self.params, create_graph=True))
            if not slope.requires_grad:
                continue  # a loss that is linear in the parameters has no curvature
            again = torch.autograd.grad(slope @ direction, self.params, materialize_grads=True)
            total += flatten(again)
        return total

    def point(self) -> Tensor:
        """Return a copy of the parameters (d,)."""
        return flatten([param.detach() for param in self.params]).clone()

    def put(self, point: Tensor) -> None:
        """Set the parameters."""
        with torch.no_grad():
            parts = point.split([param.numel() for param in self.params])
            for param, part in zip(self.params, parts, strict=True):
                param.copy_(part.view(param.shape))

    @contextmanager
    def moved(self) -> Iterator[Tensor]:
        """Let the parameters be set inside; afterwards they are bit for bit what they were."""
        before = self.point()
        try:
            yield before.clone()
        finally:
            self.put(before)


def surface(
    net: nn.Module, inputs: Array, target: Array, *, normalise: Model | None = CIFAR
) -> Surface:
    """Return the surface of a network on these items: pictures (m, h, w, c), which are normalised,
    or features (m, d), which are not; targets are soft (m, k) or classes (m,)."""
    like = data.first_parameter(net)
    x = data.as_pixels(inputs, like)
    if normalise is not None and x.ndim == 4:
        x = normalise(x)
    with data.evaluation_mode(net), torch.no_grad():
        classes = net(x[:1]).shape[1]
    goal = torch.from_numpy(data.as_targets(target, len(x), classes)).to(like.device, like.dtype)

    def part(rows: slice) -> Tensor:  # what one batch adds to the mean loss over all items
        with data.evaluation_mode(net):
            return soft_cross_entropy(net(x[rows]), goal[rows], "sum") / len(x)

    batches = [slice(low, low + BATCH) for low in range(0, len(x), BATCH)]
    params = tuple(param for param in net.parameters() if param.requires_grad)
    return Surface(params, [partial(part, rows) for rows in batches])


def flatten(tensors: Sequence[Tensor]) -> Tensor:
    """Join all entries in one vector."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


# ── curvature ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Eigenvalue:
    """A value, the products it took, and the last relative change: small if it has converged."""

    value: float
    iterations: int
    change: float


@dataclass(frozen=True)
class Trace:
    """A value with its standard error over the probes."""

    value: float
    error: float
    probes: int


def lambda_max(
    on: Surface, iterations: int = 100, tolerance: float = 1e-3, seed: int = 0
) -> Eigenvalue:
    """Return the largest eigenvalue of the Hessian, by power iteration.

    Power iteration finds the eigenvalue of largest size; if that is a negative one, the Hessian
    is shifted by it and the search goes on for the largest.
    """
    start = _random(on, seed, torch.randn)
    top = _power(on.curvature, start, iterations, tolerance)
    if top.value >= 0:
        return top
    shift = -top.value
    rest = _power(lambda v: on.curvature(v) + shift * v, start, iterations, tolerance)
    return Eigenvalue(rest.value - shift, top.iterations + rest.iterations, rest.change)


def trace(on: Surface, probes: int = 50, seed: int = 0) -> Trace:
    """Return Hutchinson's estimate of the Hessian's trace: the mean of v'Hv over random signs v."""
    if probes < 2:
        raise DataError(f"probes = {probes}: a standard error needs at least 2")

    def signs(count: int, generator: torch.Generator) -> Tensor:
        return torch.randint(0, 2, (count,), generator=generator) * 2.0 - 1

    products = []
    for probe in range(probes):
        v = _random(on, (seed, probe), signs)
        products.append(_dot(v, on.curvature(v)))
    values = torch.tensor(products, dtype=torch.float64)
    return Trace(float(values.mean()), float(values.std() / probes**0.5), probes)


def sam(on: Surface, rho: float = 0.05) -> float:
    """Return the rise of the loss at distance ``rho`` along the gradient (Foret et al. 2021)."""
    slope = on.gradient()
    length = slope.norm()
    if not length > 0:
        return 0.0
    base = on.loss()
    with on.moved() as here:
        on.put(here + rho * slope / length)
        return on.loss() - base


def keskar(
    on: Surface, eps: float = 1e-3, steps: int = 20, restarts: int = 3, seed: int = 0
) -> float:
    """Return 100 (max L - L) / (1 + L) over the box |step_i| <= eps (|w_i| + 1) (Keskar et al.
    2017).

    The maximum is searched by sign-gradient ascent from random points of the box, so the value is
    a lower bound that more steps and restarts raise.
    """
    base = best = on.loss()
    with on.moved() as here:
        box = eps * (here.abs() + 1)
        for restart in range(restarts):
            share = _random(on, (seed, restart), torch.rand) * 2 - 1  # of the box, in [-1, 1]
            for _ in range(steps):
                on.put(here + box * share)
                share = (share + 2.5 / steps * on.gradient().sign()).clamp(-1, 1)
            on.put(here + box * share)
            best = max(best, on.loss())
    return 100 * (best - base) / (1 + base)


def _power(
    product: Callable[[Tensor], Tensor], start: Tensor, iterations: int, tolerance: float
) -> Eigenvalue:
    if iterations < 1:
        raise DataError(f"iterations = {iterations}: at least one is needed")
    v = start / start.norm()
    value, change = 0.0, float("inf")
    for done in range(1, iterations + 1):
        image = product(v)
        before, value = value, _dot(v, image)
        length = image.norm()
        if not length > 0:
            return Eigenvalue(0.0, done, 0.0)
        change = abs(value - before) / max(abs(value), 1e-30)
        if done > 1 and change <= tolerance:
            break
        v = image / length
    return Eigenvalue(value, done, change)


def _dot(first: Tensor, second: Tensor) -> float:
    return float(first.double() @ second.double())


def _random(on: Surface, seed: int | tuple[int, int], draw: Callable[..., Tensor]) -> Tensor:
    """Draw (d,) on the CPU, so that a seed gives the same numbers on every device."""
    key = seed if isinstance(seed, int) else seed[0] * 1_000_003 + seed[1]
    here = on.point()
    return draw(len(here), generator=torch.Generator().manual_seed(key)).to(here)


# ── along lines ───────────────────────────────────────────────────────────────────────────────


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
    """Return the loss at w + a d for a from -reach to reach, d a random direction of which every
    filter has the length of the network's own (Li et al. 2018).  Biases and scales stay.

    Multiplying the weights of a layer and dividing those of the next does not change the curve.
    """
    generator = torch.Generator().manual_seed(seed)
    parts = []
    for param in on.params:
        own = param.detach()
        part = torch.zeros_like(own)
        if own.ndim > 1:  # rows, the weights into one unit, are as long as the network's own
            part = torch.randn(own.shape, generator=generator, dtype=torch.float64).to(own)
            scale = own.flatten(1).norm(dim=1) / part.flatten(1).norm(dim=1)
            part = part * scale.view(-1, *[1] * (own.ndim - 1))
        parts.append(part)
    direction = flatten(parts)
    at = np.linspace(-reach, reach, points)
    loss = np.empty(points)
    with on.moved() as here:
        for number, a in enumerate(at):
            on.put(here + float(a) * direction)
            loss[number] = on.loss()
    return Curve(at, loss)


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
    """Return the loss of the networks (1 - a) first + a second, a from 0 to 1 (Frankle et al.
    2020).

    Batch statistics are mixed like weights, unless ``reestimate`` gives inputs (the training
    ones) from which they are estimated again at every point, the ends included: mixed statistics
    alone can raise a barrier.
    """
    one, two = (_float_state(net) for net in (first, second))
    if one.keys() != two.keys() or any(one[key].shape != two[key].shape for key in one):
        raise DataError("a barrier lies between two networks of one architecture; these differ")
    between = deepcopy(first)
    on = surface(between, inputs, target, normalise=normalise)
    mixed = _float_state(between)
    at = np.linspace(0, 1, points)
    loss = np.empty(points)
    for number, a in enumerate(at):
        for key, tensor in mixed.items():
            tensor.copy_(torch.lerp(one[key], two[key].to(one[key]), float(a)))
        if reestimate is not None:
            estimate_statistics(between, reestimate, normalise=normalise)
        loss[number] = on.loss()
    rise = loss - (1 - at) * loss[0] - at * loss[-1]
    return Barrier(at, loss, float(rise.max()))


def estimate_statistics(net: nn.Module, inputs: Array, *, normalise: Model | None = CIFAR) -> None:
    """Estimate the means and variances of batch normalisation from these inputs, nothing else."""
    every = nn.modules.batchnorm._BatchNorm  # the base of all kinds of batch normalisation
    layers = [layer for layer in net.modules() if isinstance(layer, every)]
    if not layers:
        return
    x = data.as_pixels(inputs, data.first_parameter(net))
    momenta = [layer.momentum for layer in layers]
    with data.evaluation_mode(net), torch.no_grad():
        for layer in layers:
            layer.reset_running_stats()
            layer.momentum, layer.training = None, True  # None: the plain mean over batches
        for part in torch.split(x, BATCH):
            net(normalise(part) if normalise is not None and part.ndim == 4 else part)
    for layer, momentum in zip(layers, momenta, strict=True):
        layer.momentum = momentum


def _float_state(net: nn.Module) -> dict[str, Tensor]:
    """Return parameters and statistics, without the counters."""
    return {key: value for key, value in net.state_dict().items() if value.is_floating_point()}
